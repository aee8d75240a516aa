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

"""Vibration made of single pulses, the one kind that OpenVR sends to a device by its index."""

from dataclasses import dataclass
import math
import threading

from vr_ik.errors import ConfigError

PULSE_PERIOD_S = 0.005
"""The runtime ignores a pulse that follows another one sooner."""
LONGEST_PULSE_US = 3999
LONGEST_VIBRATION_S = 10.0


@dataclass
class _Vibration:
    pulse_us: int  # 0 when it is over
    end_s: float
    next_s: float  # the soonest time for another pulse


class HapticSchedule:
    """Vibrations asked for by any thread, played by the one that owns the runtime."""

    def __init__(self) -> None:
        """Start with none."""
        self._vibrations: dict[str, _Vibration] = {}
        self._lock = threading.Lock()

    def request(self, name: str, intensity: float, duration_s: float, now_s: float) -> None:
        """
        Let a device vibrate from now on, one pulse at least, in place of what it does.

        `intensity` goes from 0, which stops it, to 1.
        """
        if not (0.0 <= intensity <= 1.0 and 0.0 <= duration_s <= LONGEST_VIBRATION_S):
            raise ConfigError(
                f'A vibration of intensity {intensity} for {duration_s} s cannot be: '
                f'0 to 1 and 0 to {LONGEST_VIBRATION_S:g} s can.'
            )
        pulse_us = math.ceil(intensity * LONGEST_PULSE_US)
        with self._lock:
            last = self._vibrations.get(name)
            next_s = now_s if last is None else max(now_s, last.next_s)
            self._vibrations[name] = _Vibration(pulse_us, now_s + duration_s, next_s)

    def due(self, now_s: float) -> list[tuple[str, int]]:
        """Return (name, pulse length [us]) of the pulses to send now."""
        if not self._vibrations:
            return []
        pulses = []
        with self._lock:
            for name, vibration in list(self._vibrations.items()):
                if now_s < vibration.next_s:
                    continue
                if vibration.pulse_us == 0:
                    del self._vibrations[name]
                    continue
                pulses.append((name, vibration.pulse_us))
                vibration.next_s = now_s + PULSE_PERIOD_S
                if vibration.next_s >= vibration.end_s:
                    vibration.pulse_us = 0
        return pulses

    def clear(self) -> None:
        """Forget all vibrations."""
        with self._lock:
            self._vibrations.clear()
