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

"""Compiled moves of a single joint in closed form, and of a rigid body onto points.

A hinge that turns by d about the unit axis z through o takes a point a (from o) to where
b . R(d) a = A sin d + B cos d + const, with A = z . (a x b) and B = a . b - (a . z)(b . z). So the
turn that brings any number of weighted points a nearest to points b is atan2(sum A, sum B), and
within limits the best value is that one or the better of the two limits. This is the step of
cyclic coordinate descent for hinges (L.-C. T. Wang and C. C. Chen, 1991, equations 13 to 18).
"""

import math

from vr_ik.kinematics.compiled import kernel
from vr_ik.types import Array

_FULL_TURN = 2.0 * math.pi


@kernel
def turn_terms(
    axis: Array, ax: float, ay: float, az: float, bx: float, by: float, bz: float
) -> tuple[float, float]:
    """Return A and B of one point; `axis` is a pose (12) whose z is the axis."""
    x, y, z = axis[2], axis[5], axis[8]
    sine = x * (ay * bz - az * by) + y * (az * bx - ax * bz) + z * (ax * by - ay * bx)
    cosine = ax * bx + ay * by + az * bz - (ax * x + ay * y + az * z) * (bx * x + by * y + bz * z)
    return sine, cosine


@kernel
def frame_turn_terms(axis: Array, frame: Array, target: Array) -> tuple[float, float]:
    """Return A and B for a frame (12) to have the orientation of a target (4, 4), per rad^2.

    1 - cos of the angle between two frames is half the sum over their axes of 1 - a . b.
    """
    sine, cosine = 0.0, 0.0
    for i in range(3):
        s, c = turn_terms(
            axis, frame[i], frame[3 + i], frame[6 + i], target[0, i], target[1, i], target[2, i]
        )
        sine, cosine = sine + 0.5 * s, cosine + 0.5 * c
    return sine, cosine


@kernel
def best_turn(value: float, sine: float, cosine: float, lower: float, upper: float) -> float:
    """Return the joint value within limits that maximises A sin d + B cos d, d from `value`."""
    turn = math.atan2(sine, cosine)
    best = value + turn
    if best > upper and best - _FULL_TURN >= lower:
        best -= _FULL_TURN
    elif best < lower and best + _FULL_TURN <= upper:
        best += _FULL_TURN
    if lower <= best <= upper:
        return best
    at_lower = sine * math.sin(lower - value) + cosine * math.cos(lower - value)
    at_upper = sine * math.sin(upper - value) + cosine * math.cos(upper - value)
    return lower if at_lower > at_upper else upper


@kernel
def turn_pose(
    pose: Array,
    pivot: Array,
    x: float,
    y: float,
    z: float,
    sine: float,
    cosine: float,
) -> None:
    """Turn a pose (12) about a unit axis through the origin of the pose `pivot`."""
    ox, oy, oz = pivot[9], pivot[10], pivot[11]
    for k in range(4):
        first, step = (k, 3) if k < 3 else (9, 1)
        a, b, c = pose[first], pose[first + step], pose[first + 2 * step]
        if k == 3:
            a, b, c = a - ox, b - oy, c - oz
        along = (1.0 - cosine) * (a * x + b * y + c * z)
        u = cosine * a + sine * (y * c - z * b) + along * x
        v = cosine * b + sine * (z * a - x * c) + along * y
        w = cosine * c + sine * (x * b - y * a) + along * z
        if k == 3:
            u, v, w = u + ox, v + oy, w + oz
        pose[first], pose[first + step], pose[first + 2 * step] = u, v, w


@kernel
def to_world(pose: Array, x: float, y: float, z: float) -> tuple[float, float, float]:
    """Return a point of a pose (12) in the world."""
    return (
        pose[9] + pose[0] * x + pose[1] * y + pose[2] * z,
        pose[10] + pose[3] * x + pose[4] * y + pose[5] * z,
        pose[11] + pose[6] * x + pose[7] * y + pose[8] * z,
    )


@kernel
def to_local(pose: Array, x: float, y: float, z: float) -> tuple[float, float, float]:
    """Return a point of the world in a pose (12)."""
    a, b, c = x - pose[9], y - pose[10], z - pose[11]
    return (
        pose[0] * a + pose[3] * b + pose[6] * c,
        pose[1] * a + pose[4] * b + pose[7] * c,
        pose[2] * a + pose[5] * b + pose[8] * c,
    )


@kernel
def carry_pose(old: Array, new: Array, pose: Array, out: Array) -> None:
    """Write where a pose (12) goes that is rigid on a body when that moves from old to new."""
    x, y, z = to_local(old, pose[9], pose[10], pose[11])
    out[9], out[10], out[11] = to_world(new, x, y, z)
    for i in range(3):
        x, y, z = to_local(old, pose[i] + old[9], pose[3 + i] + old[10], pose[6 + i] + old[11])
        a, b, c = to_world(new, x, y, z)
        out[i], out[3 + i], out[6 + i] = a - new[9], b - new[10], c - new[11]


@kernel
def fit_rotation(spread: Array, rotation: Array) -> None:
    """Turn `rotation` (9, by rows) so that it maximises the trace of R S, S = sum of w a b^T.

    With a in the body and b in the world, both from their centroids, that is the rigid motion that
    brings the points a nearest to b (Wahba's problem). It is climbed by turns about the body's x,
    y and z in closed form, from where the body is: what the points leave open stays as it was.
    """
    for _ in range(12):
        largest = 0.0
        for axis in range(3):
            i, j = (axis + 1) % 3, (axis + 2) % 3
            sine = _product(spread, rotation, i, j) - _product(spread, rotation, j, i)
            cosine = _product(spread, rotation, i, i) + _product(spread, rotation, j, j)
            size = math.sqrt(sine * sine + cosine * cosine)
            if not size > 1e-300:
                continue
            s, c = sine / size, cosine / size
            for row in range(0, 9, 3):
                a, b = rotation[row + i], rotation[row + j]
                rotation[row + i] = c * a + s * b
                rotation[row + j] = c * b - s * a
            largest = max(largest, abs(s), 1.0 - c)
        if largest < 1e-9:
            break


@kernel
def _product(a: Array, b: Array, i: int, j: int) -> float:
    """Return entry (i, j) of the product of two (3, 3) matrices by rows."""
    return a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j]
