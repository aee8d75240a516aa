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

"""Finds the limbs of a tree: shoulder, elbow and wrist on the way to each task."""

import numpy as np

from vr_ik.kinematics import kernels
from vr_ik.kinematics.tree import FREE, Ints, KIND, PARENT, REVOLUTE, Tree
from vr_ik.solvers.joint_points import JointPoints
from vr_ik.types import Array

# Columns of a task's row; the bodies are numbers of the tree's.
HAS_LIMB, SHOULDER, BEND, WRIST, BASE = 0, 1, 2, 3, 4
IS_KNEE, OUTWARD, HALF_WIDTH, AXES = 5, 6, 7, 8
# Columns of the last row.
FIXED_POLE, FAR_POLE, NEAR_POLE, MARGIN = 0, 3, 6, 9
WIDTH = 17

POLE_KEEP, POLE_FIXED, POLE_ZONES = 0, 1, 2

# A hinge whose axis passes a joint at a smaller distance does not move it [m].
_ON_AXIS = 1e-3


def find_limbs(tree: Tree, points: JointPoints, task_bodies: Ints, q: Array) -> Array:
    """Return a row for each task: its limb, and the axes of the body that carries it.

    A limb is the last three points on the way to a task of which the first has two hinges or more,
    and the second exactly one that bends, beside hinges along the bones. The axes are those of the
    model's root at q, by rows and as the limb's base sees them; a limb to the left of the root
    has its outside there, and one whose wrist moves backwards when it bends is a leg.
    """
    n = len(tree.body_ints)
    poses = np.empty((n, 12))
    kernels.body_poses(tree.body_ints, tree.body_floats, q, poses)
    rows = np.zeros((len(task_bodies), WIDTH))
    for task in range(len(task_bodies)):
        way = [p for p in points.lists[points.chains[task] : points.chains[task + 1]] if p < n]
        for shoulder, elbow, wrist in reversed(list(zip(way, way[1:], way[2:], strict=False))):
            bends = _bending(tree, points, poses, shoulder, elbow, wrist)
            if len(bends) == 1 and _hinges(tree, shoulder, elbow, wrist) >= 2:
                rows[task] = _row(tree, points, poses, shoulder, bends[0], wrist)
                break
    return rows


def _centre(points: JointPoints, poses: Array, body: int) -> Array:
    return poses[body, 9:] + points.centres[body] * poses[body, [2, 5, 8]]


def _between(tree: Tree, first: int, end: int) -> list[int]:
    """Return the bodies from `first` to before `end` on the way to `end`."""
    way = []
    body = tree.body_ints[end, PARENT]
    while body >= first:
        way.append(int(body))
        body = tree.body_ints[body, PARENT]
    return way[::-1]


def _hinges(tree: Tree, shoulder: int, elbow: int, wrist: int) -> int:
    """Return how many hinges the shoulder has; 0 where anything in the limb slides or is free."""
    bodies = [*_between(tree, shoulder, wrist), wrist]
    if any(tree.body_ints[body, KIND] != REVOLUTE for body in bodies):
        return 0
    return len(_between(tree, shoulder, elbow))


def _bending(
    tree: Tree, points: JointPoints, poses: Array, shoulder: int, elbow: int, wrist: int
) -> list[int]:
    """Return the hinges at the elbow that move the wrist against the shoulder."""
    bends = []
    for body in _between(tree, elbow, wrist):
        axis, origin = poses[body, [2, 5, 8]], poses[body, 9:]
        passes = [
            np.linalg.norm(np.cross(_centre(points, poses, other) - origin, axis)) < _ON_AXIS
            for other in (shoulder, wrist)
        ]
        if not any(passes):
            bends.append(body)
    return bends


def _row(
    tree: Tree, points: JointPoints, poses: Array, shoulder: int, bend: int, wrist: int
) -> Array:
    base = int(tree.body_ints[shoulder, PARENT])
    floating = len(tree.body_ints) > 0 and tree.body_ints[0, KIND] == FREE
    root = poses[0, :9].reshape(3, 3) if floating else np.eye(3)
    origin = poses[0, 9:] if floating else np.zeros(3)
    base_axes = poses[base, :9].reshape(3, 3) if base >= 0 else np.eye(3)
    side = float(root[:, 1] @ (_centre(points, poses, shoulder) - origin))
    lower = _centre(points, poses, wrist) - _centre(points, poses, bend)
    # Where the wrist goes when the angle grows, towards the middle of a one-sided range.
    swing = np.cross(poses[bend, [2, 5, 8]], lower)
    row = np.zeros(WIDTH)
    row[:AXES] = (1.0, shoulder, bend, wrist, base, 0.0, 1.0 if side >= 0.0 else -1.0, abs(side))
    row[IS_KNEE] = float(root[:, 0] @ swing < 0.0)
    row[AXES : AXES + 9] = (base_axes.T @ root).ravel()
    return row
