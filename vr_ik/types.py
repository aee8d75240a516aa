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

"""The values that flow through vr_ik: tracking frames, devices, tasks and results."""

from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class DeviceKind(str, Enum):
    """What a tracked device is."""

    HMD = 'hmd'
    CONTROLLER = 'controller'
    TRACKER = 'tracker'
    BASE_STATION = 'base_station'


class DeviceStatus(str, Enum):
    """Whether a device's pose can be trusted now."""

    OK = 'ok'
    LOST = 'lost'
    CALIBRATING = 'calibrating'
    DISCONNECTED = 'disconnected'


@dataclass(frozen=True, slots=True)
class DeviceState:
    """A device as its tracking source reports it, beside its pose."""

    name: str
    """Frame name, by role: 'hmd', 'l_controller', 'waist', ..."""
    serial: str
    kind: DeviceKind
    status: DeviceStatus
    battery: float | None = None
    """Charge from 0 to 1; None where the device does not say."""
    charging: bool | None = None
    static_pose: Array | None = field(default=None, compare=False)
    """(4, 4) pose_world_from_device of what does not move, such as a base station. Such devices
    are in no frame; the array is another one whenever the pose has changed."""


@dataclass(frozen=True, slots=True)
class ControllerInput:
    """Buttons and sticks of one controller; its tracking source documents their order."""

    name: str
    axes: tuple[float, ...]
    """From -1 to 1, or 0 to 1 for triggers."""
    buttons: tuple[int, ...]
    """0 or 1."""


@dataclass(frozen=True, slots=True)
class TrackingFrame:
    """All valid device poses of one instant, in the REP-103 world (x forward, z up, metres)."""

    stamp_ns: int
    names: tuple[str, ...]
    poses: Array
    """(n, 4, 4): pose_world_from_device of each name."""
    twists: Array | None = None
    """(n, 6): velocity of each device's origin [m/s] and turn rate [rad/s], both in world axes."""
    inputs: tuple[ControllerInput, ...] = ()
    """Of every connected controller, tracked or not."""


class Tracker(Protocol):
    """A tracking source. `trackers.loop` opens, reads and closes it, always from one thread."""

    def open(self) -> None:
        """Connect; raise `TrackerError` while the source is not there (it is tried again)."""

    def read(self, stamp_ns: int) -> TrackingFrame:
        """Return the valid poses now, stamped so; raise `TrackerError` when the source is gone."""

    def devices(self) -> tuple[DeviceState, ...]:
        """Return every known device, the lost ones too; callable from any thread."""

    def close(self) -> None:
        """Disconnect; never raises, may be called twice."""


@runtime_checkable
class VibratingTracker(Tracker, Protocol):
    """A tracking source whose devices can be made to vibrate; a source need not be one."""

    def vibrate(self, name: str, intensity: float, duration_s: float) -> None:
        """Let the device of this name vibrate, 0 (stop) to 1; callable from any thread."""


@dataclass(frozen=True, slots=True)
class Task:
    """Bring one link to a target pose; a weight of zero frees that part."""

    link: str
    position_weight: float = 1.0
    """Weight of the squared position error [1/m^2]."""
    orientation_weight: float = 0.1
    """Weight of the squared rotation error [1/rad^2]."""
    offset: Array = field(default_factory=lambda: np.eye(4))
    """(4, 4) pose_link_from_point: what is to meet the target, rigid on the link."""
    is_guess: bool = False
    """Whether nobody has measured the target: that it is missed says nothing of the pose. Guesses
    come after all other tasks."""


class Status(IntEnum):
    """How a solve ended."""

    CONVERGED = 0
    LIMITED = 1
    STALLED = 2
    UNREACHABLE = 3
    FAILED = 4

    @property
    def text(self) -> str:
        """Explain the status in a few words."""
        return _STATUS_TEXT[self]


_STATUS_TEXT = {
    Status.CONVERGED: 'every task is within tolerance',
    Status.LIMITED: 'the best pose within the joint limits; some joints are at their limits',
    Status.STALLED: 'the best pose found near the start; some targets are not met',
    Status.UNREACHABLE: 'some targets are further away than the bones are long',
    Status.FAILED: 'bad input or no known device; the body stays where it is',
}
