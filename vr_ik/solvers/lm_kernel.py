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

"""Compiled Levenberg-Marquardt: one call a solve, no allocation, no exception.

The damping is proportional to the cost (T. Sugihara, "Solvability-unconcerned inverse kinematics
by the Levenberg-Marquardt method", 2011), so that steps are careful far from the targets and
Newton-like near them; its factor adapts so that every accepted step lowers the cost. Each step
minimises the damped quadratic model within the joint limits (`box_step`).
"""

import math
from typing import NamedTuple

from vr_ik.kinematics.compiled import inlined_kernel, kernel
from vr_ik.kinematics.kernels import body_columns, body_poses
from vr_ik.kinematics.objective import (
    COMPOSITE,
    RESIDUAL,
    write_composites,
    write_normal_equations,
    write_residuals,
)
from vr_ik.kinematics.tree import Ints, Tree
from vr_ik.solvers.box_step import bounded_step, FREE
from vr_ik.types import Array, Status

_CONVERGED = float(Status.CONVERGED)
_LIMITED = float(Status.LIMITED)
_STALLED = float(Status.STALLED)
_UNREACHABLE = float(Status.UNREACHABLE)
_FAILED = float(Status.FAILED)

_FULL_TURN = 2.0 * math.pi
# URDFs say 3.14 where they mean pi.
_TURN_SLACK = 0.01
# Damping = factor * cost + floor; the floor keeps a redundant arm's matrix definite.
_FIRST_FACTOR = 1.0
_MIN_FACTOR = 1e-4
_MAX_FACTOR = 1e8
_FLOOR = 1e-9


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
    """Iterations, position [m], orientation [rad] and step [rad] tolerance, relative gain."""
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
    lower: Array
    upper: Array
    held: Array
    step: Array
    scratch: Array
    q: Array
    q_try: Array
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
        + 6 * nv
        + 2 * nq
        + 15
    )


@inlined_kernel
def _take(work: Array, start: int, rows: int, width: int) -> Array:
    return work[start : start + rows * width].reshape((rows, width))


@inlined_kernel
def _carve(work: Array, p: Problem, nq: int) -> Work:
    """Cut the work space into its buffers."""
    bodies, columns, tasks = p.body_ints.shape[0], p.column_ints.shape[0], p.task_bodies.shape[0]
    nv, width = p.paths.shape
    a = bodies * 12
    b = a + columns * 6
    c = b + bodies * COMPOSITE
    d = c + tasks * RESIDUAL
    e = d + nv * width
    f = e + nv * width
    g = f + 6 * nv
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
        work[g : g + nq],
        work[g + nq : g + 2 * nq],
        work[g + 2 * nq : g + 2 * nq + 3],
        work[g + 2 * nq + 3 : g + 2 * nq + 15],
    )


@kernel
def _evaluate(p: Problem, w: Work, q: Array) -> float:
    """Write poses and residuals at q and return the cost, the pull to the posture included."""
    body_poses(p.body_ints, p.body_floats, q, w.poses)
    # Moments are taken about the root, lest they lose digits far from the world's origin.
    for i in range(3):
        w.reference[i] = w.poses[0, 9 + i] if w.poses.shape[0] > 0 else 0.0
    cost = write_residuals(
        w.poses,
        p.task_bodies,
        p.task_placements,
        p.weights,
        p.targets,
        w.reference,
        w.pose,
        w.residuals,
    )
    pull = 0.0
    for j in range(p.joints.shape[0]):
        away = q[p.first_q + j] - p.joints[j, 2]
        pull += p.joints[j, 3] * away * away
    return cost + 0.5 * pull


