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

"""Keeps much of what shakes faster than a body moves out of device poses.

Loosely strapped devices tremble at 20 to 45 Hz. A low-pass filter that takes that away is late for
every motion. Here a device goes on at its speed, and is corrected by what is measured: a Kalman
filter of a motion whose acceleration is unknown, in its steady state (P. Kalata, "The tracking
index: a generalized parameter for alpha-beta and alpha-beta-gamma target trackers", 1984). At any
steady speed and turn rate nothing is late; under a steady acceleration a it is a / (2 pi f)^2 off
at most, with f the frequency of the filter. Near f motion comes out up to a fifth larger and some
milliseconds late; half of what shakes at 2 f passes, and less of what is faster.
"""

from collections.abc import Sequence
import math

import numpy as np
from numpy.typing import NDArray

from vr_ik.filters.pose_kernels import copy_pose, go_along, size, turn, turn_by
from vr_ik.filters.smoother import Smoother
from vr_ik.kinematics.compiled import inlined_kernel, kernel
from vr_ik.types import Array

_UNKNOWN, _SEEN_ONCE, _MOVING = 0, 1, 2
_LONGEST_S = 0.05
"""After a longer time without a frame a device is taken as it is."""
_HIGHEST_SPEED_SHARE = 1.0
"""A speed is corrected by no more than what the last step shows."""
_STRAPPED_TURNS = 0.6
"""Share of the frequency for turns of a strapped device: a strap lets it tilt more easily than
shift, and at the other end of the bone a tilt shows most."""
_HZ_PER_M_S, _HZ_PER_RAD_S = 5.0, 0.5
"""How the frequency grows with speed and turn rate: what is quick is about to change quickly, and
trembles unseen."""


class VibrationFilter(Smoother):
    """Steadies the poses of a fixed number of devices, in place.

    Speeds are linear [m/s] and angular [rad/s], in the world's axes.
    """

    def __init__(self, strapped: Sequence[bool], hz: float) -> None:
        """Take which rows are strapped on, not held or worn on the head; the frequency."""
        turns = np.where(strapped, _STRAPPED_TURNS, 1.0)
        self._hz = hz * np.column_stack((np.ones(len(strapped)), turns))
        super().__init__(len(strapped), 6)

    def smooth(self, seconds: float, confidence: Array, poses: Array) -> None:
        """Smooth poses (n, 4, 4), so many seconds after the last; unknown devices are let go."""
        _smooth(self._hz, seconds, confidence, self._known, self._poses, self._speeds, poses)


@inlined_kernel
def _shares(hz: float, seconds: float) -> tuple[float, float]:
    """Return what a measurement counts for place and speed, by Kalata's tracking index."""
    index = (2.0 * math.pi * hz * seconds) ** 2
    root = 4.0 / (4.0 + index + math.sqrt(index * (index + 8.0)))
    of_place = 1.0 - root * root
    return of_place, min(2.0 * (2.0 - of_place) - 4.0 * root, _HIGHEST_SPEED_SHARE)


@kernel
def _smooth(
    hz: Array,
    seconds: float,
    confidence: Array,
    known: NDArray[np.int64],
    last: Array,
    speeds: Array,
    poses: Array,
) -> None:
    """Replace the poses of devices that were known by steadier ones, and remember them."""
    for i in range(poses.shape[0]):
        is_seen = confidence[i] > 0.0
        if known[i] == _UNKNOWN or not is_seen or not 0.0 < seconds <= _LONGEST_S:
            known[i] = _SEEN_ONCE if is_seen else _UNKNOWN
            speeds[i] = 0.0
            copy_pose(poses[i], last[i])
            continue
        speed = size(speeds[i, 0], speeds[i, 1], speeds[i, 2])
        rate = size(speeds[i, 3], speeds[i, 4], speeds[i, 5])
        # A device that is seen in motion first must not be taken for one at rest.
        of_place, of_speed, of_turn, of_rate = 1.0, 1.0, 1.0, 1.0
        if known[i] == _MOVING:
            of_place, of_speed = _shares(hz[i, 0] + _HZ_PER_M_S * speed, seconds)
            of_turn, of_rate = _shares(hz[i, 1] + _HZ_PER_RAD_S * rate, seconds)
        known[i] = _MOVING
        go_along(last[i], speeds[i], seconds, seconds)
        angle, axis = turn(last[i], poses[i])
        for k in range(3):
            off = poses[i, k, 3] - last[i, k, 3]
            last[i, k, 3] += of_place * off
            speeds[i, k] += of_speed * off / seconds
            speeds[i, 3 + k] += of_rate * angle * axis[k] / seconds
        turn_by(last[i], axis, of_turn * angle)
        copy_pose(last[i], poses[i])
