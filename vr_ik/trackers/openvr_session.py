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

"""A connection to an OpenVR runtime: every call into pyopenvr is here, its traps avoided."""

from collections.abc import Iterator
import ctypes
import importlib
import os
from pathlib import Path
import sys
import threading
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vr_ik.errors import MissingDependencyError, TrackerError

MAX_DEVICES = 64
MAX_EVENTS_PER_POLL = 256

_STRING_SIZE = 1024
_NO_CONTACT = (6, 13)  # TrackedProp_CouldNotContactServer, TrackedProp_IPCReadFailure
_HINTS = {
    100: 'Is SteamVR installed?',
    110: 'Is SteamVR installed?',
    121: 'Start SteamVR.',
}

# openvr.init and shutdown act on the whole process: a second session would pull the interfaces
# away under the first.
_only_session = threading.Lock()


class VrEvent(NamedTuple):
    """An event of the runtime; `prop` is the property that changed, else 0."""

    type: int
    device: int
    prop: int


class ControllerState(NamedTuple):
    """Buttons as bit masks by EVRButtonId, and x, y of the five axes in a row."""

    pressed: int
    touched: int
    axes: tuple[float, ...]


class PoseRecords(NamedTuple):
    """The runtime's array of 64 TrackedDevicePose_t, a column each, in OpenVR's axes."""

    matrices: NDArray[np.float32]
    """(64, 3, 4): pose_universe_from_device."""
    velocities: NDArray[np.float32]
    """(64, 2, 3): linear [m/s] and angular [rad/s], in the universe's axes."""
    results: NDArray[np.uint32]
    """ETrackingResult."""
    valid: NDArray[np.bool_]
    connected: NDArray[np.bool_]


def load_openvr() -> Any:
    """Import pyopenvr, or say how to get it."""
    try:
        return importlib.import_module('openvr')
    except ImportError as error:
        raise MissingDependencyError(
            "The openvr backend needs the package openvr: 'pip install openvr'."
        ) from error
    except (OSError, ValueError) as error:
        raise MissingDependencyError(
            f'The package openvr has no library for this machine ({error}). Run the tracker on a '
            '64-bit x86 machine with Linux or Windows, and the other nodes here.'
        ) from error


