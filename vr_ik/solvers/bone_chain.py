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

"""Compiled Jacobian methods on a chain of bones, as the code of P. Caserman et al. 2019 has them.

A joint there is a rotation, not a row of angles. A step turns each bone about its own axes where
they are now, x first; then the angles of Rz Ry Rx about those axes that the joint has are clamped
to its limits. About an axis that it does not have a joint of two axes drifts, for nothing holds it
there: such a chain is no URDF. The rotation error is the three angles of the turn that is left,
and the errors of a solve are those before its last step. The step rules are those of the solvers
(`jacobian_steps`).
"""

import math

import numpy as np

from vr_ik.kinematics.compiled import allocating_kernel, kernel
from vr_ik.kinematics.kernels import compose
from vr_ik.solvers.jacobian_steps import TRUNCATED, write_dual_step, write_singular_step
from vr_ik.solvers.task_jacobian import TASK_ROWS
from vr_ik.types import Array

# Columns of `bones`: placement on the bone before (12), then of x, y and z: whether the bone turns
# about it, and the limits [rad].
AXES, LOWER, UPPER, BONE = 12, 15, 18, 21

# Singular values and errors along them that selective damping leaves out in that code [m, rad].
_NEAR_ZERO = 1e-4


@allocating_kernel
def solve_bones(
    bones: Array, settings: Array, root: Array, target: Array, rotations: Array, errors: Array
) -> int:
    """Turn `rotations` (n, 9) until the last bone is at `target` (4, 4); return the iterations.

    `bones` (n, 21) are on `root` (12), a pose row; `settings` are iterations, tolerances of
    position [m], orientation [rad] and the step's change [rad], step rule and its parameter.
    `errors` get the position [m] and the rotation [rad].
    """
    dofs = int(bones[:, AXES:LOWER].sum())
    poses, jacobian = np.empty((bones.shape[0], 12)), np.empty((TASK_ROWS, dofs))
    error, step, before = np.empty(TASK_ROWS), np.empty(dofs), np.full(dofs, np.inf)
    for iteration in range(int(settings[0])):
        _write_poses(bones, rotations, root, poses)
        _write_error(poses[-1], target, error)
        errors[0] = math.sqrt(error[0] ** 2 + error[1] ** 2 + error[2] ** 2)
        errors[1] = math.sqrt(error[3] ** 2 + error[4] ** 2 + error[5] ** 2)
        _write_jacobian(bones, poses, jacobian)
        _write_step(int(settings[4]), settings[5], jacobian, error, step)
        _turn_bones(bones, step, rotations)
        met = errors[0] <= settings[1] and errors[1] <= settings[2]
        if met or np.abs(step - before).sum() < settings[3]:
            return iteration + 1
        before[:] = step
    return int(settings[0])


@allocating_kernel
def _write_step(rule: int, parameter: float, jacobian: Array, error: Array, step: Array) -> None:
    rows, dofs = jacobian.shape
    rank = min(rows, dofs)
    scratch = np.empty(dofs)
    if rule >= TRUNCATED:
        x, values = np.empty((rank, max(rows, dofs))), np.empty((3, rank))
        write_singular_step(
            rule,
            parameter,
            jacobian,
            error,
            np.eye(rank),
            x,
            values[0],
            values[1],
            values[2],
            np.empty(dofs),
            scratch,
            _NEAR_ZERO,
            step,
        )
        return
    gram = np.empty((rows, rows))
    write_dual_step(rule, parameter, jacobian, error, gram, np.empty(rows), step)


@allocating_kernel
def _write_poses(bones: Array, rotations: Array, root: Array, poses: Array) -> None:
    """Write the pose row of each bone: its placement, turned by its rotation."""
    placed = np.empty(12)
    turn = np.zeros(12)
    for i in range(bones.shape[0]):
        compose(root if i == 0 else poses[i - 1], bones[i, :AXES], placed)
        turn[:9] = rotations[i]
        compose(placed, turn, poses[i])


@kernel
def _write_error(pose: Array, target: Array, error: Array) -> None:
    """Write target - position, and the angles x, y, z of R_target R^T = Rz Ry Rx."""
    turn = (
        _row_product(target[0], pose, 0),
        _row_product(target[1], pose, 0),
        _row_product(target[2], pose, 0),
        _row_product(target[2], pose, 3),
        _row_product(target[2], pose, 6),
    )
    for i in range(3):
        error[i] = target[i, 3] - pose[9 + i]
    error[3], error[4], error[5] = _angles(turn[0], turn[1], turn[2], turn[3], turn[4])


@kernel
def _row_product(target: Array, pose: Array, row: int) -> float:
    return target[0] * pose[row] + target[1] * pose[row + 1] + target[2] * pose[row + 2]


@kernel
def _angles(xx: float, yx: float, zx: float, zy: float, zz: float) -> tuple[float, float, float]:
    """Return x, y and z of Rz Ry Rx from the first column and the last row of a rotation."""
    return math.atan2(zy, zz), math.asin(min(max(-zx, -1.0), 1.0)), math.atan2(yx, xx)


@kernel
def _write_jacobian(bones: Array, poses: Array, jacobian: Array) -> None:
    """Write a column for each axis of each bone: of the last bone's point, then its turn."""
    end = poses[-1]
    dof = 0
    for i in range(bones.shape[0]):
        pose = poses[i]
        x, y, z = end[9] - pose[9], end[10] - pose[10], end[11] - pose[11]
        for axis in range(3):
            if bones[i, AXES + axis] > 0.0:
                a, b, c = pose[axis], pose[3 + axis], pose[6 + axis]
                jacobian[0, dof] = b * z - c * y
                jacobian[1, dof] = c * x - a * z
                jacobian[2, dof] = a * y - b * x
                jacobian[3, dof] = a
                jacobian[4, dof] = b
                jacobian[5, dof] = c
                dof += 1


@kernel
def _turn_bones(bones: Array, step: Array, rotations: Array) -> None:
    """Turn each bone about its own axes, then clamp its angles to its limits."""
    dof = 0
    for i in range(bones.shape[0]):
        r, bone = rotations[i], bones[i]
        for axis in range(3):
            if bone[AXES + axis] > 0.0:
                _turn(r, axis, step[dof])
                dof += 1
        x, y, z = _angles(r[0], r[3], r[6], r[7], r[8])
        _write_rotation(_held(bone, 0, x), _held(bone, 1, y), _held(bone, 2, z), r)


@kernel
def _held(bone: Array, axis: int, angle: float) -> float:
    if bone[AXES + axis] > 0.0:
        return min(max(angle, bone[LOWER + axis]), bone[UPPER + axis])
    return angle


@kernel
def _turn(r: Array, axis: int, angle: float) -> None:
    """Turn a rotation about one of its own axes."""
    c, s = math.cos(angle), math.sin(angle)
    j, k = (axis + 1) % 3, (axis + 2) % 3
    for row in range(0, 9, 3):
        a, b = r[row + j], r[row + k]
        r[row + j] = c * a + s * b
        r[row + k] = c * b - s * a


@kernel
def _write_rotation(x: float, y: float, z: float, r: Array) -> None:
    """Write Rz Ry Rx."""
    for i in range(9):
        r[i] = 1.0 if i % 4 == 0 else 0.0
    _turn(r, 2, z)
    _turn(r, 1, y)
    _turn(r, 0, x)
