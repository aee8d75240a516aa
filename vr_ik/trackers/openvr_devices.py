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

"""The devices of an OpenVR runtime: who they are, how they are named, how they fare."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
import logging
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vr_ik.math.openvr_axes import poses_from_openvr
from vr_ik.trackers.openvr_input import InputLayout
from vr_ik.trackers.openvr_roles import frame_from_serial, frame_names, NamedDevice
from vr_ik.trackers.openvr_session import MAX_DEVICES, OpenVrSession, PoseRecords
from vr_ik.types import Array, DeviceKind, DeviceState, DeviceStatus

_log = logging.getLogger(__name__)

# TrackedDeviceClass_*
_KINDS = {
    1: DeviceKind.HMD,
    2: DeviceKind.CONTROLLER,
    3: DeviceKind.TRACKER,
    4: DeviceKind.BASE_STATION,
}
# ETrackingResult
_RUNNING_OK = 200
_CALIBRATING_IN_PROGRESS, _CALIBRATING_OUT_OF_RANGE = 100, 101
_STATUSES = (
    DeviceStatus.OK,
    DeviceStatus.LOST,
    DeviceStatus.CALIBRATING,
    DeviceStatus.DISCONNECTED,
)
# A base station's pose is settled again and again; smaller changes [m, or of a matrix element]
# are not worth telling.
_STATIC_TOLERANCE = 1e-3
# How far a rotation's elements may be from their cofactors; float32 and drivers are closer.
_ROTATION_TOLERANCE = 0.01
# Where the rotation's elements are among a pose's twelve numbers, and then the four factors of
# each one's cofactor a b - c d.
_ELEMENTS = np.arange(12).reshape(3, 4)[:, :3]
_COFACTORS = np.stack(
    [
        np.roll(_ELEMENTS, shifts, axis=(0, 1)).ravel()
        for shifts in ((0, 0), (-1, -1), (-2, -2), (-1, -2), (-2, -1))
    ]
)


@dataclass
class Device:
    """A device that the runtime knows."""

    index: int
    identity: NamedDevice
    name: str
    layout: InputLayout | None
    battery: float | None = None
    charging: bool | None = None
    static_pose: Array | None = None
    status: DeviceStatus = DeviceStatus.LOST

    def state(self) -> DeviceState:
        """Return what others may know of it."""
        return DeviceState(
            self.name,
            self.identity.serial,
            self.identity.kind,
            self.status,
            self.battery,
            self.charging,
            self.static_pose,
        )


class Selection(NamedTuple):
    """The devices of a frame: where they are among the 64 and what they are called."""

    indices: NDArray[np.int64]
    names: tuple[str, ...]


class DeviceTable:
    """All devices by index; `states` may be read from any thread, the rest from one."""

    def __init__(self, roles: Mapping[str, str], aliases: Mapping[str, str]) -> None:
        """Name devices by these maps from serials; see `frame_names`."""
        self._roles = roles
        self._aliases = aliases
        self._devices: list[Device] = []
        self._former: list[DeviceState] = []
        self._moving = np.zeros(MAX_DEVICES, bool)
        self._name_at = [''] * MAX_DEVICES
        self._selections: dict[bytes, Selection] = {}
        self._codes = b''
        self._turn = 0
        self.up_to_date = True
        """Whether every device has told its serial, and none has another kind or hand since."""
        self.states: tuple[DeviceState, ...] = ()

    @property
    def controllers(self) -> list[Device]:
        """The devices with buttons."""
        return [device for device in self._devices if device.layout is not None]

    def index_of(self, name: str) -> int | None:
        """Return the index of the device of this name."""
        return next((d.index for d in self._devices if d.name == name), None)

    def scan(self, session: OpenVrSession, records: PoseRecords) -> None:
        """Ask the runtime who is there, and name everyone anew."""
        before = {device.identity.serial: device for device in self._devices}
        found = _find_devices(session, records)
        self.up_to_date = all(identity.serial for identity in found.values())
        found = _once_each(found)
        names = frame_names(found.values(), self._roles, self._aliases)
        self._devices = [
            _make_device(session, index, identity, names[identity.serial], before)
            for index, identity in found.items()
        ]
        self._moving[:] = False
        for device in self._devices:
            self._moving[device.index] = device.identity.kind is not DeviceKind.BASE_STATION
            self._name_at[device.index] = device.name
        self._forget_selections()
        self._remember(names)

    def observe(self, records: PoseRecords) -> Selection:
        """Note how every device is tracked now, and choose those whose poses can be trusted."""
        codes = _status_codes(records)
        key = codes.tobytes()
        if key != self._codes:
            self._codes = key
            for device in self._devices:
                device.status = _STATUSES[codes[device.index]]
            self._publish()
        selection = self._selections.get(key)
        if selection is None:
            indices = np.flatnonzero((codes == 0) & self._moving)
            selection = Selection(indices, tuple(self._name_at[i] for i in indices))
            self._selections[key] = selection
        return selection

    def refresh_next(self, session: OpenVrSession, records: PoseRecords) -> None:
        """
        Read one device's battery, or a base station's pose, and whether it still is what it was.

        Another one's at the next call.

        One at a time, because a property may cost a round trip to the runtime; it is also how
        a runtime that died without a word is found out.
        """
        vr = session.vr
        if not self._devices:
            session.text(0, vr.Prop_SerialNumber_String)
            return
        self._turn = (self._turn + 1) % len(self._devices)
        device = self._devices[self._turn]
        before = device.state()
        self.up_to_date &= _is_as_before(session, device)
        has_battery = session.flag(device.index, vr.Prop_DeviceProvidesBatteryStatus_Bool)
        device.battery, device.charging = None, None
        if has_battery:
            device.battery = session.number(device.index, vr.Prop_DeviceBatteryPercentage_Float)
            device.charging = session.flag(device.index, vr.Prop_DeviceIsCharging_Bool)
        moved = False
        if device.identity.kind is DeviceKind.BASE_STATION:
            moved = _settle(device, records)
        if moved or device.state() != before:
            self._publish()

    def disconnect_all(self) -> None:
        """Note that the runtime is gone; its devices stay known, by serial."""
        self._former = [replace(state, status=DeviceStatus.DISCONNECTED) for state in self.states]
        self._devices = []
        self._moving[:] = False
        self._forget_selections()
        self._publish()

    def _forget_selections(self) -> None:
        self._selections.clear()
        self._codes = b''

    def _remember(self, names: Mapping[str, str]) -> None:
        taken = set(names.values())
        self._former = [
            replace(
                state,
                name=frame_from_serial(state.serial) if state.name in taken else state.name,
                status=DeviceStatus.DISCONNECTED,
            )
            for state in self.states
            if state.serial not in names
        ]
        known = {state.serial: state.name for state in self.states}
        for device in self._devices:
            if known.get(device.identity.serial) != device.name:
                kind, serial = device.identity.kind.value, device.identity.serial
                _log.info("OpenVR %s %s is '%s'", kind, serial, device.name)

    def _publish(self) -> None:
        self.states = (*(device.state() for device in self._devices), *self._former)


def _find_devices(session: OpenVrSession, records: PoseRecords) -> dict[int, NamedDevice]:
    vr, found = session.vr, {}
    for index in range(MAX_DEVICES):
        kind = _KINDS.get(session.device_class(index))
        if kind is None:
            continue
        registered_type = session.text(index, vr.Prop_RegisteredDeviceType_String)
        found[index] = NamedDevice(
            serial=session.text(index, vr.Prop_SerialNumber_String),
            kind=kind,
            connected=bool(records.connected[index]),
            controller_type=session.text(index, vr.Prop_ControllerType_String),
            tracker_setting=session.tracker_setting(f'/devices/{registered_type}'),
            hand=session.hand(index),
        )
    return found


def _once_each(found: Mapping[int, NamedDevice]) -> dict[int, NamedDevice]:
    """Leave out devices without a serial; of two with the same, keep the connected, later one."""
    indices: dict[str, int] = {}
    for index, identity in sorted(found.items(), key=lambda item: item[1].connected):
        if identity.serial:
            indices[identity.serial] = index
    return {index: found[index] for index in sorted(indices.values())}


def _is_as_before(session: OpenVrSession, device: Device) -> bool:
    """Tell whether a device is of the kind and in the hand that it was in at the last scan."""
    kind, hand = _KINDS.get(session.device_class(device.index)), session.hand(device.index)
    return kind is device.identity.kind and hand == device.identity.hand


def _make_device(
    session: OpenVrSession,
    index: int,
    identity: NamedDevice,
    name: str,
    before: Mapping[str, Device],
) -> Device:
    layout = None
    if identity.kind is DeviceKind.CONTROLLER:
        first = session.vr.Prop_Axis0Type_Int32
        axis_types = [session.integer(index, first + axis) or 0 for axis in range(5)]
        layout = InputLayout.of(identity.controller_type, axis_types)
    device = Device(index, identity, name, layout)
    old = before.get(identity.serial)
    if old is not None:
        device.battery, device.charging = old.battery, old.charging
        device.static_pose, device.status = old.static_pose, old.status
    return device


def _status_codes(records: PoseRecords) -> NDArray[np.int64]:
    """Return the place in `_STATUSES` of each of the records."""
    result = records.results
    trusted = records.valid & (result == _RUNNING_OK) & _sound(records.matrices)
    calibrating = (result == _CALIBRATING_IN_PROGRESS) | (result == _CALIBRATING_OUT_OF_RANGE)
    connected = np.where(trusted, 0, np.where(calibrating, 2, 1))
    return np.where(records.connected, connected, 3)


def _settle(device: Device, records: PoseRecords) -> bool:
    """Take over a base station's pose; tell whether it is another one than before."""
    if device.status is not DeviceStatus.OK:
        return False
    pose = poses_from_openvr(records.matrices[device.index][None])[0]
    old = device.static_pose
    if old is not None and np.abs(pose - old).max() <= _STATIC_TOLERANCE:
        return False
    pose.flags.writeable = False
    device.static_pose = pose
    return True


def _sound(matrices: NDArray[np.float32]) -> NDArray[np.bool_]:
    """
    Tell finite rigid poses from the garbage that some drivers call valid.

    A matrix is a rotation just if it equals the matrix of its cofactors and is not zero.
    """
    rotations, a, b, c, d = matrices.reshape(-1, 12).T.take(_COFACTORS, axis=0)
    with np.errstate(invalid='ignore', over='ignore'):
        errors = np.abs(a * b - c * d - rotations)
    sound: NDArray[np.bool_] = (errors < _ROTATION_TOLERANCE).all(axis=0)
    sound &= np.abs(rotations).max(axis=0) > 0.5
    sound &= np.isfinite(matrices[:, :, 3]).all(axis=1)
    return sound
