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

"""Joint limits of FABRIK by points and lines: cones by conic section, twist and hinges.

A. Aristidou and J. Lasenby, "FABRIK: a fast, iterative solver for the inverse kinematics problem",
2011, section 4.3. A bone has a frame (9, by rows) whose z points along it. Directions here are
unit vectors in the frame that the bone has at rest, so that rest is (0, 0, 1).
"""

import math

from vr_ik.kinematics.compiled import kernel
from vr_ik.types import Array

_HALF_PI = 0.5 * math.pi
# Below this cosine of the angle to the cone's axis, the section is taken no nearer to the joint.
_NEAREST_SECTION = 1e-6


@kernel
def limit_to_cone(x: float, y: float, z: float, angles: Array) -> tuple[float, float, float]:
    """Return the direction nearest to (x, y, z) within an irregular cone; algorithm 3.

    `angles` (4) are theta_1 to theta_4 [rad] towards +x, +y, -x and -y, from 0 to pi. The section
    across the axis is made of quarters of ellipses with half axes q_j = S tan(theta_j), figure 4.
    Where both angles of a quarter exceed a right angle, the cone is what is forbidden, on the
    other side (figure 6a); where one does, the section is no ellipse, and the angle from the axis
    is limited instead. A direction on the wrong side is reflected first (figure 6b).
    """
    across = angles[0] if x >= 0.0 else angles[2]
    along = angles[1] if y >= 0.0 else angles[3]
    if across < _HALF_PI and along < _HALF_PI:
        section = max(abs(z), _NEAREST_SECTION)
        a, b = section * math.tan(across), section * math.tan(along)
        if z > 0.0 and _in_ellipse(x, y, a, b):
            return x, y, z
        u, v = nearest_on_ellipse(x, y, a, b)
        return _unit(u, v, section)
    if across > _HALF_PI and along > _HALF_PI:
        section = max(-z, _NEAREST_SECTION)
        a, b = section * math.tan(math.pi - across), section * math.tan(math.pi - along)
        if z >= 0.0 or not _in_ellipse(x, y, a, b):
            return x, y, z
        u, v = nearest_on_ellipse(x, y, a, b)
        return _unit(u, v, -section)
    return _limit_angle(x, y, z, across, along)


@kernel
def _in_ellipse(x: float, y: float, a: float, b: float) -> bool:
    # The half axes count one by one too: without one of them the equation holds for too much.
    return abs(x) <= a and abs(y) <= b and x * x * b * b + y * y * a * a <= a * a * b * b


@kernel
def _unit(x: float, y: float, z: float) -> tuple[float, float, float]:
    norm = math.sqrt(x * x + y * y + z * z)
    return x / norm, y / norm, z / norm


@kernel
def _limit_angle(
    x: float, y: float, z: float, across: float, along: float
) -> tuple[float, float, float]:
    """Limit the angle from the axis, on an ellipse of angles, and keep the side."""
    side = math.sqrt(x * x + y * y)
    if side == 0.0:
        if z > 0.0:
            return x, y, z
        x, side = 1.0, 1.0
    c, s = x / side, y / side
    if across * along == 0.0:
        limit = across if abs(c) > abs(s) else along
    else:
        limit = 1.0 / math.sqrt((c / across) ** 2 + (s / along) ** 2)
    if math.atan2(side, z) <= limit:
        return x, y, z
    return c * math.sin(limit), s * math.sin(limit), math.cos(limit)


@kernel
def nearest_on_ellipse(x: float, y: float, a: float, b: float) -> tuple[float, float]:
    """Return the point of an ellipse with half axes a and b that is nearest to (x, y).

    With m = min(a, b)^2 it is (a a x / (s + a a - m), b b y / (s + b b - m)) for the root s > 0 of
    the ellipse's equation, which falls and is convex there: Newton's method from the left finds
    it. The differences are taken once, as near the centre s is too small to be added to m.
    """
    u, v = abs(x), abs(y)
    if a <= 0.0 or b <= 0.0:
        return (min(max(x, -a), a), 0.0) if b <= 0.0 else (0.0, min(max(y, -b), b))
    # Where f is positive for certain, so that no step can leave the branch.
    least = min(a, b) ** 2
    da, db = a * a - least, b * b - least
    s = max(a * u - da, b * v - db, 1e-12 * least)
    for _ in range(60):
        p, q = a * u / (s + da), b * v / (s + db)
        f = p * p + q * q - 1.0
        slope = 2.0 * (p * p / (s + da) + q * q / (s + db))
        if not f > 1e-15 or not slope > 0.0:
            break
        s += f / slope
    c, d = a * a * u / (s + da), b * b * v / (s + db)
    if s <= 1e-11 * least:
        # From an inner part of the longer axis the nearest point is off it.
        if a > b:
            d = b * math.sqrt(max(1.0 - (c / a) ** 2, 0.0))
        else:
            c = a * math.sqrt(max(1.0 - (d / b) ** 2, 0.0))
    return math.copysign(c, x), math.copysign(d, y)


@kernel
def limit_to_hinge(y: float, z: float, lower: float, upper: float) -> tuple[float, float]:
    """Return the direction (0, y, z) of a hinge about x, projected and limited; figure 7.

    The angle is that of the turn about x that takes rest to the direction.
    """
    angle = math.atan2(-y, z)
    if not lower <= angle <= upper:
        # Of the two ends, the one that is nearer round the circle.
        angle = lower if math.cos(angle - lower) > math.cos(angle - upper) else upper
    return -math.sin(angle), math.cos(angle)


@kernel
def write_swing(rest: Array, x: float, y: float, z: float, out: Array) -> None:
    """Write the frame `rest` turned the least so that its z becomes the unit vector (x, y, z)."""
    a, b, c = rest[2], rest[5], rest[8]
    u, v, w = b * z - c * y, c * x - a * z, a * y - b * x
    cosine = a * x + b * y + c * z
    if cosine < -1.0 + 1e-12:  # Half a turn about the frame's own x.
        for i in range(0, 9, 3):
            out[i], out[i + 1], out[i + 2] = rest[i], -rest[i + 1], -rest[i + 2]
        return
    k = 1.0 / (1.0 + cosine)
    for i in range(3):
        p, q, r = rest[i], rest[3 + i], rest[6 + i]
        inside = k * (u * p + v * q + w * r)
        out[i] = cosine * p + v * r - w * q + inside * u
        out[3 + i] = cosine * q + w * p - u * r + inside * v
        out[6 + i] = cosine * r + u * q - v * p + inside * w


@kernel
def limit_twist(swing: Array, frame: Array, lower: float, upper: float, out: Array) -> None:
    """Write `swing` turned about its z as `frame` is, within limits [rad]; algorithm 2.

    Both frames have the same z.
    """
    c = swing[0] * frame[0] + swing[3] * frame[3] + swing[6] * frame[6]
    s = swing[1] * frame[0] + swing[4] * frame[3] + swing[7] * frame[6]
    twist = min(max(math.atan2(s, c), lower), upper)
    c, s = math.cos(twist), math.sin(twist)
    for i in range(0, 9, 3):
        x, y, z = swing[i], swing[i + 1], swing[i + 2]
        out[i], out[i + 1], out[i + 2] = c * x + s * y, c * y - s * x, z
