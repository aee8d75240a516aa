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

"""Guessed feet stay where they stand, and step after the pelvis, as people's do.

Under a pelvis that sways, feet that are always right below it would skate over the floor. They
stay planted until it is a step's length away or has turned; then the one that is farther off goes
there, and after it the other. Of a pelvis on its way, to walk, turn, squat or lie down, nobody
knows how the feet go: they are taken along below it.
"""

import math

import numpy as np

from vr_ik.body.heading import pelvis_yaw
from vr_ik.kinematics.compiled import inlined_kernel, kernel
from vr_ik.types import Array

_STEP_M = 0.2
_STEP_RAD = 0.5
_STEP_S = 0.3
_ON_THE_WAY_M_S = 0.3
_ON_THE_WAY_RAD_S = 1.5
_SPEED_S = 0.15
"""Time constant of the pelvis' speed, which the sway of the head must not raise."""
_COME_ALONG_S = 0.1
"""Time constant in which feet come below a pelvis on its way."""
_BEGIN_S = 0.04
"""Time constant in which they begin to come along, and stay behind again."""
_UPRIGHT = 0.9
"""Least vertical part of the up axis of feet that can be planted."""
_FIRST_FOOT = 1
"""Row of the left foot; the right one is next, the pelvis before."""
_NOBODY = -1.0
_FULL_TURN = 2.0 * math.pi
_ALIKE = 1e-6
"""Feet whose distances differ by no more than this share are equally far off: it is rounding."""
# Elements of `Planting._motion`: place and yaw of the pelvis, how fast they change, foot that
# steps, time left [s], how much the feet come along (0 to 1).
_PLACE, _YAW, _VELOCITY, _YAW_RATE, _STEPPING, _LEFT_S, _ALONG, _SIZE = 0, 3, 4, 7, 8, 9, 10, 11


class Planting:
    """Where the guessed feet stand."""

    def __init__(self) -> None:
        """Begin with feet that stand nowhere."""
        self._feet = np.empty((2, 3))
        """x, y [m] and yaw [rad]; NaN where a foot is not planted."""
        self._wanted = np.empty((2, 3))
        """Where they were wanted in the last frame."""
        self._motion = np.empty(_SIZE)
        self.reset()

    def reset(self) -> None:
        """Forget the past."""
        self._feet[:] = np.nan
        self._motion[:] = np.nan

    def take_over(self, before: 'Planting') -> None:
        """Go on standing where another body stands."""
        self._feet[:], self._wanted[:] = before._feet, before._wanted
        self._motion[:] = before._motion

    def plant(self, root: Array, seconds: float, targets: Array, weights: Array) -> None:
        """Move targets (3, 4, 4) of guessed feet, wanted below the hips, to where they stand.

        `root`: position and quaternion of the pelvis (7) `seconds` ago; NaN: not known. Feet with
        no weight (3, 2) are not guessed.
        """
        if weights.shape[0] > _FIRST_FOOT:
            _plant(self._feet, self._wanted, self._motion, root, seconds, targets, weights)

    def be_elsewhere(self) -> None:
        """Forget where the pelvis was: it is elsewhere all at once, and goes as fast."""
        self._motion[_PLACE] = np.nan


@kernel
def _plant(
    feet: Array,
    wanted: Array,
    motion: Array,
    root: Array,
    seconds: float,
    targets: Array,
    weights: Array,
) -> None:
    if math.isnan(root[0]):
        motion[_PLACE] = math.nan
    is_on_the_way = _note_motion(motion, root, seconds)
    farthest, score = _NOBODY, 1.0
    for foot in range(2):
        target = targets[_FIRST_FOOT + foot]
        if math.isnan(root[0]) or not weights[_FIRST_FOOT + foot, 0] > 0.0:
            feet[foot, 0] = math.nan
            continue
        is_slanting = target[2, 2] < _UPRIGHT
        along = 1.0 if is_slanting else motion[_ALONG]
        _note_wanted(feet[foot], wanted[foot], target, along, seconds)
        off = _steps_off(feet[foot], wanted[foot])
        # Who turns to the right begins with the right foot, though both are as far off.
        is_inside = foot == 1 and _within_half_a_turn(wanted[foot, 2] - feet[foot, 2]) < 0.0
        is_planted = not (is_on_the_way or is_slanting)
        if is_planted and off > score * (1.0 - _ALIKE if is_inside else 1.0 + _ALIKE):
            farthest, score = float(foot), max(off, score)
    if is_on_the_way or math.isnan(feet[max(int(motion[_STEPPING]), 0), 0]):
        motion[_STEPPING] = _NOBODY
    if motion[_STEPPING] == _NOBODY and farthest != _NOBODY:
        motion[_STEPPING], motion[_LEFT_S] = farthest, _STEP_S
    for foot in range(2):
        if math.isnan(feet[foot, 0]):
            continue
        if motion[_STEPPING] == foot:
            _step(feet[foot], wanted[foot], motion, seconds)
        _stand(feet[foot], wanted[foot], targets[_FIRST_FOOT + foot])


