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

"""How much room there is to everything that an arm keeps away from, and in words what that is."""

import numpy as np

from vr_ik.kinematics.kernels import body_poses
from vr_ik.teleop.arm_model import ArmModel
from vr_ik.teleop.barriers import segment_box_distance, write_segments
from vr_ik.teleop.collision import CollisionModel, distances_at
from vr_ik.teleop.config import TeleopConfig
from vr_ik.types import Array

_AXES = 'xyz'


class Rooms:
    """The distances that the arm step keeps, in its order: walls of the tips, pairs, boxes."""

    def __init__(self, config: TeleopConfig, arm: ArmModel, collisions: CollisionModel) -> None:
        """Take what there is to keep away from."""
        self._arm, self._collisions = arm, collisions
        self._clearance_m = config.self_distance_m
        workspace = config.workspace_box()
        self._workspace = np.array([[-np.inf], [np.inf]]) if workspace is None else workspace
        self._boxes = config.keep_out_boxes().reshape(-1, 6)

    def at(self, q: Array) -> Array:
        """Return how much each distance is above the one to keep [m], at a configuration."""
        places = [self._arm.model.link_pose(q, tip)[:3, 3] for tip in self._arm.tips]
        walls = [(p - self._workspace[0], self._workspace[1] - p) for p in places]
        pairs = distances_at(self._collisions, self._arm, self._collisions.pairs, q[None])[0]
        return np.concatenate(
            (np.ravel(walls), pairs - self._clearance_m, self._from_boxes(q).ravel())
        )

    def _from_boxes(self, q: Array) -> Array:
        """Return the distances (boxes, capsules) of boxes; parts that never move have all room."""
        model, tree = self._collisions, self._arm.model.tree
        poses, segments = np.empty((len(tree.body_ints), 12)), np.empty((len(model.bodies), 6))
        body_poses(tree.body_ints, tree.body_floats, q, poses)
        write_segments(model.bodies, model.capsules, poses, segments)
        point, normal = np.empty(3), np.empty(3)
        rooms = np.full((len(self._boxes), len(model.bodies)), np.inf)
        for box, corners in enumerate(self._boxes):
            for k in np.flatnonzero(model.bodies >= 0):
                distance = segment_box_distance(segments[k], corners, point, normal)
                rooms[box, k] = distance - model.capsules[k, 6]
        return rooms

    def text(self, row: int, room_m: float) -> str:
        """Return in words what a distance is between, and the distance itself."""
        tips, model = self._arm.tips, self._collisions
        if row < 6 * len(tips):
            side, axis = 'lower' if row % 6 < 3 else 'upper', _AXES[row % 3]
            return f'{tips[row // 6]} and the {side} {axis} of the workspace, {_apart(room_m)}'
        row -= 6 * len(tips)
        if row < len(model.pairs):
            one, two = (model.links[k] for k in model.pairs[row])
            return f'{one} and {two}, {_apart(room_m + self._clearance_m)}'
        box, k = divmod(row - len(model.pairs), len(model.links))
        return f'{model.links[k]} and box {box + 1} of keep_out, {_apart(room_m)}'


def _apart(distance_m: float) -> str:
    return f'{1e3 * distance_m:.0f} mm apart'
