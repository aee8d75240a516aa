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

"""From the operator's hand to where the robot's tip is wanted."""

import math

import numpy as np

from vr_ik.math.rotations import exp_rotation, log_rotation, rotation_from_rpy
from vr_ik.teleop.config import TeleopConfig
from vr_ik.types import Array


def heading(pose_world_from_head: Array) -> float:
    """Return which way a head or hand faces about the vertical [rad], whether it nods or not."""
    x, z = pose_world_from_head[:3, 0], pose_world_from_head[:3, 2]
    # Where the x axis points down, the z axis points forward.
    forward = x[:2] - x[2] * z[:2]
    return math.atan2(forward[1], forward[0])


class Retarget:
    """The hand's motion since the clutch was pressed, as the motion of one tip.

    Turns are added up from tick to tick, so that a scaled turn never jumps, however far the hand
    turns.
    """

    def __init__(self, config: TeleopConfig) -> None:
        """Take the scales, the mode and the axes."""
        self._config = config
        self._tool = rotation_from_rpy(*np.radians(config.tool_rpy_deg))
        self._origin = np.array(config.operator_origin)
        self.rotation_root_from_world = np.eye(3)
        self._hand = self._hand_start = self._tip_start = np.eye(4)
        self._turn = np.eye(3)
        self._seconds = 0.0

    def capture(self, hand: Array, tip: Array, facing: Array) -> None:
        """Begin anew: this hand's pose (world) belongs to this tip's pose (root)."""
        config = self._config
        yaw = math.radians(config.operator_yaw_deg)
        if config.operator_yaw == 'automatic':
            yaw -= heading(facing)
        self.rotation_root_from_world = rotation_from_rpy(0.0, 0.0, yaw)
        self._hand, self._hand_start, self._tip_start = hand, hand, tip
        self._turn = np.eye(3)
        self._seconds = 0.0

    def target(self, hand: Array, seconds: float) -> Array:
        """Return pose_root_from_target (4, 4) for the hand's pose, so long after the last."""
        config, rotation = self._config, self.rotation_root_from_world
        turn = rotation @ hand[:3, :3] @ self._hand[:3, :3].T @ rotation.T
        self._turn = exp_rotation(config.rotation_scale * log_rotation(turn)) @ self._turn
        self._hand = hand
        target = np.eye(4)
        way = rotation @ (hand[:3, 3] - self._hand_start[:3, 3])
        target[:3, 3] = self._tip_start[:3, 3] + config.position_scale * way
        target[:3, :3] = self._turn @ self._tip_start[:3, :3]
        if config.mode == 'absolute':
            self._seconds = min(self._seconds + seconds, config.approach_s)
            self._blend(target, hand)
        return target

    def _blend(self, target: Array, hand: Array) -> None:
        """Go over from relative to absolute, so slowly that nobody is taken by surprise."""
        share = self._seconds / self._config.approach_s
        share *= share * (3.0 - 2.0 * share)
        rotation = self.rotation_root_from_world
        place = self._config.position_scale * (rotation @ (hand[:3, 3] - self._origin))
        target[:3, 3] += share * (place - target[:3, 3])
        turn = rotation @ hand[:3, :3] @ self._tool @ target[:3, :3].T
        target[:3, :3] = exp_rotation(share * log_rotation(turn)) @ target[:3, :3]