@kernel
def _linearize(p: Problem, w: Work) -> None:
    """Write the quadratic model of the cost about w.q, whose poses are in w."""
    body_columns(p.body_ints, p.body_floats, w.poses, w.reference, w.columns)
    write_composites(p.body_ints, p.task_bodies, p.weights, w.residuals, w.composites)
    write_normal_equations(p.column_ints, p.paths, w.columns, w.composites, w.matrix, w.rhs)
    first_v = w.rhs.shape[0] - p.joints.shape[0]
    for j in range(p.joints.shape[0]):
        dof = first_v + j
        w.matrix[dof, p.paths[dof, 0]] += p.joints[j, 3]
        w.rhs[dof] += p.joints[j, 3] * (p.joints[j, 2] - w.q[p.first_q + j])


@kernel
def _write_bounds(p: Problem, w: Work) -> None:
    """Write how far each dof may move; a root is free."""
    first_v = w.rhs.shape[0] - p.joints.shape[0]
    for dof in range(first_v):
        w.lower[dof] = -math.inf
        w.upper[dof] = math.inf
    for j in range(p.joints.shape[0]):
        value = w.q[p.first_q + j]
        w.lower[first_v + j] = p.joints[j, 0] - value
        w.upper[first_v + j] = p.joints[j, 1] - value


@kernel
def _wrap_blocked(p: Problem, w: Work) -> bool:
    """Take joints pushed against a limit a full turn back, where their range holds that pose."""
    first_v = w.rhs.shape[0] - p.joints.shape[0]
    wrapped = False
    for j in range(p.joints.shape[0]):
        lower, upper = p.joints[j, 0], p.joints[j, 1]
        if upper - lower < _FULL_TURN - _TURN_SLACK:
            continue
        value, push = w.q[p.first_q + j], w.rhs[first_v + j]
        if value >= upper and push > 0.0:
            w.q[p.first_q + j] = max(value - _FULL_TURN, lower)
            wrapped = True
        elif value <= lower and push < 0.0:
            w.q[p.first_q + j] = min(value + _FULL_TURN, upper)
            wrapped = True
    return wrapped


@kernel
def _propose(p: Problem, w: Work, damping: float) -> float:
    """Write the bounded step and where it leads; return its largest entry, -1 where it failed."""
    if not bounded_step(
        p.paths, w.matrix, damping, w.rhs, w.lower, w.upper, w.held, w.factor, w.step, w.scratch
    ):
        return -1.0
    largest = 0.0
    for dof in range(w.step.shape[0]):
        largest = max(largest, abs(w.step[dof]))
    _retract(w.q, w.step, p.first_q, w.q_try)
    return largest


@kernel
def _predicted_gain(p: Problem, w: Work) -> float:
    """Return by how much the undamped quadratic model says that w.step lowers the cost."""
    gain = 0.0
    for k in range(w.step.shape[0]):
        depth = p.paths[k, 0]
        total = 0.5 * w.matrix[k, depth] * w.step[k] - w.rhs[k]
        for a in range(depth):
            total += w.matrix[k, a] * w.step[p.paths[k, a + 1]]
        gain -= total * w.step[k]
    return gain


@kernel
def _resting_status(p: Problem, w: Work) -> float:
    """Tell success from a minimum at the joint limits, and that from any other minimum."""
    if _errors_within(w.residuals, p.weights, p.settings[1], p.settings[2]):
        return _CONVERGED
    for dof in range(w.held.shape[0]):
        if w.held[dof] != FREE:
            return _LIMITED
    return _UNREACHABLE


