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

"""Compiled Newton's method with the exact Hessian, within the joint limits; one call a solve.

K. Erleben and S. Andrews, "Solving inverse kinematics using exact Hessian matrices", 2018: each
step minimises the quadratic model of equation 10 within the limits (equation 5, by `box_step`),
either inside a trust region, or as the direction of a line search. Where the Hessian is
indefinite, the nearest positive semi-definite matrix takes its place (section 6.7), or it is
damped until it is definite; see `newton_model`.
"""

import math
from typing import Any, NamedTuple

from vr_ik.kinematics.compiled import inlined_kernel, kernel
from vr_ik.kinematics.curvature import CURVATURE
from vr_ik.kinematics.objective import COMPOSITE, RESIDUAL
from vr_ik.kinematics.tree import Ints, Tree
from vr_ik.solvers.box_step import bounded_step
from vr_ik.solvers.newton_model import write_definite_model
from vr_ik.solvers.solve_state import (
    advance,
    evaluate,
    final_status,
    has_posture,
    predicted_gain,
    Problem,
    run,
)
from vr_ik.solvers.solve_values import CONVERGED, copy, errors_within, FAILED, take
from vr_ik.types import Array

# In `settings`, after iterations and tolerances of position, orientation, step and cost.
LINE_SEARCH, PROJECTION, RADIUS = 5, 6, 7
# Damping that shortens a step to the trust region: at first, of what is surely enough, and growth.
_FIRST, _MORE = 0.03, 3.0
_MAX_TRIALS = 12
_MAX_HALVINGS = 20
# Share of the slope that a step of the line search must gain (Armijo).
_SUFFICIENT = 1e-4
# Of the cost: a model that promises less than this has nothing left to give.
_ROUNDING = 1e-15


class Work(NamedTuple):
    """Buffers of one solver, reused by every solve."""

    poses: Array
    columns: Array
    composites: Array
    residuals: Array
    curvatures: Array
    bends: Array
    matrix: Array
    dense: Array
    factor: Array
    x: Array
    rhs: Array
    lower: Array
    upper: Array
    held: Array
    step: Array
    scratch: Array
    damping: Array
    q: Array
    q_try: Array
    reference: Array
    pose: Array


def work_size(tree: Tree, tasks: int, nq: int, nv: int) -> int:
    """Return how many floats of work space a solve needs."""
    bodies, columns, width = len(tree.body_ints), len(tree.column_ints), tree.paths.shape[1]
    return (
        bodies * (12 + COMPOSITE + CURVATURE)
        + columns * (6 + 3)
        + tasks * RESIDUAL
        + nv * width
        + 3 * nv * nv
        + 7 * nv
        + 2 * nq
        + 15
    )


@inlined_kernel
def _carve(work: Array, p: Problem, nq: int) -> Work:
    """Cut the work space into its buffers."""
    bodies, columns, tasks = p.body_ints.shape[0], p.column_ints.shape[0], p.task_bodies.shape[0]
    nv, width = p.paths.shape
    a = bodies * 12
    b = a + columns * 6
    c = b + bodies * COMPOSITE
    d = c + tasks * RESIDUAL
    e = d + bodies * CURVATURE
    f = e + columns * 3
    g = f + nv * width
    h = g + 3 * nv * nv
    i = h + 7 * nv
    j = i + 2 * nq
    return Work(
        take(work, 0, bodies, 12),
        take(work, a, columns, 6),
        take(work, b, bodies, COMPOSITE),
        take(work, c, tasks, RESIDUAL),
        take(work, d, bodies, CURVATURE),
        take(work, e, columns, 3),
        take(work, f, nv, width),
        take(work, g, nv, nv),
        take(work, g + nv * nv, nv, nv),
        take(work, g + 2 * nv * nv, nv, nv),
        work[h : h + nv],
        work[h + nv : h + 2 * nv],
        work[h + 2 * nv : h + 3 * nv],
        work[h + 3 * nv : h + 4 * nv],
        work[h + 4 * nv : h + 5 * nv],
        work[h + 5 * nv : h + 6 * nv],
        work[h + 6 * nv : i],
        work[i : i + nq],
        work[i + nq : j],
        work[j : j + 3],
        work[j + 3 : j + 15],
    )


