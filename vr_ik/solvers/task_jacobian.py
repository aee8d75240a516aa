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

"""Compiled dense Jacobian of all tasks of a tree, and its singular value decomposition."""

import math

from vr_ik.kinematics.compiled import kernel
from vr_ik.kinematics.kernels import last_column
from vr_ik.kinematics.tree import COLUMN_DOF, COLUMN_PARENT, Ints
from vr_ik.solvers.svd import orthogonalize
from vr_ik.types import Array

# A task's rows in the Jacobian: position, then orientation.
TASK_ROWS = 6


@kernel
def write_task_jacobian(
    body_ints: Ints,
    column_ints: Ints,
    columns: Array,
    task_bodies: Ints,
    weights: Array,
    residuals: Array,
    jacobian: Array,
    error: Array,
) -> None:
    """Write J (6 m, nv) and e (6 m), rows weighted by the square roots of the tasks' weights."""
    jacobian[:] = 0.0
    for task in range(task_bodies.shape[0]):
        r = residuals[task]
        px, py, pz = r[0], r[1], r[2]
        position, orientation = math.sqrt(weights[task, 0]), math.sqrt(weights[task, 1])
        row = TASK_ROWS * task
        for i in range(3):
            error[row + i] = position * r[3 + i]
            error[row + 3 + i] = orientation * r[6 + i]
        column = last_column(body_ints, task_bodies[task]) if task_bodies[task] >= 0 else -1
        while column >= 0:
            s = columns[column]
            dof = column_ints[column, COLUMN_DOF]
            jacobian[row, dof] += position * (s[0] + s[4] * pz - s[5] * py)
            jacobian[row + 1, dof] += position * (s[1] + s[5] * px - s[3] * pz)
            jacobian[row + 2, dof] += position * (s[2] + s[3] * py - s[4] * px)
            jacobian[row + 3, dof] += orientation * s[3]
            jacobian[row + 4, dof] += orientation * s[4]
            jacobian[row + 5, dof] += orientation * s[5]
            column = column_ints[column, COLUMN_PARENT]


@kernel
def decompose(jacobian: Array, rotation: Array, x: Array, values: Array) -> None:
    """Write the singular values (r,) of J and the vectors on both of its sides, by rows.

    Where J has no more rows than columns, `rotation` (r, r) gets the left singular vectors and
    `x` the right ones; else the other way round. `rotation` on entry is any orthogonal matrix;
    the nearer it is to the result, the less there is to do.
    """
    wide = jacobian.shape[0] <= jacobian.shape[1]
    for i in range(x.shape[0]):
        for k in range(x.shape[1]):
            total = 0.0
            for j in range(x.shape[0]):
                total += rotation[i, j] * (jacobian[j, k] if wide else jacobian[k, j])
            x[i, k] = total
    orthogonalize(x, rotation)
    for i in range(x.shape[0]):
        square = 0.0
        for k in range(x.shape[1]):
            square += x[i, k] * x[i, k]
        values[i] = math.sqrt(square)
        if square > 0.0:
            for k in range(x.shape[1]):
                x[i, k] /= values[i]


@kernel
def sum_of_lengths(vector: Array) -> float:
    """Return the sum over all tasks of the length of their entries."""
    total = 0.0
    for task in range(0, vector.shape[0], TASK_ROWS):
        square = 0.0
        for row in range(task, task + TASK_ROWS):
            square += vector[row] * vector[row]
        total += math.sqrt(square)
    return total
