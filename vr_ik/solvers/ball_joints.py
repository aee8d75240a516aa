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

"""Ball joints along the exponential map, where a URDF has three hinges that meet in one point.

K. Erleben and S. Andrews, "Solving inverse kinematics using exact Hessian matrices", 2018, section
4: Euler angles (4.1) lock when the first and the last axis fall together; the exponential map
(4.2, after F. S. Grassia 1998) does not. Here it is taken about where the joint is now, R exp(w),
so that its derivatives at w = 0 are turns about the axes of the moved body, and w stays small. A
step in w is then turned into angles of the three hinges, which have the limits.
"""

import math

import numpy as np

from vr_ik.kinematics.compiled import kernel
from vr_ik.kinematics.tree import (
    COLUMN_DOF,
    FIRST_COLUMN,
    Ints,
    KIND,
    MULTIPLIER,
    PARENT,
    POSITION,
    Q_INDEX,
    REVOLUTE,
    Tree,
)
from vr_ik.types import Array

# The column of `balls` that says whether a ball joint moves along the exponential map now.
MAPPED = 3

_FULL_TURN = 2.0 * math.pi
# Of an offset [m] and of the cosine between axes that should be at right angles.
_EXACT = 1e-9
# Sine of the angle between first and last axis below which the hinges are locked.
_LOCKED = 1e-9
# Where the third column and row of a rotation are in a pose row.
_COLUMN_Z, _ROW_Z, _ZZ = (2, 5, 8), (6, 7, 8), 8


def find_ball_joints(tree: Tree, task_bodies: Ints) -> Ints:
    """Return (n, 4): the bodies of each three hinges that meet at right angles, and a 1.

    The last entry says whether the ball joint moves along the exponential map now; with a 0 its
    hinges move one by one.
    """
    bodies = len(tree.body_ints)
    children = np.bincount(tree.body_ints[:, PARENT] + 1, minlength=bodies + 1)[1:]
    used = np.bincount(tree.column_ints[:, COLUMN_DOF])
    single = np.array([_is_single_hinge(tree, used, body) for body in range(bodies)], bool)
    through = single & (children == 1) & ~np.isin(np.arange(bodies), task_bodies)
    balls: list[tuple[int, int, int]] = []
    taken = np.zeros(bodies, bool)
    for last in range(bodies):
        middle = tree.body_ints[last, PARENT]
        first = tree.body_ints[middle, PARENT] if middle >= 0 else -1
        if first < 0 or taken[[first, middle, last]].any():
            continue
        hinges = single[last] and through[middle] and through[first]
        if hinges and _meets(tree, middle) and _meets(tree, last):
            balls.append((first, middle, last))
            taken[[first, middle, last]] = True
    return np.array([(*ball, 1) for ball in balls], np.int64).reshape(-1, 4)


def _is_single_hinge(tree: Tree, used: Ints, body: int) -> bool:
    """Tell whether a body turns about one axis, by an angle that is its own."""
    if tree.body_ints[body, KIND] != REVOLUTE or tree.body_floats[body, MULTIPLIER] != 1.0:
        return False
    column = tree.body_ints[body, FIRST_COLUMN]
    return bool(used[tree.column_ints[column, COLUMN_DOF]] == 1)


def _meets(tree: Tree, body: int) -> bool:
    """Tell whether a hinge's axis meets its parent's in their common origin, at a right angle."""
    placement = tree.body_floats[body]
    offset = np.abs(placement[POSITION : POSITION + 3]).max()
    return bool(offset < _EXACT and abs(placement[_ZZ]) < _EXACT)


@kernel
def map_free_balls(body_ints: Ints, joints: Array, first_q: int, q: Array, balls: Ints) -> None:
    """Let the ball joints move along the exponential map that have no hinge at its limit.

    At a limit the hinges move one by one: there only, the limit is a bound of a single coordinate.
    """
    for ball in range(balls.shape[0]):
        free = 1
        for i in range(3):
            index = body_ints[balls[ball, i], Q_INDEX]
            joint = joints[index - first_q]
            if q[index] <= joint[0] or q[index] >= joint[1]:
                free = 0
        balls[ball, MAPPED] = free


@kernel
def turn_columns(
    body_ints: Ints, poses: Array, reference: Array, balls: Ints, columns: Array
) -> None:
    """Replace the ball joints' columns by turns about the x, y and z axes of the moved body."""
    for ball in range(balls.shape[0]):
        if balls[ball, MAPPED] == 0:
            continue
        pose = poses[balls[ball, 2]]
        rx, ry, rz = pose[9] - reference[0], pose[10] - reference[1], pose[11] - reference[2]
        for axis in range(3):
            x, y, z = pose[axis], pose[3 + axis], pose[6 + axis]
            column = columns[body_ints[balls[ball, axis], FIRST_COLUMN]]
            column[0] = ry * z - rz * y
            column[1] = rz * x - rx * z
            column[2] = rx * y - ry * x
            column[3] = x
            column[4] = y
            column[5] = z


