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

"""Bare chains of points: the form that the geometric methods work on, and their common geometry.

A chain is an array (n, 4): position [m] of each joint from the root to the end effector, and in
the last column the length of the bone to the next joint (0 for the end effector). Units other than
metres do, if they are the same everywhere.
"""

import math

import numpy as np

from vr_ik.errors import VrIkError
from vr_ik.kinematics.compiled import kernel
from vr_ik.types import Array

LENGTH = 3
"""The column of a chain that holds the length of the bone to the next joint."""

NEAREST = 1e-140
"""Points nearer to each other [m] count as one: the squares of such distances have no digits."""

# Of the chain's length: within it, points count as lying on one line.
_STRAIGHT = 1e-6
# Of the chain's length: how far a straight chain is pulled aside lest it stay straight.
BEND = 0.05


def chain_from_points(points: Array) -> Array:
    """Return the chain through points (n, 3), root first."""
    points = np.asarray(points, np.float64)
    if points.ndim != 2 or points.shape[1] != 3 or len(points) < 2:
        raise VrIkError(f'A chain needs points of shape (2 or more, 3); got {points.shape}.')
    chain = np.zeros((len(points), 4))
    chain[:, :3] = points
    chain[:-1, LENGTH] = np.linalg.norm(np.diff(points, axis=0), axis=1)
    return chain


@kernel
def distance(a: Array, b: Array) -> float:
    """Return the distance of two points."""
    x, y, z = a[0] - b[0], a[1] - b[1], a[2] - b[2]
    return math.sqrt(x * x + y * y + z * z)


@kernel
def copy_chain(chain: Array, target: Array, out: Array) -> bool:
    """Write a copy of a chain; False where it or the target holds something not finite."""
    total = target[0] + target[1] + target[2]
    for i in range(chain.shape[0]):
        for k in range(4):
            out[i, k] = chain[i, k]
            total += chain[i, k]
    # The sum of finite numbers is finite, save for overflow, which is no target to reach either.
    return math.isfinite(total)


@kernel
def place(chain: Array, i: int, anchor: int, length: float) -> None:
    """Move point i along its line to point `anchor` until it is `length` away from it.

    Equations 5 and 6 of E. Stolpe, "Inverse kinematics for arm pose reconstruction in virtual
    reality", 2021; lines 1.24 to 1.27 of algorithm 1 of A. Aristidou and J. Lasenby, "FABRIK: a
    fast, iterative solver for the inverse kinematics problem", 2011.
    """
    x = chain[i, 0] - chain[anchor, 0]
    y = chain[i, 1] - chain[anchor, 1]
    z = chain[i, 2] - chain[anchor, 2]
    norm = math.sqrt(x * x + y * y + z * z)
    if norm > NEAREST:
        scale = length / norm
        chain[i, 0] = chain[anchor, 0] + scale * x
        chain[i, 1] = chain[anchor, 1] + scale * y
        chain[i, 2] = chain[anchor, 2] + scale * z
    else:  # The points coincide: any direction is as good.
        chain[i, 0] = chain[anchor, 0] + length


@kernel
def place_out_of_reach(chain: Array, target: Array) -> bool:
    """Lay a chain that cannot reach its target out on the line to it, as near as it gets.

    The target is too far (algorithm 1, lines 1.4 to 1.12 of Aristidou and Lasenby; equation 3 of
    Stolpe, whose inequality 2 is the wrong way round in the text), or it is too near to the root
    of a chain with one bone longer than all the others together (Stolpe, figure 5): then that bone
    points to the target, and all others back. Returns False, and does nothing, within reach.
    """
    n = chain.shape[0]
    total, longest = 0.0, 0
    for i in range(n - 1):
        total += chain[i, LENGTH]
        if chain[i, LENGTH] > chain[longest, LENGTH]:
            longest = i
    away = distance(chain[0], target)
    if away <= total and away >= 2.0 * chain[longest, LENGTH] - total:
        return False
    aim = target if away > 1e-12 * total else chain[n - 1]
    x, y, z = aim[0] - chain[0, 0], aim[1] - chain[0, 1], aim[2] - chain[0, 2]
    norm = math.sqrt(x * x + y * y + z * z)
    if norm > 0.0:
        x, y, z = x / norm, y / norm, z / norm
    else:
        x, y, z = 1.0, 0.0, 0.0
    for i in range(n - 1):
        length = chain[i, LENGTH] if away > total or i == longest else -chain[i, LENGTH]
        chain[i + 1, 0] = chain[i, 0] + length * x
        chain[i + 1, 1] = chain[i, 1] + length * y
        chain[i + 1, 2] = chain[i, 2] + length * z
    return True


