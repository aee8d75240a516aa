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

"""Pose tasks as the arrays that the kernels read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from vr_ik.errors import VrIkError
from vr_ik.kinematics import kernels
from vr_ik.kinematics.compiled import allocating_kernel
from vr_ik.kinematics.curvature import (
    add_curvature,
    CURVATURE,
    share_root_turns,
    write_bends,
    write_curvatures,
    write_dense,
)
from vr_ik.kinematics.objective import (
    COMPOSITE,
    RESIDUAL,
    write_composites,
    write_normal_equations,
    write_residuals,
)
from vr_ik.kinematics.tree import Ints, Placement, Tree
from vr_ik.types import Array, Task


@dataclass(frozen=True)
class PackedTasks:
    """Tasks by row: the body that carries each point, the point's place on it, its weights."""

    bodies: Ints
    placements: Array
    """(m, 12): rotation by rows, position, of the point on its body."""
    weights: Array
    """(m, 2): position and orientation weight; may be written between solves."""

    @classmethod
    def of(cls, tasks: Sequence[Task], placement_of: Callable[[str], Placement]) -> 'PackedTasks':
        """Place the tasks' points on the bodies that carry their links."""
        placements = []
        for task in tasks:
            _check_weights(task)
            link = placement_of(task.link)
            placements.append(Placement(link.body, link.pose_body_from_frame @ task.offset))
        return cls(
            np.array([placement.body for placement in placements], np.int64),
            np.array([placement.row for placement in placements]).reshape(-1, 12),
            np.array(
                [(task.position_weight, task.orientation_weight) for task in tasks], np.float64
            ).reshape(-1, 2),
        )


def _check_weights(task: Task) -> None:
    for name in ('position_weight', 'orientation_weight'):
        weight = getattr(task, name)
        if not 0.0 <= weight < np.inf:
            raise VrIkError(f"Task on '{task.link}': {name} is {weight}; it must be 0 or more.")


def cost_derivatives(
    tree: Tree, tasks: PackedTasks, q: Array, targets: Array
) -> tuple[float, Array, Array]:
    """Return the cost of the tasks at q, its gradient (nv,) and its exact Hessian (nv, nv)."""
    return _cost_derivatives(
        tree.body_ints,
        tree.body_floats,
        tree.column_ints,
        tree.paths,
        tasks.bodies,
        tasks.placements,
        tasks.weights,
        np.ascontiguousarray(targets, np.float64),
        q,
    )


@allocating_kernel
def _cost_derivatives(
    body_ints: Ints,
    body_floats: Array,
    column_ints: Ints,
    paths: Ints,
    task_bodies: Ints,
    placements: Array,
    weights: Array,
    targets: Array,
    q: Array,
) -> tuple[float, Array, Array]:
    poses = np.empty((body_ints.shape[0], 12))
    columns = np.empty((column_ints.shape[0], 6))
    residuals = np.empty((task_bodies.shape[0], RESIDUAL))
    kernels.body_poses(body_ints, body_floats, q, poses)
    reference = poses[0, 9:].copy() if poses.shape[0] > 0 else np.zeros(3)
    kernels.body_columns(body_ints, body_floats, poses, reference, columns)
    cost = write_residuals(
        poses, task_bodies, placements, weights, targets, reference, np.empty(12), residuals
    )
    composites = np.empty((body_ints.shape[0], COMPOSITE))
    write_composites(body_ints, task_bodies, weights, residuals, composites)
    matrix, rhs = np.empty(paths.shape), np.empty(paths.shape[0])
    write_normal_equations(column_ints, paths, columns, composites, matrix, rhs)
    curvatures = np.empty((body_ints.shape[0], CURVATURE))
    write_curvatures(body_ints, task_bodies, weights, residuals, curvatures)
    bends = np.empty((column_ints.shape[0], 3))
    write_bends(column_ints, columns, composites, curvatures, bends)
    add_curvature(column_ints, paths, columns, bends, matrix)
    share_root_turns(body_ints, column_ints, paths, columns, bends, matrix)
    hessian = np.empty((paths.shape[0], paths.shape[0]))
    write_dense(paths, matrix, hessian)
    return cost, -rhs, hessian
