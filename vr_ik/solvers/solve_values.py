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

"""Start and result of a compiled solve: statuses, buffers, what is finite, what is met."""

import math

from vr_ik.kinematics.compiled import inlined_kernel, kernel
from vr_ik.kinematics.tree import Ints
from vr_ik.types import Array, Status

CONVERGED = float(Status.CONVERGED)
LIMITED = float(Status.LIMITED)
STALLED = float(Status.STALLED)
UNREACHABLE = float(Status.UNREACHABLE)
FAILED = float(Status.FAILED)


@inlined_kernel
def take(work: Array, start: int, rows: int, width: int) -> Array:
    """Return a matrix in the work space."""
    return work[start : start + rows * width].reshape((rows, width))


@kernel
def copy(source: Array, out: Array) -> None:
    """Write the values of `source`."""
    for i in range(source.shape[0]):
        out[i] = source[i]


@kernel
def _all_finite(values: Array) -> bool:
    for value in values:
        if not math.isfinite(value):
            return False
    return True


@kernel
def poses_finite(poses: Array) -> bool:
    """Tell whether all entries of poses (m, 4, 4) that matter are numbers."""
    for i in range(poses.shape[0]):
        for row in range(3):
            if not _all_finite(poses[i, row]):
                return False
    return True


@kernel
def errors_within(residuals: Array, weights: Array, position: float, orientation: float) -> bool:
    """Tell whether every task with a weight is within tolerance."""
    for task in range(residuals.shape[0]):
        r = residuals[task]
        if weights[task, 0] > 0.0 and r[3] ** 2 + r[4] ** 2 + r[5] ** 2 > position * position:
            return False
        if weights[task, 1] > 0.0 and r[6] ** 2 + r[7] ** 2 + r[8] ** 2 > orientation**2:
            return False
    return True


@kernel
def shapes_fit(task_bodies: Ints, targets: Array, q_start: Array, values: Array) -> bool:
    """Tell whether targets and q_start have the shapes that the solver was made for."""
    tasks = task_bodies.shape[0]
    return targets.shape == (tasks, 4, 4) and q_start.shape[0] == values.shape[0] - 3 - 2 * tasks


@kernel
def write_start(q_start: Array, first_q: int, joints: Array, q: Array) -> bool:
    """Write a valid start: within limits, unit quaternion; False where q_start is not finite."""
    finite = _all_finite(q_start)
    for i in range(q.shape[0]):
        q[i] = q_start[i] if finite else 0.0
    if first_q == 7:
        norm = math.sqrt(q[3] ** 2 + q[4] ** 2 + q[5] ** 2 + q[6] ** 2)
        if norm < 1e-9:
            q[6] = 1.0
            norm = 1.0
        for i in range(3, 7):
            q[i] /= norm
    for j in range(joints.shape[0]):
        q[first_q + j] = min(max(q[first_q + j], joints[j, 0]), joints[j, 1])
    return finite


@kernel
def write_result(
    q: Array, status: float, iterations: int, cost: float, residuals: Array, values: Array
) -> None:
    """Write q, status, iterations, cost and errors, as `SolveResult` reads them."""
    nq = q.shape[0]
    copy(q, values)
    values[nq] = status
    values[nq + 1] = iterations
    values[nq + 2] = cost
    for task in range(residuals.shape[0]):
        r = residuals[task]
        values[nq + 3 + 2 * task] = math.sqrt(r[3] ** 2 + r[4] ** 2 + r[5] ** 2)
        values[nq + 4 + 2 * task] = math.sqrt(r[6] ** 2 + r[7] ** 2 + r[8] ** 2)
