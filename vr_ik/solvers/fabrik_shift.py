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
much as stage 1 gives: each target is therefore shifted by all that the rounds so far have left of
its gap, up to a few times what is left now. Where a target is out of reach for certain, its first
shift takes it far off on the line to it: stage 2 then lays the chain out on that line at once, as
lines 1.4 to 1.12 of algorithm 1 do.
"""

import math

from vr_ik.kinematics.compiled import kernel
from vr_ik.solvers.geometric_state import Problem, ROUNDS, Work, write_task_poses
from vr_ik.solvers.reach import ANCHOR, least_distance, OTHER, ROOT, TASK
from vr_ik.types import Array

# How far a target is shifted at most, as a multiple of the gap that is left. Of 4, 16 and 64, all
# near to each other, the one with the fewest rounds on motion capture.
_MOST = 4.0
# How far a target out of reach is taken, as a multiple of its distance.
_FAR = 1e3


@kernel
def shift_targets(p: Problem, w: Work) -> None:
    """Write the shifts of this round [m] to w.shifts; w.poses are those at w.q."""
    if w.notes[ROUNDS] == 0.0:
        for task in range(w.shifts.shape[0]):
            for k in range(3):
                w.shifts[task, k] = 0.0
        _shift_what_is_out_of_reach(p, w)
        return
    write_task_poses(p, w)
    for task in range(w.shifts.shape[0]):
        _add_gap(p.targets[task], w.task_poses[task], w.shifts[task])


@kernel
def _shift_what_is_out_of_reach(p: Problem, w: Work) -> None:
    for row in p.reach:
        task = int(row[TASK])
        if row[OTHER] == ROOT and least_distance(row, p.task_placements, p.targets) > 0.0:
            for k in range(3):
                w.shifts[task, k] = _FAR * (p.targets[task, k, 3] - row[ANCHOR + k])


@kernel
def _add_gap(target: Array, pose: Array, shift: Array) -> None:
    """Shift a target by the gap that a task at a pose (12) has left, as far as it may."""
    gap, square = 0.0, 0.0
    for k in range(3):
        left = target[k, 3] - pose[9 + k]
        shift[k] += left
        gap += left * left
        square += shift[k] * shift[k]
    if square > _MOST * _MOST * gap:
        scale = _MOST * math.sqrt(gap / square)
        for k in range(3):
            shift[k] *= scale
