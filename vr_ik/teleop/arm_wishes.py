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

"""Compiled wishes of an arm: how its tip comes to the target, and what it does beside that.

At every tick the joint velocities u at its end minimise, over all arms that follow,

    |J u - x'|^2_W + sum of mu (u_j - g_j)^2

where x' brings the tip to the target and g is what the joints do where the tips leave freedom:
with a small mu they do it in the null space, and hardly anywhere else.
"""

import math

from vr_ik.kinematics.compiled import inlined_kernel, kernel
from vr_ik.kinematics.kernels import compose
from vr_ik.kinematics.objective import write_rotation_error
from vr_ik.kinematics.tree import Ints
from vr_ik.solvers.box_step import factorize, solve_factored
from vr_ik.teleop.arm_recall import goes_back, lay_step
from vr_ik.teleop.arm_rows import add_motion
from vr_ik.teleop.arm_work import (
    ACCELERATION,
    Arm,
    ELBOW,
    ELBOW_GAIN,
    FOLLOWING,
    LEVER_M,
    NO_BODY,
    NOTHING,
    POSITION_ERROR,
    POSTURE_GAIN,
    Q,
    REST,
    RETURNS_TO,
    ROTATION_ERROR,
    SINGULARITY,
    V,
    WISHED_TWIST,
    Work,
)
from vr_ik.types import Array

# Rate at which what is left of the error is made up for [1/s], and near singularities, where a
# stretched arm would swing.
_GAIN = 60.0
_SINGULAR_GAIN = 30.0
# Errors count up to this: beyond, the linear model says little [m].
_FAR_M = 0.2
# mu, far from singularities.
_LEAST_DAMPING = 1e-4
# Below this singular value damping sets in, and grows up to this (Y. Nakamura and H. Hanafusa,
# "Inverse kinematic solutions with singularity robustness for robot manipulator control", 1986).
_SINGULAR = 0.04
_MOST_DAMPING = 2e-3
_POWER_STEPS = 3
# The elbow and the posture pull with no more than this [rad/s or m/s].
_NULL_SPEED = 0.4
# An elbow this near to the line from shoulder to tip has no side [m].
_LEAST_SWIVEL_M = 0.02


@inlined_kernel
def write_errors(w: Work, a: int, target: Array, report: Array) -> None:
    """Write the way from an arm's tip to its target (6), and its lengths."""
    error = w.error[a]
    for i in range(3):
        error[i] = target[i, 3] - w.tips[a, 9 + i]
    write_rotation_error(target, w.tips[a], error[3:])
    report[POSITION_ERROR] = math.sqrt(error[0] ** 2 + error[1] ** 2 + error[2] ** 2)
    report[ROTATION_ERROR] = math.sqrt(error[3] ** 2 + error[4] ** 2 + error[5] ** 2)


@inlined_kernel
def _coast(w: Work, state: Array, a: int, seconds: float) -> None:
    """Take the error from where the tip would coast to if u were zero, and clip it."""
    error = w.error[a]
    total = 0.0
    for i in range(6):
        for j in range(state.shape[1]):
            error[i] -= 0.5 * seconds * w.jacobian[6 * a + i, j] * state[V, j]
        lever = 1.0 if i < 3 else LEVER_M
        total += (lever * error[i]) ** 2
    if total > _FAR_M * _FAR_M:
        shrink = _FAR_M / math.sqrt(total)
        for i in range(6):
            error[i] *= shrink


@inlined_kernel
def _add_normal(w: Work, a: int) -> None:
    """Add an arm's J^T W J to the matrix (lower triangle) and J^T W e to the right-hand side."""
    n = w.rhs.shape[0]
    for i in range(6):
        weight = 1.0 if i < 3 else LEVER_M * LEVER_M
        row = w.jacobian[6 * a + i]
        for j in range(n):
            scaled = weight * row[j]
            w.rhs[j] += scaled * w.error[a, i]
            for k in range(j + 1):
                w.matrix[j, k] += scaled * row[k]


