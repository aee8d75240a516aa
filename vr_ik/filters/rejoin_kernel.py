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

"""Compiled part of the cleaning: a device that was bridged is caught up with, not jumped to.

While a device is out of sight a guess stands for it; when it is seen again it is elsewhere, and
one that flickers would drag the body to and fro in leaps. What is between the two poses goes at a
speed that limbs have; what the device does meanwhile is followed all along.
"""

import math
from typing import NamedTuple

from vr_ik.filters.pose_kernels import copy_pose, turn, turn_by
from vr_ik.kinematics.compiled import inlined_kernel, kernel
from vr_ik.types import Array

# How fast what is between goes, on top of the device's own speed, and how long it takes at most.
_SPEED_M_S = 1.5
_SPEED_RAD_S = 8.0
_LONGEST_S = 0.25
# Farther away than any limb gets meanwhile, it is no return but another place: the body as a whole
# is eased there.
_FARTHEST_M = 1.5


class Rejoining(NamedTuple):
    """Of each device: what was made known last, and what is between it and the true pose."""

    shown: Array
    """(n, 4, 4)"""
    confidence: Array
    """(n,) of the last frame."""
    between: Array
    """(n, 4): unit axis of the turn, in the world, and its angle [rad]."""
    away: Array
    """(n, 3) [m]"""
    speeds: Array
    """(n, 2): how fast both go [m/s, rad/s]."""


@inlined_kernel
def _note_return(to: Rejoining, i: int, target: Array, speeds: Array) -> None:
    """Begin anew from what was shown last."""
    angle, axis = turn(target, to.shown[i])
    square = 0.0
    for k in range(3):
        to.away[i, k] = to.shown[i, k, 3] - target[k, 3]
        to.between[i, k] = axis[k]
        square += to.away[i, k] ** 2
    distance = math.sqrt(square)
    to.between[i, 3] = angle
    if distance > _FARTHEST_M:
        distance = angle = math.inf
    to.speeds[i, 0] = max(_SPEED_M_S + speeds[0], distance / _LONGEST_S)
    to.speeds[i, 1] = max(_SPEED_RAD_S + speeds[1], angle / _LONGEST_S)


@inlined_kernel
def _shrink(to: Rejoining, i: int, seconds: float) -> None:
    distance = math.sqrt(to.away[i, 0] ** 2 + to.away[i, 1] ** 2 + to.away[i, 2] ** 2)
    step = to.speeds[i, 0] * seconds
    share = 1.0 - step / distance if distance > step else 0.0
    for k in range(3):
        to.away[i, k] *= share
    to.between[i, 3] = max(0.0, to.between[i, 3] - to.speeds[i, 1] * seconds)


@inlined_kernel
def _let_go(to: Rejoining, i: int) -> None:
    for k in range(3):
        to.away[i, k] = 0.0
    to.between[i, 3] = 0.0


@kernel
def rejoin(
    shown: Array,
    confidence_before: Array,
    between: Array,
    away: Array,
    between_speeds: Array,
    speeds: Array,
    seconds: float,
    targets: Array,
    confidence: Array,
) -> None:
    """Move targets (n, 4, 4) of devices that have come back toward where they were.

    The first five are a `Rejoining`; `speeds` (n, 2) are those of the devices themselves.
    """
    to = Rejoining(shown, confidence_before, between, away, between_speeds)
    for i in range(targets.shape[0]):
        before = confidence_before[i]
        if before <= 0.0 or confidence[i] <= 0.0:
            _let_go(to, i)
        elif before < 1.0 and confidence[i] == 1.0:
            _note_return(to, i, targets[i], speeds[i])
        _shrink(to, i, seconds)
        if away[i, 0] != 0.0 or away[i, 1] != 0.0 or away[i, 2] != 0.0:
            for k in range(3):
                targets[i, k, 3] += away[i, k]
        if between[i, 3] > 0.0:
            turn_by(targets[i], (between[i, 0], between[i, 1], between[i, 2]), between[i, 3])
        copy_pose(targets[i], shown[i])
        confidence_before[i] = confidence[i]
