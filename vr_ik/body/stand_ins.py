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

"""Stands in for devices that are not worn: pelvis upright and facing ahead, feet on the floor."""

from collections.abc import Mapping

import numpy as np

from vr_ik.body.heading import Heading
from vr_ik.body.heading_by_cases import HeadingByCases
from vr_ik.body.mounts import device_mounts
from vr_ik.calibration.calibration import Calibration
from vr_ik.kinematics.model import RobotModel
from vr_ik.math.rotations import pose, rotation_from_rpy
from vr_ik.types import Array

ROLES = ('waist', 'l_foot', 'r_foot')
"""Devices that something stands in for."""
_TRUNK = ('waist', 'chest')
_HANDS = ('l_controller', 'r_controller')

# 1/rad^2 and 1/m^2: a guess gives way to what devices say, and is firmer than the pull to the
# posture.
_UPRIGHT_WEIGHT = 0.02
_FLOOR_WEIGHT = 0.02
# s/m^2: what holds the pelvis back, so that it does not sway with the hands.
_INERTIA = 1e-3

_HEADINGS: Mapping[str, type[Heading] | type[HeadingByCases]] = {
    'weighed': Heading,
    'by_cases': HeadingByCases,
}


class StandIns:
    """Targets and weights of what is not tracked, frame by frame."""

    def __init__(self, calibration: Calibration, model: RobotModel, heading: str) -> None:
        """Take the body and how to find its heading; an upper body needs but the pelvis."""
        nominal = device_mounts(calibration.proportions)
        self.mounts = {
            role: nominal[role] for role in ROLES if nominal[role].link in model.link_names
        }
        """By role, in the order of the targets: where the device would be worn."""
        self._hip_half_width_m = calibration.proportions.hip_half_width
        self._ankle_m = calibration.floor_m + calibration.proportions.ankle_height
        self._heading = _HEADINGS[heading]()

    def reset(self) -> None:
        """Forget the past."""
        self._heading.reset()

    def take_over(self, before: 'StandIns') -> None:
        """Go on facing where another body has faced."""
        if type(before._heading) is type(self._heading):
            self._heading = before._heading

    def fill(
        self,
        seen: Mapping[str, Array],
        root_at: Array | None,
        seconds: float,
        targets: Array,
        weights: Array,
    ) -> None:
        """Write targets (n, 4, 4) and weights (n, 2), 0 where there is nothing to stand in for.

        `seen`: pose_world_from_device of the tracked devices; `root_at` [m]: where the pelvis was
        `seconds` ago, if that is known.
        """
        weights[:] = 0.0
        if 'hmd' not in seen:
            return
        both = tuple(seen[role] for role in _HANDS if role in seen)
        yaw = self._heading.follow(seen['hmd'], both if len(both) == 2 else None, seconds)
        turn = rotation_from_rpy(0.0, 0.0, yaw)
        for row, (role, mount) in enumerate(self.mounts.items()):
            if role == 'waist' and not any(other in seen for other in _TRUNK):
                weights[row] = (0.0, _UPRIGHT_WEIGHT)
                link_at = np.zeros(3)
                if root_at is not None and seconds > 0.0:
                    link_at = root_at
                    weights[row, 0] = _INERTIA / seconds
            elif role != 'waist' and role not in seen and root_at is not None:
                weights[row] = (_FLOOR_WEIGHT, _UPRIGHT_WEIGHT)
                aside = self._hip_half_width_m * (1.0 if role[0] == 'l' else -1.0)
                under_hip = root_at[:2] + aside * turn[:2, 1]
                link_at = np.array([*under_hip, self._ankle_m])
            else:
                continue
            targets[row] = pose(turn, link_at) @ mount.pose_link_from_device
