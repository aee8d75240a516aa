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

"""Compiled BFGS within the joint limits: a quasi-Newton method, one call a solve.

The method that K. Erleben and S. Andrews 2018 compare the exact Hessian with: an estimate of the
inverse Hessian, at first one over the diagonal of J^T J, is updated from the change of the
gradient in each step (J. Nocedal and S. J.
Wright, "Numerical optimization", 2006, equation 6.17), and a line search makes each step lower the
cost. Joints that the gradient presses against a limit are left out of a step; the rest of it is
followed along the limits.
"""

import math
from typing import Any, NamedTuple

from vr_ik.kinematics.compiled import inlined_kernel, kernel
from vr_ik.kinematics.objective import COMPOSITE, inertia_times, RESIDUAL, write_composites
from vr_ik.kinematics.tree import COLUMN_BODY, COLUMN_DOF, Ints, Tree
from vr_ik.solvers.box_step import FREE
from vr_ik.solvers.joint_bounds import hold_pressed, wrap_blocked
from vr_ik.solvers.solve_state import (
    advance,
    evaluate,
    final_status,
    has_posture,
    joint_pull,
    Problem,
    run,
    write_bounds,
    write_columns,
)
from vr_ik.solvers.solve_values import CONVERGED, copy, errors_within, FAILED, take
from vr_ik.types import Array

# Share of the slope that a step of the line search must gain (Armijo).
_SUFFICIENT = 1e-4
_MAX_SHORTENINGS = 25
# Each trial of the line search is this much shorter than the one before.
_MOST_SHORTENED, _LEAST_SHORTENED = 0.1, 0.5
# Cosine between step and change of the gradient below which the estimate is not updated.
_NO_CURVATURE = 1e-10
# Largest entry of a step by a fresh estimate, which knows nothing of how dofs act together [rad].
_FIRST_STEP = 0.1
# Of the largest entry of a diagonal: smaller ones count as this.
_LEAST_SCALE = 1e-2


class Work(NamedTuple):
    """Buffers of one solver, reused by every solve."""

    poses: Array
    columns: Array
    composites: Array
    residuals: Array
    inverse: Array
    """(nv, nv): the estimate of the inverse Hessian."""
    rhs: Array
    """Minus the gradient."""
    rhs_before: Array
    lower: Array
    upper: Array
    held: Array
    direction: Array
    step: Array
    product: Array
    scales: Array
    """One over the diagonal of J^T J."""
    q: Array
    q_try: Array
    reference: Array
    pose: Array


def work_size(tree: Tree, tasks: int, nq: int, nv: int) -> int:
    """Return how many floats of work space a solve needs."""
    bodies, columns = len(tree.body_ints), len(tree.column_ints)
    per_body, per_dof = 12 + COMPOSITE, nv + 9
    return bodies * per_body + columns * 6 + tasks * RESIDUAL + nv * per_dof + 2 * nq + 15


@inlined_kernel
def _carve(work: Array, p: Problem, nq: int) -> Work:
    """Cut the work space into its buffers."""
    bodies, columns, tasks = p.body_ints.shape[0], p.column_ints.shape[0], p.task_bodies.shape[0]
    nv = p.paths.shape[0]
    a = bodies * 12
    b = a + columns * 6
    c = b + bodies * COMPOSITE
    d = c + tasks * RESIDUAL
    e = d + nv * nv
    f = e + 9 * nv
    g = f + 2 * nq
    return Work(
        take(work, 0, bodies, 12),
        take(work, a, columns, 6),
        take(work, b, bodies, COMPOSITE),
        take(work, c, tasks, RESIDUAL),
        take(work, d, nv, nv),
        work[e : e + nv],
        work[e + nv : e + 2 * nv],
        work[e + 2 * nv : e + 3 * nv],
        work[e + 3 * nv : e + 4 * nv],
        work[e + 4 * nv : e + 5 * nv],
        work[e + 5 * nv : e + 6 * nv],
        work[e + 6 * nv : e + 7 * nv],
        work[e + 7 * nv : e + 8 * nv],
        work[e + 8 * nv : f],
        work[f : f + nq],
        work[f + nq : g],
        work[g : g + 3],
        work[g + 3 : g + 15],
    )


