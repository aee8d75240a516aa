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

"""The simulated runtime's shared memory, field by field as in vrclient_state.h."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
import os
from pathlib import Path
import threading
from typing import Any

import numpy as np

MAX_DEVICES = 64
_EVENT_SLOTS = 256
_PULSE_SLOTS = 1024
_SETTING_SLOTS = 64

_EVENT = [('type', 'u4'), ('device', 'u4'), ('property', 'u4')]
_SETTING = [('key', 'S128'), ('value', 'S128')]
_PULSE = [('device', 'u4'), ('axis', 'u4'), ('duration_us', 'u4')]
_DEVICE: list[Any] = [
    ('pressed', 'u8'),
    ('touched', 'u8'),
    ('axes', 'f4', (5, 2)),
    ('packet', 'u4'),
    ('device_class', 'u4'),
    ('connected', 'u4'),
    ('pose_valid', 'u4'),
    ('tracking_result', 'u4'),
    ('hand', 'u4'),
    ('has_battery', 'u4'),
    ('charging', 'u4'),
    ('battery', 'f4'),
    ('axis_types', 'u4', (5,)),
    ('pose', 'f4', (3, 4)),
    ('velocity', 'f4', (3,)),
    ('angular_velocity', 'f4', (3,)),
    ('serial', 'S64'),
    ('controller_type', 'S64'),
    ('registered_type', 'S96'),
    ('model', 'S64'),
]
_CLIENT: list[Any] = [
    ('application_type', 'u4'),
    ('sessions_opened', 'u4'),
    ('sessions_closed', 'u4'),
    ('quits_acknowledged', 'u4'),
    ('pulse_count', 'u8'),
    ('pulses', _PULSE, (_PULSE_SLOTS,)),
]
# align=True gives the padding that a C compiler inserts.
_STATE = np.dtype(
    [
        ('size', 'u4'),
        ('server_pid', 'i4'),
        ('sequence', 'u8'),
        ('event_count', 'u8'),
        ('status', 'u4'),
        ('generation', 'u4'),
        ('init_error', 'u4'),
        ('hidden', 'u4'),
        ('init_delay_us', 'u4'),
        ('call_delay_us', 'u4'),
        ('standing_from_seated', 'f4', (3, 4)),
        ('standing_from_raw', 'f4', (3, 4)),
        ('events', _EVENT, (_EVENT_SLOTS,)),
        ('tracker_settings', _SETTING, (_SETTING_SLOTS,)),
        ('devices', np.dtype(_DEVICE, align=True), (MAX_DEVICES,)),
        ('client', np.dtype(_CLIENT, align=True)),
    ],
    align=True,
)


class Status(IntEnum):
    """What the simulated server does."""

    STOPPED = 0
    RUNNING = 1
    QUITTING = 2
    FROZEN = 3
    VANISHED = 4


class SharedState:
    """The memory that a runtime's folder holds in its file 'state'; one process writes it."""

    def __init__(self, path: Path) -> None:
        """Create the file, with no devices and the server stopped."""
        # Seen as a plain array: numpy's memmap makes every access to a field slower.
        self._all = np.asarray(np.memmap(path, dtype=_STATE, mode='w+', shape=(1,)))
        self._sequence = self._all['sequence']
        self._lock = threading.Lock()
        self.devices: Any = self._all['devices'][0]
        self.motion = tuple(
            self.devices[name] for name in ('pose', 'velocity', 'angular_velocity')
        )
        """Columns of `devices`: (64, 3, 4), (64, 3) and (64, 3), in OpenVR's axes."""
        self.settings: Any = self._all['tracker_settings'][0]
        for origin in ('standing_from_seated', 'standing_from_raw'):
            self._all[origin][0] = np.eye(3, 4)
        self._all['server_pid'] = os.getpid()
        self._all['size'] = _STATE.itemsize

    @contextmanager
    def writing(self) -> Iterator[None]:
        """
        Let readers see all changes made within, or none.

        Plain stores are enough: OpenVR's library exists for x86-64 alone, where other cores
        see them in order.
        """
        with self._lock:
            self._sequence += np.uint64(1)
            try:
                yield
            finally:
                self._sequence += np.uint64(1)

    def post(self, event: int, device: int, prop: int = 0) -> None:
        """Append an event to the queue that every client reads."""
        with self._lock:
            count = int(self._all['event_count'][0])
            self._all['events'][0, count % _EVENT_SLOTS] = (event, device, prop)
            self._all['event_count'] = count + 1

    def set(self, **values: Any) -> None:
        """Set single fields of the header."""
        for name, value in values.items():
            self._all[name][0] = value

    def get(self, name: str) -> int:
        """Read a number of the header."""
        return int(self._all[name][0])

    def client(self, name: str) -> int:
        """Read a number that the clients write."""
        return int(self._all['client'][name][0])

    def pulses(self) -> list[tuple[int, int, int]]:
        """Return (device, axis, duration [us]) of every haptic pulse kept, oldest first."""
        count = self.client('pulse_count')
        kept = range(max(0, count - _PULSE_SLOTS), count)
        log = self._all['client']['pulses'][0]
        return [tuple(map(int, log[slot % _PULSE_SLOTS])) for slot in kept]  # type: ignore[misc]