@kernel
def _largest(values: Array) -> float:
    largest = 0.0
    for value in values:
        largest = max(largest, abs(value))
    return largest


@kernel
def trusted_step(
    paths: Ints,
    matrix: Array,
    floor: float,
    rhs: Array,
    lower: Array,
    upper: Array,
    radius: float,
    damping: Array,
    held: Array,
    factor: Array,
    step: Array,
    scratch: Array,
) -> float:
    """Write the step within the bounds, damped until no entry is larger than the radius.

    Damping turns a step that is too long towards the gradient, as the minimum inside a trust
    region does. Returns the gain that the model promises, -1 where there is no step.
    """
    extra = 0.0
    for _ in range(_MAX_TRIALS):
        damping[:] = floor + extra
        if not bounded_step(
            paths, matrix, damping, rhs, lower, upper, held, factor, step, scratch
        ):
            return -1.0
        if _largest(step) <= radius:
            break
        extra = max(_MORE * extra, _FIRST * _largest(rhs) / radius)
    return predicted_gain(paths, matrix, rhs, step)


@inlined_kernel
def _propose(w: Work, paths: Ints, dense: bool, floor: float, radius: float) -> float:
    """Write the next step into w.step; return the gain that the model promises."""
    return trusted_step(
        paths,
        w.dense if dense else w.matrix,
        floor,
        w.rhs,
        w.lower,
        w.upper,
        radius,
        w.damping,
        w.held,
        w.factor,
        w.step,
        w.scratch,
    )


@inlined_kernel
def _search(p: Problem, w: Work, cost: float, halvings: int) -> float:
    """Halve w.step until it gains enough, write where it leads and return the cost there."""
    slope = 0.0
    for dof in range(w.step.shape[0]):
        slope += w.rhs[dof] * w.step[dof]
    advance(p, w.q, w.step, w.q_try)
    cost_try = evaluate(p, w, w.q_try)
    for _ in range(halvings):
        if cost_try <= cost - _SUFFICIENT * slope:
            break
        slope *= 0.5
        for dof in range(w.step.shape[0]):
            w.step[dof] *= 0.5
        advance(p, w.q, w.step, w.q_try)
        cost_try = evaluate(p, w, w.q_try)
    return cost_try


@kernel
def _adapted(radius: float, largest: float, ratio: float) -> float:
    """Return the next radius of the trust region from the ratio of actual to promised gain."""
    if ratio < 0.25:
        return 0.25 * largest
    return 2.0 * radius if ratio > 0.75 and largest > 0.9 * radius else radius


@inlined_kernel
def _descend(p: Problem, w: Work) -> tuple[float, int, float]:
    """Improve w.q until it converges, rests or runs out; return status, iterations and cost."""
    cost = evaluate(p, w, w.q)
    if not math.isfinite(cost):
        return FAILED, 0, cost
    line_search = p.settings[LINE_SEARCH] > 0.0
    pulled = has_posture(p)
    radius = math.inf if line_search else p.settings[RADIUS]
    accepted = True
    dense, floor = False, 0.0
    for iteration in range(int(p.settings[0])):
        if accepted:
            met = errors_within(w.residuals, p.weights, p.settings[1], p.settings[2])
            if (met and not pulled) or cost <= p.settings[4]:
                return CONVERGED, iteration, cost
            dense, floor = write_definite_model(p, w, p.settings[PROJECTION] > 0.0)
        promised = _propose(w, p.extra if dense else p.paths, dense, floor, radius)
        largest = _largest(w.step)
        resting = promised <= _ROUNDING * cost or largest <= p.settings[3]
        cost_try = _search(p, w, cost, _MAX_HALVINGS if line_search else 0)
        accepted = cost_try < cost
        if accepted:
            copy(w.q_try, w.q)
        else:
            evaluate(p, w, w.q)
        if line_search:
            resting = resting or not accepted
        else:
            radius = _adapted(radius, largest, (cost - cost_try) / max(promised, 1e-300))
        cost = min(cost, cost_try)
        if resting:
            return final_status(p, w, True), iteration + 1, cost
    return final_status(p, w, False), int(p.settings[0]), cost


@kernel
def solve(*given: Any) -> bool:
    """Solve by this method; see `solve_state.run`."""
    return run(_carve, _descend, given)
