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

"""The one-euro filter on device poses: steady at rest, quick in motion.

G. Casiez, N. Roussel and D. Vogel, "1 Euro Filter: a simple speed-based low-pass filter for noisy
input in interactive systems", CHI 2012. A low-pass filter with cut-off f lags a motion of speed v
by v / (2 pi f); with f = f0 + beta v the lag stays below 1 / (2 pi beta) however fast it is.
"""

from dataclasses import dataclass
import math

import numpy as np
from numpy.typing import NDArray

from vr_ik.filters.pose_kernels import copy_pose, turn, turn_by
from vr_ik.filters.smoother import Smoother
from vr_ik.kinematics.compiled import inlined_kernel, kernel
from vr_ik.types import Array

_UNKNOWN = -1.0


@dataclass(frozen=True)
class Smoothing:
    """How much device poses are smoothed."""

    rest_hz: float = 1.0
    """Cut-off frequency at rest."""
    hz_per_m_s: float = 100.0
    """How it grows with speed."""
    hz_per_rad_s: float = 50.0
    """How it grows with turn rate, for rotations."""
    speed_hz: float = 1.0
    """Cut-off of the speeds themselves."""

    @property
    def lag_m(self) -> float:
        """Bound on how far a smoothed position is behind, at any steady speed [m]."""
        return 1.0 / (2.0 * math.pi * self.hz_per_m_s)

    @property
    def lag_rad(self) -> float:
        """Bound on how far a smoothed rotation is behind, at any steady turn rate [rad]."""
        return 1.0 / (2.0 * math.pi * self.hz_per_rad_s)


class OneEuro(Smoother):
    """Smooths the poses of a fixed number of devices, in place."""

    def __init__(self, devices: int, smoothing: Smoothing) -> None:
        """Take the number of rows that `smooth` gets."""
        self._settings = np.array(
            [smoothing.rest_hz, smoothing.hz_per_m_s, smoothing.hz_per_rad_s, smoothing.speed_hz]
        )
        super().__init__(devices, 2)

    def smooth(self, seconds: float, confidence: Array, poses: Array) -> None:
        """Smooth poses (n, 4, 4), so many seconds after the last; unknown devices are let go."""
        _smooth(self._settings, seconds, confidence, self._known, self._poses, self._speeds, poses)


@inlined_kernel
def _share(cutoff_hz: float, seconds: float) -> float:
    """Return the share of a new value in the exponential mean."""
    step = 2.0 * math.pi * cutoff_hz * seconds
    return step / (1.0 + step)


@kernel
def _smooth(
    settings: Array,
    seconds: float,
    confidence: Array,
    known: NDArray[np.int64],
    last: Array,
    speeds: Array,
    poses: Array,
) -> None:
    """Replace the poses of devices that were known by smoothed ones, and remember them."""
    for i in range(poses.shape[0]):
        was_known, known[i] = known[i], 1 if confidence[i] > 0.0 else 0
        if was_known * known[i] == 0 or seconds <= 0.0:
            speeds[i, 0] = _UNKNOWN
            speeds[i, 1] = _UNKNOWN
            copy_pose(poses[i], last[i])
            continue
        distance = 0.0
        for k in range(3):
            distance += (poses[i, k, 3] - last[i, k, 3]) ** 2
        angle, axis = turn(last[i], poses[i])
        # A device that is seen in motion first must not be taken for one at rest.
        of_speed = _share(settings[3], seconds) if speeds[i, 0] != _UNKNOWN else 1.0
        speeds[i, 0] += of_speed * (math.sqrt(distance) / seconds - speeds[i, 0])
        speeds[i, 1] += of_speed * (angle / seconds - speeds[i, 1])
        share = _share(settings[0] + settings[1] * speeds[i, 0], seconds)
        for k in range(3):
            last[i, k, 3] += share * (poses[i, k, 3] - last[i, k, 3])
        turn_by(last[i], axis, _share(settings[0] + settings[2] * speeds[i, 1], seconds) * angle)
        copy_pose(last[i], poses[i])
