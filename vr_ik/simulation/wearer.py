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

"""A simulated user who wears the devices of a simulated OpenVR runtime."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
import math
import time

import numpy as np

from vr_ik.config import TrackerConfig
from vr_ik.math.rotations import pose, rotation_from_rpy
from vr_ik.simulation.runtime import RUNNING_OK, RUNNING_OUT_OF_RANGE, SimulatedRuntime
from vr_ik.trackers.loop import Severity, TrackerLoop
from vr_ik.trackers.simulated import SimulatedTracker
from vr_ik.types import DeviceKind, DeviceState, TrackingFrame

RATE_HZ = 250.0
"""How often the devices are moved."""

_SIDES = {'l': 'left', 'r': 'right'}
# A touch pad and a trigger, as on the wands of the Vive; the trigger's button is 33.
_AXIS_TYPES = (1, 3, 0, 0, 0)
_TRIGGER_AXIS, _TRIGGER_BUTTON = 1, 33
_TRIGGER_PERIOD_S = 4.0
_BATTERY = 0.9
# Two base stations in opposite corners of the room, 2.4 m up, looking down at its middle.
_STATIONS = {'SIM-BASE-1': (2.0, 2.0, -135.0), 'SIM-BASE-2': (-2.0, -2.0, 45.0)}
_STATION_HEIGHT_M = 2.4
_STATION_PITCH_DEG = 35.0


class Wearer:
    """Moves a runtime's devices as a simulated user does, his dropouts and glitches included."""

    def __init__(self, runtime: SimulatedRuntime, devices: tuple[DeviceState, ...]) -> None:
        """Connect these devices, named by role, and two base stations."""
        self._runtime = runtime
        self._indices = {device.name: _connect(runtime, device) for device in devices}
        self._lost: set[str] = set()
        self._controllers = [
            self._indices[device.name]
            for device in devices
            if device.kind is DeviceKind.CONTROLLER
        ]
        for serial, (x_m, y_m, yaw_deg) in _STATIONS.items():
            index = runtime.add_device(DeviceKind.BASE_STATION, serial)
            turn = rotation_from_rpy(0.0, math.radians(_STATION_PITCH_DEG), math.radians(yaw_deg))
            place = pose(turn, np.array([x_m, y_m, _STATION_HEIGHT_M]))
            runtime.set_poses([index], place[None])

    def wear(self, frame: TrackingFrame) -> None:
        """Put the devices where the frame has them; those that it lacks are not tracked."""
        indices = [self._indices[name] for name in frame.names]
        self._runtime.set_poses(indices, frame.poses, frame.twists)
        lost = self._indices.keys() - set(frame.names)
        for name in lost ^ self._lost:
            result = RUNNING_OUT_OF_RANGE if name in lost else RUNNING_OK
            self._runtime.set_tracking(self._indices[name], result, pose_valid=name not in lost)
        self._lost = lost
        self._pull_triggers(frame.stamp_ns * 1e-9)

    def _pull_triggers(self, now_s: float) -> None:
        """Pull one controller's trigger after the other's, slowly."""
        for i, index in enumerate(self._controllers):
            phase = now_s / _TRIGGER_PERIOD_S + i / len(self._controllers)
            pull = max(0.0, math.sin(2.0 * math.pi * phase))
            held = [_TRIGGER_BUTTON] if pull > 0.9 else []
            touched = [_TRIGGER_BUTTON] if pull > 0.0 else []
            self._runtime.set_input(
                index, pressed=held, touched=touched, axes={_TRIGGER_AXIS: (pull, 0.0)}
            )


def _connect(runtime: SimulatedRuntime, device: DeviceState) -> int:
    side, _, place = device.name.rpartition('_')
    hand = _SIDES[side] if device.kind is DeviceKind.CONTROLLER else ''
    controller_type = 'vive_controller' if hand else ''
    if device.kind is DeviceKind.TRACKER:
        parts = ('vive_tracker', _SIDES[side], place) if side else ('vive_tracker', place)
        controller_type = '_'.join(parts)
    return runtime.add_device(
        device.kind,
        device.serial,
        hand=hand,
        controller_type=controller_type,
        battery=_BATTERY,
        axis_types=_AXIS_TYPES,
    )


@contextmanager
def worn(
    runtime: SimulatedRuntime,
    config: TrackerConfig,
    on_event: Callable[[Severity, str], None],
) -> Iterator[None]:
    """Have the simulated user wear the runtime's devices inside a `with` block."""
    tracker = SimulatedTracker(config)
    wearer = Wearer(runtime, tracker.devices())
    # A pose stays for a period: written for its middle, it is right on average.
    ahead_ns = round(0.5e9 / RATE_HZ)
    loop = TrackerLoop(tracker, RATE_HZ, wearer.wear, on_event, lambda: time.time_ns() + ahead_ns)
    loop.start()
    try:
        yield
    finally:
        loop.stop()