@kernel
def _write_gram(w: Work, a: int, moves: Ints) -> int:
    """Write the Gram matrix of W^1/2 J, of its rows or of its columns if those are fewer.

    Returns its size.
    """
    gram, block, n = w.gram, w.jacobian[6 * a : 6 * a + 6], w.rhs.shape[0]
    columns = 0
    for j in range(n):
        columns += moves[j]
    if columns >= 6:
        for i in range(6):
            for k in range(i + 1):
                total = 0.0
                for j in range(n):
                    total += block[i, j] * block[k, j]
                levers = (1.0 if i < 3 else LEVER_M) * (1.0 if k < 3 else LEVER_M)
                gram[i, k] = levers * total
        return 6
    i = 0
    for j in range(n):
        if moves[j] == 0:
            continue
        k = 0
        for other in range(j + 1):
            if moves[other] == 0:
                continue
            total = 0.0
            for r in range(6):
                weight = 1.0 if r < 3 else LEVER_M * LEVER_M
                total += weight * block[r, j] * block[r, other]
            gram[i, k] = total
            k += 1
        i += 1
    return columns


@kernel
def _smallest_singular(w: Work, size: int) -> float:
    """Return the root of the smallest eigenvalue of the Gram matrix, which is factorised.

    Inverse iteration finds it; it may be a little too large where two are nearly equal.
    """
    gram, vector = w.gram, w.vector
    for i in range(size):
        vector[i] = 1.0 + 0.1 * i
        for k in range(i + 1):
            total = gram[i, k]
            for j in range(k):
                total -= gram[i, j] * gram[k, j]
            gram[i, k] = math.sqrt(max(total, 1e-14)) if i == k else total / gram[k, k]
    norm = 1.0
    for _ in range(_POWER_STEPS):
        for i in range(size):
            for k in range(i):
                vector[i] -= gram[i, k] * vector[k]
            vector[i] /= gram[i, i]
        norm = 0.0
        for i in range(size - 1, -1, -1):
            for k in range(i + 1, size):
                vector[i] -= gram[k, i] * vector[k]
            vector[i] /= gram[i, i]
            norm += vector[i] * vector[i]
        norm = math.sqrt(norm)
        for i in range(size):
            vector[i] /= norm
    return math.sqrt(1.0 / norm)


@inlined_kernel
def _add_elbow(arm: Arm, w: Work, a: int, arms: int, way: Array) -> None:
    """Add to the null velocity what swivels an elbow to the operator's side.

    The elbow goes round the line from the chain's first joint to the tip.
    """
    body = arm.frame_bodies[arms + a]
    if body == NO_BODY:
        return
    for i in range(3):
        # One by one: of a sum, fast mathematics may take the check away.
        if not abs(way[i]) < math.inf:
            return
    compose(w.poses[body], arm.frame_placements[arms + a], w.pose)
    first = arm.frame_bodies[a]
    while arm.body_ints[first, 0] >= 0:
        first = arm.body_ints[first, 0]
    axis, at, tangent = w.other, w.point, w.normal
    length, along, wished_along = 0.0, 0.0, 0.0
    for i in range(3):
        axis[i] = w.tips[a, 9 + i] - w.poses[first, 9 + i]
        length += axis[i] * axis[i]
    length = math.sqrt(length)
    for i in range(3):
        axis[i] /= max(length, 1e-9)
        at[i] = w.pose[9 + i]
        along += axis[i] * (at[i] - w.poses[first, 9 + i])
        wished_along += axis[i] * way[i]
    radius, cosine = 0.0, 0.0
    for i in range(3):
        w.pose[i] = at[i] - w.poses[first, 9 + i] - along * axis[i]
        w.pose[3 + i] = way[i] - wished_along * axis[i]
        radius += w.pose[i] * w.pose[i]
        cosine += w.pose[i] * w.pose[3 + i]
    radius = math.sqrt(radius)
    if radius < _LEAST_SWIVEL_M or length < _LEAST_SWIVEL_M:
        return
    tangent[0] = (axis[1] * w.pose[2] - axis[2] * w.pose[1]) / radius
    tangent[1] = (axis[2] * w.pose[0] - axis[0] * w.pose[2]) / radius
    tangent[2] = (axis[0] * w.pose[1] - axis[1] * w.pose[0]) / radius
    sine = radius * (tangent[0] * w.pose[3] + tangent[1] * w.pose[4] + tangent[2] * w.pose[5])
    _swivel(arm, w, body, radius * math.atan2(sine, cosine))


