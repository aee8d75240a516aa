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

"""The simulated tracking source: a person with six devices, noise, dropouts and glitches."""

from dataclasses import replace
import math

import numpy as np

from vr_ik.config import TrackerConfig
from vr_ik.math.rotations import exp_rotation, log_rotation
from vr_ik.trackers.openvr_input import AXIS_NAMES, CONTROL_NAMES
from vr_ik.trackers.simulated_user import SimulatedUser
from vr_ik.types import (
    Array,
    ControllerInput,
    DeviceKind,
    DeviceState,
    DeviceStatus,
    TrackingFrame,
)

SIMULATED_ROLES = ('hmd', 'l_controller', 'r_controller', 'waist', 'l_foot', 'r_foot')

_KINDS = {
    'hmd': DeviceKind.HMD,
    'l_controller': DeviceKind.CONTROLLER,
    'r_controller': DeviceKind.CONTROLLER,
}
# Durations [s] and size [m] of faults, as seen in recordings of real trackers.
_DROPOUT_S = (0.03, 0.2)
_GLITCH_S = (0.005, 0.03)
_GLITCH_M = (0.2, 1.5)
# Velocities are differences over this time.
_STEP_S = 1e-3


class _Fault:
    """A kind of fault that hits one device at a time, at random, so many times a minute."""

    def __init__(self, rng: np.random.Generator, per_minute: float, seconds: tuple[float, float]):
        self._rng = rng
        self._mean_gap_s = 60.0 / per_minute if per_minute > 0.0 else math.inf
        self._seconds = seconds
        self.device = 0
        self.offset = np.zeros(3)
        self._start_s = self._end_s = -math.inf

    def active(self, now_s: float, devices: int) -> bool:
        """Tell whether the fault is on; picks the next one when the last is over."""
        if not math.isfinite(self._mean_gap_s):
            return False
        if self._end_s == -math.inf or now_s > self._end_s:
            self._start_s = now_s + self._rng.exponential(self._mean_gap_s)
            self._end_s = self._start_s + self._rng.uniform(*self._seconds)
            self.device = int(self._rng.integers(devices))
            direction = self._rng.normal(size=3)
            size = self._rng.uniform(*_GLITCH_M)
            self.offset = direction * (size / np.linalg.norm(direction))
        return now_s >= self._start_s


class SimulatedTracker:
    """A `Tracker` on a `SimulatedUser`; the same seed and stamps give the same frames."""

    def __init__(self, config: TrackerConfig) -> None:
        """Make the person; the motion starts at config.origin_s, or at the first frame."""
        self.user = SimulatedUser(config.user_height_m, config.motion)
        self._config = config
        self._rng = np.random.default_rng(config.seed)
        self._dropout = _Fault(self._rng, config.dropouts_per_minute, _DROPOUT_S)
        self._glitch = _Fault(self._rng, config.glitches_per_minute, _GLITCH_S)
        self._origin_ns = round(config.origin_s * 1e9) if config.origin_s > 0.0 else None
        self._devices = tuple(
            DeviceState(
                role,
                f'SIM-{role.upper()}',
                _KINDS.get(role, DeviceKind.TRACKER),
                DeviceStatus.OK,
                battery=1.0,
            )
            for role in SIMULATED_ROLES
        )

    def open(self) -> None:
        """Compile what `read` calls, so that the first frame is not late."""
        self._true_poses(0.0)
        exp_rotation(np.zeros(3))
        log_rotation(np.eye(3))

    def read(self, stamp_ns: int) -> TrackingFrame:
        """Return the devices that are seen at that time, noise and glitches included."""
        if self._origin_ns is None:
            self._origin_ns = stamp_ns
        now_s = (stamp_ns - self._origin_ns) * 1e-9
        poses = self._true_poses(now_s)
        twists = self._true_twists(now_s, poses)
        self._add_noise(poses)
        if self._glitch.active(now_s, len(poses)):
            poses[self._glitch.device, :3, 3] += self._glitch.offset
        lost = self._dropout.device if self._dropout.active(now_s, len(poses)) else -1
        self._devices = tuple(
            replace(state, status=DeviceStatus.LOST if i == lost else DeviceStatus.OK)
            for i, state in enumerate(self._devices)
        )
        seen = [i for i in range(len(poses)) if i != lost]
        names = tuple(SIMULATED_ROLES[i] for i in seen)
        return TrackingFrame(stamp_ns, names, poses[seen], twists[seen], self._inputs(now_s))

    def devices(self) -> tuple[DeviceState, ...]:
        """Return the six devices with their state in the last frame."""
        return self._devices

    def close(self) -> None:
        """Nothing to let go of."""

    def _inputs(self, now_s: float) -> tuple[ControllerInput, ...]:
        """Return buttons and axes in the order of docs/hardware.md; the left hand does nothing."""
        hands = self.user.hands_at(now_s)
        axes = {'trigger': hands.trigger, 'grip': hands.grip}
        buttons = {'trigger': hands.trigger, 'grip': hands.grip, 'menu': hands.menu}
        pressed = [int(buttons.get(name, 0) > 0.5) for name in CONTROL_NAMES]
        right = ControllerInput(
            'r_controller',
            tuple(axes.get(name, 0.0) for name in AXIS_NAMES),
            (*pressed, *pressed),
        )
        left = ControllerInput('l_controller', (0.0,) * len(right.axes), (0,) * len(right.buttons))
        return (left, right)

    def _true_poses(self, now_s: float) -> Array:
        return self.user.device_poses(self.user.q_at(now_s), SIMULATED_ROLES)

    def _true_twists(self, now_s: float, poses: Array) -> Array:
        """Return (n, 6) linear [m/s] and angular [rad/s] velocities in world axes."""
        later = self._true_poses(now_s + _STEP_S)
        linear = later[:, :3, 3] - poses[:, :3, 3]
        turns = later[:, :3, :3] @ poses[:, :3, :3].transpose(0, 2, 1)
        angular = np.array([log_rotation(turn) for turn in turns])
        return np.hstack((linear, angular)) / _STEP_S

    def _add_noise(self, poses: Array) -> None:
        positions = self._rng.normal(scale=1e-3, size=(len(poses), 3))
        turns = self._rng.normal(scale=math.radians(1.0), size=(len(poses), 3))
        poses[:, :3, 3] += self._config.position_noise_mm * positions
        for pose, turn in zip(poses, turns, strict=True):
            pose[:3, :3] = exp_rotation(self._config.rotation_noise_deg * turn) @ pose[:3, :3]
