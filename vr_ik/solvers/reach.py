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

"""Whether targets are out of reach for certain: further away than all bones together are long.

With a fixed root every task has an anchor, the first joint on its way. With a moving root two
targets can be too far apart. What lies within these lengths need not be reachable.
"""

import math

import numpy as np

from vr_ik.kinematics.compiled import kernel
from vr_ik.kinematics.tree import (
    FREE,
    Ints,
    KIND,
    MULTIPLIER,
    OFFSET,
    PARENT,
    Q_INDEX,
    REVOLUTE,
    Tree,
)
from vr_ik.solvers.joint_points import centre_in_parent, joint_centres
from vr_ik.types import Array

# Columns: the task; another task, or ROOT for the anchor, or STILL where nothing moves the task;
# the anchor [m]; the length of the bones from joint to joint [m]; and where on their axes the
# joints are that carry the tasks [m].
TASK, OTHER, ANCHOR, LENGTH, CENTRE, OTHER_CENTRE, REACH = 0, 1, 2, 5, 6, 7, 8
ROOT, STILL = -1, -2
# Targets further away than this share of what the bones and the tolerance allow are too far.
_ROUNDING = 1.0 + 1e-9


def reach_rows(tree: Tree, task_bodies: Ints, slides: Array) -> Array:
    """Return (k, 8): which targets may be how far from what; `slides` (nq,) [m] bounds slides."""
    centres = joint_centres(tree)
    ways = [_way(tree, centres, int(body), slides) for body in task_bodies]
    floating = len(tree.body_ints) > 0 and tree.body_ints[0, KIND] == FREE
    rows: list[tuple[float, ...]] = []
    for task, body in enumerate(task_bodies):
        if body < 0:
            rows.append((task, STILL, 0, 0, 0, 0, 0, 0))
            continue
        if not floating:
            first, length = list(ways[task].items())[-1]
            anchor = centre_in_parent(tree, centres, first)
            rows.append((task, ROOT, *anchor, length, centres[body], 0.0))
            continue
        for other, other_body in enumerate(task_bodies[:task]):
            meeting = next(step for step in ways[task] if step in ways[other])
            length = ways[task][meeting] + ways[other][meeting]
            rows.append((task, other, 0, 0, 0, length, centres[body], centres[other_body]))
    return np.array(rows, np.float64).reshape(-1, REACH)


def _way(tree: Tree, centres: Array, body: int, slides: Array) -> dict[int, float]:
    """Return a body and its ancestors, with how far their joints can be from the body's joint."""
    way: dict[int, float] = {}
    length = 0.0
    while body >= 0:
        parent = int(tree.body_ints[body, PARENT])
        way[body] = length
        if tree.body_ints[body, KIND] not in (REVOLUTE, FREE):
            row = tree.body_floats[body]
            slide = slides[tree.body_ints[body, Q_INDEX]]
            way[body] = length = length + abs(row[MULTIPLIER]) * slide + abs(row[OFFSET])
        if parent >= 0:
            gap = centre_in_parent(tree, centres, body) - (0.0, 0.0, centres[parent])
            length += float(np.linalg.norm(gap))
        body = parent
    return way


@kernel
def is_out_of_reach(
    rows: Array, placements: Array, weights: Array, targets: Array, tolerance: float
) -> bool:
    """Tell whether some target cannot be met to within the tolerance [m] by any joint angles."""
    for row in rows:
        task, other = int(row[TASK]), int(row[OTHER])
        if not weights[task, 0] > 0.0 or (other >= 0 and not weights[other, 0] > 0.0):
            continue
        # Of two tasks each may miss its target.
        if least_distance(row, placements, targets) > (2.0 if other >= 0 else 1.0) * tolerance:
            return True
    return False


@kernel
def is_nearest(
    rows: Array,
    placements: Array,
    weights: Array,
    targets: Array,
    residuals: Array,
    tolerance: float,
) -> bool:
    """Tell whether every task is as near to its target as it can be, with a root that is fixed.

    `residuals` are those of `objective`; they may be more by the tolerance [m].
    """
    for row in rows:
        if row[OTHER] >= 0.0:
            return False
        task = int(row[TASK])
        if weights[task, 0] > 0.0:
            x, y, z = residuals[task, 3], residuals[task, 4], residuals[task, 5]
            least = least_distance(row, placements, targets)
            if math.sqrt(x * x + y * y + z * z) > least + tolerance:
                return False
    return True


@kernel
def least_distance(row: Array, placements: Array, targets: Array) -> float:
    """Return how far from its target a task is at least [m], or two of them are together."""
    task, other = int(row[TASK]), int(row[OTHER])
    reach = 0.0
    if other != STILL:
        reach += row[LENGTH] + _arm(placements[task], row[CENTRE])
    if other >= 0:
        reach += _arm(placements[other], row[OTHER_CENTRE])
    square = 0.0
    for i in range(3):
        end = placements[task, 9 + i] if other == STILL else row[ANCHOR + i]
        if other >= 0:
            end = targets[other, i, 3]
        square += (targets[task, i, 3] - end) ** 2
    return max(math.sqrt(square) - _ROUNDING * reach, 0.0)


@kernel
def _arm(placement: Array, centre: float) -> float:
    """Return how far a task's point is from the joint of the body that carries it [m]."""
    x, y, z = placement[9], placement[10], placement[11] - centre
    return math.sqrt(x * x + y * y + z * z)
