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

"""Runs nodes until a signal ends them: executor, orderly shutdown, exit codes."""

from collections.abc import Callable, Sequence
import os
import signal
import sys

import rclpy
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node

from vr_ik.errors import UnknownNameError, VrIkError
from vr_ik.interruption import Interruption, SIGNALS
from vr_ik.nodes.garbage import collected_between_callbacks
from vr_ik.nodes.joining import joined

# How long a signal may go unnoticed while nothing else happens. Also a finite timeout, because
# the events executor of the PyPI wheels spins idly without one.
_SPIN_TIMEOUT_S = 0.1


EXECUTOR_VARIABLE = 'VR_IK_EXECUTOR'
"""Environment variable: 'events' (as without it), or 'single_threaded'."""


def make_executor() -> Executor:
    """Return the events executor (half the load, see `make bench-ros`), or the plain one."""
    name = os.environ.get(EXECUTOR_VARIABLE, 'events')
    if name not in ('events', 'single_threaded'):
        raise UnknownNameError(EXECUTOR_VARIABLE, name, ('events', 'single_threaded'))
    if name == 'single_threaded':
        return SingleThreadedExecutor()
    try:
        from rclpy.experimental.events_executor import EventsExecutor
    except ImportError:
        return SingleThreadedExecutor()
    return EventsExecutor()


def spin(creators: Sequence[Callable[[], Node]], interruption: Interruption) -> None:
    """Create nodes and serve them until a signal comes or ROS is shut down."""
    nodes: list[Node] = []
    try:
        for create in creators:
            nodes.append(create())
        # An exception out of a signal handler may hit the executor while it enters or removes
        # its entities; left half done, rclpy aborts the process when the executor goes.
        with interruption.deferred():
            _serve(nodes, interruption)
    finally:
        for node in reversed(nodes):
            node.destroy_node()


def _serve(nodes: Sequence[Node], interruption: Interruption) -> None:
    executor = make_executor()
    try:
        for node in nodes:
            executor.add_node(node)
        with collected_between_callbacks() as collect_when_due:
            while rclpy.ok() and not interruption.requested:
                executor.spin_once(timeout_sec=_SPIN_TIMEOUT_S)
                collect_when_due()
    except ExternalShutdownException:
        pass
    finally:
        executor.shutdown()


def run(name: str, create: Callable[[], Node], args: Sequence[str] | None = None) -> int:
    """
    Create a node, spin it, and return the exit code of its process.

    0 after SIGINT, SIGTERM or a shutdown; 2 when the node cannot be made as configured, with
    one line on the standard error that says why.
    """
    code = 0
    with Interruption() as interruption:
        try:
            with joined(sys.argv if args is None else args):
                spin([create], interruption)
        except VrIkError as error:
            print(f'{name}: {error}', file=sys.stderr)
            code = 2
    if interruption.requested:
        # Under `ros2 launch` one Ctrl-C makes two signals; the second must not spoil the exit.
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)
    return code
