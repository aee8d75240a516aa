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

"""Compiled exact Hessian of the cost of pose tasks.

The curvature of a point follows K. Erleben and S. Andrews, "Solving inverse kinematics using exact
Hessian matrices", 2018, equation 43: d2p / dq_i dq_j = w_i x J_j for i an ancestor of j. That of a
rotation is the derivative of the logarithm: a link's turn by w changes e_r by -Jr^-1(e_r) w.
Both are summed over the tasks beyond a body once, as composites, and not per pair of columns.
"""

import math

import numpy as np

from vr_ik.kinematics.compiled import allocating_kernel, kernel
from vr_ik.kinematics.objective import write_composites
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


@allocating_kernel
def gradient_and_hessian(
    body_ints: Ints,
    column_ints: Ints,
    nv: int,
    columns: Array,
    task_bodies: Ints,
    weights: Array,
    residuals: Array,
) -> tuple[Array, Array]:
    """Return the gradient (nv,) and the exact Hessian (nv, nv) of the cost.

    `columns` and `residuals` are about one reference point; the root's rotations are taken along
    the exponential map, its translation along its own axes.
    """
    composites = np.empty((body_ints.shape[0], 16))
    write_composites(body_ints, task_bodies, weights, residuals, composites)
    bends = _bends(body_ints, column_ints, columns, task_bodies, weights, residuals, composites)
    floating = body_ints.shape[0] > 0 and body_ints[0, KIND] == FREE
    gradient = np.zeros(nv)
    matrix = np.zeros((nv, nv))
    for column in range(column_ints.shape[0]):
        c = composites[column_ints[column, COLUMN_BODY]]
        dof = column_ints[column, COLUMN_DOF]
        gradient[dof] -= _dot(columns[column], c[10:], 6)
        force = _inertia_times(c, columns[column])
        ancestor = column
        while ancestor >= 0:
            bend = _dot(columns[ancestor, 3:], bends[column], 3)
            if floating and column < 6 and ancestor >= 3:
                # Both are rotations of the root: neither comes before the other.
                bend = 0.5 * (bend + _dot(columns[column, 3:], bends[ancestor], 3))
            value = _dot(columns[ancestor], force, 6) + bend
            other = column_ints[ancestor, COLUMN_DOF]
            matrix[dof, other] += value
            if ancestor != column:
                matrix[other, dof] += value
            ancestor = column_ints[ancestor, COLUMN_PARENT]
    return gradient, matrix


@kernel
def _dot(a: Array, b: Array, n: int) -> float:
    total = 0.0
    for i in range(n):
        total += a[i] * b[i]
    return total


@allocating_kernel
def _inertia_times(c: Array, s: Array) -> Array:
    """Return force and torque (6) of a composite's inertia moving with a column."""
    f = np.empty(6)
    f[0] = c[0] * s[0] + s[4] * c[3] - s[5] * c[2]
    f[1] = c[0] * s[1] + s[5] * c[1] - s[3] * c[3]
    f[2] = c[0] * s[2] + s[3] * c[2] - s[4] * c[1]
    f[3] = c[2] * s[2] - c[3] * s[1] + c[4] * s[3] + c[7] * s[4] + c[8] * s[5]
    f[4] = c[3] * s[0] - c[1] * s[2] + c[7] * s[3] + c[5] * s[4] + c[9] * s[5]
    f[5] = c[1] * s[1] - c[2] * s[0] + c[8] * s[3] + c[9] * s[4] + c[6] * s[5]
    return f


@allocating_kernel
def _bends(
    body_ints: Ints,
    column_ints: Ints,
    columns: Array,
    task_bodies: Ints,
    weights: Array,
    residuals: Array,
    composites: Array,
) -> Array:
    """Return for each column j the vector b_j such that an ancestor i adds w_i . b_j."""
    curvatures = _curvature_composites(body_ints, task_bodies, weights, residuals)
    bends = np.empty((column_ints.shape[0], 3))
    for column in range(column_ints.shape[0]):
        body = column_ints[column, COLUMN_BODY]
        m = curvatures[body]
        s = columns[column]
        force = composites[body, 10:13]
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            v_cross_force = s[j] * force[k] - s[k] * force[j]
            bends[column, i] = m[i, 0] * s[3] + m[i, 1] * s[4] + m[i, 2] * s[5] - v_cross_force
    return bends


@allocating_kernel
def _curvature_composites(
    body_ints: Ints, task_bodies: Ints, weights: Array, residuals: Array
) -> Array:
    """Return (n_bodies, 3, 3), the sum of the tasks' curvatures on each body and beyond it."""
    curvatures = np.zeros((body_ints.shape[0], 3, 3))
    for task in range(task_bodies.shape[0]):
        if task_bodies[task] >= 0:
            _add_task_curvature(weights[task], residuals[task], curvatures[task_bodies[task]])
    for body in range(body_ints.shape[0] - 1, 0, -1):
        parent = body_ints[body, PARENT]
        if parent >= 0:
            curvatures[parent] += curvatures[body]
    return curvatures


@kernel
def _add_task_curvature(weights: Array, residual: Array, m: Array) -> None:
    """Add w_p (p.e 1 - p e^T) and w_r (1/2 [e]x + c [e]x^2) of one task."""
    p, e, r = residual[:3], residual[3:6], residual[6:]
    p_dot_e = _dot(p, e, 3)
    square = _dot(r, r, 3)
    half = 0.5 * math.sqrt(square)
    # (1 - h cot h) / (2h)^2, whose limit at zero is 1/12.
    c = (1.0 - half / math.tan(half)) / square if square > 1e-8 else 1.0 / 12.0
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        m[i, i] += weights[0] * p_dot_e - weights[1] * c * square
        m[i, j] -= weights[1] * 0.5 * r[k]
        m[i, k] += weights[1] * 0.5 * r[j]
        for n in range(3):
            m[i, n] += weights[1] * c * r[i] * r[n] - weights[0] * p[i] * e[n]
