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

"""
A kinematic tree as the flat arrays that the kernels read.

A *body* is a moving joint with everything rigid behind it. Its frame is turned so that the
joint's axis is its z axis: then a joint's rotation mixes two columns of the matrix, and its axis
is the third. A *column* of the Jacobian is one motion of a body (six for a floating root, one for
any other); mimic joints share a *degree of freedom* (dof), so there may be fewer of them.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vr_ik.kinematics.urdf import Joint, Urdf
from vr_ik.math.rotations import pose, rotation_to_axis
from vr_ik.types import Array

Ints = NDArray[np.int64]

REVOLUTE, PRISMATIC, FREE = 0, 1, 2

# Columns of Tree.body_ints.
PARENT, KIND, Q_INDEX, FIRST_COLUMN = 0, 1, 2, 3
# Columns of Tree.body_floats: rotation (9, by rows) and position (3) in the parent body, mimic.
ROTATION, POSITION, MULTIPLIER, OFFSET = 0, 9, 12, 13
# Columns of Tree.column_ints.
COLUMN_PARENT, COLUMN_BODY, COLUMN_DOF = 0, 1, 2


class Tree(NamedTuple):
    """A kinematic tree as arrays; parents come before their children."""

    body_ints: Ints
    """(n_bodies, 4): parent body or -1, kind, first index in q, first column."""
    body_floats: Array
    """(n_bodies, 14): placement in the parent body, mimic multiplier and offset."""
    column_ints: Ints
    """(n_columns, 3): parent column or -1, body or -1 where it was pruned, dof."""
    paths: Ints
    """(nv, 1 + deepest): the number of a dof's ancestors, then the ancestors, root first."""


@dataclass(frozen=True)
class Placement:
    """A rigid pose on a body; body -1 is the fixed world."""

    body: int
    pose_body_from_frame: Array

    @property
    def row(self) -> Array:
        """The pose as the kernels hold it: rotation by rows (9), position (3)."""
        pose_ = self.pose_body_from_frame
        return np.concatenate((pose_[:3, :3].ravel(), pose_[:3, 3]))


def build_tree(urdf: Urdf, floating: bool) -> tuple[Tree, dict[str, Placement], tuple[Joint, ...]]:
    """Return the tree, where each link sits on it, and the independent joints in q order."""
    moving = [joint for joint in urdf.joints if joint.kind != 'fixed']
    independent = tuple(joint for joint in moving if joint.mimic is None)
    dof_of = {joint.name: i for i, joint in enumerate(independent)}
    first_body = 1 if floating else 0
    root = Placement(0 if floating else -1, np.eye(4))
    links = {urdf.root: root}
    bodies: list[tuple[int, Array, Joint]] = []
    for joint in urdf.joints:
        parent = links[joint.parent]
        placed = parent.pose_body_from_frame @ joint.pose_parent_from_joint
        if joint.kind == 'fixed':
            links[joint.child] = Placement(parent.body, placed)
            continue
        turn = pose(rotation_to_axis(joint.axis), np.zeros(3))
        links[joint.child] = Placement(first_body + len(bodies), turn.T)
        bodies.append((parent.body, placed @ turn, joint))
    return _tree(bodies, dof_of, floating), links, independent


def prune_tree(tree: Tree, bodies: Ints) -> tuple[Tree, Ints]:
    """Return the tree of `bodies` and their ancestors alone, and the bodies' indices in it.

    Degrees of freedom keep their numbers. What moves no task need not be computed: the fingers of
    an arm that is led by its wrist.
    """
    keep = np.zeros(len(tree.body_ints), bool)
    keep[:1] = True  # Moments are taken about the first body.
    for body in bodies:
        while body >= 0 and not keep[body]:
            keep[body] = True
            body = tree.body_ints[body, PARENT]
    # The last entry stands for index -1, the world.
    new_body = np.append(np.where(keep, np.cumsum(keep) - 1, -1), -1)
    ints = tree.body_ints[keep]
    ints[:, PARENT] = new_body[ints[:, PARENT]]
    columns = tree.column_ints.copy()
    columns[:, COLUMN_BODY] = new_body[columns[:, COLUMN_BODY]]
    live = columns[columns[:, COLUMN_BODY] >= 0]
    if _is_sparse(columns, live):
        ints[:, FIRST_COLUMN] = columns[ints[:, FIRST_COLUMN], COLUMN_DOF]
        columns = _columns_by_dof(columns, live, len(tree.paths))
    paths = _paths(columns, len(tree.paths))
    return Tree(ints, tree.body_floats[keep], columns, paths), new_body[bodies]


