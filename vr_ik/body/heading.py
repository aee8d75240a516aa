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

from vr_ik.kinematics.compiled import inlined_kernel, kernel
from vr_ik.types import Array

_FOLLOW_S = 0.4
_FULL_SPAN_M = 0.6
_HANDS = 2.0
"""Hands so far apart say so many times as much as the head."""
_FARTHEST = math.radians(30.0)
"""Farther from what head and hands say together the trunk is not: it comes along at once."""
LEVEL = 0.2
"""Least level part of an axis that tells a direction."""
_STEEP, _LOOKING_AHEAD = 0.2, 0.5
"""Vertical part of an axis at which a view is hardly steep, and at which it is in full."""
_FULL_TURN = 2.0 * math.pi


class Heading:
    """The estimated direction of the trunk, over time."""

    def __init__(self) -> None:
        """Start with none."""
        self._yaw = math.nan

    def reset(self) -> None:
        """Forget the past."""
        self._yaw = math.nan

    def follow(self, head: Array, hands: tuple[Array, Array] | None, seconds: float) -> float:
        """Return the yaw [rad], from pose_world_from_hmd and those of left and right hand."""
        # Hands in one place say nothing.
        left, right = hands or (head, head)
        self._yaw = float(_follow(self._yaw, seconds, head, left, right))
        return self._yaw


@inlined_kernel
def level_direction(
    ahead_x: float,
    ahead_y: float,
    ahead_z: float,
    up_x: float,
    up_y: float,
    up_z: float,
    yaw: float,
) -> tuple[float, float]:
    """Return the level unit vector in which something faces, by its own forward and up axis.

    Who looks ahead faces where he looks. Of who looks down or up, or even behind himself between
    his legs, the axis from ear to ear says it; when that is upright, in one who lies on the side,
    it is again where he looks. Upside down, nobody knows whether a head came there over the
    forehead or over an ear: it faces as it did just before, by `yaw` (NaN: unknown).
    """
    steep = 1.0 - risen(up_z, _STEEP, _LOOKING_AHEAD)
    length = max(math.hypot(ahead_x, ahead_y), 1e-9)
    x, y = ahead_x / length, ahead_y / length
    # Left cross up, where left is the own up cross forward.
    across_x, across_y = ahead_x * up_z - up_x * ahead_z, ahead_y * up_z - up_y * ahead_z
    steep *= risen(math.hypot(across_x, across_y), LEVEL, 2.0 * LEVEL)
    if up_z < 0.0 and x * math.cos(yaw) + y * math.sin(yaw) < 0.0:
        x, y = -x, -y
    if up_z < 0.0 and across_x * math.cos(yaw) + across_y * math.sin(yaw) < 0.0:
        across_x, across_y = -across_x, -across_y
    x, y = x + steep * (across_x - x), y + steep * (across_y - y)
    length = max(math.hypot(x, y), 1e-9)
    return x / length, y / length


@inlined_kernel
def risen(value: float, none: float, full: float) -> float:
    """Return 0 up to a value, 1 from another one, and what is between."""
    return min(max((value - none) / (full - none), 0.0), 1.0)


@inlined_kernel
def pelvis_yaw(root: Array) -> float:
    """Return where a pelvis at this position and quaternion (7) faces [rad]."""
    x, y, z, w = root[3], root[4], root[5], root[6]
    ahead_x, ahead_y = level_direction(
        1.0 - 2.0 * (y * y + z * z),
        2.0 * (x * y + z * w),
        2.0 * (x * z - y * w),
        2.0 * (x * z + y * w),
        2.0 * (y * z - x * w),
        1.0 - 2.0 * (x * x + y * y),
        math.nan,
    )
    return math.atan2(ahead_y, ahead_x)


@kernel
def look_direction(head: Array, yaw: float) -> tuple[float, float]:
    """Return the level unit vector in which pose_world_from_hmd looks, after it faced so [rad]."""
    return level_direction(
        head[0, 0], head[1, 0], head[2, 0], head[0, 2], head[1, 2], head[2, 2], yaw
    )


@inlined_kernel
def _direction(head: Array, left: Array, right: Array, yaw: float) -> float:
    """Return the yaw [rad] that head and hands tell now, if it was `yaw` just before."""
    x, y = look_direction(head, yaw)
    normal_x, normal_y = left[1, 3] - right[1, 3], right[0, 3] - left[0, 3]
    seen = normal_x * x + normal_y * y
    if seen > 0.0:
        weight = _HANDS * min(seen / _FULL_SPAN_M, 1.0) / math.hypot(normal_x, normal_y)
        x, y = x + weight * normal_x, y + weight * normal_y
    return math.atan2(y, x)


@kernel
def _follow(yaw: float, seconds: float, head: Array, left: Array, right: Array) -> float:
    """Return the yaw [rad] so many seconds after it was `yaw` (NaN: unknown)."""
    now = _direction(head, left, right, yaw)
    if math.isnan(yaw) or seconds <= 0.0:
        return now
    yaw += _remainder(now - yaw) * seconds / (_FOLLOW_S + seconds)
    behind = _remainder(now - yaw)
    return yaw + behind - max(-_FARTHEST, min(behind, _FARTHEST))


@inlined_kernel
def _remainder(angle: float) -> float:
    """Return the angle within half a turn of zero."""
    return angle - _FULL_TURN * math.floor(angle / _FULL_TURN + 0.5)
