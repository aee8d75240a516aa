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

"""The compiled loop of the geometric solvers on a tree: one call a solve, nothing allocated.

Rounds of a method follow each other until the tasks are met, the joints come to rest or the
iterations run out; the best configuration seen is the result. Its errors are always those of the
true kinematics at the q that is returned.
"""

from collections.abc import Callable
import math
from typing import Any

from vr_ik.kinematics.compiled import inlined_kernel, kernel
from vr_ik.kinematics.tree import KIND, Q_INDEX, REVOLUTE
from vr_ik.solvers.geometric_state import (
    BENDS,
    BEST,
    BEST_HELD,
    carve,
    evaluate,
    HELD,
    IDLE,
    LARGEST_STEP,
    MAX_ITERATIONS,
    ORIENTATION,
    POSITION,
    Problem,
    STEP,
    Work,
    write_loads,
)
from vr_ik.solvers.joint_steps import is_own
from vr_ik.solvers.reach import is_nearest, is_out_of_reach
from vr_ik.solvers.solve_values import (
    CONVERGED,
    copy,
    errors_within,
    FAILED,
    LIMITED,
    poses_finite,
    shapes_fit,
    STALLED,
    UNREACHABLE,
    write_result,
    write_start,
)
from vr_ik.types import Array

# How far the joints of a straight limb are bent when it rests without having met its target [rad].
_BEND = 0.2
_MAX_BENDS = 3
# Rounds in a row that may fail to improve on the best before the solve counts as at rest.
_PATIENCE = 8
# A smaller relative gain in cost is no gain.
_GAIN = 1e-9


@inlined_kernel
def run(one_round: Callable[[Problem, Work], None], given: tuple[Any, ...]) -> bool:
    """Solve by rounds of one method; `given` are the arguments of a `KernelSolver`'s kernel.

    Writes q, status, iterations, cost and errors; returns False, and does nothing, where the
    shapes of targets or q_start are wrong. Each method's kernel has its own copy of this function.
    """
    settings, work, targets = given[14], given[15], given[16]
    q_start, values = given[17], given[18]
    nq = q_start.shape[0]
    fits = shapes_fit(given[4], targets, q_start, values)
    if fits:
        p = Problem(
            given[0],
            given[1],
            given[4],
            given[5],
            given[6],
            given[7],
            given[8],
            given[9],
            given[10],
            given[11],
            given[12],
            given[13],
            settings,
            targets,
            7 if nq - given[7].shape[0] == 7 else 0,
        )
        w = carve(work, p.body_ints.shape[0], p.task_bodies.shape[0], nq)
        status, iterations = FAILED, 0
        if begin(p, w, q_start):
            status, iterations = iterate(one_round, p, w)
        cost = evaluate(p, w)
        write_result(w.q, status, iterations, cost, w.residuals, values)
    return fits


@kernel
def begin(p: Problem, w: Work, q_start: Array) -> bool:
    """Write the start; False where it or the targets are not finite or too large to be squared."""
    if not (write_start(q_start, p.first_q, p.joints, w.q) and poses_finite(p.targets)):
        return False
    for i in range(w.notes.shape[0]):
        w.notes[i] = 0.0
    w.notes[BEST] = evaluate(p, w)
    write_loads(p, w)
    copy(w.q, w.q_best)
    return math.isfinite(w.notes[BEST])


@inlined_kernel
def iterate(one_round: Callable[[Problem, Work], None], p: Problem, w: Work) -> tuple[float, int]:
    """Improve w.q until it has to end; return status and iterations."""
    iteration, status = 0, is_met(p, w)
    while status < 0.0:
        one_round(p, w)
        iteration += 1
        status = judge(p, w, iteration)
    return status, iteration


@kernel
def is_met(p: Problem, w: Work) -> float:
    """Return the status of success, and -1 where the tasks are not met."""
    if errors_within(w.residuals, p.weights, p.settings[POSITION], p.settings[ORIENTATION]):
        return CONVERGED
    return -1.0


@kernel
def judge(p: Problem, w: Work, iteration: int) -> float:
    """Look at the outcome of a round: keep the best, and return a status where it has to end."""
    notes = w.notes
    cost = evaluate(p, w)
    if cost < notes[BEST] * (1.0 - _GAIN):
        notes[BEST], notes[IDLE], notes[BEST_HELD] = cost, 0.0, notes[HELD]
        copy(w.q, w.q_best)
    else:
        notes[IDLE] += 1.0
    if is_met(p, w) >= 0.0:
        return CONVERGED
    status = -1.0
    if _is_nearest(p, w):
        copy(w.q, w.q_best)
        status = UNREACHABLE
    elif iteration >= int(p.settings[MAX_ITERATIONS]):
        status = resting_status(p, 0.0)
    if notes[IDLE] > _PATIENCE or notes[LARGEST_STEP] <= p.settings[STEP]:
        resting = resting_status(p, max(notes[BEST_HELD], notes[HELD]))
        if status >= 0.0 or notes[BENDS] >= _MAX_BENDS or resting == UNREACHABLE:
            status = resting
        else:
            _bend(p, w)
    notes[LARGEST_STEP], notes[HELD] = 0.0, 0.0
    if status >= 0.0:
        copy(w.q_best, w.q)
        evaluate(p, w)
        if is_met(p, w) >= 0.0:
            return CONVERGED
    return status


@kernel
def _is_nearest(p: Problem, w: Work) -> bool:
    """Tell whether targets out of reach are as near as they can be, and the others met."""
    position, orientation = p.settings[POSITION], p.settings[ORIENTATION]
    return (
        is_nearest(p.reach, p.task_placements, p.weights, p.targets, w.residuals, position)
        and errors_within(w.residuals, p.weights, math.inf, orientation)
        and resting_status(p, 0.0) == UNREACHABLE
    )


@kernel
def resting_status(p: Problem, held: float) -> float:
    """Say why the joints rest short of the targets: too far, limits, or the method is stuck."""
    if is_out_of_reach(p.reach, p.task_placements, p.weights, p.targets, p.settings[POSITION]):
        return UNREACHABLE
    return LIMITED if held > 0.0 else STALLED


@kernel
def _bend(p: Problem, w: Work) -> None:
    """Bend the hinges a little, from the best pose: a straight limb would stay straight."""
    w.notes[BENDS] += 1.0
    w.notes[IDLE] = 0.0
    copy(w.q_best, w.q)
    for body in range(p.body_ints.shape[0]):
        if p.body_ints[body, KIND] != REVOLUTE or w.load[body] <= 0.0 or not is_own(p, body):
            continue
        index = p.body_ints[body, Q_INDEX]
        lower, upper = p.joints[index - p.first_q, 0], p.joints[index - p.first_q, 1]
        # The sign differs from joint to joint and from time to time, by the golden ratio.
        sign = 1.0 if (0.618 * body + 0.38 * w.notes[BENDS]) % 1.0 < 0.5 else -1.0
        bent = w.q[index] + sign * _BEND
        if not lower <= bent <= upper:
            bent = w.q[index] - sign * _BEND
        w.q[index] = min(max(bent, lower), upper)
    evaluate(p, w)