@inlined_kernel
def _write_gradient(p: Problem, w: Work) -> None:
    """Write minus the gradient about w.q, whose poses are in w."""
    write_columns(p, w)
    write_composites(p.body_ints, p.task_bodies, p.weights, w.residuals, w.composites)
    _sum_pulls(p.column_ints, w.columns, w.composites, w.rhs)
    first_v = w.rhs.shape[0] - p.joints.shape[0]
    for j in range(p.joints.shape[0]):
        w.rhs[first_v + j] += joint_pull(p.joints[j], w.q[p.first_q + j])[1]


@kernel
def _sum_pulls(column_ints: Ints, columns: Array, composites: Array, rhs: Array) -> None:
    rhs[:] = 0.0
    for column in range(column_ints.shape[0]):
        body = column_ints[column, COLUMN_BODY]
        if body >= 0:
            total = 0.0
            for i in range(6):
                total += columns[column, i] * composites[body, 10 + i]
            rhs[column_ints[column, COLUMN_DOF]] += total


@kernel
def _reset(inverse: Array, scales: Array) -> None:
    """Begin the estimate anew: each dof by itself, at its own scale."""
    for i in range(inverse.shape[0]):
        for j in range(inverse.shape[0]):
            inverse[i, j] = scales[i] if i == j else 0.0


@inlined_kernel
def _write_scales(p: Problem, w: Work) -> None:
    """Write one over the diagonal of J^T J about w.q, where columns and composites are written.

    Dofs differ by orders of magnitude in how far they move the tasks; the identity would take a
    metre of the root for as much as a radian of a finger.
    """
    _write_diagonal(p.column_ints, w.columns, w.composites, w.scales)
    first_v = w.scales.shape[0] - p.joints.shape[0]
    for j in range(p.joints.shape[0]):
        w.scales[first_v + j] += joint_pull(p.joints[j], w.q[p.first_q + j])[2]
    largest = 0.0
    for dof in range(w.scales.shape[0]):
        largest = max(largest, w.scales[dof])
    for dof in range(w.scales.shape[0]):
        w.scales[dof] = 1.0 / max(w.scales[dof], _LEAST_SCALE * largest, 1e-300)


@kernel
def _write_diagonal(column_ints: Ints, columns: Array, composites: Array, diagonal: Array) -> None:
    """Write the diagonal of J^T J, as far as one column makes it (mimic joints have several)."""
    diagonal[:] = 0.0
    for column in range(column_ints.shape[0]):
        body = column_ints[column, COLUMN_BODY]
        if body >= 0:
            dof = column_ints[column, COLUMN_DOF]
            s = columns[column]
            fx, fy, fz, tx, ty, tz = inertia_times(composites[body], s)
            linear = s[0] * fx + s[1] * fy + s[2] * fz
            diagonal[dof] += linear + s[3] * tx + s[4] * ty + s[5] * tz


@kernel
def _write_direction(inverse: Array, rhs: Array, held: Array, direction: Array) -> float:
    """Write inverse * rhs over the free dofs; return its largest entry."""
    largest = 0.0
    for i in range(rhs.shape[0]):
        total = 0.0
        if held[i] == FREE:
            for j in range(rhs.shape[0]):
                if held[j] == FREE:
                    total += inverse[i, j] * rhs[j]
        direction[i] = total
        largest = max(largest, abs(total))
    return largest


