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

"""Compiled solve of `body`: analytic start, whole-body refinement, a second try where it is due.

The start is for the first solve alone; all others begin where the caller is.
"""

from typing import Any

from vr_ik.kinematics.compiled import inlined_kernel, kernel
from vr_ik.solvers.limb_start import BUFFER, hide_limbs, LIMBS, place_limbs, RETRY, show_limbs
from vr_ik.solvers.lm_kernel import descend, evaluate_all, search
from vr_ik.solvers.lm_state import carve, Work
from vr_ik.solvers.natural_start import (
    COLD,
    EVERYBODY,
    exchange_pulls,
    is_clear_gain,
    is_elsewhere,
    is_far,
    LEAPT,
    NOBODY,
    PAUSE,
    SHORTEST,
    strain,
    what_is_due,
    write_natural_start,
)
from vr_ik.solvers.solve_state import Problem, run
from vr_ik.solvers.solve_values import copy, FAILED, take


@inlined_kernel
def _solve(p: Problem, w: Work) -> tuple[float, int, float]:
    """Search, at first from limbs at their tasks, and again from a natural posture where due."""
    retry = p.more[RETRY]
    first = 0
    if retry[COLD] > 0.0:
        evaluate_all(p, w, w.q)
        # Where devices are near already there is nothing to look for.
        if is_far(retry, w.residuals, p.weights):
            first = _lead_limbs(p, w, EVERYBODY)
    status, iterations, cost = search(p, w)
    if status != FAILED:
        retry[COLD] = 0.0
    due = what_is_due(retry, w.residuals, p.weights, p.first_q, w.q)
    if due != NOBODY:
        status, more, cost = _retried(p, w, due, status)
        iterations += more
    return status, first + iterations, cost


@kernel
def _descended(p: Problem, w: Work) -> tuple[float, int, float]:
    """Descend in haste, in code that is compiled once for all that is not done in every frame.

    What comes nearer slowly goes on in the descent or the frames that follow.
    """
    return descend(p, w, True)


@kernel
def _lead_limbs(p: Problem, w: Work, due: int) -> int:
    """Bring the limbs that are due to their tasks; return the iterations.

    Where all are due, root and trunk come first: by their own tasks or, without any, by those of
    the limbs.
    """
    iterations = 0
    if due == EVERYBODY:
        hidden = take(p.more[BUFFER], 0, p.weights.shape[0], 2)
        if not hide_limbs(p.more[LIMBS], p.weights, hidden):
            show_limbs(hidden, p.weights)
        _, iterations, _ = _descended(p, w)
        show_limbs(hidden, p.weights)
    place_limbs(p, w, due)
    return iterations


@inlined_kernel
def _retried(p: Problem, w: Work, due: int, status: float) -> tuple[float, int, float]:
    """Descend from a natural posture, too; return the better outcome, which is left in w.

    Where joints were just now does not count for once, in neither of the two: it would speak
    against any other pose.
    """
    retry = p.more[RETRY]
    strain_here = strain(retry, due, p.first_q, w.q)
    copy(w.q, w.q_best)
    exchange_pulls(retry, p.joints)
    cost_here = evaluate_all(p, w, w.q)
    write_natural_start(retry, due, p.joints, p.first_q, w.q)
    iterations = _lead_limbs(p, w, due)
    other_status, more, other_cost = _descended(p, w)
    iterations += more
    is_better = is_clear_gain(retry, due, strain_here, cost_here, other_cost)
    is_better = is_better and is_elsewhere(retry, p.first_q, w.q, w.q_best)
    if is_better:
        # Seldom, and only now it matters how much lower it is near here.
        other = p.more[BUFFER][: w.q.shape[0]]
        copy(w.q, other)
        copy(w.q_best, w.q)
        _, more, cost_here = _descended(p, w)
        iterations += more
        copy(other, w.q)
        is_better = is_clear_gain(retry, due, strain_here, cost_here, other_cost)
    exchange_pulls(retry, p.joints)
    if is_better:
        retry[LEAPT] = 1.0
        retry[PAUSE] = retry[SHORTEST]
        status = other_status
    else:
        copy(w.q_best, w.q)
    return status, iterations, evaluate_all(p, w, w.q)


@kernel
def solve(*given: Any) -> bool:
    """Solve by this method; see `solve_state.run`.

    `extra` are clearances, `more` is what `BodySolver.more` returns.
    """
    return run(carve, _solve, given)
