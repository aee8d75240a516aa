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

"""Stands in for devices that are not worn: a pelvis that leans and turns, feet that stand."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
import math

import numpy as np

from vr_ik.body.heading import Heading
from vr_ik.body.heading_by_cases import HeadingByCases
from vr_ik.body.lean import Lean
from vr_ik.body.planting import Planting
from vr_ik.body.posture import spine_share
from vr_ik.body.stand_in_kernel import carry, fill
from vr_ik.calibration.calibration import Calibration
from vr_ik.config import SolverConfig
from vr_ik.kinematics.model import RobotModel
from vr_ik.types import Array

_NEEDLESS_BY = {'base_link': ('waist', 'chest'), 'l_ankle': ('l_foot',), 'r_ankle': ('r_foot',)}
"""Links that are guessed, the pelvis first, and the devices that make it needless. The link itself
is brought to its target: a device behind it, met before the link is turned as it should be, would
push it ahead in every frame."""
_NONE = -1

_HEADINGS: Mapping[str, type[Heading] | type[HeadingByCases]] = {
    'weighed': Heading,
    'by_cases': HeadingByCases,
}


class StandIns:
    """Targets and weights of what is not tracked, frame by frame."""

    def __init__(
        self,
        calibration: Calibration,
        model: RobotModel,
        config: SolverConfig,
        devices: Sequence[str],
    ) -> None:
        """Take the body, how to find its heading, and the devices that may be tracked.

        An upper body needs but the pelvis.
        """
        proportions = calibration.proportions
        self.links = [link for link in _NEEDLESS_BY if link in model.link_names]
        """What is brought to the targets, in their order."""
        self._needless_by = np.array(
            [[role in _NEEDLESS_BY[link] for role in devices] for link in self.links]
        )
        half_width = proportions.hip_half_width
        aside = {'base_link': 0.0, 'l_ankle': half_width, 'r_ankle': -half_width}
        self._aside_m = np.array([aside[link] for link in self.links])
        self._stature = np.array(
            [
                calibration.floor_m,
                proportions.ankle_height,
                proportions.hip_height - proportions.ankle_height,
                proportions.eyes_over_hips,
                proportions.height,
            ]
        )
        self._head, self._left, self._right = (
            devices.index(role) if role in devices else _NONE
            for role in ('hmd', 'l_controller', 'r_controller')
        )
        self._waist = devices.index('waist') if 'waist' in devices else _NONE
        self._heading = _HEADINGS[config.heading]()
        self._lean = Lean(calibration)
        self._spine_share = spine_share(config.spine)
        self._planting = Planting()
        self._footing = np.empty(7)
        """The pelvis, moved to where the feet are in balance."""
        self._carried = np.zeros(6)
        """Where the pelvis is below the neck [m], and how fast that moves [m/s]."""
        self.reset()

    def reset(self) -> None:
        """Forget the past."""
        self._heading.reset()
        self._lean.reset()
        self._planting.reset()
        self._yaw = math.nan
        self._head_pose = self._neck = _NO_HEAD
        self._carried[:3], self._carried[3:] = math.nan, 0.0
        self.spine_lean = 0.0
        """What the spine has of the lean of a trunk that no device tells of [rad]."""

    def take_over(self, before: 'StandIns') -> None:
        """Go on facing and standing where another body has."""
        self._yaw = before._yaw
        self._lean.take_over(before._lean)
        self._carried[:] = before._carried
        if not self._lean.has_neck_of(before._lean):
            # Another body's pelvis is elsewhere, and goes as fast.
            self._carried[:3] = math.nan
        self._neck = before._neck
        self.spine_lean = before.spine_lean
        self._planting.take_over(before._planting)
        if type(before._heading) is type(self._heading):
            self._heading = deepcopy(before._heading)

    def follow(self, devices: Array, confidence: Array, seconds: float) -> None:
        """See where the body faces and how it leans, so many seconds after the last call.

        `devices` (m, 4, 4): pose_world_from_device, where `confidence` (m,) is above 0.
        """
        head, left, right = self._head, self._left, self._right
        was_seen = self._neck is not _NO_HEAD
        self._head_pose = self._neck = _NO_HEAD
        if head != _NONE and confidence[head] > 0.0:
            hands = None
            if min(left, right) != _NONE and confidence[left] > 0.0 and confidence[right] > 0.0:
                hands = devices[left], devices[right]
            self._head_pose = devices[head]
            self._yaw = self._heading.follow(self._head_pose, hands, seconds)
            self._lean.follow(self._head_pose, self._yaw, seconds)
            self._neck = self._lean.neck
        if was_seen != (self._neck is not _NO_HEAD):
            # Where the feet are in balance is told otherwise from now on.
            self._planting.be_elsewhere()
        lean, trunk_m = self._lean.angle, self._lean.trunk_m
        carry(self._carried, self._neck, self._yaw, lean, trunk_m, seconds)

    def fill(
        self,
        confidence: Array,
        root: Array | None,
        seconds: float,
        targets: Array,
        weights: Array,
        has_leapt: bool,
    ) -> None:
        """Write targets (n, 4, 4) and weights (n, 2), 0 where there is nothing to stand in for.

        `root`: position and quaternion of the pelvis (7) `seconds` ago, if that is known; it may
        have got there in a leap.
        """
        root = _NOWHERE if root is None else root
        lying = fill(
            self._yaw,
            self._lean.angle,
            1.0 - self._spine_share,
            self._head_pose,
            self._neck,
            self._carried,
            root,
            0.0 if has_leapt else seconds,
            self._needless_by,
            confidence,
            self._aside_m,
            self._stature,
            targets,
            weights,
            self._footing,
        )
        # A waist knows better than the head; of a chest nobody knows how hips and spine share it.
        told = confidence[self._waist] if self._waist != _NONE else 0.0
        self.spine_lean = (1.0 - told) * (1.0 - lying) * self._spine_share * self._lean.angle
        if has_leapt:
            self._planting.be_elsewhere()
        self._planting.plant(self._footing, 0.0 if has_leapt else seconds, targets, weights)
        if has_leapt:
            self._planting.be_elsewhere()


_NOWHERE = np.full(7, np.nan)
_NO_HEAD = np.full((4, 4), np.nan)
