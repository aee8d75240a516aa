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

"""Compiled Jacobian methods: one loop with exchangeable step rules, one call a solve.

Each iteration steps, then clamps every joint to its limits, as P. Caserman et al. 2019 do: simple,
but a joint at its limit does not hand its share of the step over to the others (`lm` and `newton`
do that). The loop ends when every task is within both tolerances, at the iteration limit, or when
the step no longer changes and gains no more. The best configuration seen is the result.
"""

import math
from typing import Any, NamedTuple

from vr_ik.kinematics.compiled import inlined_kernel, kernel
from vr_ik.kinematics.objective import COMPOSITE, RESIDUAL
from vr_ik.kinematics.tree import Tree
from vr_ik.solvers.jacobian_steps import (
    TRUNCATED,
    write_dual_step,
    write_normal_step,
    write_singular_step,
)
from vr_ik.solvers.solve_state import advance, evaluate, linearize, Problem, run, write_columns
from vr_ik.solvers.solve_values import (
    CONVERGED,
    copy,
    errors_within,
    FAILED,
    LIMITED,
    STALLED,
    take,
)
from vr_ik.solvers.task_jacobian import TASK_ROWS, write_task_jacobian
from vr_ik.types import Array

# Steps that no longer change, but are clamped or a fixed share of the way, may still gain.
_LITTLE_GAINED = 0.99
# A joint's pull on the errors, as a cosine, below which it can do nothing more about them.
_NO_PULL = 1e-2


class Work(NamedTuple):
    """Buffers of one solver, reused by every solve."""

    poses: Array
    columns: Array
    composites: Array
    residuals: Array
    matrix: Array
    factor: Array
    jacobian: Array
    rotation: Array
    x: Array
    values: Array
    along: Array
    shares: Array
    error: Array
    rhs: Array
    held: Array
    step: Array
    step_before: Array
    speeds: Array
    scratch: Array
    q: Array
    q_next: Array
    q_best: Array
    reference: Array
    pose: Array


@kernel
def jacobian_rows(tasks: int, nv: int, rule: int) -> int:
    """Return the rows of J where the rule works on it: as it must, or as they are fewer."""
    rows = TASK_ROWS * tasks
    return rows if rule >= TRUNCATED or rows < nv else 0


def work_size(tree: Tree, tasks: int, nq: int, nv: int, rule: int) -> int:
    """Return how many floats of work space a solve needs."""
    bodies, columns, width = len(tree.body_ints), len(tree.column_ints), tree.paths.shape[1]
    rows = jacobian_rows(tasks, nv, rule)
    rank = min(rows, nv)
    return (
        bodies * (12 + COMPOSITE)
        + columns * 6
        + tasks * RESIDUAL
        + 2 * nv * width
        + 2 * rows * nv
        + rank * (rank + 3)
        + rows
        + 6 * nv
        + 3 * nq
        + 15
    )


@inlined_kernel
def _carve(work: Array, p: Problem, nq: int) -> Work:
    """Cut the work space into its buffers."""
    bodies, columns, tasks = p.body_ints.shape[0], p.column_ints.shape[0], p.task_bodies.shape[0]
    nv, width = p.paths.shape
    rows = jacobian_rows(tasks, nv, int(p.settings[4]))
    rank = min(rows, nv)
    a = bodies * 12
    b = a + columns * 6
    c = b + bodies * COMPOSITE
    d = c + tasks * RESIDUAL
    e = d + nv * width
    f = e + nv * width
    g = f + rows * nv
    h = g + rank * rank
    i = h + rows * nv
    j = i + 3 * rank + rows
    k = j + 6 * nv
    m = k + 3 * nq
    return Work(
        take(work, 0, bodies, 12),
        take(work, a, columns, 6),
        take(work, b, bodies, COMPOSITE),
        take(work, c, tasks, RESIDUAL),
        take(work, d, nv, width),
        take(work, e, nv, width),
        take(work, f, rows, nv),
        take(work, g, rank, rank),
        take(work, h, rank, max(rows, nv)) if rows > 0 else take(work, h, 0, nv),
        work[i : i + rank],
        work[i + rank : i + 2 * rank],
        work[i + 2 * rank : i + 3 * rank],
        work[i + 3 * rank : j],
        work[j : j + nv],
        work[j + nv : j + 2 * nv],
        work[j + 2 * nv : j + 3 * nv],
        work[j + 3 * nv : j + 4 * nv],
        work[j + 4 * nv : j + 5 * nv],
        work[j + 5 * nv : k],
        work[k : k + nq],
        work[k + nq : k + 2 * nq],
        work[k + 2 * nq : m],
        work[m : m + 3],
        work[m + 3 : m + 15],
    )