class OpenVrSession:
    """
    One connection, from a successful init to `close`; all calls come from one thread.

    After `close` every method raises `TrackerError` and reaches no interface any more: a call
    through an interface of a connection that is shut down would crash the process.
    """

    def __init__(self) -> None:
        """Connect as a background application, which neither starts nor disturbs SteamVR."""
        self.vr = load_openvr()
        _check_installed()
        if not _only_session.acquire(blocking=False):
            raise TrackerError('This process has an OpenVR session already, and can have but one.')
        try:
            self._system = self._connect()
            self._settings = self._find_settings()
        except BaseException:
            self.vr.shutdown()
            _only_session.release()
            raise
        self._event = self.vr.VREvent_t()
        self._controller = self.vr.VRControllerState_t()
        self._pose_buffer = (self.vr.TrackedDevicePose_t * MAX_DEVICES)()
        self._poses = _columns(self._pose_buffer, np.dtype(self.vr.TrackedDevicePose_t))
        self._text = ctypes.create_string_buffer(_STRING_SIZE)
        self._error = ctypes.c_uint32()

    def close(self) -> None:
        """Shut the connection down; may be called twice."""
        if self._system is None:
            return
        self._system = self._settings = None
        self.vr.shutdown()
        _only_session.release()

    def acknowledge_quit(self) -> None:
        """Tell the runtime that its Quit was heard; it then waits for `close`."""
        self._table.acknowledgeQuit_Exiting()

    def events(self) -> Iterator[VrEvent]:
        """Take the events that are waiting, up to a number that keeps the caller in time."""
        event, changed = self._event, self.vr.VREvent_PropertyChanged
        size = ctypes.sizeof(event)
        for _ in range(MAX_EVENTS_PER_POLL):
            if not self._table.pollNextEvent(ctypes.byref(event), size):
                return
            prop = event.data.property.prop if event.eventType == changed else 0
            yield VrEvent(event.eventType, event.trackedDeviceIndex, prop)

    def poses(self, universe: int, prediction_s: float) -> PoseRecords:
        """Read the poses of all devices; the next call overwrites them."""
        self._table.getDeviceToAbsoluteTrackingPose(
            universe, prediction_s, self._pose_buffer, MAX_DEVICES
        )
        return self._poses

    def device_class(self, index: int) -> int:
        """Return TrackedDeviceClass_*; 0 where no device has ever been."""
        return int(self._table.getTrackedDeviceClass(index))

    def hand(self, index: int) -> int:
        """Return TrackedControllerRole_*: 1 left, 2 right."""
        return int(self._table.getControllerRoleForTrackedDeviceIndex(index))

    def text(self, index: int, prop: int) -> str:
        """Read a string property; empty where the device has none (yet)."""
        self._table.getStringTrackedDeviceProperty(
            index, prop, self._text, _STRING_SIZE, ctypes.byref(self._error)
        )
        return self._text.value.decode(errors='replace') if self._succeeded() else ''

    def number(self, index: int, prop: int) -> float | None:
        """Read a float property."""
        value = self._table.getFloatTrackedDeviceProperty(index, prop, ctypes.byref(self._error))
        return float(value) if self._succeeded() else None

    def integer(self, index: int, prop: int) -> int | None:
        """Read an int32 property."""
        value = self._table.getInt32TrackedDeviceProperty(index, prop, ctypes.byref(self._error))
        return int(value) if self._succeeded() else None

    def flag(self, index: int, prop: int) -> bool | None:
        """Read a bool property."""
        value = self._table.getBoolTrackedDeviceProperty(index, prop, ctypes.byref(self._error))
        return bool(value) if self._succeeded() else None

    def tracker_setting(self, key: str) -> str:
        """Read a string of SteamVR's settings section 'trackers'; empty where it is not set."""
        if self._settings is None:
            return ''
        # pyopenvr's own getString always raises TypeError, hence the function table.
        self._settings.function_table.getString(
            b'trackers', key.encode(), self._text, _STRING_SIZE, ctypes.byref(self._error)
        )
        return self._text.value.decode(errors='replace') if self._error.value == 0 else ''

    def controller_state(self, index: int) -> ControllerState | None:
        """
        Read buttons and axes; None while the runtime does not give them.

        This is the older of OpenVR's two input interfaces, and the one for us: it works by
        device, for a background application, with no files to install. The newer one, IVRInput,
        would silence it if it were used in the same process. SteamVR gives no input, by either,
        while its dashboard is open.
        """
        state = self._controller
        size = ctypes.sizeof(state)
        if not self._table.getControllerState(index, ctypes.byref(state), size):
            return None
        axes = tuple(value for axis in state.rAxis for value in (axis.x, axis.y))
        return ControllerState(state.ulButtonPressed, state.ulButtonTouched, axes)

    def pulse(self, index: int, duration_us: int) -> None:
        """Let a device's motor move once; not more often than every 5 ms."""
        self._table.triggerHapticPulse(index, 0, duration_us)

    @property
    def _table(self) -> Any:
        if self._system is None:
            raise TrackerError('The connection to OpenVR is closed.')
        return self._system.function_table

    def _succeeded(self) -> bool:
        if self._error.value in _NO_CONTACT:
            raise TrackerError('OpenVR does not answer any more: SteamVR seems to have crashed.')
        return self._error.value == 0

    def _connect(self) -> Any:
        vr = self.vr
        try:
            return vr.init(vr.VRApplication_Background)
        except vr.error_code.InitError as error:
            code = int(error.error_value)
        except KeyError as error:  # how pyopenvr reports a code that it does not know
            code = int(error.args[0])
        except vr.OpenVRError as error:  # the runtime lacks an interface; says which
            raise TrackerError(str(error)) from error
        text = vr.getVRInitErrorAsEnglishDescription(code)
        hint = _HINTS.get(code, '')
        raise TrackerError(f'OpenVR is not ready: {text}. {hint}'.strip())

    def _find_settings(self) -> Any:
        # Asked first, because pyopenvr shuts everything down when an interface is missing.
        if not self.vr.isInterfaceVersionValid(self.vr.IVRSettings_Version):
            return None
        return self.vr.VRSettings()


def _columns(buffer: Any, record: np.dtype[Any]) -> PoseRecords:
    # Views, made once: walking 64 structures in Python would take longer than all the rest.
    poses = np.frombuffer(buffer, record)
    offset, stride = record.fields['vVelocity'][1], record.itemsize  # type: ignore[index]
    return PoseRecords(
        poses['mDeviceToAbsoluteTracking']['m'],
        np.ndarray((MAX_DEVICES, 2, 3), np.float32, buffer, offset, (stride, 12, 4)),
        poses['eTrackingResult'],
        poses['bPoseIsValid'].view(np.bool_),
        poses['bDeviceIsConnected'].view(np.bool_),
    )


def _check_installed() -> None:
    # libopenvr_api would find out too, but prints a line at every attempt.
    if not sys.platform.startswith('linux'):
        return
    config = os.environ.get('XDG_CONFIG_HOME') or Path.home() / '.config'
    default = Path(config) / 'openvr' / 'openvrpaths.vrpath'
    registry = Path(os.environ.get('VR_PATHREG_OVERRIDE') or default)
    if not registry.exists():
        raise TrackerError(f"OpenVR is not ready: there is no '{registry}'. {_HINTS[110]}")
