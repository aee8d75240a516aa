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

import rclpy
from rclpy.signals import SignalHandlerOptions

from vr_ik.errors import VrIkError


@contextmanager
def joined(arguments: Sequence[str] = ()) -> Iterator[None]:
    """Be part of the graph inside a `with` block; `arguments` are those of ROS 2."""
    try:
        rclpy.init(args=list(arguments), signal_handler_options=SignalHandlerOptions.NO)
    except RuntimeError as error:  # how rclpy refuses arguments, files and surroundings
        reason = ' '.join(str(error).partition(', at /')[0].split())
        raise VrIkError(f'ROS 2 does not start: {reason}.') from error
    try:
        yield
    finally:
        rclpy.try_shutdown()
