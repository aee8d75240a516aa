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

"""What the compiled `lm` works on: the problem, its buffers, its start and its result."""

import math
from typing import NamedTuple

from vr_ik.kinematics.compiled import inlined_kernel, kernel
from vr_ik.kinematics.objective import COMPOSITE, RESIDUAL
from vr_ik.kinematics.tree import Ints, Tree
from vr_ik.types import Array


class Problem(NamedTuple):
    """What is given; all rows as the kinematics kernels read them."""

    body_ints: Ints
    body_floats: Array
    column_ints: Ints
    paths: Ints
    task_bodies: Ints
    task_placements: Array
    weights: Array
    targets: Array
    joints: Array
    """(n, 4): lower and upper limit, rest position, pull to it."""
    settings: Array
    """Iterations; position [m], orientation [rad] and step [rad] tolerance; gain; restarts."""
    first_q: int
    """Where the joints begin in q: 7 with a floating root, else 0."""


class Work(NamedTuple):
    """Buffers of one solver, reused by every solve."""

    poses: Array
    columns: Array
    composites: Array
    residuals: Array
    matrix: Array
    factor: Array
    rhs: Array
    damping: Array
    lower: Array
    upper: Array
    held: Array
    step: Array
    scratch: Array
    q: Array
    q_try: Array
    q_best: Array
    reference: Array
    pose: Array


def work_size(tree: Tree, tasks: int, nq: int, nv: int) -> int:
    """Return how many floats of work space a solve needs."""
    bodies, columns, width = len(tree.body_ints), len(tree.column_ints), tree.paths.shape[1]
    return (
        bodies * (12 + COMPOSITE)
        + columns * 6
        + tasks * RESIDUAL
        + 2 * nv * width
        + 7 * nv
        + 3 * nq
        + 15
    )


@inlined_kernel
def _take(work: Array, start: int, rows: int, width: int) -> Array:
    return work[start : start + rows * width].reshape((rows, width))


@inlined_kernel
def carve(work: Array, p: Problem, nq: int) -> Work:
    """Cut the work space into its buffers."""
    bodies, columns, tasks = p.body_ints.shape[0], p.column_ints.shape[0], p.task_bodies.shape[0]
    nv, width = p.paths.shape
    a = bodies * 12
    b = a + columns * 6
    c = b + bodies * COMPOSITE
    d = c + tasks * RESIDUAL
    e = d + nv * width
    f = e + nv * width
    g = f + 7 * nv
    return Work(
        _take(work, 0, bodies, 12),
        _take(work, a, columns, 6),
        _take(work, b, bodies, COMPOSITE),
        _take(work, c, tasks, RESIDUAL),
        _take(work, d, nv, width),
        _take(work, e, nv, width),
        work[f : f + nv],
        work[f + nv : f + 2 * nv],
        work[f + 2 * nv : f + 3 * nv],
        work[f + 3 * nv : f + 4 * nv],
        work[f + 4 * nv : f + 5 * nv],
        work[f + 5 * nv : f + 6 * nv],
        work[f + 6 * nv : f + 7 * nv],
        work[g : g + nq],
        work[g + nq : g + 2 * nq],
        work[g + 2 * nq : g + 3 * nq],
        work[g + 3 * nq : g + 3 * nq + 3],
        work[g + 3 * nq + 3 : g + 3 * nq + 15],
    )


@kernel
def copy(source: Array, out: Array) -> None:
    """Write the values of `source`."""
    for i in range(source.shape[0]):
        out[i] = source[i]


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
def _all_finite(values: Array) -> bool:
    for value in values:
        if not math.isfinite(value):
            return False
    return True


@kernel
def poses_finite(poses: Array) -> bool:
    """Tell whether rotations and positions of poses (m, 4, 4) are numbers."""
    for i in range(poses.shape[0]):
        for row in range(3):
            if not _all_finite(poses[i, row]):
                return False
    return True


@kernel
def retract(q: Array, step: Array, first_q: int, out: Array) -> None:
    """Write q moved by a tangent step; a floating root turns along the exponential map."""
    n_joints = q.shape[0] - first_q
    first_v = step.shape[0] - n_joints
    for j in range(n_joints):
        out[first_q + j] = q[first_q + j] + step[first_v + j]
    if first_q == 0:
        return
    x, y, z, w = q[3], q[4], q[5], q[6]
    vx, vy, vz = step[0], step[1], step[2]
    # v + 2 u x (u x v + w v) turns v by the quaternion (u, w).
    tx = y * vz - z * vy + w * vx
    ty = z * vx - x * vz + w * vy
    tz = x * vy - y * vx + w * vz
    out[0] = q[0] + vx + 2.0 * (y * tz - z * ty)
    out[1] = q[1] + vy + 2.0 * (z * tx - x * tz)
    out[2] = q[2] + vz + 2.0 * (x * ty - y * tx)
    angle = math.sqrt(step[3] ** 2 + step[4] ** 2 + step[5] ** 2)
    scale = math.sin(0.5 * angle) / angle if angle > 1e-9 else 0.5
    a, b, c, d = scale * step[3], scale * step[4], scale * step[5], math.cos(0.5 * angle)
    qx = w * a + x * d + y * c - z * b
    qy = w * b - x * c + y * d + z * a
    qz = w * c + x * b - y * a + z * d
    qw = w * d - x * a - y * b - z * c
    inverse = 1.0 / math.sqrt(qx * qx + qy * qy + qz * qz + qw * qw)
    out[3] = qx * inverse
    out[4] = qy * inverse
    out[5] = qz * inverse
    out[6] = qw * inverse


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