@kernel
def sideways(chain: Array, target: Array) -> tuple[float, float, float]:
    """Return which way to pull a chain that lies on one line with its target; zero if it does not.

    Left alone it would stay straight for ever (Aristidou and Lasenby, section 5.4; Stolpe,
    sections 2.3.1 and 2.4.1).
    """
    n = chain.shape[0]
    x, y, z = target[0] - chain[0, 0], target[1] - chain[0, 1], target[2] - chain[0, 2]
    if x * x + y * y + z * z == 0.0:
        x, y, z = chain[1, 0] - chain[0, 0], chain[1, 1] - chain[0, 1], chain[1, 2] - chain[0, 2]
    total, widest = 0.0, 0.0
    for i in range(1, n):
        total += chain[i - 1, LENGTH]
        a, b, c = chain[i, 0] - chain[0, 0], chain[i, 1] - chain[0, 1], chain[i, 2] - chain[0, 2]
        u, v, w = y * c - z * b, z * a - x * c, x * b - y * a
        widest = max(widest, u * u + v * v + w * w)
    square = x * x + y * y + z * z
    if widest > _STRAIGHT * _STRAIGHT * total * total * square or n < 3:
        return 0.0, 0.0, 0.0
    # Across the line, and as far as possible from its largest component.
    if abs(x) <= abs(y) and abs(x) <= abs(z):
        a, b, c = 0.0, z, -y
    elif abs(y) <= abs(z):
        a, b, c = -z, 0.0, x
    else:
        a, b, c = y, -x, 0.0
    norm = math.sqrt(a * a + b * b + c * c)
    scale = BEND * total / norm if norm > 0.0 else 0.0
    return scale * a, scale * b, scale * c


@kernel
def turn_between(
    ax: float, ay: float, az: float, bx: float, by: float, bz: float, limit: float
) -> tuple[float, float, float, float, float]:
    """Return the smallest turn that takes direction a towards b, by `limit` [rad] at most.

    Equations 12 and 13 of Stolpe: the unit axis, the sine and the cosine. Where a and b are
    opposite, the axis is any across them.
    """
    x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    dot = ax * bx + ay * by + az * bz
    size = math.sqrt((ax * ax + ay * ay + az * az) * (bx * bx + by * by + bz * bz))
    cross = math.sqrt(x * x + y * y + z * z)
    if not size > 0.0 or (cross <= 1e-16 * size and dot > 0.0):
        return 1.0, 0.0, 0.0, 0.0, 1.0
    sine, cosine = cross / size, dot / size
    if cosine < 0.0 and sine < 1e-9:
        x, y, z = (0.0, az, -ay) if abs(ax) <= min(abs(ay), abs(az)) else (ay, -ax, 0.0)
        cross = math.sqrt(x * x + y * y + z * z)
        if cross == 0.0:
            x, cross = 1.0, 1.0
        sine, cosine = 0.0, -1.0
    if limit < math.pi and cosine < math.cos(limit):
        sine, cosine = math.sin(limit), math.cos(limit)
    return x / cross, y / cross, z / cross, sine, cosine


@kernel
def turn_chain(
    chain: Array, pivot: int, x: float, y: float, z: float, sine: float, cosine: float
) -> None:
    """Turn all points after `pivot` about it; equation 14 of Stolpe."""
    for i in range(pivot + 1, chain.shape[0]):
        a = chain[i, 0] - chain[pivot, 0]
        b = chain[i, 1] - chain[pivot, 1]
        c = chain[i, 2] - chain[pivot, 2]
        along = (1.0 - cosine) * (a * x + b * y + c * z)
        chain[i, 0] = chain[pivot, 0] + cosine * a + sine * (y * c - z * b) + along * x
        chain[i, 1] = chain[pivot, 1] + cosine * b + sine * (z * a - x * c) + along * y
        chain[i, 2] = chain[pivot, 2] + cosine * c + sine * (x * b - y * a) + along * z


@kernel
def restore_lengths(chain: Array) -> None:
    """Give every bone its length again, from the root on, and keep its direction."""
    shift_x, shift_y, shift_z = 0.0, 0.0, 0.0
    for i in range(1, chain.shape[0]):
        old_x, old_y, old_z = chain[i, 0], chain[i, 1], chain[i, 2]
        chain[i, 0] += shift_x
        chain[i, 1] += shift_y
        chain[i, 2] += shift_z
        place(chain, i, i - 1, chain[i - 1, LENGTH])
        shift_x, shift_y, shift_z = chain[i, 0] - old_x, chain[i, 1] - old_y, chain[i, 2] - old_z
