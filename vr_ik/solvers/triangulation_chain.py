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

"""Triangulation on a bare chain of points: one pass from the root, by the cosine rule.

R. Mueller-Cajar and R. Mukundan, "Triangulation: a new algorithm for inverse kinematics", 2007, as
A. Aristidou and J. Lasenby tell it in section 2 of "FABRIK: a fast, iterative solver for the
inverse kinematics problem", 2011.
"""

import math

from vr_ik.kinematics.compiled import kernel
from vr_ik.solvers.chains import copy_chain, distance, LENGTH, NEAREST
from vr_ik.types import Array

PATIENCE = 100
"""Iterations in which another method must halve its distance, or this one takes over from it."""


@kernel
def triangulation_chain(chain: Array, target: Array, out: Array) -> tuple[int, float]:
    """Write `chain` (n, 4) moved so that its end is at the target; return 1 and the distance.

    At each joint the bone (a), all further bones in a straight line (b) and the way to the target
    (c) make a triangle, if they can: the bone turns, in the plane that it makes with the target,
    to the angle that the cosine rule gives it. Where the rest is too short, the bone points to the
    target; where it is too long, away from it. That reaches whatever is within reach. `out` may be
    `chain`.
    """
    n = chain.shape[0]
    if not copy_chain(chain, target, out):
        return 0, math.inf
    rest = 0.0
    for i in range(n - 1):
        rest += chain[i, LENGTH]
    x, y, z = out[0, 0], out[0, 1], out[0, 2]
    for i in range(n - 1):
        rest = max(rest - out[i, LENGTH], 0.0)
        next_x, next_y, next_z = out[i + 1, 0], out[i + 1, 1], out[i + 1, 2]
        _aim_bone(out, i, next_x - x, next_y - y, next_z - z, rest, target)
        x, y, z = next_x, next_y, next_z
    return 1, distance(out[n - 1], target)


@kernel
def _aim_bone(
    out: Array, i: int, bx: float, by: float, bz: float, rest: float, target: Array
) -> None:
    """Place the end of bone i, which points along b before; all beyond it reaches `rest` [m]."""
    a = out[i, LENGTH]
    x, y, z = target[0] - out[i, 0], target[1] - out[i, 1], target[2] - out[i, 2]
    c = math.sqrt(x * x + y * y + z * z)
    if c <= NEAREST:
        x, y, z, c = bx, by, bz, a
        along, across = 1.0, 0.0
    else:
        along, across = triangle_angle(a, rest, c)
    x, y, z = (x / c, y / c, z / c) if c > 0.0 else (1.0, 0.0, 0.0)
    ux, uy, uz = unit_across(bx, by, bz, x, y, z)
    out[i + 1, 0] = out[i, 0] + a * (along * x + across * ux)
    out[i + 1, 1] = out[i, 1] + a * (along * y + across * uy)
    out[i + 1, 2] = out[i, 2] + a * (along * z + across * uz)


@kernel
def triangle_angle(a: float, b: float, c: float) -> tuple[float, float]:
    """Return cosine and sine of the angle between sides a and c of a triangle.

    Where b is too short for one, the angle is zero; where it is too long, a half turn.
    """
    if c >= a + b or a >= b + c or a * c == 0.0:
        return 1.0, 0.0
    if b >= a + c:
        return -1.0, 0.0
    cosine = (a * a + c * c - b * b) / (2.0 * a * c)
    cosine = min(max(cosine, -1.0), 1.0)
    return cosine, math.sqrt(1.0 - cosine * cosine)


@kernel
def unit_across(
    x: float, y: float, z: float, ax: float, ay: float, az: float
) -> tuple[float, float, float]:
    """Return the direction of (x, y, z) across the unit vector a; any across where it is along."""
    along = x * ax + y * ay + z * az
    u, v, w = x - along * ax, y - along * ay, z - along * az
    norm = math.sqrt(u * u + v * v + w * w)
    if norm <= 1e-9 * math.sqrt(x * x + y * y + z * z) or norm == 0.0:
        if abs(ax) <= abs(ay) and abs(ax) <= abs(az):
            u, v, w = 0.0, az, -ay
        elif abs(ay) <= abs(az):
            u, v, w = -az, 0.0, ax
        else:
            u, v, w = ay, -ax, 0.0
        norm = math.sqrt(u * u + v * v + w * w)
    return u / norm, v / norm, w / norm
