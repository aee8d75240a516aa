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
import signal
import sys

import rclpy
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node

from vr_ik.errors import VrIkError

# A finite timeout, because the events executor of the PyPI wheels spins idly without one.
_SPIN_TIMEOUT_S = 0.5
_STOPPED = (SystemExit, KeyboardInterrupt, ExternalShutdownException)


def make_executor() -> Executor:
    """Return the events executor (half the load and delay), or the plain one without it."""
    try:
        from rclpy.experimental.events_executor import EventsExecutor
    except ImportError:
        return SingleThreadedExecutor()
    return EventsExecutor()


def spin(nodes: Sequence[Node]) -> None:
    """Serve the nodes until ROS is shut down, by a signal or otherwise."""
    executor = make_executor()
    for node in nodes:
        executor.add_node(node)
    try:
        while rclpy.ok():
            executor.spin_once(timeout_sec=_SPIN_TIMEOUT_S)
    finally:
        executor.shutdown()


def run(name: str, create: Callable[[], Node], args: Sequence[str] | None = None) -> int:
    """
    Create a node, spin it, and return the exit code of its process.

    0 after SIGINT, SIGTERM or a shutdown; 2 when the node cannot be made as configured, with
    one line on the standard error that says why.
    """
    # Without these, a Ctrl-C under code that was compiled from text (numba's, for one) makes
    # Python end by the signal, although the KeyboardInterrupt has been caught.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _exit)
    try:
        rclpy.init(args=args)
    except RuntimeError as error:  # how rclpy refuses arguments and parameter files
        reason = str(error).partition(', at /')[0]
        return _complain(name, ' '.join(reason.split()))
    node = None
    try:
        node = create()
        spin([node])
    except _STOPPED:
        pass
    except VrIkError as error:
        return _complain(name, str(error))
    except Exception:
        # A signal shuts ROS down at once, also under code that is still starting up with it.
        if rclpy.ok():
            raise
    finally:
        if node is not None:
            node.destroy_node()
        rclpy.try_shutdown()
    return 0


def _exit(_number: int, _frame: object) -> None:
    sys.exit(0)


def _complain(name: str, reason: str) -> int:
    print(f'{name}: {reason}', file=sys.stderr)
    return 2
