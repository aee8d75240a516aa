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

"""Compiled part of the cleaning: a device that is out of sight goes on, ever more slowly.

Most losses are short, and a hand does not stop because nobody looks.
"""

import math

from vr_ik.filters.pose_kernels import go_along, size, turn
from vr_ik.kinematics.compiled import inlined_kernel
from vr_ik.types import Array

WAY = 6
"""Numbers of a device's way: linear [m/s] and angular [rad/s] velocity, in the world's axes."""

_FADES_IN_S = 0.12
"""Time in which a speed falls to 1 / e; a shorter one where it would lead too far."""
_MEAN_OVER_S = 0.02
"""Speeds are means over about this time: differences of trembling poses say little."""
_KNOWN_FOR_S = 0.05
"""Who was seen last a longer time ago may have gone anywhere in between."""
_FARTHEST_M, _FARTHEST_RAD = 0.25, 1.0
"""How far a device goes on at most; what was quick before it was lost may have been a fault."""


@inlined_kernel
def forget_way(way: Array) -> None:
    """Take a device for one at rest."""
    for k in range(WAY):
        way[k] = 0.0


@inlined_kernel
def note_way(before: Array, after: Array, seconds: float, way: Array) -> None:
    """Note how a device goes that was at one pose and is at another so many seconds later."""
    if seconds > _KNOWN_FOR_S:
        forget_way(way)
        return
    share = seconds / (seconds + _MEAN_OVER_S)
    angle, axis = turn(before, after)
    for k in range(3):
        way[k] += share * ((after[k, 3] - before[k, 3]) / seconds - way[k])
        way[3 + k] += share * (axis[k] * angle / seconds - way[3 + k])


@inlined_kernel
def _run(speed: float, farthest: float, seconds: float) -> float:
    """Return in how many seconds at full speed a device gets as far as at one that fades."""
    fades_in_s = _FADES_IN_S
    if speed * fades_in_s > farthest:
        fades_in_s = farthest / speed
    return fades_in_s * (1.0 - math.exp(-seconds / fades_in_s))


@inlined_kernel
def go_on(way: Array, seconds: float, pose: Array) -> None:
    """Move a pose to where it probably is, so many seconds after it was seen."""
    run = _run(size(way[0], way[1], way[2]), _FARTHEST_M, seconds)
    turn_run = _run(size(way[3], way[4], way[5]), _FARTHEST_RAD, seconds)
    go_along(pose, way, run, turn_run)
