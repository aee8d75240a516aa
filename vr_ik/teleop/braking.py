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


class BrakingPoint(NamedTuple):
    """Where the joints are on their way to rest."""

    seconds: float
    """Since the begin of braking."""
    q: Array
    velocity: Array


def braking_points(q: Array, velocity: Array, deceleration: Array) -> list[BrakingPoint]:
    """Return the points at which joints come to rest, one after the other; none at rest.

    Each joint brakes evenly, so that a cubic through positions and velocities is the exact way.
    """
    ends_s = np.abs(velocity) / deceleration
    points = []
    for seconds in np.unique(ends_s[ends_s > 0.0]):
        braked_s = np.minimum(seconds, ends_s)
        slowed = np.sign(velocity) * deceleration * braked_s
        left = np.where(ends_s <= seconds, 0.0, velocity - slowed)
        way = braked_s * (velocity - 0.5 * slowed)
        points.append(BrakingPoint(float(seconds), q + way, left))
    return points