@inlined_kernel
def _note_motion(motion: Array, root: Array, seconds: float) -> bool:
    """Follow the pelvis, and how much feet come along; tell whether it is on its way somewhere."""
    is_new = math.isnan(motion[_PLACE])
    yaw = pelvis_yaw(root)
    for k in range(4):
        now = yaw if k == _YAW else root[k]
        if math.isnan(motion[_VELOCITY + k]):
            motion[_VELOCITY + k] = motion[_ALONG] = 0.0
        elif seconds > 0.0 and not is_new:
            way = now - motion[_PLACE + k]
            if k == _YAW:
                way = _within_half_a_turn(way)
            share = 1.0 / (_SPEED_S + seconds)
            motion[_VELOCITY + k] += share * (way - seconds * motion[_VELOCITY + k])
        motion[_PLACE + k] = now
    if is_new:
        motion[_STEPPING] = _NOBODY
    square = motion[_VELOCITY] ** 2 + motion[_VELOCITY + 1] ** 2 + motion[_VELOCITY + 2] ** 2
    is_on_the_way = square > _ON_THE_WAY_M_S**2 or abs(motion[_YAW_RATE]) > _ON_THE_WAY_RAD_S
    goal = 1.0 if is_on_the_way else 0.0
    motion[_ALONG] += seconds / (_BEGIN_S + seconds) * (goal - motion[_ALONG])
    return is_on_the_way


@inlined_kernel
def _note_wanted(foot: Array, wanted: Array, target: Array, along: float, seconds: float) -> None:
    """Note where a foot is wanted, and let it come along so much, for so many seconds."""
    x, y, yaw = target[0, 3], target[1, 3], math.atan2(target[1, 0], target[0, 0])
    if math.isnan(foot[0]):
        foot[0], foot[1], foot[2] = x, y, yaw
    else:
        nearer = seconds / (_COME_ALONG_S + seconds)
        turning = _within_half_a_turn(yaw - wanted[2])
        off = _within_half_a_turn(foot[2] - wanted[2])
        foot[0] += along * (x - wanted[0] - nearer * (foot[0] - wanted[0]))
        foot[1] += along * (y - wanted[1] - nearer * (foot[1] - wanted[1]))
        foot[2] += along * (turning - nearer * off)
    wanted[0], wanted[1], wanted[2] = x, y, yaw


@inlined_kernel
def _steps_off(foot: Array, wanted: Array) -> float:
    """Return how many steps a foot is from where it is wanted."""
    turned = abs(_within_half_a_turn(wanted[2] - foot[2]))
    return max(math.hypot(wanted[0] - foot[0], wanted[1] - foot[1]) / _STEP_M, turned / _STEP_RAD)


@inlined_kernel
def _step(foot: Array, wanted: Array, motion: Array, seconds: float) -> None:
    """Go on with a step, so that it ends where the foot is wanted by then; it sets out softly."""
    before = _way_left(motion[_LEFT_S])
    motion[_LEFT_S] -= seconds
    share = 1.0 - _way_left(motion[_LEFT_S]) / max(before, 1e-9)
    foot[0] += share * (wanted[0] - foot[0])
    foot[1] += share * (wanted[1] - foot[1])
    foot[2] += share * _within_half_a_turn(wanted[2] - foot[2])
    if motion[_LEFT_S] <= 0.0:
        motion[_STEPPING] = _NOBODY


@inlined_kernel
def _way_left(left_s: float) -> float:
    """Return the share of its way that a step has before it when it has so much time left."""
    left = min(max(left_s / _STEP_S, 0.0), 1.0)
    return left * left * (3.0 - 2.0 * left)


@inlined_kernel
def _stand(foot: Array, wanted: Array, target: Array) -> None:
    """Put a target where the foot stands, turned as it is."""
    cosine, sine = math.cos(foot[2] - wanted[2]), math.sin(foot[2] - wanted[2])
    for column in range(3):
        x, y = target[0, column], target[1, column]
        target[0, column] = cosine * x - sine * y
        target[1, column] = sine * x + cosine * y
    target[0, 3], target[1, 3] = foot[0], foot[1]


@inlined_kernel
def _within_half_a_turn(angle: float) -> float:
    return angle - _FULL_TURN * math.floor(angle / _FULL_TURN + 0.5)
