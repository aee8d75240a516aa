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

"""The static map frame: its pose from parameters, services that save it and load it again."""

from collections.abc import Collection
import math

import numpy as np
from rclpy.node import Node
from rclpy.parameter import Parameter

from vr_ik.config import TrackerConfig
from vr_ik.errors import ConfigError, VrIkError
from vr_ik.map_file import load_map, map_file, save_map
from vr_ik.math.rotations import pose, rotation_from_rpy
from vr_ik.nodes import triggers
from vr_ik.nodes.parameters import BoundConfig
from vr_ik.types import Array


def map_frames(config: TrackerConfig) -> dict[str, Array]:
    """Return the map frame, where there is one: (4, 4) pose_world_from_map."""
    if not config.map_frame:
        return {}
    angles = (config.map_roll_deg, config.map_pitch_deg, config.map_yaw_deg)
    position = np.array([config.map_x_m, config.map_y_m, config.map_z_m])
    return {config.map_frame: pose(rotation_from_rpy(*map(math.radians, angles)), position)}


class MapServices:
    """Offers `~/save_map` and `~/load_map`."""

    def __init__(self, node: Node, config: BoundConfig[TrackerConfig]) -> None:
        """Open the services."""
        self._node = node
        self._config = config
        triggers.offer(node, '~/save_map', self._save)
        triggers.offer(node, '~/load_map', self._load)

    def load_at_start(self) -> None:
        """Take over a saved map, but for the parameters that were given otherwise."""
        if not map_file(self._config.value).exists():
            return
        try:
            self._take_over(except_for=self._config.given)
        except VrIkError as error:
            self._node.get_logger().warning(f'The saved map is not used. {error}')

    def _take_over(self, except_for: Collection[str] = ()) -> None:
        values = load_map(self._config.value)
        parameters = [
            Parameter(name, value=value)
            for name, value in values.items()
            if name not in except_for
        ]
        result = self._node.set_parameters_atomically(parameters)
        if not result.successful:
            raise ConfigError(result.reason)

    def _save(self) -> str:
        return f"Saved to '{save_map(self._config.value)}'."

    def _load(self) -> str:
        self._take_over()
        return f"Loaded from '{map_file(self._config.value)}'."