@kernel
def turn_balls(
    body_ints: Ints,
    body_floats: Array,
    column_ints: Ints,
    balls: Ints,
    joints: Array,
    first_q: int,
    q: Array,
    step: Array,
    out: Array,
) -> None:
    """Write into `out` the hinge angles of the ball joints of q, moved by their part of `step`."""
    for ball in range(balls.shape[0]):
        if balls[ball, MAPPED] == 0:
            continue
        first, middle, last = balls[ball, 0], balls[ball, 1], balls[ball, 2]
        a, b, c = body_ints[first, Q_INDEX], body_ints[middle, Q_INDEX], body_ints[last, Q_INDEX]
        x = step[column_ints[body_ints[first, FIRST_COLUMN], COLUMN_DOF]]
        y = step[column_ints[body_ints[middle, FIRST_COLUMN], COLUMN_DOF]]
        z = step[column_ints[body_ints[last, FIRST_COLUMN], COLUMN_DOF]]
        to_middle, to_last = body_floats[middle], body_floats[last]
        toward_x, toward_z = _exponential_axes(x, y, z)
        toward_x = _turned(to_middle, to_last, q[a], q[b], q[c], toward_x)
        toward_z = _turned(to_middle, to_last, q[a], q[b], q[c], toward_z)
        best = math.inf
        for sign in (1.0, -1.0):
            angles = _hinge_angles(to_middle, to_last, toward_x, toward_z, sign, q[a])
            distance = 0.0
            for index, angle in ((a, angles[0]), (b, angles[1]), (c, angles[2])):
                joint = joints[index - first_q]
                near = _nearest_turn(angle, q[index])
                outside = max(0.0, joint[0] - near, near - joint[1])
                distance += abs(near - q[index]) + _FULL_TURN * outside
            if distance < best:
                best = distance
                out[a] = _nearest_turn(angles[0], q[a])
                out[b] = _nearest_turn(angles[1], q[b])
                out[c] = _nearest_turn(angles[2], q[c])


@kernel
def _nearest_turn(angle: float, near: float) -> float:
    return angle - _FULL_TURN * round((angle - near) / _FULL_TURN)


@kernel
def _exponential_axes(
    x: float, y: float, z: float
) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """Return the images of the x and z axes under exp of the rotation vector (x, y, z)."""
    square = x * x + y * y + z * z
    angle = math.sqrt(square)
    s = math.sin(angle) / angle if angle > 1e-6 else 1.0 - square / 6.0
    c = (1.0 - math.cos(angle)) / square if angle > 1e-6 else 0.5 - square / 24.0
    return (
        (1.0 - c * (y * y + z * z), s * z + c * x * y, c * x * z - s * y),
        (s * y + c * x * z, c * y * z - s * x, 1.0 - c * (x * x + y * y)),
    )


@kernel
def _about_z(angle: float, v: tuple[float, float, float]) -> tuple[float, float, float]:
    c, s = math.cos(angle), math.sin(angle)
    return c * v[0] - s * v[1], s * v[0] + c * v[1], v[2]


@kernel
def _placed(r: Array, v: tuple[float, float, float]) -> tuple[float, float, float]:
    """Turn a vector by the rotation of a pose row."""
    return (
        r[0] * v[0] + r[1] * v[1] + r[2] * v[2],
        r[3] * v[0] + r[4] * v[1] + r[5] * v[2],
        r[6] * v[0] + r[7] * v[1] + r[8] * v[2],
    )


@kernel
def _unplaced(r: Array, v: tuple[float, float, float]) -> tuple[float, float, float]:
    """Turn a vector by the inverse of the rotation of a pose row."""
    return (
        r[0] * v[0] + r[3] * v[1] + r[6] * v[2],
        r[1] * v[0] + r[4] * v[1] + r[7] * v[2],
        r[2] * v[0] + r[5] * v[1] + r[8] * v[2],
    )


@kernel
def _turned(
    to_middle: Array,
    to_last: Array,
    a: float,
    b: float,
    c: float,
    v: tuple[float, float, float],
) -> tuple[float, float, float]:
    """Turn a vector by all three hinges."""
    v = _placed(to_last, _about_z(c, v))
    return _about_z(a, _placed(to_middle, _about_z(b, v)))


@kernel
def _hinge_angles(
    to_middle: Array,
    to_last: Array,
    toward_x: tuple[float, float, float],
    toward_z: tuple[float, float, float],
    sign: float,
    locked: float,
) -> tuple[float, float, float]:
    """Return the hinges' angles that turn x and z there; one of two solutions, by `sign`.

    Where the first and last axis fall together, the first hinge stays at the angle `locked`.
    """
    sine = math.sqrt(toward_z[0] ** 2 + toward_z[1] ** 2)
    # The last axis seen from the middle hinge, and the first: both lie in its xy plane.
    last = math.atan2(to_last[_COLUMN_Z[1]], to_last[_COLUMN_Z[0]])
    first = math.atan2(to_middle[_ROW_Z[1]], to_middle[_ROW_Z[0]])
    swing = first + sign * math.atan2(sine, toward_z[2])
    b = swing - last
    a = locked
    if sine > _LOCKED:
        t = _placed(to_middle, (math.cos(swing), math.sin(swing), 0.0))
        a = math.atan2(toward_z[1], toward_z[0]) - math.atan2(t[1], t[0])
    v = _unplaced(to_middle, _about_z(-a, toward_x))
    v = _unplaced(to_last, _about_z(-b, v))
    return a, b, math.atan2(v[1], v[0])
