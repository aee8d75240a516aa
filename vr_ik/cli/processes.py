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

"""Nodes as child processes: started together, watched, ended together."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
import ctypes
import os
from pathlib import Path
import signal
import subprocess
import sys
import tempfile
import time
from types import MappingProxyType
from typing import IO

from vr_ik.errors import VrIkError

_END_TIMEOUT_S = 5.0
_LAST_LINES = 12
_PR_SET_PDEATHSIG = 1
_WARNINGS = ('[WARN]', '[ERROR]', '[FATAL]')
"""How lines of the log begin that are for the user."""
_MOST_BYTES = 1 << 20
# As `python -m` does, but with our own package: a clone in the folder where the user is has its
# name, and would be taken for it.
_ROOT = Path(__file__).parents[2]
_RUN = (
    'import runpy, sys; sys.path[:] = [*filter(None, sys.path), sys.argv.pop(1)]; '
    "runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"
)


class NodesError(VrIkError):
    """The nodes do not do what they should; where one has ended, with its last lines."""


class NodeProcess:
    """One node as a process of its own; its output goes to a file that only we see."""

    def __init__(
        self, name: str, parameters: Mapping[str, object], arguments: Sequence[str] = ()
    ) -> None:
        """Start the node `vr_ik.nodes.<name>` with ROS parameters and other ROS arguments."""
        self.name = name
        self._read_bytes = 0
        self._log: IO[str] = tempfile.TemporaryFile('w+')  # noqa: SIM115
        node = f'vr_ik.nodes.{name}'
        command = [sys.executable, '-c', _RUN, str(_ROOT), node, '--ros-args', *arguments]
        for parameter, value in parameters.items():
            command += ['-p', f'{parameter}:={value}']
        # A session of its own: Ctrl-C in the terminal is for us, and we end our nodes in order.
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_end_with_parent if sys.platform == 'linux' else None,
        )

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def check(self) -> None:
        """Raise `NodesError` if the process has ended."""
        code = self._process.poll()
        if code is not None:
            reason = f'signal {-code}' if code < 0 else f'exit code {code}'
            lines = '\n'.join(f'    {line}' for line in self._last_lines())
            raise NodesError(f'{self.name} has ended ({reason}). Its last lines:\n{lines}')

    def warnings(self) -> list[str]:
        """Return what the node has warned of since the last call, line by line."""
        # Not by reading the file: the node writes where that would leave its position.
        new = os.pread(self._log.fileno(), _MOST_BYTES, self._read_bytes)
        whole = new[: new.rfind(b'\n') + 1]
        self._read_bytes += len(whole)
        lines = whole.decode(errors='replace').splitlines()
        return [line for line in lines if line.startswith(_WARNINGS)]

    def ask_to_end(self) -> None:
        """Send SIGINT, as Ctrl-C would."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)

    def wait(self) -> None:
        """Wait for the end; a process that does not end in time is killed."""
        try:
            self._process.wait(_END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()

    def _last_lines(self) -> list[str]:
        self._log.seek(0)
        return self._log.read().splitlines()[-_LAST_LINES:]


class NodeProcesses:
    """Several nodes that live and end together."""

    def __init__(self) -> None:
        """Have none yet."""
        self._processes: list[NodeProcess] = []
        self._started_s = time.monotonic()

    @property
    def age_s(self) -> float:
        """The time since the start [s]."""
        return time.monotonic() - self._started_s

    def start(
        self,
        nodes: Mapping[str, Mapping[str, object]],
        arguments: Mapping[str, Sequence[str]] = MappingProxyType({}),
    ) -> None:
        """Start nodes by name, with their parameters and, where there are, other arguments."""
        for name, parameters in nodes.items():
            self._processes.append(NodeProcess(name, parameters, arguments.get(name, ())))

    def pid(self, name: str) -> int:
        """Return the process id of the node of this name."""
        return next(process.pid for process in self._processes if process.name == name)

    def check(self) -> None:
        """Raise `NodesError` if one of the processes has ended."""
        for process in self._processes:
            process.check()

    def warnings(self) -> list[str]:
        """Return what the nodes have warned of since the last call."""
        return [line for process in self._processes for line in process.warnings()]

    def end(self) -> None:
        """End all nodes, and wait until they have."""
        for process in self._processes:
            process.ask_to_end()
        for process in self._processes:
            process.wait()


@contextmanager
def running(
    nodes: Mapping[str, Mapping[str, object]],
    arguments: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> Iterator[NodeProcesses]:
    """Run nodes by name, with their parameters and arguments, inside a `with` block."""
    processes = NodeProcesses()
    try:
        processes.start(nodes, arguments)
        yield processes
    finally:
        processes.end()


def _end_with_parent() -> None:
    """Have the kernel end this process with its parent, even if that is killed."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
