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

"""Drive a simulated OpenVR runtime: its devices, their poses and buttons, its mishaps."""

from collections.abc import Iterable, Mapping, Sequence
import json
from pathlib import Path
import shutil
import tempfile
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vr_ik.errors import VrIkError
from vr_ik.math.openvr_axes import poses_to_openvr, vectors_to_openvr
from vr_ik.simulation.builder import build_vrclient
from vr_ik.simulation.state import MAX_DEVICES, SharedState, Status
from vr_ik.types import DeviceKind

RUNNING_OK = 200
"""Tracking result of a device whose pose can be trusted."""
RUNNING_OUT_OF_RANGE = 201
CALIBRATING = 100
ROTATION_ONLY = 300

_CLASSES = {
    DeviceKind.HMD: 1,
    DeviceKind.CONTROLLER: 2,
    DeviceKind.TRACKER: 3,
    DeviceKind.BASE_STATION: 4,
}
_HANDS = {'': 0, 'left': 1, 'right': 2}
_HIDDEN = {'IVRSystem': 1, 'IVRSettings': 2}

# Events by number, from openvr.h.
_ACTIVATED, _DEACTIVATED, _UPDATED, _ROLE_CHANGED, _PROPERTY_CHANGED = 100, 101, 102, 108, 111
_QUIT, _TRACKERS_SETTING_CHANGED = 700, 866
_BATTERY_PROPERTY, _CONTROLLER_TYPE_PROPERTY = 1012, 7000
_NO_DEVICE = 0xFFFFFFFF


class HapticPulse(NamedTuple):
    """A pulse that a client sent to a device."""

    device: int
    axis: int
    duration_us: int


