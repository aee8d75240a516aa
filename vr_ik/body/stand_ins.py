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

from collections.abc import Mapping, Sequence
import math

import numpy as np
from numpy.typing import NDArray

from vr_ik.body.heading import Heading
from vr_ik.body.heading_by_cases import HeadingByCases
from vr_ik.body.mounts import device_mounts
from vr_ik.calibration.calibration import Calibration
from vr_ik.kinematics.compiled import inlined_kernel, kernel
from vr_ik.kinematics.model import RobotModel
from vr_ik.types import Array

_NEEDLESS_BY = {'waist': ('waist', 'chest'), 'l_foot': ('l_foot',), 'r_foot': ('r_foot',)}
"""Devices that something stands in for, the pelvis first, and those that make it needless."""
_PELVIS = 0
_NONE = -1

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

    def __init__(
        self, calibration: Calibration, model: RobotModel, heading: str, devices: Sequence[str]
    ) -> None:
        """Take the body, how to find its heading, and the devices that may be tracked.

        An upper body needs but the pelvis.
        """
        proportions = calibration.proportions
        nominal = device_mounts(proportions)
        self.mounts = {
            role: nominal[role] for role in _NEEDLESS_BY if nominal[role].link in model.link_names
        }
        """By role, in the order of the targets: where the device would be worn."""
        self._placements = np.array([m.pose_link_from_device for m in self.mounts.values()])
        self._needless_by = np.array(
            [[role in _NEEDLESS_BY[stood_in] for role in devices] for stood_in in self.mounts]
        )
        half_width = proportions.hip_half_width
        aside = {'waist': 0.0, 'l_foot': half_width, 'r_foot': -half_width}
        self._aside_m = np.array([aside[role] for role in self.mounts])
        self._ankle_m = calibration.floor_m + proportions.ankle_height
        self._head, self._left, self._right = (
            devices.index(role) if role in devices else _NONE
            for role in ('hmd', 'l_controller', 'r_controller')
        )
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
        devices: Array,
        confidence: Array,
        root_at: Array | None,
        seconds: float,
        targets: Array,
        weights: Array,
    ) -> None:
        """Write targets (n, 4, 4) and weights (n, 2), 0 where there is nothing to stand in for.

        `devices` (m, 4, 4): pose_world_from_device, where `confidence` (m,) is above 0; `root_at`
        [m]: where the pelvis was `seconds` ago, if that is known.
        """
        head, left, right = self._head, self._left, self._right
        if head == _NONE or not confidence[head] > 0.0:
            weights[:] = 0.0
            return
        hands = None
        if min(left, right) != _NONE and confidence[left] > 0.0 and confidence[right] > 0.0:
            hands = devices[left], devices[right]
        yaw = self._heading.follow(devices[head], hands, seconds)
        _fill(
            yaw,
            _NOWHERE if root_at is None else root_at,
            seconds,
            self._needless_by,
            confidence,
            self._aside_m,
            self._ankle_m,
            self._placements,
            targets,
            weights,
        )


_NOWHERE = np.full(3, np.nan)


@kernel
def _fill(
    yaw: float,
    root_at: Array,
    seconds: float,
    needless_by: NDArray[np.bool_],
    confidence: Array,
    aside_m: Array,
    ankle_m: float,
    placements: Array,
    targets: Array,
    weights: Array,
) -> None:
    """Write what `StandIns.fill` returns for a body that faces this way."""
    sine, cosine = math.sin(yaw), math.cos(yaw)
    is_known = not math.isnan(root_at[0])
    for row in range(weights.shape[0]):
        weights[row, 0] = weights[row, 1] = 0.0
        is_needless = row != _PELVIS and not is_known
        for device in range(confidence.shape[0]):
            if needless_by[row, device] and confidence[device] > 0.0:
                is_needless = True
        if is_needless:
            continue
        x, y, z = 0.0, 0.0, 0.0
        weights[row, 1] = _UPRIGHT_WEIGHT
        if row != _PELVIS:
            weights[row, 0] = _FLOOR_WEIGHT
            x, y = root_at[0] - aside_m[row] * sine, root_at[1] + aside_m[row] * cosine
            z = ankle_m
        elif is_known and seconds > 0.0:
            weights[row, 0] = _INERTIA / seconds
            x, y, z = root_at[0], root_at[1], root_at[2]
        _place(cosine, sine, x, y, z, placements[row], targets[row])


@inlined_kernel
def _place(
    cosine: float, sine: float, x: float, y: float, z: float, placement: Array, target: Array
) -> None:
    """Write the pose of a device on a link that is upright at (x, y, z), turned about z."""
    for column in range(4):
        there_x, there_y = placement[0, column], placement[1, column]
        target[0, column] = cosine * there_x - sine * there_y
        target[1, column] = sine * there_x + cosine * there_y
        target[2, column] = placement[2, column]
        target[3, column] = placement[3, column]
    target[0, 3] += x
    target[1, 3] += y
    target[2, 3] += z
