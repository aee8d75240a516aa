# Copyright 2026 The vr_ik authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""A ROS graph for tests: a domain of its own, the test's node in it, and real processes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
import os
from pathlib import Path
import signal
import subprocess
import sys
import tempfile
import time

import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

DOMAIN_ID = int(os.environ['ROS_DOMAIN_ID'])
"""That of this test run alone: see conftest.py."""
PATIENCE_S = 30.0
"""How long to wait for what must come; not a measure of anything."""


def environment(**more: str) -> dict[str, str]:
    """Return the environment of a process that takes part in this test's graph."""
    return {
        **os.environ,
        'PYTHONUNBUFFERED': '1',
        **more,
    }


class Listener:
    """The test's own node."""

    def __init__(self, context: Context) -> None:
        """Join the graph."""
        self.node = Node('listener', context=context)
        self._executor = SingleThreadedExecutor(context=context)
        self._executor.add_node(self.node)

    def spin_until(self, condition: Callable[[], bool], what: str = 'what was expected') -> None:
        """Serve callbacks until the condition holds."""
        deadline_s = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < deadline_s, f'{what} did not come'
            self._executor.spin_once(timeout_sec=0.05)

    def spin_for(self, seconds: float) -> None:
        """Serve callbacks for a while."""
        end_s = time.monotonic() + seconds
        while time.monotonic() < end_s:
            self._executor.spin_once(timeout_sec=0.05)

    def close(self) -> None:
        """Leave the graph."""
        self._executor.shutdown()
        self.node.destroy_node()


@contextmanager
def listening() -> Iterator[Listener]:
    """Take part in the graph with a node of the test's own."""
    context = Context()
    rclpy.init(context=context, domain_id=DOMAIN_ID)
    listener = Listener(context)
    try:
        yield listener
    finally:
        listener.close()
        rclpy.try_shutdown(context=context)


def commanded(listener: Listener, *arguments: str) -> tuple[int, str, str]:
    """Return exit code and output of a command of `vr_ik`, while the test's node answers."""
    with subprocess.Popen(
        [sys.executable, '-m', 'vr_ik.cli.main', *arguments],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        listener.spin_until(lambda: process.poll() is not None, 'the end of the command')
        assert process.stdout is not None
        assert process.stderr is not None
        # The middleware speaks on stdout, too, where another process has left a port locked.
        said = [line for line in process.stdout if 'RTPS_TRANSPORT_SHM' not in line]
        return process.returncode, ''.join(said).strip(), process.stderr.read().strip()


class NodeProcess:
    """One of the package's nodes as a process of its own."""

    def __init__(self, module: str, *arguments: str, **environment_variables: str) -> None:
        """Start it."""
        self._log = tempfile.TemporaryFile('w+')  # noqa: SIM115
        self.process = subprocess.Popen(
            [sys.executable, '-m', f'vr_ik.nodes.{module}', *arguments],
            stdout=self._log,
            stderr=subprocess.STDOUT,
            env=environment(**environment_variables),
            cwd=Path(__file__).parent.parent,
        )

    def output(self) -> str:
        """Return what it has printed so far."""
        self._log.seek(0)
        return self._log.read()

    def wait(self) -> int:
        """Wait for its end and return the exit code."""
        return self.process.wait(PATIENCE_S)

    def end(self, signal_number: int = signal.SIGINT) -> int:
        """Send a signal, wait for its end and return the exit code."""
        self.process.send_signal(signal_number)
        return self.wait()

    def kill(self) -> None:
        """End it without a chance to clean up, if it still runs."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._log.close()


def parameters(**values: object) -> list[str]:
    """Return the command line that sets parameters."""
    arguments = ['--ros-args']
    for name, value in values.items():
        arguments += ['-p', f'{name}:={value}']
    return arguments