class SimulatedRuntime:
    """
    A folder that libopenvr_api takes for an installed SteamVR, with a running server.

    Clients find it by `environment()`. Devices are known by the index that `add_device`
    returns. Poses are pose_world_from_device with REP-103 axes in the standing universe.
    """

    def __init__(self, folder: Path | None = None, *, running: bool = True) -> None:
        """Make the runtime in a folder (None: a temporary one); the server runs if told so."""
        self._temporary = folder is None
        self.folder = Path(tempfile.mkdtemp(prefix='vr_ik-openvr-')) if folder is None else folder
        libraries = self.folder / 'bin' / 'linux64'
        libraries.mkdir(parents=True, exist_ok=True)
        # A copy, because the library finds its state by the folder that it lies in.
        shutil.copy(build_vrclient(), libraries / 'vrclient.so')
        self._state = SharedState(self.folder / 'state')
        self._registry = self.folder / 'openvrpaths.vrpath'
        paths = {name: [str(self.folder)] for name in ('runtime', 'config', 'log')}
        self._registry.write_text(json.dumps({**paths, 'jsonid': 'vrpathreg', 'version': 1}))
        if running:
            self.start()

    def __enter__(self) -> 'SimulatedRuntime':
        """Return the runtime itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Quit and remove a temporary folder."""
        self.close()

    def environment(self) -> dict[str, str]:
        """Return the variables that lead a client process here."""
        return {'VR_PATHREG_OVERRIDE': str(self._registry), 'VR_OVERRIDE': str(self.folder)}

    def close(self) -> None:
        """Tell clients to quit; a temporary folder goes, what they have mapped stays valid."""
        self.quit()
        if self._temporary:
            shutil.rmtree(self.folder, ignore_errors=True)

    # ---- the server ------------------------------------------------------------------------

    def start(self) -> None:
        """Start the server anew, with the devices that are there."""
        self._state.set(generation=self._state.get('generation') + 1, status=Status.RUNNING)

    def quit(self) -> None:
        """Post VREvent_Quit and take no new clients."""
        self._state.set(status=Status.QUITTING)
        self._state.post(_QUIT, _NO_DEVICE)

    def crash(self, *, vanish: bool = False) -> None:
        """
        Die without an event.

        Either the poses stand still and properties fail, or all devices vanish.
        """
        self._state.set(status=Status.VANISHED if vanish else Status.FROZEN)

    def fail_init(self, code: int) -> None:
        """Let every init fail with a code (0: let it succeed again)."""
        self._state.set(init_error=code)

    def slow_down(self, *, init_s: float = 0.0, poses_s: float = 0.0) -> None:
        """Let init and every reading of the poses take so long."""
        self._state.set(init_delay_us=int(init_s * 1e6), call_delay_us=int(poses_s * 1e6))

    def hide(self, interfaces: Iterable[str]) -> None:
        """Lack these of 'IVRSystem' and 'IVRSettings', as a SteamVR of another age does."""
        self._state.set(hidden=sum(_HIDDEN[name] for name in interfaces))

    def set_origins(
        self, *, standing_from_seated: NDArray[Any], standing_from_raw: NDArray[Any]
    ) -> None:
        """Place the zero poses of the other universes (4, 4), REP-103."""
        origins = poses_to_openvr(np.stack([standing_from_seated, standing_from_raw]))
        with self._state.writing():
            self._state.set(standing_from_seated=origins[0], standing_from_raw=origins[1])

    def set_tracker_role(self, registered_type: str, role: str) -> None:
        """Write SteamVR's setting of a tracker's role, such as 'TrackerRole_Waist'."""
        key = f'/devices/{registered_type}'.encode()
        keys = self._state.settings['key']
        slot = int(np.flatnonzero((keys == key) | (keys == b''))[0])
        with self._state.writing():
            self._state.settings[slot] = (key, role.encode())
        self._state.post(_TRACKERS_SETTING_CHANGED, _NO_DEVICE)

    # ---- devices ---------------------------------------------------------------------------

    def add_device(
        self,
        kind: DeviceKind,
        serial: str,
        *,
        hand: str = '',
        controller_type: str = '',
        registered_type: str = '',
        model: str = '',
        battery: float | None = None,
        axis_types: Sequence[int] = (0, 0, 0, 0, 0),
        event: bool = True,
    ) -> int:
        """Connect a device, tracked at the origin; return its index (a headset's is 0)."""
        index = self._free_index(kind)
        values = {
            'device_class': _CLASSES[kind],
            'serial': serial.encode(),
            'hand': _HANDS[hand],
            'controller_type': controller_type.encode(),
            'registered_type': registered_type.encode(),
            'model': model.encode(),
            'has_battery': battery is not None,
            'battery': battery or 0.0,
            'axis_types': axis_types,
            'pose': np.eye(3, 4),
            'connected': True,
            'pose_valid': True,
            'tracking_result': RUNNING_OK,
        }
        self._write(index, values)
        if event:
            self._state.post(_ACTIVATED, index)
        return index

    def disconnect(self, index: int) -> None:
        """Switch a device off; its index stays its own."""
        self._write(index, {'connected': False, 'pose_valid': False})
        self._state.post(_DEACTIVATED, index)

    def reconnect(self, index: int) -> None:
        """Switch a device on again, tracked."""
        self._write(index, {'connected': True, 'pose_valid': True, 'tracking_result': RUNNING_OK})
        self._state.post(_ACTIVATED, index)

    def set_serial(self, index: int, serial: str) -> None:
        """Let a device tell its serial that had none."""
        self._write(index, {'serial': serial.encode()})

    def set_hands(self, hands: Mapping[int, str], *, event: bool = True) -> None:
        """Give devices the role 'left', 'right' or '' (none), all at once."""
        with self._state.writing():
            for index, hand in hands.items():
                self._state.devices[index]['hand'] = _HANDS[hand]
        for index in hands if event else ():
            self._state.post(_ROLE_CHANGED, index)

    def set_kind(self, index: int, kind: DeviceKind, controller_type: str) -> None:
        """Turn a device into another kind, as a tracker that becomes hand-held."""
        values = {'device_class': _CLASSES[kind], 'controller_type': controller_type.encode()}
        self._write(index, values)
        self._state.post(_UPDATED, index)
        self._state.post(_PROPERTY_CHANGED, index, _CONTROLLER_TYPE_PROPERTY)

    def set_battery(self, index: int, level: float, *, charging: bool = False) -> None:
        """Set a device's charge, from 0 to 1."""
        self._write(index, {'has_battery': True, 'battery': level, 'charging': charging})
        self._state.post(_PROPERTY_CHANGED, index, _BATTERY_PROPERTY)

    def set_tracking(self, index: int, result: int, *, pose_valid: bool) -> None:
        """Set how well a device is tracked; no event tells of it, as with SteamVR."""
        self._write(index, {'tracking_result': result, 'pose_valid': pose_valid})

    def set_poses(
        self,
        indices: Sequence[int],
        poses_world_from_device: NDArray[Any],
        twists: NDArray[Any] | None = None,
    ) -> None:
        """Move devices at once: (n, 4, 4) poses, (n, 6) linear and angular velocities (world)."""
        matrices = poses_to_openvr(poses_world_from_device)
        velocities = np.zeros((len(indices), 6)) if twists is None else twists
        linear, angular = (vectors_to_openvr(half) for half in np.hsplit(velocities, 2))
        self.set_openvr_poses(indices, matrices, linear, angular)

    def set_openvr_poses(
        self,
        indices: Sequence[int],
        matrices: NDArray[Any],
        velocities: NDArray[Any],
        angular_velocities: NDArray[Any],
    ) -> None:
        """Move devices at once, by what OpenVR reports: (n, 3, 4) and twice (n, 3)."""
        rows, motion = np.asarray(indices), (matrices, velocities, angular_velocities)
        with self._state.writing():
            for column, values in zip(self._state.motion, motion, strict=True):
                column[rows] = values

    def set_input(
        self,
        index: int,
        *,
        pressed: Iterable[int] = (),
        touched: Iterable[int] = (),
        axes: Mapping[int, tuple[float, float]] | None = None,
    ) -> None:
        """Hold the buttons of these numbers (EVRButtonId), and axes 0 to 4 at (x, y)."""
        values = np.zeros((5, 2))
        for axis, value in (axes or {}).items():
            values[axis] = value
        state = {
            'pressed': np.uint64(sum(1 << button for button in pressed)),
            'touched': np.uint64(sum(1 << button for button in touched)),
            'axes': values,
            'packet': int(self._state.devices[index]['packet']) + 1,
        }
        self._write(index, state)

    # ---- what clients did ------------------------------------------------------------------

    @property
    def haptic_pulses(self) -> list[HapticPulse]:
        """The pulses that clients sent, oldest first; the last 1024 are kept."""
        return [HapticPulse(*pulse) for pulse in self._state.pulses()]

    def client_count(self, name: str) -> int:
        """Tell 'sessions_opened', 'sessions_closed', 'quits_acknowledged', 'application_type'."""
        return self._state.client(name)

    def _write(self, index: int, values: Mapping[str, Any]) -> None:
        device = self._state.devices[index]
        with self._state.writing():
            for name, value in values.items():
                device[name] = value

    def _free_index(self, kind: DeviceKind) -> int:
        if kind is DeviceKind.HMD:
            return 0  # OpenVR's rule
        used = self._state.devices['device_class'][1:] != 0
        if used.all():
            raise VrIkError(f'OpenVR has room for {MAX_DEVICES} devices, and all are taken.')
        return 1 + int(np.argmin(used))
