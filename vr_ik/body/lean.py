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

"""How far the trunk leans forward while no device on it says so: from the head's height and pitch.

A head that is low is so because the legs are bent, as in a squat, or because the trunk leans, as
in a bow. The lean that explains all of it with straight legs is the most that there can be. Up to
that it goes with how far the head looks down, and less so with how low it is. The numbers were
fitted to some sixty motions of ten sources in which the pelvis is known; where a lean begins was
chosen afterwards, so that it jolts nobody's hips.
"""

import math

import numpy as np

from vr_ik.calibration.calibration import Calibration
from vr_ik.kinematics.compiled import inlined_kernel, kernel
from vr_ik.types import Array

_BY_PITCH = 0.45
"""Lean for each radian that the head looks down."""
_BY_HEIGHT = 1.5
"""Lean [rad] for each length of the trunk that the neck is lower than this part of it, ..."""
_HARDLY_LOW = 0.07
_SQUATTING = 0.45
"""... up to so many radians: who goes lower squats."""
_UNFELT, _SOFT = 0.025, 0.03
"""Parts of the trunk's length: so much lower tells no lean yet, and then it begins softly. A lean
lowers by its square: where it is small a millimetre would be a degree."""
_SETTLE_S = 4.0
_LEVEL = math.radians(20.0)
"""Who looks ahead, and is so low for a while, sits or kneels there, upright; who looks down stays
bent."""
_UPSIDE_DOWN = math.radians(10.0)
"""So near to it nobody knows what is forward."""
_PIVOT = 0.5
"""How far down the neck is what stays where it is, seen from the trunk, when the head nods."""


class Lean:
    """The estimated lean of the trunk, over time."""

    def __init__(self, calibration: Calibration) -> None:
        """Take the body, and how the headset is worn on it."""
        p = calibration.proportions
        below_eyes_m = p.eye_height + _PIVOT * p.neck
        pose_eyes_from_device = np.eye(4)
        if 'hmd' in calibration.mounts:
            pose_eyes_from_device = calibration.mounts['hmd'].pose_link_from_device
        neck_from_eyes = np.eye(4)
        neck_from_eyes[:3, 3] = p.eye_depth, 0.0, below_eyes_m
        self._device_from_neck = np.linalg.inv(neck_from_eyes @ pose_eyes_from_device)
        self.trunk_m = p.eyes_over_hips - below_eyes_m
        """Hip joints to that place on the neck."""
        self._standing_m = calibration.floor_m + p.hip_height + self.trunk_m
        self.neck = np.empty((4, 4))
        """pose_world_from_neck in the last frame, turned as the head is."""
        self.angle = 0.0
        """The lean [rad] when the head was seen last."""
        self.reset()

    def reset(self) -> None:
        """Forget the past."""
        self._upright_m, self.angle = math.nan, 0.0

    def take_over(self, before: 'Lean') -> None:
        """Go on from where another body has been."""
        self._upright_m, self.angle = before._upright_m, before.angle

    def has_neck_of(self, other: 'Lean') -> bool:
        """Tell whether the neck is where that of another body is, for the same headset."""
        alike = np.array_equal(self._device_from_neck, other._device_from_neck)
        return alike and self.trunk_m == other.trunk_m

    def follow(self, head: Array, yaw: float, seconds: float) -> None:
        """Find the lean of a body that faces this way, from pose_world_from_hmd."""
        np.matmul(head, self._device_from_neck, out=self.neck)
        self._upright_m, self.angle = _follow(
            self._upright_m, seconds, self.neck, yaw, self._standing_m, self.trunk_m
        )


@inlined_kernel
def _forward_tilt(neck: Array, yaw: float) -> float:
    """Return the tilt of the head [rad], as far as it is forward; none where it is upside down."""
    ahead = math.cos(yaw) * neck[0, 2] + math.sin(yaw) * neck[1, 2]
    tilt = math.acos(min(max(neck[2, 2], -1.0), 1.0))
    forward = max(ahead, 0.0) / max(math.sin(tilt), 1e-6)
    return tilt * min(forward, 1.0) * min((math.pi - tilt) / _UPSIDE_DOWN, 1.0)


@kernel
def _follow(
    upright_m: float, seconds: float, neck: Array, yaw: float, standing_m: float, trunk_m: float
) -> tuple[float, float]:
    """Return how high the neck would be on an upright trunk (NaN: unknown), and the lean [rad].

    It rises with the neck, up to where it is when standing, and comes down to it slowly.
    """
    height_m = neck[2, 3]
    pitch = _forward_tilt(neck, yaw)
    level = max(1.0 - pitch / _LEVEL, 0.0)
    if math.isnan(upright_m):
        # Who looks ahead at first may sit there; who looks down is bent.
        upright_m = standing_m - level * max(standing_m - height_m, 0.0)
    share = level * seconds / (_SETTLE_S + seconds)
    upright_m = min(max(upright_m - share * (upright_m - height_m), height_m), standing_m)
    low = max(upright_m - height_m, 0.0) / trunk_m
    # 1 - cos(lean) is how much lower the neck is, and nearly the half of its square.
    most = math.sqrt(2.0 * max(low - _UNFELT, 0.0) + _SOFT) - math.sqrt(_SOFT)
    by_height = min(_BY_HEIGHT * max(low - _HARDLY_LOW, 0.0), _SQUATTING)
    return upright_m, min(by_height + _BY_PITCH * pitch, most)
