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

"""Compiled small steps on single poses (4, 4) that the filters share."""

import math

from vr_ik.kinematics.compiled import inlined_kernel
from vr_ik.types import Array


@inlined_kernel
def size(x: float, y: float, z: float) -> float:
    """Return the length of a vector."""
    return math.sqrt(x * x + y * y + z * z)


@inlined_kernel
def copy_pose(pose: Array, into: Array) -> None:
    """Write a pose (4, 4) elsewhere."""
    for r in range(4):
        for c in range(4):
            into[r, c] = pose[r, c]


@inlined_kernel
def _turned(before: Array, after: Array, r: int, c: int) -> float:
    """Return an element of the rotation, in the world, from pose to pose."""
    return after[r, 0] * before[c, 0] + after[r, 1] * before[c, 1] + after[r, 2] * before[c, 2]


@inlined_kernel
def turn(before: Array, after: Array) -> tuple[float, tuple[float, float, float]]:
    """Return the angle of the turn from pose to pose, and its unit axis in the world."""
    x = _turned(before, after, 2, 1) - _turned(before, after, 1, 2)
    y = _turned(before, after, 0, 2) - _turned(before, after, 2, 0)
    z = _turned(before, after, 1, 0) - _turned(before, after, 0, 1)
    sine = math.sqrt(x * x + y * y + z * z)
    # Exactly half a turn has no axis to go by: it is taken for none, and eased in later.
    if sine < 1e-12:
        return 0.0, (0.0, 0.0, 0.0)
    trace = 0.0
    for r in range(3):
        trace += _turned(before, after, r, r)
    return math.atan2(sine, trace - 1.0), (x / sine, y / sine, z / sine)


@inlined_kernel
def turn_by(pose: Array, axis: tuple[float, float, float], angle: float) -> None:
    """Turn a pose about an axis of the world through its own origin (Rodrigues)."""
    sine, versine = math.sin(angle), 1.0 - math.cos(angle)
    for c in range(3):
        x, y, z = pose[0, c], pose[1, c], pose[2, c]
        along = axis[0] * x + axis[1] * y + axis[2] * z
        cross = (axis[1] * z - axis[2] * y, axis[2] * x - axis[0] * z, axis[0] * y - axis[1] * x)
        pose[0, c] = x + sine * cross[0] + versine * (axis[0] * along - x)
        pose[1, c] = y + sine * cross[1] + versine * (axis[1] * along - y)
        pose[2, c] = z + sine * cross[2] + versine * (axis[2] * along - z)


@inlined_kernel
def go_along(pose: Array, velocity: Array, seconds: float, turn_seconds: float) -> None:
    """Move a pose by so many seconds of a linear velocity [m/s] and of an angular one [rad/s].

    `velocity` (6) has both, in the world's axes.
    """
    for k in range(3):
        pose[k, 3] += velocity[k] * seconds
    rate = size(velocity[3], velocity[4], velocity[5])
    if rate > 0.0:
        axis = (velocity[3] / rate, velocity[4] / rate, velocity[5] / rate)
        turn_by(pose, axis, rate * turn_seconds)
