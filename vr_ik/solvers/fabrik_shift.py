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

"""Where FABRIK on a tree has its targets in a round, lest limits hold the ends off them.

A. Aristidou and J. Lasenby, "FABRIK: a fast, iterative solver for the inverse kinematics problem",
2011, has no such thing. There the stages stand still where what limits take away in stage 2 is as
much as stage 1 gives. Here a target is shifted by the gap that a round has left, again and again,
while less than half of the gap goes in a round; one that has an orientation, which a shift
disturbs, only where the round has gained nothing. Where a target is out of reach for certain, its
first shift takes it far off on the line to it: stage 2 then lays the chain out on that line at
once, as lines 1.4 to 1.12 of algorithm 1 do.
"""

import math

from vr_ik.kinematics.compiled import kernel
from vr_ik.solvers.geometric_state import IDLE, Problem, ROUNDS, Work, write_task_poses
from vr_ik.solvers.reach import ANCHOR, least_distance, OTHER, ROOT, TASK

# How far a target is shifted at most, as a multiple of the gap that is left. Of 4, 16 and 64, all
# near to each other, the one with the fewest rounds on motion capture.
_MOST = 4.0
# How far a target out of reach is taken, as a multiple of its distance.
_FAR = 1e3
# Column of w.shifts: the square of the gap that the round before has left [m^2].
_GAP = 3


@kernel
def shift_targets(p: Problem, w: Work) -> None:
    """Write the shifts of this round [m] to w.shifts; w.poses are those at w.q."""
    if w.notes[ROUNDS] == 0.0:
        for task in range(w.shifts.shape[0]):
            w.shifts[task, 0], w.shifts[task, 1], w.shifts[task, 2] = 0.0, 0.0, 0.0
            w.shifts[task, _GAP] = math.inf
        _shift_what_is_out_of_reach(p, w)
        return
    write_task_poses(p, w)
    for task in range(w.shifts.shape[0]):
        _shift(p, w, task)


@kernel
def _shift_what_is_out_of_reach(p: Problem, w: Work) -> None:
    for row in p.reach:
        task = int(row[TASK])
        if row[OTHER] == ROOT and least_distance(row, p.task_placements, p.targets) > 0.0:
            for k in range(3):
                w.shifts[task, k] = _FAR * (p.targets[task, k, 3] - row[ANCHOR + k])


@kernel
def _shift(p: Problem, w: Work, task: int) -> None:
    """Shift a target by the gap that its task has left, or take back what was shifted."""
    target, pose, shift = p.targets[task], w.task_poses[task], w.shifts[task]
    gap, square = 0.0, 0.0
    for k in range(3):
        gap += (target[k, 3] - pose[9 + k]) ** 2
    before, shift[_GAP] = shift[_GAP], gap
    may_add = p.weights[task, 1] <= 0.0 or w.notes[IDLE] > 0.0
    keep, add = 0.5, 0.0
    if gap > before:
        keep = 0.0
    elif gap > 0.25 * before and may_add:
        keep, add = 1.0, 1.0
    for k in range(3):
        shift[k] = keep * shift[k] + add * (target[k, 3] - pose[9 + k])
        square += shift[k] * shift[k]
    if square > _MOST * _MOST * gap:
        scale = _MOST * math.sqrt(gap / square)
        for k in range(3):
            shift[k] *= scale
