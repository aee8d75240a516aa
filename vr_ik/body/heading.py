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

"""Where the body faces while no device on the trunk says so: from the head and the hands.

Seed of the idea: the body-forward estimate of A. Gullickson and D. Shervheim, "Avatar modeling
with inverse kinematics", after F. Jiang et al. (VRCAI 2016), which blends the headset's forward
direction with the normal of the line between the hands. Here both are weighed by how much they
say: the hands by how far they are apart across the head's view, so that crossed and close hands
count for nothing, and the sum is followed with a time constant instead of by cases.
"""

import math

import numpy as np

from vr_ik.types import Array

_FOLLOW_S = 0.4
_FULL_SPAN_M = 0.8
"""Hands so far apart say as much as the head."""
_FARTHEST = math.radians(50.0)
"""A neck turns no farther: the trunk comes along at once."""
_LEVEL = 0.2
"""Least level part of the headset's forward axis that tells a direction."""


class Heading:
    """The estimated direction of the trunk, over time."""

    def __init__(self) -> None:
        """Start with none."""
        self._yaw: float | None = None

    def reset(self) -> None:
        """Forget the past."""
        self._yaw = None

    def follow(self, head: Array, hands: tuple[Array, Array] | None, seconds: float) -> float:
        """Return the yaw [rad], from pose_world_from_hmd and those of left and right hand."""
        forward = look_direction(head)
        if hands is not None:
            across = (hands[0] - hands[1])[:2, 3]
            normal = np.array([across[1], -across[0]])
            seen = float(normal @ forward)
            if seen > 0.0:
                forward = forward + min(seen / _FULL_SPAN_M, 1.0) * normal / np.linalg.norm(normal)
        yaw = math.atan2(forward[1], forward[0])
        if self._yaw is None or seconds <= 0.0:
            self._yaw = yaw
        else:
            turn = math.remainder(yaw - self._yaw, 2.0 * math.pi)
            self._yaw += turn * seconds / (_FOLLOW_S + seconds)
            behind = math.remainder(yaw - self._yaw, 2.0 * math.pi)
            self._yaw += behind - max(-_FARTHEST, min(behind, _FARTHEST))
        return self._yaw


def look_direction(head: Array) -> Array:
    """Return the level unit vector (2,) in which pose_world_from_hmd looks."""
    look = head[:2, 0]
    if math.hypot(*look) < _LEVEL:
        # Looking straight down or up: what was forward now points up or down.
        look = head[:2, 2] if head[2, 0] < 0.0 else -head[:2, 2]
    return np.asarray(look / max(math.hypot(*look), 1e-9))
