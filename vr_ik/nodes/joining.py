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

"""Joining the ROS graph from a program that keeps its own signal handlers."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
import os

import rclpy
from rclpy.signals import SignalHandlerOptions

from vr_ik.errors import VrIkError

TRANSPORTS_VARIABLE = 'FASTDDS_BUILTIN_TRANSPORTS'
"""Environment variable of Fast DDS; other middleware passes over it."""


def prefer_udp() -> None:
    """Keep Fast DDS from shared memory, unless its transports have been chosen already.

    Whoever first writes to a port in shared memory asks its reader for a sign of life, and may
    wait 0.33 s for one that is idle. `publish` waits with it, and Python, and so every node of the
    process: whenever a program joins or leaves. By UDP frames are as quick, and programs find each
    other without a network, too. In the range LOCALHOST rmw_fastrtps takes no notice.
    """
    os.environ.setdefault(TRANSPORTS_VARIABLE, 'UDPv4')


@contextmanager
def joined(arguments: Sequence[str] = ()) -> Iterator[None]:
    """Be part of the graph inside a `with` block; `arguments` are those of ROS 2."""
    prefer_udp()
    try:
        rclpy.init(args=list(arguments), signal_handler_options=SignalHandlerOptions.NO)
    except RuntimeError as error:  # how rclpy refuses arguments, files and surroundings
        reason = ' '.join(str(error).partition(', at /')[0].split())
        raise VrIkError(f'ROS 2 does not start: {reason}.') from error
    try:
        yield
    finally:
        rclpy.try_shutdown()
