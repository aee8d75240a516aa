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

"""Cleans tracking frames: refuses jumps that do not last, and bridges short losses."""

from dataclasses import dataclass
import math

import numpy as np

from vr_ik.kinematics.compiled import kernel
from vr_ik.types import Array, TrackingFrame

# A device may move this far between frames whatever their distance in time: noise and jitter.
_SLACK_M = 0.05
_SLACK_RAD = math.radians(15.0)
# How fast a device gains speed in the hand of a quick person [m/s^2, rad/s^2].
_ACCELERATION = 200.0
_TURN_ACCELERATION = 1500.0


@dataclass(frozen=True)
class CleanLimits:
    """What counts as a glitch and how long a lost device is bridged."""

    speed_m_s: float
    turn_rad_s: float
    glitch_hold_s: float
    """How long a jump must last to be believed."""
    gap_hold_s: float
    """How long the last pose of a lost device is used, with less and less weight."""


class _Device:
    """The last pose that was believed, and the first of a jump that may come to be."""

    def __init__(self) -> None:
        self.pose = np.eye(4)
        self.stamp_ns: int | None = None
        self.speed = 0.0
        self.turn_speed = 0.0
        self.jump_pose = np.eye(4)
        self.jump_stamp_ns: int | None = None

    def believe(self, pose: Array, now_ns: int) -> None:
        """Take a pose for true; what is known of the speed does not outlive a jump."""
        self.pose, self.stamp_ns, self.jump_stamp_ns = pose.copy(), now_ns, None
        self.speed = self.turn_speed = 0.0


class FrameCleaner:
    """Turns tracking frames into one target and one confidence per device of a fixed list."""

    def __init__(self, roles: tuple[str, ...], limits: CleanLimits) -> None:
        """Take the devices to follow, in the order of the rows that `clean` returns."""
        self._limits = limits
        self._rows = {role: row for row, role in enumerate(roles)}
        self._devices = [_Device() for _ in roles]
        self.glitches = 0
        """Poses refused so far."""

    def reset(self) -> None:
        """Forget all poses, as when time has jumped."""
        self._devices = [_Device() for _ in self._devices]

    def clean(self, frame: TrackingFrame, targets: Array, confidence: Array) -> None:
        """Write targets (n, 4, 4) and confidence (n,) from 0 (unknown) to 1 (seen now)."""
        for name, pose in zip(frame.names, frame.poses, strict=True):
            row = self._rows.get(name)
            if row is not None and _is_finite(pose):
                self._update(self._devices[row], pose, frame.stamp_ns)
        for row, device in enumerate(self._devices):
            targets[row] = device.pose
            confidence[row] = self._confidence(device, frame.stamp_ns)

    def _confidence(self, device: _Device, now_ns: int) -> float:
        if device.stamp_ns is None:
            return 0.0
        age_s = (now_ns - device.stamp_ns) * 1e-9
        if age_s <= 0.0:
            return 1.0
        return max(0.0, 1.0 - age_s / self._limits.gap_hold_s) if self._limits.gap_hold_s else 0.0

    def _update(self, device: _Device, pose: Array, now_ns: int) -> None:
        if device.stamp_ns is None:
            device.believe(pose, now_ns)
            # It may be in the middle of a quick motion: any speed that is possible at all.
            device.speed = device.turn_speed = math.inf
            return
        seconds = max(now_ns - device.stamp_ns, 0) * 1e-9
        distance, angle = _moved(device.pose, pose)
        if self._possible(distance, angle, seconds, device.speed, device.turn_speed):
            device.believe(pose, now_ns)
            if seconds > 0.0:
                device.speed, device.turn_speed = distance / seconds, angle / seconds
            return
        self.glitches += 1
        started = device.jump_stamp_ns
        waited_s = 0.0 if started is None else (now_ns - started) * 1e-9
        jump, jump_angle = _moved(device.jump_pose, pose)
        if started is None or not self._possible(jump, jump_angle, waited_s):
            device.jump_pose, device.jump_stamp_ns = pose.copy(), now_ns
        elif waited_s >= self._limits.glitch_hold_s:
            device.believe(pose, now_ns)

    def _possible(
        self,
        distance: float,
        angle: float,
        seconds: float,
        speed: float = 0.0,
        turn_speed: float = 0.0,
    ) -> bool:
        """Tell whether a device of that speed can have moved so far in that time."""
        speed = min(speed + _ACCELERATION * seconds, self._limits.speed_m_s)
        turn_speed = min(turn_speed + _TURN_ACCELERATION * seconds, self._limits.turn_rad_s)
        return (
            distance <= _SLACK_M + speed * seconds and angle <= _SLACK_RAD + turn_speed * seconds
        )


@kernel
def _is_finite(pose: Array) -> bool:
    """Tell whether all numbers of a pose (4, 4) are finite."""
    for r in range(4):
        for c in range(4):
            if not math.isfinite(pose[r, c]):
                return False
    return True


@kernel
def _moved(before: Array, after: Array) -> tuple[float, float]:
    """Return the distance [m] and the angle [rad] between two poses."""
    square = trace = 0.0
    for r in range(3):
        square += (after[r, 3] - before[r, 3]) ** 2
        for c in range(3):
            trace += after[r, c] * before[r, c]
    return math.sqrt(square), math.acos(min(1.0, max(-1.0, 0.5 * (trace - 1.0))))
