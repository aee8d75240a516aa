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

from vr_ik.math.rotations import exp_rotation, log_rotation
from vr_ik.teleop.config import TeleopConfig
from vr_ik.teleop.types import ArmInput, Reason
from vr_ik.types import Array

# How much of a frame's surprise goes into pose and velocity: a critically damped g-h filter
# (E. Brookner, "Tracking and Kalman filtering made easy", 1998, section 1.2.6) that forgets half
# of the past in each frame. It lags behind no steady motion, and halves a tracker's trembling.
_MEMORY = 0.5
_POSE_SHARE = 1.0 - _MEMORY**2
_VELOCITY_SHARE = (1.0 - _MEMORY) ** 2
# Without a new frame the hand is thought to go on for so long, and then to rest [s].
_FORESIGHT_S = 0.03
# Two frames this near to each other tell nothing of the velocity [s].
_LEAST_FRAME_S = 1e-4
# Devices' rotations are made from quaternions in double precision; this is far outside.
_ROTATION_TOLERANCE = 1e-3


class Hand:
    """Follows the poses of one device; `fault` tells why it cannot be relied on now."""

    def __init__(self, config: TeleopConfig) -> None:
        """Take the thresholds."""
        self._jump_m, self._jump_rad = config.jump_m, math.radians(config.jump_deg)
        self._timeout_ns = round(config.tracking_timeout_s * 1e9)
        self._pose = self._raw = np.eye(4)
        self._twist = np.zeros(6)
        self._stamp_ns: int | None = None
        self.fault = Reason.TRACKING_LOST

    def update(self, arm: ArmInput, now_ns: int) -> None:
        """Take what is known of the device now, a new frame or the last one again."""
        pose = arm.pose_world_from_device
        age_ns = now_ns - arm.stamp_ns
        if pose is None or age_ns > self._timeout_ns:
            self._forget(Reason.TRACKING_LOST)
        elif age_ns < -self._timeout_ns:
            self._forget(Reason.CLOCK_JUMP)
        elif not _is_pose(pose):
            self._forget(Reason.BAD_POSE)
        elif self._stamp_ns is None:
            self._begin(pose, arm.stamp_ns)
        elif arm.stamp_ns != self._stamp_ns:
            self._follow(pose, arm.stamp_ns)
        else:
            self.fault = Reason.NONE

    def at(self, now_ns: int) -> tuple[Array, Array]:
        """Return the pose (4, 4) and the twist (6,) now, in world axes; only without a fault."""
        seconds = (now_ns - (self._stamp_ns or 0)) * 1e-9
        if seconds > _FORESIGHT_S:
            return _moved(self._pose, self._twist, _FORESIGHT_S), np.zeros(6)
        return _moved(self._pose, self._twist, max(seconds, 0.0)), self._twist

    def _forget(self, fault: Reason) -> None:
        self.fault, self._stamp_ns = fault, None

    def _begin(self, pose: Array, stamp_ns: int) -> None:
        self._pose = self._raw = np.array(pose, float)
        self._twist = np.zeros(6)
        self._stamp_ns, self.fault = stamp_ns, Reason.NONE

    def _follow(self, pose: Array, stamp_ns: int) -> None:
        way = float(np.linalg.norm(pose[:3, 3] - self._raw[:3, 3]))
        turn = float(np.linalg.norm(log_rotation(pose[:3, :3] @ self._raw[:3, :3].T)))
        if way > self._jump_m or turn > self._jump_rad:
            # The device is taken for where it is now: the operator may press again at once.
            self._begin(pose, stamp_ns)
            self.fault = Reason.TRACKING_JUMP
            return
        seconds = (stamp_ns - (self._stamp_ns or 0)) * 1e-9
        self._raw, self._stamp_ns, self.fault = np.array(pose, float), stamp_ns, Reason.NONE
        if seconds < _LEAST_FRAME_S:
            return
        expected = _moved(self._pose, self._twist, seconds)
        surprise = np.empty(6)
        surprise[:3] = pose[:3, 3] - expected[:3, 3]
        surprise[3:] = log_rotation(np.ascontiguousarray(pose[:3, :3] @ expected[:3, :3].T))
        self._pose = _moved(expected, surprise, _POSE_SHARE)
        self._twist = self._twist + _VELOCITY_SHARE / seconds * surprise


def _moved(pose: Array, twist: Array, seconds: float) -> Array:
    """Return the pose after it has moved with a twist in world axes."""
    moved = np.eye(4)
    moved[:3, :3] = exp_rotation(seconds * twist[3:]) @ pose[:3, :3]
    moved[:3, 3] = pose[:3, 3] + seconds * twist[:3]
    return moved


def _is_pose(pose: Array) -> bool:
    """Tell whether it is a rigid pose of finite numbers."""
    if np.shape(pose) != (4, 4) or not np.isfinite(pose).all():
        return False
    rotation = np.asarray(pose)[:3, :3]
    off = float(np.abs(rotation @ rotation.T - np.eye(3)).max())
    return off < _ROTATION_TOLERANCE and float(np.linalg.det(rotation)) > 0.0