@kernel
def _descend(p: Problem, w: Work) -> tuple[float, int, float]:
    """Improve w.q until it converges, rests or runs out; return status, iterations and cost."""
    cost = _evaluate(p, w, w.q)
    if not math.isfinite(cost):
        return _FAILED, 0, cost
    pulled = _has_posture(p)
    factor = _FIRST_FACTOR
    for iteration in range(int(p.settings[0])):
        if not pulled and _errors_within(w.residuals, p.weights, p.settings[1], p.settings[2]):
            return _CONVERGED, iteration, cost
        _linearize(p, w)
        if _wrap_blocked(p, w):
            cost = _evaluate(p, w, w.q)
            _linearize(p, w)
        _write_bounds(p, w)
        largest = _propose(p, w, factor * cost + _FLOOR)
        cost_try = _evaluate(p, w, w.q_try)
        resting = 0.0 <= largest <= p.settings[3]
        if largest >= 0.0 and cost_try <= cost:
            gain = cost - cost_try
            resting = resting or gain <= p.settings[4] * cost
            factor = _adapted(factor, gain / max(_predicted_gain(p, w), 1e-300))
            _copy(w.q_try, w.q)
            cost = cost_try
        else:
            factor *= 8.0
            cost = _evaluate(p, w, w.q)
        if resting or factor > _MAX_FACTOR:
            return _resting_status(p, w), iteration + 1, cost
    met = _errors_within(w.residuals, p.weights, p.settings[1], p.settings[2])
    return _CONVERGED if met else _STALLED, int(p.settings[0]), cost


@kernel
def _adapted(factor: float, gain: float) -> float:
    """Return the next damping factor from the ratio of actual to predicted gain."""
    if gain > 0.5:
        return max(factor * 0.2, _MIN_FACTOR)
    return min(factor * 4.0, _MAX_FACTOR) if gain < 0.1 else factor


@kernel
def _has_posture(p: Problem) -> bool:
    """Tell whether any joint is pulled to its rest position, so that met targets are not all."""
    for j in range(p.joints.shape[0]):
        if p.joints[j, 3] > 0.0:
            return True
    return False


@kernel
def solve(
    body_ints: Ints,
    body_floats: Array,
    column_ints: Ints,
    paths: Ints,
    task_bodies: Ints,
    task_placements: Array,
    weights: Array,
    joints: Array,
    settings: Array,
    work: Array,
    targets: Array,
    q_start: Array,
    values: Array,
) -> bool:
    """Solve from q_start and write q, status, iterations, cost and errors into `values`.

    Returns False, and does nothing, where the shapes of targets or q_start are wrong.
    """
    tasks = task_bodies.shape[0]
    if targets.shape != (tasks, 4, 4) or q_start.shape[0] != values.shape[0] - 3 - 2 * tasks:
        return False
    first_q = 7 if q_start.shape[0] - joints.shape[0] == 7 else 0
    p = Problem(
        body_ints,
        body_floats,
        column_ints,
        paths,
        task_bodies,
        task_placements,
        weights,
        targets,
        joints,
        settings,
        first_q,
    )
    w = _carve(work, p, q_start.shape[0])
    if _write_start(q_start, first_q, joints, w.q) and _poses_finite(targets):
        status, iterations, cost = _descend(p, w)
    else:
        status, iterations, cost = _FAILED, 0, math.inf
        _evaluate(p, w, w.q)
    _write_result(w.q, status, iterations, cost, w.residuals, values)
    return True


@kernel
def _copy(source: Array, out: Array) -> None:
    for i in range(source.shape[0]):
        out[i] = source[i]


@kernel
def _errors_within(residuals: Array, weights: Array, position: float, orientation: float) -> bool:
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
def _poses_finite(poses: Array) -> bool:
    for i in range(poses.shape[0]):
        for row in range(3):
            if not _all_finite(poses[i, row]):
                return False
    return True


@kernel
def _retract(q: Array, step: Array, first_q: int, out: Array) -> None:
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
def _write_start(q_start: Array, first_q: int, joints: Array, q: Array) -> bool:
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
def _write_result(
    q: Array, status: float, iterations: int, cost: float, residuals: Array, values: Array
) -> None:
    nq = q.shape[0]
    _copy(q, values)
    values[nq] = status
    values[nq + 1] = iterations
    values[nq + 2] = cost
    for task in range(residuals.shape[0]):
        r = residuals[task]
        values[nq + 3 + 2 * task] = math.sqrt(r[3] ** 2 + r[4] ** 2 + r[5] ** 2)
        values[nq + 4 + 2 * task] = math.sqrt(r[6] ** 2 + r[7] ** 2 + r[8] ** 2)
