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

"""One hand of the operator: checked, smoothed, and known at every tick between its frames."""

import math

import numpy as np

from vr_ik.teleop.config import TeleopConfig
from vr_ik.teleop.hand_kernel import begin, is_pose, JUMPED, observe, SMOOTH, TWIST, write_moved
from vr_ik.teleop.types import ArmInput, Reason
from vr_ik.types import Array

# Without a new frame the hand is thought to go on for so long, and then to rest [s].
_FORESIGHT_S = 0.03


class Hand:
    """Follows the poses of one device; `fault` tells why it cannot be relied on now."""

    def __init__(self, config: TeleopConfig) -> None:
        """Take the thresholds, and compile the filter."""
        self._jump_m, self._jump_rad = config.jump_m, math.radians(config.jump_deg)
        self._timeout_ns = round(config.tracking_timeout_s * 1e9)
        self._state = np.zeros((4, 4, 4))
        self._twist = self._state[TWIST].ravel()[:6]
        self._stamp_ns: int | None = None
        self._seen = False
        self.lack = ''
        """Why the device has no pose, in words, where that is known."""
        here = np.eye(4)
        begin(self._state, here)
        observe(self._state, here, 0.01, self._jump_m, self._jump_rad)
        self.fault = Reason.NEVER_TRACKED if is_pose(here) else Reason.BAD_POSE
        self.at(0)

    def update(self, arm: ArmInput, now_ns: int) -> None:
        """Take what is known of the device now, a new frame or the last one again."""
        age_ns, self.lack = now_ns - arm.stamp_ns, arm.lack
        self._seen = self._seen or arm.pose_world_from_device is not None
        if not self._seen:
            return
        if arm.pose_world_from_device is None or age_ns > self._timeout_ns:
            self._forget(Reason.TRACKING_LOST)
            return
        if age_ns < -self._timeout_ns:
            self._forget(Reason.CLOCK_JUMP)
            return
        # One type and layout alone: for another one the filter would be compiled in the loop.
        pose = np.ascontiguousarray(arm.pose_world_from_device, np.float64)
        if pose.shape != (4, 4) or not is_pose(pose):
            self._forget(Reason.BAD_POSE)
            return
        self.fault = Reason.NONE
        if self._stamp_ns is None:
            begin(self._state, pose)
        elif arm.stamp_ns <= self._stamp_ns:
            return  # the same frame again, or one that came late
        else:
            seconds = (arm.stamp_ns - self._stamp_ns) * 1e-9
            if observe(self._state, pose, seconds, self._jump_m, self._jump_rad) == JUMPED:
                self.fault = Reason.TRACKING_JUMP
        self._stamp_ns = arm.stamp_ns

    def at(self, now_ns: int) -> tuple[Array, Array]:
        """Return the pose (4, 4) and the twist (6,) now, in world axes; only without a fault."""
        seconds = max((now_ns - (self._stamp_ns or 0)) * 1e-9, 0.0)
        pose = np.empty((4, 4))
        write_moved(self._state[SMOOTH], self._twist, min(seconds, _FORESIGHT_S), pose)
        if seconds > _FORESIGHT_S:
            return pose, np.zeros(6)
        return pose, self._twist.copy()

    def _forget(self, fault: Reason) -> None:
        self.fault, self._stamp_ns = fault, None
