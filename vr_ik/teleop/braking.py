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


"""The way from motion to rest, to be sent along with each command.

Should the next command never come, because a process or a network has failed, a controller that
follows it comes to rest as smoothly as it would have been stopped.
"""

from typing import NamedTuple

import numpy as np

from vr_ik.types import Array

_STEP_S = 1e-3


class BrakingPoint(NamedTuple):
    """Where the joints are on their way to rest."""

    seconds: float
    """Since the begin of braking."""
    q: Array
    velocity: Array


def braking_points(q: Array, velocity: Array, deceleration: Array) -> list[BrakingPoint]:
    """Return the points at which joints come to rest, one after the other; none at rest.

    Each joint brakes evenly, so that a cubic through positions and velocities is the exact way.
    It does so in whole steps of time, a little more gently than it might: controllers refuse
    points that are not apart.
    """
    steps = np.ceil(np.abs(velocity) / (deceleration * _STEP_S))
    ends_s = _STEP_S * np.maximum(steps, 1.0)
    points = []
    for step in np.unique(steps[steps > 0.0]):
        left = velocity * (1.0 - np.minimum(step * _STEP_S / ends_s, 1.0))
        braked_s = np.minimum(step * _STEP_S, ends_s)
        points.append(
            BrakingPoint(float(step * _STEP_S), q + 0.5 * braked_s * (velocity + left), left)
        )
    return points
