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

"""Compiled curvature of the cost of pose tasks, added to the Gauss-Newton matrix; no allocation.

Together they are the exact Hessian of K. Erleben and S. Andrews, "Solving inverse kinematics using
exact Hessian matrices", 2018, equation 14: H = J^T J - K : r, with K_ij = w_i x J_j for i an
ancestor of j (equations 23 and 43, Table 2; a slide has no w, so nothing below it bends). It
couples a dof with its ancestors only, and so fills the same pattern as J^T J; see `tree`.
"""

import math

from vr_ik.kinematics.compiled import kernel
from vr_ik.kinematics.tree import (
    COLUMN_BODY,
    COLUMN_DOF,
    COLUMN_PARENT,
    FREE,
    Ints,
    KIND,
    PARENT,
)
from vr_ik.types import Array

# A body's row: the sum of the curvatures of all tasks on it and beyond it, (3, 3) by rows.
CURVATURE = 9
# The first rotation among the columns of a floating root.
_ROOT_TURN = 3


@kernel
def write_curvatures(
    body_ints: Ints, task_bodies: Ints, weights: Array, residuals: Array, curvatures: Array
) -> None:
    """Write for each body the curvature of all tasks on it and beyond it."""
    curvatures[:] = 0.0
    for task in range(task_bodies.shape[0]):
        if task_bodies[task] >= 0:
            _add_task(weights[task], residuals[task], curvatures[task_bodies[task]])
    for body in range(body_ints.shape[0] - 1, 0, -1):
        parent = body_ints[body, PARENT]
        if parent >= 0:
            for i in range(CURVATURE):
                curvatures[parent, i] += curvatures[body, i]


@kernel
def _add_task(weights: Array, residual: Array, m: Array) -> None:
    """Add w_p (p.e 1 - p e^T) and w_r (1/2 [e]x + c [e]x^2) of one task.

    The second is the derivative of the logarithm: a link's turn by w changes e by -Jr^-1(e) w.
    """
    if weights[0] > 0.0:
        p_dot_e = _dot(residual[:3], residual[3:6])
        for i in range(3):
            m[4 * i] += weights[0] * p_dot_e
            for n in range(3):
                m[3 * i + n] -= weights[0] * residual[i] * residual[3 + n]
    if weights[1] > 0.0:
        r = residual[6:]
        square = _dot(r, r)
        half = 0.5 * math.sqrt(square)
        # (1 - h cot h) / (2h)^2, whose limit at zero is 1/12.
        c = (1.0 - half / math.tan(half)) / square if square > 1e-8 else 1.0 / 12.0
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            m[4 * i] -= weights[1] * c * square
            m[3 * i + j] -= weights[1] * 0.5 * r[k]
            m[3 * i + k] += weights[1] * 0.5 * r[j]
            for n in range(3):
                m[3 * i + n] += weights[1] * c * r[i] * r[n]


@kernel
def write_bends(
    column_ints: Ints, columns: Array, composites: Array, curvatures: Array, bends: Array
) -> None:
    """Write for each column j the vector b_j (3) such that an ancestor i adds w_i . b_j."""
    for column in range(column_ints.shape[0]):
        body = column_ints[column, COLUMN_BODY]
        if body < 0:
            continue
        m = curvatures[body]
        s = columns[column]
        force = composites[body, 10:13]
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            turned = m[3 * i] * s[3] + m[3 * i + 1] * s[4] + m[3 * i + 2] * s[5]
            bends[column, i] = turned - (s[j] * force[k] - s[k] * force[j])


@kernel
def add_curvature(
    column_ints: Ints, paths: Ints, columns: Array, bends: Array, matrix: Array
) -> None:
    """Add the curvature to the matrix that `write_normal_equations` has written."""
    for column in range(column_ints.shape[0]):
        if column_ints[column, COLUMN_BODY] < 0:
            continue
        dof = column_ints[column, COLUMN_DOF]
        matrix[dof, paths[dof, 0]] += _dot(columns[column, 3:], bends[column])
        ancestor = column_ints[column, COLUMN_PARENT]
        while ancestor >= 0:
            value = _dot(columns[ancestor, 3:], bends[column])
            other = column_ints[ancestor, COLUMN_DOF]
            if other == dof:  # Both columns belong to one dof: a mimic pair in one chain.
                value *= 2.0
            matrix[max(dof, other), paths[min(dof, other), 0]] += value
            ancestor = column_ints[ancestor, COLUMN_PARENT]


@kernel
def share_curvature(
    column_ints: Ints,
    paths: Ints,
    columns: Array,
    bends: Array,
    earlier: int,
    later: int,
    matrix: Array,
) -> None:
    """Correct a pair of columns that turn one body along the exponential map.

    Neither comes before the other: their second derivative is the mean of both orders.
    """
    first = _dot(columns[earlier, 3:], bends[later])
    second = _dot(columns[later, 3:], bends[earlier])
    dof, other = column_ints[later, COLUMN_DOF], column_ints[earlier, COLUMN_DOF]
    matrix[max(dof, other), paths[min(dof, other), 0]] += 0.5 * (second - first)


@kernel
def share_root_turns(
    body_ints: Ints, column_ints: Ints, paths: Ints, columns: Array, bends: Array, matrix: Array
) -> None:
    """Correct the rotations of a floating root, which are taken along the exponential map."""
    if body_ints.shape[0] > 0 and body_ints[0, KIND] == FREE:
        a = _ROOT_TURN
        share_curvature(column_ints, paths, columns, bends, a, a + 1, matrix)
        share_curvature(column_ints, paths, columns, bends, a, a + 2, matrix)
        share_curvature(column_ints, paths, columns, bends, a + 1, a + 2, matrix)


@kernel
def write_dense(paths: Ints, matrix: Array, dense: Array) -> None:
    """Write the symmetric matrix (n, n) of what is stored by paths."""
    dense[:] = 0.0
    for k in range(paths.shape[0]):
        depth = paths[k, 0]
        for a in range(depth):
            other = paths[k, a + 1]
            dense[k, other] = matrix[k, a]
            dense[other, k] = matrix[k, a]
        dense[k, k] = matrix[k, depth]


@kernel
def _dot(a: Array, b: Array) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
