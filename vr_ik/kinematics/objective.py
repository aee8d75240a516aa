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

"""Compiled cost of pose tasks, with its gradient and Gauss-Newton matrix.

The cost is f(q) = 1/2 sum of w_p |e_p|^2 + w_r |e_r|^2 over the tasks, where e_p = target - point
[m] and e_r = log(R_target R^T) [rad], both in world axes. No Jacobian is ever formed: like the
mass matrix of a robot, J^T W J couples two columns through the composite 'inertia' of all tasks
that both move (the composite rigid body algorithm, R. Featherstone 2008, section 6.2): a task is a
particle of mass w_p at its point, with a rotational inertia w_r.
"""

import math

from vr_ik.kinematics.compiled import kernel
from vr_ik.kinematics.kernels import compose
from vr_ik.kinematics.tree import COLUMN_BODY, COLUMN_DOF, COLUMN_PARENT, Ints, PARENT
from vr_ik.types import Array

# A residual's row: the point relative to the reference (3), e_p (3) and e_r (3).
RESIDUAL = 9
# A composite's row: mass, mass * point (3), inertia (xx yy zz xy xz yz), force (3), torque (3).
COMPOSITE = 16


@kernel
def write_rotation_error(target: Array, pose: Array, error: Array) -> None:
    """Write log(R_target R^T), the world rotation vector from `pose` (12) to `target` (4, 4)."""
    r00 = target[0, 0] * pose[0] + target[0, 1] * pose[1] + target[0, 2] * pose[2]
    r11 = target[1, 0] * pose[3] + target[1, 1] * pose[4] + target[1, 2] * pose[5]
    r22 = target[2, 0] * pose[6] + target[2, 1] * pose[7] + target[2, 2] * pose[8]
    r01 = target[0, 0] * pose[3] + target[0, 1] * pose[4] + target[0, 2] * pose[5]
    r10 = target[1, 0] * pose[0] + target[1, 1] * pose[1] + target[1, 2] * pose[2]
    r02 = target[0, 0] * pose[6] + target[0, 1] * pose[7] + target[0, 2] * pose[8]
    r20 = target[2, 0] * pose[0] + target[2, 1] * pose[1] + target[2, 2] * pose[2]
    r12 = target[1, 0] * pose[6] + target[1, 1] * pose[7] + target[1, 2] * pose[8]
    r21 = target[2, 0] * pose[3] + target[2, 1] * pose[4] + target[2, 2] * pose[5]
    x, y, z = 0.5 * (r21 - r12), 0.5 * (r02 - r20), 0.5 * (r10 - r01)
    sine = math.sqrt(x * x + y * y + z * z)
    cosine = 0.5 * (r00 + r11 + r22 - 1.0)
    angle = math.atan2(sine, cosine)
    if cosine > -0.9:
        scale = angle / sine if sine > 1e-9 else 1.0
    else:
        # Near a half turn the sine says little; R + R^T = 2 c + 2 (1 - c) u u^T has the axis u.
        d = 1.0 / (1.0 - cosine)
        ux = math.sqrt(max(0.0, (r00 - cosine) * d))
        uy = math.sqrt(max(0.0, (r11 - cosine) * d))
        uz = math.sqrt(max(0.0, (r22 - cosine) * d))
        if ux >= uy and ux >= uz:
            uy, uz = 0.5 * d * (r01 + r10) / ux, 0.5 * d * (r02 + r20) / ux
        elif uy >= uz:
            ux, uz = 0.5 * d * (r01 + r10) / uy, 0.5 * d * (r12 + r21) / uy
        else:
            ux, uy = 0.5 * d * (r02 + r20) / uz, 0.5 * d * (r12 + r21) / uz
        sign = -1.0 if x * ux + y * uy + z * uz < 0.0 else 1.0
        scale = sign * angle / math.sqrt(ux * ux + uy * uy + uz * uz)
        x, y, z = ux, uy, uz
    error[0] = scale * x
    error[1] = scale * y
    error[2] = scale * z


@kernel
def write_residuals(
    poses: Array,
    task_bodies: Ints,
    task_placements: Array,
    weights: Array,
    targets: Array,
    reference: Array,
    pose: Array,
    residuals: Array,
) -> float:
    """Write each task's residual row and return the cost; a task of no weight costs nothing.

    `pose` (12) is scratch.
    """
    cost = 0.0
    for task in range(task_bodies.shape[0]):
        row = residuals[task]
        if weights[task, 0] <= 0.0 and weights[task, 1] <= 0.0:
            for i in range(RESIDUAL):
                row[i] = 0.0
            continue
        body = task_bodies[task]
        if body < 0:
            for i in range(12):
                pose[i] = task_placements[task, i]
        else:
            compose(poses[body], task_placements[task], pose)
        for i in range(3):
            row[i] = pose[9 + i] - reference[i]
            row[3 + i] = targets[task, i, 3] - pose[9 + i]
        write_rotation_error(targets[task], pose, row[6:])
        if weights[task, 0] > 0.0:
            cost += weights[task, 0] * (row[3] ** 2 + row[4] ** 2 + row[5] ** 2)
        if weights[task, 1] > 0.0:
            cost += weights[task, 1] * (row[6] ** 2 + row[7] ** 2 + row[8] ** 2)
    return 0.5 * cost


