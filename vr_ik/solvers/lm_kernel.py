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

from vr_ik.kinematics.compiled import kernel
from vr_ik.kinematics.kernels import body_columns, body_poses
from vr_ik.kinematics.objective import write_composites, write_normal_equations, write_residuals
from vr_ik.kinematics.tree import Ints
from vr_ik.solvers.box_step import bounded_step, FREE
from vr_ik.solvers.lm_state import (
    carve,
    copy,
    errors_within,
    poses_finite,
    Problem,
    retract,
    Work,
    write_result,
    write_start,
)
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
# A joint is near its limit within this share of its range; within that share of that, it gets no
# stiffer.
_NEAR_LIMIT = 0.3
_LEAST_ROOM = 0.03
# The first restart strews the joints over this part of their ranges; each further one over twice.
_FIRST_SPREAD = 0.1


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
def _write_damping(w: Work, damping: float) -> None:
    """Write the damping of each dof: the more, the nearer it is pushed to a limit.

    Where the tasks leave freedom the step is the shortest by these weights, so that others move
    before a joint runs into its limit (T. F. Chan and R. V. Dubey, "A weighted least-norm
    solution based scheme for avoiding joint limits for redundant joint manipulators", 1995).
    """
    for dof in range(w.rhs.shape[0]):
        w.damping[dof] = damping
        room = w.upper[dof] if w.rhs[dof] > 0.0 else -w.lower[dof]
        near = _NEAR_LIMIT * (w.upper[dof] - w.lower[dof])
        if room < near < math.inf:
            w.damping[dof] *= (near / max(room, _LEAST_ROOM * near)) ** 2


@kernel
def _propose(p: Problem, w: Work, damping: float) -> float:
    """Write the bounded step and where it leads; return its largest entry, -1 where it failed."""
    _write_damping(w, damping)
    if not bounded_step(
        p.paths, w.matrix, w.damping, w.rhs, w.lower, w.upper, w.held, w.factor, w.step, w.scratch
    ):
        return -1.0
    largest = 0.0
    for dof in range(w.step.shape[0]):
        largest = max(largest, abs(w.step[dof]))
    retract(w.q, w.step, p.first_q, w.q_try)
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
    if errors_within(w.residuals, p.weights, p.settings[1], p.settings[2]):
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
        if not pulled and errors_within(w.residuals, p.weights, p.settings[1], p.settings[2]):
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
            copy(w.q_try, w.q)
            cost = cost_try
        else:
            factor *= 8.0
            cost = _evaluate(p, w, w.q)
        if resting or factor > _MAX_FACTOR:
            return _resting_status(p, w), iteration + 1, cost
    met = errors_within(w.residuals, p.weights, p.settings[1], p.settings[2])
    return _CONVERGED if met else _STALLED, int(p.settings[0]), cost


@kernel
def _search(p: Problem, w: Work) -> tuple[float, int, float]:
    """Descend, and where that ends short of the targets, again from starts ever farther away."""
    seed = 0.0
    for i in range(w.q.shape[0]):
        seed += (i + 1.0) * w.q[i]
    status, iterations, cost = _descend(p, w)
    copy(w.q, w.q_best)
    for restart in range(int(p.settings[5])):
        if status in (_CONVERGED, _FAILED):
            return status, iterations, cost
        seed = _write_other_start(p, w, min(1.0, _FIRST_SPREAD * 2.0**restart), seed)
        other_status, more, other_cost = _descend(p, w)
        iterations += more
        if other_status == _CONVERGED or other_cost < cost:
            status, cost = other_status, other_cost
            copy(w.q, w.q_best)
    copy(w.q_best, w.q)
    cost = _evaluate(p, w, w.q)
    return status, iterations, cost


@kernel
def _write_other_start(p: Problem, w: Work, spread: float, seed: float) -> float:
    """Write the best pose so far with its joints strewn over a part of their ranges.

    The numbers are random enough and come from the seed alone, so that the same input gives the
    same answer; returns the next seed.
    """
    copy(w.q_best, w.q)
    for j in range(p.joints.shape[0]):
        lower, upper = p.joints[j, 0], p.joints[j, 1]
        if not upper - lower < _FULL_TURN:
            lower, upper = w.q[p.first_q + j] - math.pi, w.q[p.first_q + j] + math.pi
        seed = math.sin(seed * 12.9898 + j) * 43758.5453
        seed -= math.floor(seed)
        value = w.q[p.first_q + j] + spread * (upper - lower) * (seed - 0.5)
        w.q[p.first_q + j] = min(max(value, p.joints[j, 0]), p.joints[j, 1])
    return seed


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
    w = carve(work, p, q_start.shape[0])
    if write_start(q_start, first_q, joints, w.q) and poses_finite(targets):
        status, iterations, cost = _search(p, w)
    else:
        status, iterations, cost = _FAILED, 0, math.inf
        _evaluate(p, w, w.q)
    write_result(w.q, status, iterations, cost, w.residuals, values)
    return True
