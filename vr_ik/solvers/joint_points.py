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

"""A kinematic tree as the geometric methods see it: points where joints are, and bones between.

A hinge may be held at any point of its axis. Hinges whose axes meet are held where they meet, so
that a shoulder or a wrist of several hinges is one point. That point is a joint's *centre*;
between two centres lies a bone, whose length the hinges do not change.
"""

from typing import NamedTuple

import numpy as np

from vr_ik.kinematics.tree import COLUMN_BODY, COLUMN_DOF, Ints, KIND, PARENT, REVOLUTE, Tree
from vr_ik.types import Array

# Columns of JointPoints.bodies; NEXT and TASKS are where the body's part of `lists` begins.
PREVIOUS, NEXT, TASKS, DRIVES = 0, 1, 2, 3

# Nearer than this, two points are one [m].
_SAME = 1e-6
# Axes at a smaller angle are parallel [rad].
_PARALLEL = 1e-6


class JointPoints(NamedTuple):
    """Which points there are and how they are connected.

    A point is known by a number: that of the body whose joint's centre it is, or the number of
    bodies plus that of the task whose point it is.
    """

    bodies: Ints
    """(n_bodies + 1, 4): the body whose centre comes before on the way from the root, -1 at its
    start; where the next points begin in `lists`; where the tasks begin that the body moves; 1 if
    the body's coordinate is its own, 0 if other bodies share it (mimic joints). The last row ends
    the parts of the last body."""
    lists: Ints
    """For each body the next points towards the tasks, then for each body its tasks, then for
    each task the points on the way to it from the root."""
    chains: Ints
    """(n_tasks + 1,): where each task's way begins in `lists`; the last entry ends the last."""
    centres: Array
    """(n_bodies,): place of the centre on the joint's axis, from the body's origin [m]."""


def joint_points(tree: Tree, task_bodies: Ints) -> JointPoints:
    """Return the points of a tree and of its tasks."""
    n = len(tree.body_ints)
    centres = joint_centres(tree)
    children: list[list[int]] = [[] for _ in range(n)]
    for body in range(n):
        if tree.body_ints[body, PARENT] >= 0:
            children[tree.body_ints[body, PARENT]].append(body)
    same = [_is_at_parent(tree, centres, body) for body in range(n)]
    bodies = np.zeros((n + 1, 4), np.int64)
    next_points = [_next_points(body, children, same, task_bodies) for body in range(n)]
    tasks = [
        [task for task in range(len(task_bodies)) if body in _way(tree, task_bodies[task])]
        for body in range(n)
    ]
    chains = [_chain(tree, same, task, task_bodies[task]) for task in range(len(task_bodies))]
    parts = [*next_points, *tasks, *chains]
    starts = np.concatenate(([0], np.cumsum([len(part) for part in parts], dtype=np.int64)))
    bodies[:, NEXT] = starts[: n + 1]
    bodies[:, TASKS] = starts[n : 2 * n + 1]
    dofs = tree.column_ints[:, COLUMN_DOF]
    for body in range(n):
        bodies[body, PREVIOUS] = _previous(tree, same, body)
        own = dofs[tree.column_ints[:, COLUMN_BODY] == body]
        bodies[body, DRIVES] = all((dofs == dof).sum() == 1 for dof in own)
    lists = np.array([point for part in parts for point in part], np.int64)
    return JointPoints(bodies, lists, starts[2 * n :], centres)


def joint_centres(tree: Tree) -> Array:
    """Return each centre's place on its axis: where axes meet, else nearest to the one before."""
    n = len(tree.body_ints)
    centres = np.full(n, np.nan)
    for body in range(n):
        parent = tree.body_ints[body, PARENT]
        if tree.body_ints[body, KIND] != REVOLUTE:
            centres[body] = 0.0
        elif parent >= 0 and tree.body_ints[parent, KIND] == REVOLUTE:
            origin, axis = _axis_in_parent(tree, body)
            across = axis[0] ** 2 + axis[1] ** 2
            if np.isnan(centres[parent]) and across > _PARALLEL**2:
                # The point of the body's axis that is nearest to the parent's, which is z.
                along = -(origin[:2] @ axis[:2]) / across
                if np.hypot(*(origin + along * axis)[:2]) < _SAME:
                    centres[parent] = (origin + along * axis)[2]
            if not np.isnan(centres[parent]):
                meeting = np.array([0.0, 0.0, centres[parent]])
                along = (meeting - origin) @ axis
                if np.linalg.norm(origin + along * axis - meeting) < _SAME:
                    centres[body] = along
    for body in range(n):
        if not np.isnan(centres[body]):
            continue
        parent = tree.body_ints[body, PARENT]
        origin, axis = _axis_in_parent(tree, body)
        before = np.array([0.0, 0.0, centres[parent]]) if parent >= 0 else origin
        centres[body] = (before - origin) @ axis
    return centres


def _axis_in_parent(tree: Tree, body: int) -> tuple[Array, Array]:
    row = tree.body_floats[body]
    return row[9:12], row[:9].reshape(3, 3)[:, 2]


def centre_in_parent(tree: Tree, centres: Array, body: int) -> Array:
    """Return a joint's centre in the frame of the body before it (the world, of the first)."""
    origin, axis = _axis_in_parent(tree, body)
    return origin + centres[body] * axis


def _is_at_parent(tree: Tree, centres: Array, body: int) -> bool:
    """Tell whether a body's centre is that of its parent too, whatever the joints do."""
    parent = tree.body_ints[body, PARENT]
    if parent < 0 or tree.body_ints[body, KIND] != REVOLUTE:
        return False
    meeting = np.array([0.0, 0.0, centres[parent]])
    return bool(np.linalg.norm(centre_in_parent(tree, centres, body) - meeting) < _SAME)


def _previous(tree: Tree, same: list[bool], body: int) -> int:
    while same[body]:
        body = int(tree.body_ints[body, PARENT])
    return int(tree.body_ints[body, PARENT])


def _next_points(
    body: int, children: list[list[int]], same: list[bool], task_bodies: Ints
) -> list[int]:
    """Return the nearest points beyond a body's centre."""
    n = len(children)
    points = [n + task for task, carrier in enumerate(task_bodies) if carrier == body]
    for child in children[body]:
        points += _next_points(child, children, same, task_bodies) if same[child] else [child]
    return points


def _way(tree: Tree, body: int) -> list[int]:
    """Return a body and its ancestors."""
    way = []
    while body >= 0:
        way.append(int(body))
        body = tree.body_ints[body, PARENT]
    return way


def _chain(tree: Tree, same: list[bool], task: int, body: int) -> list[int]:
    """Return the points on the way from the root to a task, its own the last."""
    bodies = [body for body in reversed(_way(tree, body)) if not same[body]]
    return [*bodies, len(tree.body_ints) + task]