@kernel
def write_composites(
    body_ints: Ints, task_bodies: Ints, weights: Array, residuals: Array, composites: Array
) -> None:
    """Write for each body the composite inertia and wrench of all tasks on it and beyond it."""
    composites[:] = 0.0
    for task in range(task_bodies.shape[0]):
        if task_bodies[task] >= 0:
            _add_task(weights[task], residuals[task], composites[task_bodies[task]])
    for body in range(body_ints.shape[0] - 1, 0, -1):
        parent = body_ints[body, PARENT]
        if parent >= 0:
            for i in range(COMPOSITE):
                composites[parent, i] += composites[body, i]


@kernel
def _add_task(weights: Array, residual: Array, c: Array) -> None:
    wp, wr = weights[0], weights[1]
    if wp > 0.0:
        x, y, z = residual[0], residual[1], residual[2]
        fx, fy, fz = wp * residual[3], wp * residual[4], wp * residual[5]
        c[0] += wp
        c[1] += wp * x
        c[2] += wp * y
        c[3] += wp * z
        c[4] += wp * (y * y + z * z)
        c[5] += wp * (x * x + z * z)
        c[6] += wp * (x * x + y * y)
        c[7] -= wp * x * y
        c[8] -= wp * x * z
        c[9] -= wp * y * z
        c[10] += fx
        c[11] += fy
        c[12] += fz
        c[13] += y * fz - z * fy
        c[14] += z * fx - x * fz
        c[15] += x * fy - y * fx
    if wr > 0.0:
        c[4] += wr
        c[5] += wr
        c[6] += wr
        c[13] += wr * residual[6]
        c[14] += wr * residual[7]
        c[15] += wr * residual[8]


@kernel
def inertia_times(c: Array, s: Array) -> tuple[float, float, float, float, float, float]:
    """Return force and torque of a composite's inertia that moves with a column."""
    vx, vy, vz, wx, wy, wz = s[0], s[1], s[2], s[3], s[4], s[5]
    return (
        c[0] * vx + wy * c[3] - wz * c[2],
        c[0] * vy + wz * c[1] - wx * c[3],
        c[0] * vz + wx * c[2] - wy * c[1],
        c[2] * vz - c[3] * vy + c[4] * wx + c[7] * wy + c[8] * wz,
        c[3] * vx - c[1] * vz + c[7] * wx + c[5] * wy + c[9] * wz,
        c[1] * vy - c[2] * vx + c[8] * wx + c[9] * wy + c[6] * wz,
    )


@kernel
def write_normal_equations(
    column_ints: Ints, paths: Ints, columns: Array, composites: Array, matrix: Array, rhs: Array
) -> None:
    """Write J^T W J and J^T W e (minus the gradient).

    Row k of `matrix` holds the couplings of dof k with its ancestors in the order of `paths`,
    then its own diagonal entry; see `tree`.
    """
    matrix[:] = 0.0
    rhs[:] = 0.0
    for column in range(column_ints.shape[0]):
        body = column_ints[column, COLUMN_BODY]
        if body < 0:
            continue
        c = composites[body]
        s = columns[column]
        dof = column_ints[column, COLUMN_DOF]
        vx, vy, vz, wx, wy, wz = s[0], s[1], s[2], s[3], s[4], s[5]
        rhs[dof] += vx * c[10] + vy * c[11] + vz * c[12] + wx * c[13] + wy * c[14] + wz * c[15]
        fx, fy, fz, tx, ty, tz = inertia_times(c, s)
        matrix[dof, paths[dof, 0]] += vx * fx + vy * fy + vz * fz + wx * tx + wy * ty + wz * tz
        if column_ints.shape[0] == paths.shape[0]:
            # Without mimic joints a column is a dof, and its row of the matrix is contiguous.
            for i in range(paths[dof, 0]):
                a = columns[paths[dof, i + 1]]
                matrix[dof, i] = (
                    a[0] * fx + a[1] * fy + a[2] * fz + a[3] * tx + a[4] * ty + a[5] * tz
                )
            continue
        ancestor = column_ints[column, COLUMN_PARENT]
        while ancestor >= 0:
            a = columns[ancestor]
            value = a[0] * fx + a[1] * fy + a[2] * fz + a[3] * tx + a[4] * ty + a[5] * tz
            other = column_ints[ancestor, COLUMN_DOF]
            if other == dof:  # Both columns belong to one dof: a mimic pair in one chain.
                value *= 2.0
            matrix[max(dof, other), paths[min(dof, other), 0]] += value
            ancestor = column_ints[ancestor, COLUMN_PARENT]
