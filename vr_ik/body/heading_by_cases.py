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

"""Where the body faces by the cases of the literature, to compare `heading` with.

A. Gullickson and D. Shervheim, "Avatar modeling with inverse kinematics", section 3.3, after
F. Jiang et al. (VRCAI 2016). Headset and hands are averaged over 50 frames; what is far from its
average is unstable. An unstable headset changes nothing. With a stable headset and unstable hands
the body faces as the headset does, or between headset and hands where these disagree. With both
stable it faces as the headset does if the hands are across it (angles a_cross near 90 or a_linear
near 0 degrees) and face alike. Equation (1) blends the result with the last one, 0.9 to 0.1. The
publication gives no thresholds; those here are ours.
"""

from collections import deque
import math

import numpy as np

from vr_ik.body.heading import look_direction
from vr_ik.types import Array

_FRAMES = 50
_KEPT, _NEW = 0.9, 0.1
_STEADY_LOOK = math.radians(15.0)
_STEADY_HANDS_M = 0.10
_ALIKE = math.radians(30.0)
_ACROSS = math.radians(30.0)


class HeadingByCases:
    """The estimated direction of the trunk, over time."""

    def __init__(self) -> None:
        """Start with none."""
        self.reset()

    def reset(self) -> None:
        """Forget the past."""
        self._looks: deque[Array] = deque(maxlen=_FRAMES)
        self._hands: deque[Array] = deque(maxlen=_FRAMES)
        self._forward: Array | None = None

    def follow(self, head: Array, hands: tuple[Array, Array] | None, seconds: float) -> float:
        """Return the yaw [rad], from pose_world_from_hmd and those of left and right hand."""
        look = np.array(look_direction(head, math.nan))
        self._looks.append(look)
        if hands is not None:
            self._hands.append(np.array([hand[:3, 3] for hand in hands]))
        current = self._current(head[:3, 3], look)
        if self._forward is None:
            self._forward = look if current is None else current
        elif current is not None:
            self._forward = _unit(_KEPT * self._forward + _NEW * current)
        return math.atan2(self._forward[1], self._forward[0])

    def _current(self, head_at: Array, look: Array) -> Array | None:
        """Return the direction by the three cases; None leaves it as it was."""
        if _angle(look, np.mean(self._looks, axis=0)) > _STEADY_LOOK:
            return None
        if not self._hands:
            return look
        left, right = mean = np.mean(self._hands, axis=0)
        across = (left - right)[:2]
        facing = np.array([across[1], -across[0]])
        alike = _angle(facing, look) < _ALIKE
        far_m = np.linalg.norm(self._hands[-1] - mean, axis=1).max()
        if far_m > _STEADY_HANDS_M:
            return look if alike else _unit(look + _unit(facing))
        a_cross, a_linear = _angle(look, across), _angle((left - head_at)[:2], across)
        is_across = abs(a_cross - 0.5 * math.pi) < _ACROSS or a_linear < _ACROSS
        return look if is_across and alike else None


def _unit(vector: Array) -> Array:
    return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-9))


def _angle(a: Array, b: Array) -> float:
    return math.acos(float(np.clip(_unit(a) @ _unit(b), -1.0, 1.0)))