@kernel
def update_inverse(
    inverse: Array, step: Array, rhs_before: Array, rhs: Array, product: Array, fresh: bool
) -> None:
    """Update the estimate from a step and the change of the gradient (equation 6.17).

    A fresh estimate, a diagonal, is scaled to the curvature of the step first (as in equation
    6.20, in the estimate's own measure). Without positive curvature there is nothing to learn.
    """
    n = step.shape[0]
    curvature = step_square = change_square = through = 0.0
    for i in range(n):
        change = rhs_before[i] - rhs[i]
        curvature += step[i] * change
        step_square += step[i] * step[i]
        change_square += change * change
        total = 0.0
        for j in range(n):
            total += inverse[i, j] * (rhs_before[j] - rhs[j])
        product[i] = total
        through += change * total
    if not curvature > _NO_CURVATURE * math.sqrt(step_square * change_square):
        return
    if fresh:
        scale = curvature / through
        for i in range(n):
            inverse[i, i] *= scale
            product[i] *= scale
        through = curvature
    outer = (1.0 + through / curvature) / curvature
    for i in range(n):
        for j in range(n):
            crossed = (product[i] * step[j] + step[i] * product[j]) / curvature
            inverse[i, j] += outer * step[i] * step[j] - crossed


@inlined_kernel
def _search(p: Problem, w: Work, cost: float, length: float) -> float:
    """Follow w.direction until it gains enough; write step and w.q_try, return the cost there."""
    cost_try = math.inf
    for _ in range(_MAX_SHORTENINGS):
        gain = 0.0
        for dof in range(w.step.shape[0]):
            w.step[dof] = min(max(length * w.direction[dof], w.lower[dof]), w.upper[dof])
            gain += w.step[dof] * w.rhs[dof]
        advance(p, w.q, w.step, w.q_try)
        cost_try = evaluate(p, w, w.q_try)
        if cost_try < cost - _SUFFICIENT * gain:
            break
        # Next, the minimum of the parabola through both costs and the slope.
        shorter = 0.5 * gain / max(cost_try - cost + gain, 1e-300)
        length *= min(max(shorter, _MOST_SHORTENED), _LEAST_SHORTENED)
    return cost_try


@inlined_kernel
def _descend(p: Problem, w: Work) -> tuple[float, int, float]:
    """Improve w.q until it converges, rests or runs out; return status, iterations and cost."""
    cost = evaluate(p, w, w.q)
    if not math.isfinite(cost):
        return FAILED, 0, cost
    pulled = has_posture(p)
    fresh = True
    _write_gradient(p, w)
    _write_scales(p, w)
    _reset(w.inverse, w.scales)
    for iteration in range(int(p.settings[0])):
        met = errors_within(w.residuals, p.weights, p.settings[1], p.settings[2])
        if (met and not pulled) or cost <= p.settings[4]:
            return CONVERGED, iteration, cost
        if wrap_blocked(p.joints, p.first_q, w.rhs, w.q):
            cost = evaluate(p, w, w.q)
            _write_gradient(p, w)
        write_bounds(p, w)
        hold_pressed(w.rhs, w.lower, w.upper, w.held)
        largest = _write_direction(w.inverse, w.rhs, w.held, w.direction)
        length = min(1.0, _FIRST_STEP / max(largest, 1e-300)) if fresh else 1.0
        cost_try = _search(p, w, cost, length)
        resting = length * largest <= p.settings[3]
        if cost_try < cost:
            copy(w.q_try, w.q)
            copy(w.rhs, w.rhs_before)
            cost = cost_try
            _write_gradient(p, w)
            update_inverse(w.inverse, w.step, w.rhs_before, w.rhs, w.product, fresh)
            fresh = False
        else:
            # Along the gradient itself nothing is gained only at a minimum.
            resting = resting or fresh
            fresh = True
            evaluate(p, w, w.q)
            _write_gradient(p, w)
            _write_scales(p, w)
            _reset(w.inverse, w.scales)
        if resting:
            return final_status(p, w, True), iteration + 1, cost
    return final_status(p, w, False), int(p.settings[0]), cost


@kernel
def solve(*given: Any) -> bool:
    """Solve by this method; see `solve_state.run`."""
    return run(_carve, _descend, given)