@inlined_kernel
def _swivel(arm: Arm, w: Work, body: int, arc: float) -> None:
    """Add to the null velocity what moves the point w.point along w.normal by `arc` [m]."""
    n = w.rhs.shape[0]
    total = 0.0
    for j in range(n):
        w.scratch[j] = 0.0
    add_motion(arm.body_ints, arm.column_ints, w.columns, body, w.point, w.normal, 1.0, w.scratch)
    for j in range(n):
        total += w.scratch[j] * w.scratch[j]
    rate = arm.settings[ELBOW_GAIN] * arc / max(total, 1e-6)
    for j in range(n):
        w.null[j] += rate * w.scratch[j]


@inlined_kernel
def write_wishes(
    arm: Arm,
    w: Work,
    state: Array,
    moves: Ints,
    wishes: Array,
    targets: Array,
    reports: Array,
    memories: Array,
    seconds: float,
) -> bool:
    """Write matrix, damping and right-hand side of the tick's quadratic model; False: it failed.

    The error is made up for at a rate that leaves room for braking: where the joints have far to
    go, with no more than half their acceleration.
    """
    n, arms = w.rhs.shape[0], wishes.shape[0]
    for j in range(n):
        w.rhs[j] = 0.0
        w.held[j] = 0.0
        w.damping[j] = 0.0
        w.null[j] = arm.settings[POSTURE_GAIN] * (arm.joints[j, REST] - state[Q, j])
        for k in range(j + 1):
            w.matrix[j, k] = 0.0
    singularity = math.inf
    for a in range(arms):
        reports[a, SINGULARITY] = _smallest_singular(w, _write_gram(w, a, moves[a]))
        if wishes[a, FOLLOWING] > 0.0:
            write_errors(w, a, targets[a], reports[a])
            lay_step(memories[a], state[Q], moves[a], w.tips[a])
            if goes_back(arm, w, state[Q], moves[a], targets[a], reports[a], memories[a], seconds):
                continue
            _coast(w, state, a, seconds)
            _add_normal(w, a)
            _add_elbow(arm, w, a, arms, wishes[a, ELBOW:])
            singularity = min(singularity, reports[a, SINGULARITY])
        else:
            memories[a, 0, RETURNS_TO] = NOTHING
    near = 1.0 - min(singularity / _SINGULAR, 1.0) ** 2
    for j in range(n):
        if w.damping[j] == 0.0:
            w.null[j] = min(max(w.null[j], -_NULL_SPEED), _NULL_SPEED)
        w.damping[j] += _LEAST_DAMPING + near * _MOST_DAMPING
        w.step[j] = w.rhs[j]
    if not factorize(arm.paths, w.matrix, w.damping, w.held, w.factor):
        return False
    solve_factored(arm.paths, w.factor, w.step)
    gain = _GAIN - near * (_GAIN - _SINGULAR_GAIN)
    for j in range(n):
        gain = min(gain, math.sqrt(arm.joints[j, ACCELERATION] / max(abs(w.step[j]), 1e-12)))
    _write_rhs(w, wishes, memories, gain, seconds)
    return True


@inlined_kernel
def _write_rhs(w: Work, wishes: Array, memories: Array, gain: float, seconds: float) -> None:
    """Write J^T W x' + mu g, where x' makes up for the error that is left at the tick's end.

    x' = twist + gain (error - seconds / 2 x'), with the error as if x' were zero.
    """
    n = w.rhs.shape[0]
    inverse = 1.0 / (1.0 + 0.5 * gain * seconds)
    for j in range(n):
        # With all of the damping: at a singularity, where a stretched arm could bend to either
        # side, it goes back to the one it was engaged on.
        w.rhs[j] = w.damping[j] * w.null[j]
    for a in range(wishes.shape[0]):
        if wishes[a, FOLLOWING] <= 0.0 or memories[a, 0, RETURNS_TO] != NOTHING:
            continue
        for i in range(6):
            weight = 1.0 if i < 3 else LEVER_M * LEVER_M
            wish = inverse * (wishes[a, WISHED_TWIST + i] + gain * w.error[a, i])
            row = w.jacobian[6 * a + i]
            for j in range(n):
                w.rhs[j] += weight * wish * row[j]
