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
from typing import Any

from vr_ik.kinematics.compiled import inlined_kernel, kernel
from vr_ik.solvers.box_step import bounded_step, FREE
from vr_ik.solvers.clearance import add_clearances, clearance_cost
from vr_ik.solvers.joint_bounds import wrap_blocked
from vr_ik.solvers.lm_state import carve, Work
from vr_ik.solvers.solve_state import (
    advance,
    evaluate,
    has_posture,
    linearize,
    predicted_gain,
    Problem,
    run,
    write_bounds,
)
from vr_ik.solvers.solve_values import CONVERGED, copy, errors_within, FAILED, LIMITED, STALLED
from vr_ik.types import Array

_FULL_TURN = 2.0 * math.pi
# Damping = factor * cost + floor; the floor keeps a redundant arm's matrix definite.
_FIRST_FACTOR = 1.0
_MIN_FACTOR = 1e-4
_MAX_FACTOR = 1e8
_FLOOR = 1e-9
# A joint is near its limit within this share of its range; within that share of that, it gets no
# stiffer.
_NEAR_LIMIT = 0.3
_LEAST_ROOM = 0.03
# The first restart moves the joints this share of the way to random angles, each further one twice
# that, up to all the way.
_FIRST_SHARE = 0.1
# While there are restarts left, a new try ends whose cost has not fallen so much in so many steps.
_HASTE, _ENOUGH = 4, 0.5


@inlined_kernel
def evaluate_all(p: Problem, w: Work, q: Array) -> float:
    """Write poses and residuals at q and return the cost, posture and clearances included."""
    return evaluate(p, w, q) + clearance_cost(w.clearances, w.poses, w.point, w.outward)


@inlined_kernel
def _linearize(p: Problem, w: Work) -> None:
    """Write the quadratic model of the cost about w.q, whose poses are in w."""
    linearize(p, w)
    add_clearances(
        w.clearances,
        p.body_ints,
        p.column_ints,
        p.paths,
        w.poses,
        w.reference,
        w.columns,
        w.point,
        w.outward,
        w.matrix,
        w.rhs,
    )


@inlined_kernel
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


@inlined_kernel
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
    advance(p, w.q, w.step, w.q_try)
    return largest


@inlined_kernel
def _resting_status(p: Problem, w: Work) -> float:
    """Tell success from a minimum at the joint limits, and that from any other minimum."""
    if errors_within(w.residuals, p.weights, p.settings[1], p.settings[2]):
        return CONVERGED
    for dof in range(w.held.shape[0]):
        if w.held[dof] != FREE:
            return LIMITED
    return STALLED


@inlined_kernel
def descend(p: Problem, w: Work, hasty: bool) -> tuple[float, int, float]:
    """Improve w.q until it converges, rests or runs out; return status, iterations and cost.

    One in haste gives up when it comes slowly nearer, too.
    """
    cost = evaluate_all(p, w, w.q)
    if not math.isfinite(cost):
        return FAILED, 0, cost
    cost_before = cost
    pulled = has_posture(p)
    factor = _FIRST_FACTOR
    iterations = int(p.settings[0])
    for iteration in range(iterations):
        if not pulled and errors_within(w.residuals, p.weights, p.settings[1], p.settings[2]):
            return CONVERGED, iteration, cost
        if hasty and iteration % _HASTE == _HASTE - 1:
            if cost > _ENOUGH * cost_before:
                iterations = iteration
                break
            cost_before = cost
        _linearize(p, w)
        if wrap_blocked(p.joints, p.first_q, w.rhs, w.q):
            cost = evaluate_all(p, w, w.q)
            _linearize(p, w)
        write_bounds(p, w)
        largest = _propose(p, w, factor * cost + _FLOOR)
        cost_try = evaluate_all(p, w, w.q_try)
        resting = 0.0 <= largest <= p.settings[3]
        if largest >= 0.0 and cost_try <= cost:
            gain = cost - cost_try
            resting = resting or gain <= p.settings[4] * cost
            promised = predicted_gain(p.paths, w.matrix, w.rhs, w.step)
            factor = _adapted(factor, gain / max(promised, 1e-300))
            copy(w.q_try, w.q)
            cost = cost_try
        else:
            factor *= 8.0
            cost = evaluate_all(p, w, w.q)
        if resting or factor > _MAX_FACTOR:
            return _resting_status(p, w), iteration + 1, cost
    met = errors_within(w.residuals, p.weights, p.settings[1], p.settings[2])
    return CONVERGED if met else STALLED, iterations, cost


@inlined_kernel
def search(p: Problem, w: Work) -> tuple[float, int, float]:
    """Descend, and where that ends short of the targets, again from starts ever farther away."""
    seed = 0.0
    for i in range(w.q.shape[0]):
        seed += (i + 1.0) * w.q[i]
    copy(w.q, w.q_best)
    status, iterations, cost = FAILED, 0, math.inf
    restarts = int(p.settings[5])
    for restart in range(restarts + 1):
        if restart > 0:
            share = min(1.0, _FIRST_SHARE * 2.0 ** (restart - 1))
            seed = _write_other_start(p.joints, p.first_q, share, seed, w.q_best, w.q)
        # The first try, from where the caller is, takes its time; the last one, too.
        other_status, more, other_cost = descend(p, w, 0 < restart < restarts)
        iterations += more
        if other_status == CONVERGED:
            return CONVERGED, iterations, other_cost
        if other_cost < cost:
            status, cost = other_status, other_cost
            copy(w.q, w.q_best)
    if restarts > 0:
        copy(w.q_best, w.q)
        cost = evaluate_all(p, w, w.q)
    return status, iterations, cost


@kernel
def _write_other_start(
    joints: Array, first_q: int, share: float, seed: float, q_best: Array, q: Array
) -> float:
    """Write the best pose so far with each joint moved a share of the way to a random angle.

    The numbers are random enough and come from the seed alone, so that the same input gives the
    same answer; returns the next seed.
    """
    copy(q_best, q)
    for j in range(joints.shape[0]):
        lower, upper = joints[j, 0], joints[j, 1]
        value = q_best[first_q + j]
        if not upper - lower < _FULL_TURN:
            lower, upper = max(lower, value - math.pi), min(upper, value + math.pi)
        seed = math.sin(seed * 12.9898 + j) * 43758.5453
        seed -= math.floor(seed)
        q[first_q + j] = value + share * (lower + seed * (upper - lower) - value)
    return seed


@kernel
def _adapted(factor: float, gain: float) -> float:
    """Return the next damping factor from the ratio of actual to predicted gain."""
    if gain > 0.5:
        return max(factor * 0.2, _MIN_FACTOR)
    return min(factor * 4.0, _MAX_FACTOR) if gain < 0.1 else factor


@kernel
def solve(*given: Any) -> bool:
    """Solve by this method; see `solve_state.run`. `extra` are clearances."""
    return run(carve, search, given)