def _is_sparse(columns: Ints, live: Ints) -> bool:
    """Tell whether no two columns share a dof, and every column's dof comes after its parent's.

    A mimic joint whose master moves nothing that matters may break the second rule.
    """
    inner = live[live[:, COLUMN_PARENT] >= 0]
    in_order = columns[inner[:, COLUMN_PARENT], COLUMN_DOF] < inner[:, COLUMN_DOF]
    return len(set(live[:, COLUMN_DOF])) == len(live) and bool(in_order.all())


def _columns_by_dof(columns: Ints, live: Ints, nv: int) -> Ints:
    """Return the live columns, each in the row of its dof; other rows have no body."""
    by_dof = np.full((nv, 3), -1)
    by_dof[:, COLUMN_DOF] = np.arange(nv)
    for parent, body, dof in live:
        by_dof[dof] = (columns[parent, COLUMN_DOF] if parent >= 0 else -1, body, dof)
    return by_dof


def _tree(bodies: list[tuple[int, Array, Joint]], dof_of: dict[str, int], floating: bool) -> Tree:
    first_body, first_q, first_dof = (1, 7, 6) if floating else (0, 0, 0)
    ints = np.zeros((first_body + len(bodies), 4), np.int64)
    floats = np.zeros((len(ints), 14))
    floats[:, :9] = np.eye(3).ravel()
    floats[:, MULTIPLIER] = 1.0
    columns = [(column - 1, 0, column) for column in range(first_dof)]
    if floating:
        ints[0] = (-1, FREE, 0, 0)
    last_column = {-1: -1, 0: len(columns) - 1}
    for body, (parent, placement, joint) in enumerate(bodies, start=first_body):
        mimic = joint.mimic
        dof = dof_of[mimic.joint if mimic else joint.name]
        kind = PRISMATIC if joint.kind == 'prismatic' else REVOLUTE
        ints[body] = (parent, kind, first_q + dof, len(columns))
        floats[body, :9] = placement[:3, :3].ravel()
        floats[body, 9:12] = placement[:3, 3]
        if mimic:
            floats[body, 12:] = (mimic.multiplier, mimic.offset)
        columns.append((last_column[parent], body, first_dof + dof))
        last_column[body] = len(columns) - 1
    column_ints = np.array(columns, np.int64).reshape(-1, 3)
    return Tree(ints, floats, column_ints, _paths(column_ints, first_dof + len(dof_of)))


def _paths(columns: Ints, nv: int) -> Ints:
    """Return each dof's ancestors; with mimic joints all earlier dofs count as ancestors.

    A dof without a column (it moves nothing that matters) has none.

    The normal matrix couples a dof with its ancestors alone, and stays so when it is factorised
    (R. Featherstone, "Rigid Body Dynamics Algorithms", 2008, section 6.5). Mimic joints couple
    dofs of different branches; the dense pattern holds them all.
    """
    ancestors: list[list[int]] = [[] for _ in range(nv)]
    if len(columns) == nv:
        for parent, body, dof in columns:
            if parent >= 0 and body >= 0:
                above = columns[parent, COLUMN_DOF]
                ancestors[dof] = [*ancestors[above], above]
    else:
        ancestors = [list(range(dof)) for dof in range(nv)]
    paths = np.zeros((nv, 1 + max(map(len, ancestors), default=0)), np.int64)
    for dof, path in enumerate(ancestors):
        paths[dof, 0] = len(path)
        paths[dof, 1 : 1 + len(path)] = path
    return paths
