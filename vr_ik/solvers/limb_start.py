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

"""Compiled analytic start: arms and legs at their tasks before the whole body is refined.

Two bones reach a wrist's place with the elbow anywhere on a circle. Descent from one place of it
may end in a limb twisted against its limits, so some are tried, all around (see `two_bone_round`),
and the one whose cost is least is kept: with the hand's orientation, the pull to the posture and
the clearances.
"""

import math

from vr_ik.kinematics.compiled import kernel
from vr_ik.kinematics.tree import Q_INDEX
from vr_ik.solvers import geometric_state
from vr_ik.solvers.limbs import BEND, HAS_LIMB
from vr_ik.solvers.lm_kernel import evaluate_all
from vr_ik.solvers.lm_state import Work
from vr_ik.solvers.natural_start import ARM, EACH, EVERYBODY, NUMBERS
from vr_ik.solvers.solve_state import Problem
from vr_ik.solvers.solve_values import copy
from vr_ik.solvers.two_bone_round import leads_limb, solve_limb
from vr_ik.types import Array

RETRY, LIMBS, BUFFER = 0, 5, 7
"""Entries of what `BodySolver.more` returns: `natural_start`'s vector, the rows of `limbs`, work
space of `geometric_state`."""
# Places of an elbow that are tried, and how exactly its limb is led there [rad].
_SWIVELS = 6
_LEAST_STEP = 0.01


@kernel
def hide_limbs(limbs: Array, weights: Array, hidden: Array) -> bool:
    """Take their weights from the tasks of limbs; tell whether any other task has one."""
    is_any = False
    for task in range(weights.shape[0]):
        for i in range(2):
            hidden[task, i] = weights[task, i]
            if limbs[task, HAS_LIMB] > 0.0:
                weights[task, i] = 0.0
            elif weights[task, i] > 0.0:
                is_any = True
    return is_any


@kernel
def show_limbs(hidden: Array, weights: Array) -> None:
    """Give back the weights that `hide_limbs` took."""
    for task in range(weights.shape[0]):
        copy(hidden[task], weights[task])


@kernel
def place_limbs(p: Problem, w: Work, due: int) -> None:
    """Write w.q with the limbs that are due where they cost least; root and trunk stay.

    A limb stays, too, where it costs less than in any other place.
    """
    retry, points, lists, chains, centres, limbs, settings, buffer = p.more
    two_bone = geometric_state.Problem(
        p.body_ints,
        p.body_floats,
        p.task_bodies,
        p.task_placements,
        p.weights,
        p.joints,
        p.reach,
        points,
        lists,
        chains,
        centres,
        limbs,
        settings,
        p.targets,
        p.first_q,
    )
    work = geometric_state.carve(
        buffer, p.body_ints.shape[0], p.task_bodies.shape[0], w.q.shape[0]
    )
    for task in range(p.task_bodies.shape[0]):
        if not leads_limb(two_bone, task):
            continue
        joint = p.body_ints[int(limbs[task, BEND]), Q_INDEX] - p.first_q
        if due == EVERYBODY or int(retry[NUMBERS + EACH * joint + ARM]) == due:
            _place_limb(p, w, two_bone, work, task)


@kernel
def _place_limb(
    p: Problem,
    w: Work,
    two_bone: geometric_state.Problem,
    work: geometric_state.Work,
    task: int,
) -> None:
    """Write w.q with one limb where it costs least."""
    copy(w.q, work.q_before)
    least = evaluate_all(p, w, w.q)
    for place in range(_SWIVELS):
        copy(work.q_before, work.q)
        solve_limb(two_bone, work, task, 2.0 * math.pi * place / _SWIVELS, _LEAST_STEP)
        cost = evaluate_all(p, w, work.q)
        if cost < least:
            least = cost
            copy(work.q, w.q)
