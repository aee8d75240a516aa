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

"""OpenVR (SteamVR) as a tracking source; survives whatever the runtime does."""

from collections.abc import Mapping
from dataclasses import dataclass, field
import time

import numpy as np

from vr_ik.config import TrackerConfig, UNIVERSES
from vr_ik.config_texts import key_values
from vr_ik.errors import ConfigError, TrackerError, UnknownNameError
from vr_ik.math.openvr_axes import poses_from_openvr, vectors_from_openvr
from vr_ik.trackers.openvr_devices import DeviceTable
from vr_ik.trackers.openvr_haptics import HapticSchedule
from vr_ik.trackers.openvr_roles import check_maps
from vr_ik.trackers.openvr_session import load_openvr, OpenVrSession, PoseRecords
from vr_ik.types import ControllerInput, DeviceState, TrackingFrame

LONGEST_PREDICTION_S = 0.2

_REFRESH_PERIOD_S = 0.05
_QUIT = 700
# Device activated, deactivated, updated, role changed; wireless off and on; trackers' settings.
_DEVICE_EVENTS = frozenset((100, 101, 102, 108, 112, 113, 866))
# Serial, registered type, controller type, and the five axes' types.
_DEVICE_PROPERTIES = frozenset((1002, 1036, 7000, *range(3002, 3007)))


@dataclass(frozen=True)
class OpenVrOptions:
    """What the user can choose."""

    universe: str = 'standing'
    """One of `UNIVERSES`."""
    prediction_s: float = 0.0
    """How far ahead the runtime shall extrapolate; frames are then stamped as much later."""
    roles: Mapping[str, str] = field(default_factory=dict)
    """Serial -> role, such as 'waist'; goes before SteamVR's own roles."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Serial -> frame name, for devices that are not worn; goes before SteamVR's roles too."""

    def __post_init__(self) -> None:
        """Check every value."""
        if self.universe not in UNIVERSES:
            raise UnknownNameError('universe', self.universe, UNIVERSES)
        if not 0.0 <= self.prediction_s <= LONGEST_PREDICTION_S:
            raise ConfigError(
                f'A prediction of {self.prediction_s} s cannot be: 0 to {LONGEST_PREDICTION_S} s.'
            )
        check_maps(self.roles, self.aliases)


class OpenVrTracker:
    """
    The devices of a running OpenVR runtime.

    One thread opens, reads and closes; `devices` and `vibrate` may be called from any. The
    runtime may come late, quit, crash and come back: `open` and `read` then raise
    `TrackerError`, and `open` may be called again.
    """

    def __init__(self, options: OpenVrOptions) -> None:
        """Prepare; nothing is connected yet, and pyopenvr is not imported."""
        self._options = options
        self._universe = UNIVERSES.index(options.universe)
        self._prediction_ns = round(options.prediction_s * 1e9)
        self._session: OpenVrSession | None = None
        self._table = DeviceTable(options.roles, options.aliases)
        self._haptics = HapticSchedule()
        self._connected = b''
        self._stale = True
        self._next_refresh_s = 0.0

    def open(self) -> None:
        """Connect to the runtime; raise `TrackerError` while there is none."""
        if self._session is None:
            self._session = OpenVrSession()
            self._connected = b''
            self._stale = True

    def read(self, stamp_ns: int) -> TrackingFrame:
        """Return the valid poses now; disconnect and raise `TrackerError` when it is over."""
        if self._session is None:
            raise TrackerError('The OpenVR tracker is not open.')
        try:
            return self._read(self._session, stamp_ns)
        except TrackerError:
            self.close()
            raise

    def devices(self) -> tuple[DeviceState, ...]:
        """Return every device seen so far, with base stations and those that are switched off."""
        return self._table.states

    def vibrate(self, name: str, intensity: float, duration_s: float) -> None:
        """Let the device of this name vibrate; intensity is 0 (stop) to 1."""
        known = [state.name for state in self._table.states]
        if name not in known:
            raise UnknownNameError('device', name, known)
        self._haptics.request(name, intensity, duration_s, time.monotonic())

    def close(self) -> None:
        """Disconnect; may be called twice."""
        session, self._session = self._session, None
        if session is not None:
            session.close()
            self._haptics.clear()
            self._table.disconnect_all()

    def _read(self, session: OpenVrSession, stamp_ns: int) -> TrackingFrame:
        # First the poses: they shall be as old as the stamp.
        records = session.poses(self._universe, self._options.prediction_s)
        self._handle_events(session)
        self._find_changes(session, records)
        selection = self._table.observe(records)
        velocities = records.velocities[selection.indices]
        velocities[~np.isfinite(velocities)] = 0.0  # some drivers tell none so
        frame = TrackingFrame(
            stamp_ns + self._prediction_ns,
            selection.names,
            poses_from_openvr(records.matrices[selection.indices]),
            vectors_from_openvr(velocities).reshape(-1, 6),
            self._inputs(session),
        )
        self._do_chores(session, records)
        return frame

    def _handle_events(self, session: OpenVrSession) -> None:
        for event in session.events():
            if event.type == _QUIT:
                session.acknowledge_quit()
                raise TrackerError('SteamVR has quit.')
            if event.type in _DEVICE_EVENTS or event.prop in _DEVICE_PROPERTIES:
                self._stale = True

    def _find_changes(self, session: OpenVrSession, records: PoseRecords) -> None:
        # Events may be missed; what is connected is told by every reading.
        connected = records.connected.tobytes()
        if any(self._connected) and not any(connected):
            raise TrackerError('All OpenVR devices are off, or SteamVR has crashed.')
        if self._stale or connected != self._connected:
            self._table.scan(session, records)
            self._connected = connected
            self._stale = False

    def _inputs(self, session: OpenVrSession) -> tuple[ControllerInput, ...]:
        inputs = []
        for device in self._table.controllers:
            state = session.controller_state(device.index)
            if state is not None and device.layout is not None:
                axes, buttons = device.layout.axes(state), device.layout.buttons(state)
                inputs.append(ControllerInput(device.name, axes, buttons))
        return tuple(inputs)

    def _do_chores(self, session: OpenVrSession, records: PoseRecords) -> None:
        now_s = time.monotonic()
        for name, pulse_us in self._haptics.due(now_s):
            index = self._table.index_of(name)
            if index is not None:
                session.pulse(index, pulse_us)
        if now_s >= self._next_refresh_s:
            self._next_refresh_s = now_s + _REFRESH_PERIOD_S
            self._table.refresh_next(session, records)
            self._stale |= not self._table.up_to_date


def from_config(config: TrackerConfig) -> OpenVrTracker:
    """Return the tracker as the node's parameters describe it; pyopenvr must be installed."""
    # To find out later would be of no use: waiting does not install it.
    load_openvr()
    return OpenVrTracker(
        OpenVrOptions(
            config.universe,
            config.prediction_s,
            key_values('roles', config.roles),
            key_values('aliases', config.aliases),
        )
    )
