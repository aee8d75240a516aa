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

"""Compiled filter of one hand: pose checks, jumps, and where it is between two frames."""

import math

from vr_ik.kinematics.compiled import allocating_kernel, kernel
from vr_ik.math.rotations import exp_rotation, log_rotation
from vr_ik.types import Array

# Rows of a hand's state (4, 4, 4): the smoothed pose, the last frame's pose, an expected one, and
# in the last the twist.
SMOOTH, RAW, EXPECTED, TWIST = 0, 1, 2, 3
FINE, JUMPED, BAD = 0, 1, 2

# How much of a frame's surprise goes into pose and velocity: a critically damped g-h filter
# (E. Brookner, "Tracking and Kalman filtering made easy", 1998, section 1.2.6). It forgets by
# time, not by frames, which come at odd times from a busy machine. It lags behind no steady
# motion, and dampens a tracker's trembling.
_MEMORY_S = 0.0121
# What is less than this off where the hand was expected may be the tracker's noise alone. Taken
# as quickly as motion, it would let a robot's joints rattle at their acceleration limits while
# the hand rests.
_NOISE_M, _NOISE_RAD = 1e-3, math.radians(0.1)
_MEMORY_OF_NOISE_S = 0.08
# Two frames this near to each other, or in the wrong order, tell nothing of the velocity [s].
_LEAST_FRAME_S = 1e-4
# Devices' rotations are made from quaternions in double precision; this is far outside.
_ROTATION_TOLERANCE = 1e-3


@kernel
def is_pose(pose: Array) -> bool:
    """Tell whether a matrix (4, 4) is a rigid pose of finite numbers."""
    r = pose
    for i in range(3):
        for k in range(i, 3):
            product = r[i, 0] * r[k, 0] + r[i, 1] * r[k, 1] + r[i, 2] * r[k, 2]
            if not abs(product - (1.0 if i == k else 0.0)) < _ROTATION_TOLERANCE:
                return False
        if not math.isfinite(r[i, 3]):
            return False
    x = r[1, 0] * r[2, 1] - r[2, 0] * r[1, 1]
    y = r[2, 0] * r[0, 1] - r[0, 0] * r[2, 1]
    z = r[0, 0] * r[1, 1] - r[1, 0] * r[0, 1]
    return x * r[0, 2] + y * r[1, 2] + z * r[2, 2] > 0.0


@allocating_kernel
def write_moved(pose: Array, twist: Array, seconds: float, out: Array) -> None:
    """Write a pose (4, 4) after it has moved with a twist (6) in world axes; `out` is another."""
    turn = exp_rotation(seconds * twist[3:])
    for i in range(3):
        for k in range(3):
            total = 0.0
            for m in range(3):
                total += turn[i, m] * pose[m, k]
            out[i, k] = total
        out[i, 3] = pose[i, 3] + seconds * twist[i]
        out[3, i] = 0.0
    out[3, 3] = 1.0


@allocating_kernel
def turn_between(pose: Array, other: Array) -> Array:
    """Return the rotation vector (3) [rad] from a pose to another, in world axes."""
    turn = pose[:3, :3].copy()
    for i in range(3):
        for k in range(3):
            total = 0.0
            for m in range(3):
                total += other[i, m] * pose[k, m]
            turn[i, k] = total
    return log_rotation(turn)


@allocating_kernel
def begin(state: Array, pose: Array) -> None:
    """Take a pose for where the hand rests."""
    state[:] = 0.0
    state[SMOOTH] = pose
    state[RAW] = pose


@kernel
def _memory_s(surprise: Array) -> float:
    """Return how long the past counts: longer while all that is new may well be noise."""
    way = surprise[0] ** 2 + surprise[1] ** 2 + surprise[2] ** 2
    turn = surprise[3] ** 2 + surprise[4] ** 2 + surprise[5] ** 2
    noise = max(0.0, 1.0 - way / _NOISE_M**2 - turn / _NOISE_RAD**2)
    return _MEMORY_S + noise * (_MEMORY_OF_NOISE_S - _MEMORY_S)


@allocating_kernel
def observe(state: Array, pose: Array, seconds: float, jump_m: float, jump_rad: float) -> int:
    """Take a new frame's pose, so long after the last; return FINE or JUMPED.

    A device that jumped is taken for where it is now, at rest: the operator may press again.
    """
    raw, twist = state[RAW], state[TWIST].ravel()[:6]
    turn = turn_between(raw, pose)
    way = 0.0
    for i in range(3):
        way += (pose[i, 3] - raw[i, 3]) ** 2
    angle = math.sqrt(turn[0] ** 2 + turn[1] ** 2 + turn[2] ** 2)
    if math.sqrt(way) > jump_m or angle > jump_rad:
        begin(state, pose)
        return JUMPED
    state[RAW] = pose
    if seconds < _LEAST_FRAME_S:
        return FINE
    expected = state[EXPECTED]
    write_moved(state[SMOOTH], twist, seconds, expected)
    surprise = twist.copy()
    surprise[3:] = turn_between(expected, pose)
    for i in range(3):
        surprise[i] = pose[i, 3] - expected[i, 3]
    kept = math.exp(-seconds / _memory_s(surprise))
    write_moved(expected, surprise, 1.0 - kept * kept, state[SMOOTH])
    for i in range(6):
        twist[i] += (1.0 - kept) ** 2 / seconds * surprise[i]
    return FINE