@inlined_kernel
def _write_step(p: Problem, w: Work) -> None:
    """Write the next step of the chosen rule from the poses and residuals at w.q."""
    rule, parameter = int(p.settings[4]), p.settings[5]
    if w.jacobian.shape[0] == 0:
        linearize(p, w)
        write_normal_step(
            rule, parameter, p.paths, w.matrix, w.rhs, w.held, w.factor, w.scratch, w.step
        )
        return
    write_columns(p, w)
    write_task_jacobian(
        p.body_ints,
        p.column_ints,
        w.columns,
        p.task_bodies,
        p.weights,
        w.residuals,
        w.jacobian,
        w.error,
    )
    if rule < TRUNCATED:
        write_dual_step(rule, parameter, w.jacobian, w.error, w.rotation, w.along, w.step)
        return
    write_singular_step(
        rule,
        parameter,
        w.jacobian,
        w.error,
        w.rotation,
        w.x,
        w.values,
        w.along,
        w.shares,
        w.speeds,
        w.scratch,
        0.0,
        w.step,
    )


@inlined_kernel
def _step_change(w: Work) -> float:
    """Return by how much the step differs from the one before, and remember it."""
    change = 0.0
    for dof in range(w.step.shape[0]):
        change += abs(w.step[dof] - w.step_before[dof])
        w.step_before[dof] = w.step[dof]
    return change


@inlined_kernel
def _descend(p: Problem, w: Work) -> tuple[float, int, float]:
    """Improve w.q until it converges, rests or runs out; return status, iterations and cost."""
    cost = evaluate(p, w, w.q)
    if not math.isfinite(cost):
        return FAILED, 0, cost
    w.held[:] = 0.0
    for i in range(w.rotation.shape[0]):
        for j in range(w.rotation.shape[0]):
            w.rotation[i, j] = 1.0 if i == j else 0.0
    best = cost
    copy(w.q, w.q_best)
    w.step_before[:] = math.inf
    iterations = int(p.settings[0])
    resting = False
    for iteration in range(iterations):
        if resting or errors_within(w.residuals, p.weights, p.settings[1], p.settings[2]):
            iterations = iteration
            break
        _write_step(p, w)
        resting = _step_change(w) < p.settings[3]
        advance(p, w.q, w.step, w.q_next)
        copy(w.q_next, w.q)
        cost_before = cost
        cost = evaluate(p, w, w.q)
        resting = resting and cost > _LITTLE_GAINED * cost_before
        if cost < best:
            best = cost
            copy(w.q, w.q_best)
    copy(w.q_best, w.q)
    evaluate(p, w, w.q)
    return _final_status(p, w, resting), iterations, best


@inlined_kernel
def _final_status(p: Problem, w: Work, resting: bool) -> float:
    """Tell success from a minimum at the joint limits, any other minimum, and no minimum."""
    if errors_within(w.residuals, p.weights, p.settings[1], p.settings[2]):
        return CONVERGED
    if not resting:
        return STALLED
    linearize(p, w)
    error = 0.0
    for task in range(p.weights.shape[0]):
        r = w.residuals[task]
        error += p.weights[task, 0] * (r[3] ** 2 + r[4] ** 2 + r[5] ** 2)
        error += p.weights[task, 1] * (r[6] ** 2 + r[7] ** 2 + r[8] ** 2)
    first_v = w.rhs.shape[0] - p.joints.shape[0]
    status = STALLED
    for dof in range(w.rhs.shape[0]):
        # The cosine between the errors and what this joint can do about them.
        pull = w.rhs[dof] / math.sqrt(w.matrix[dof, p.paths[dof, 0]] * error + 1e-300)
        if abs(pull) <= _NO_PULL:
            continue
        if dof < first_v or not _at_limit(p, w, dof - first_v, pull):
            return STALLED
        status = LIMITED
    return status


@kernel
def _at_limit(p: Problem, w: Work, joint: int, pull: float) -> bool:
    value = w.q[p.first_q + joint]
    return value >= p.joints[joint, 1] if pull > 0.0 else value <= p.joints[joint, 0]


@kernel
def solve(*given: Any) -> bool:
    """Solve by this method; see `solve_state.run`."""
    return run(_carve, _descend, given)
