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

"""What the tracker node counts, and its diagnostics: of the source and of each device."""

from collections import Counter
from collections.abc import Iterable
import time

from diagnostic_msgs.msg import DiagnosticStatus

from vr_ik.config import ROLES
from vr_ik.nodes import diagnostics
from vr_ik.trackers.loop import LoopState, LoopStatistics
from vr_ik.types import DeviceKind, DeviceState, DeviceStatus, TrackingFrame

_LEVELS = {
    DeviceStatus.OK: diagnostics.OK,
    DeviceStatus.CALIBRATING: diagnostics.WARN,
    DeviceStatus.LOST: diagnostics.WARN,
    DeviceStatus.DISCONNECTED: diagnostics.STALE,
}


class TrackerReport:
    """Counts frames by device from one report to the next; one thread counts, one reports."""

    def __init__(self) -> None:
        """Begin to count now."""
        self._frames: Counter[str] = Counter()
        self._drops: Counter[str] = Counter()
        self._last_names: tuple[str, ...] = ()
        self._reported: Counter[str] = Counter()
        self._reported_total = 0
        self._since_s = time.monotonic()

    def note(self, frame: TrackingFrame) -> None:
        """Count a frame, and the devices that were in the last one and are not in this."""
        self._frames.update(frame.names)
        if frame.names != self._last_names:
            self._drops.update(set(self._last_names).difference(frame.names))
            self._last_names = frame.names

    def lines(
        self, backend: str, statistics: LoopStatistics, devices: Iterable[DeviceState]
    ) -> list[DiagnosticStatus]:
        """Return the source's line, then one for each device that it knows."""
        now_s = time.monotonic()
        seconds, self._since_s = now_s - self._since_s, now_s
        frames = Counter(self._frames)
        lines = [self._source_line(backend, statistics, seconds)]
        for device in devices:
            rate_hz = (frames[device.name] - self._reported[device.name]) / seconds
            lines.append(self._device_line(device, rate_hz))
        self._reported = frames
        return lines

    def _source_line(
        self, backend: str, statistics: LoopStatistics, seconds: float
    ) -> DiagnosticStatus:
        # A new source begins to count anew.
        frames = statistics.frames - min(self._reported_total, statistics.frames)
        self._reported_total = statistics.frames
        running = statistics.state is LoopState.RUNNING
        values = {
            'backend': backend,
            'rate [1/s]': frames / seconds,
            'frames': statistics.frames,
            'late frames': statistics.late,
            'skipped frames': statistics.skipped,
            'connections lost': statistics.losses,
        }
        return diagnostics.status(
            'source',
            diagnostics.OK if running else diagnostics.ERROR,
            statistics.reason or statistics.state.value,
            values,
        )

    def _device_line(self, device: DeviceState, rate_hz: float) -> DiagnosticStatus:
        values: dict[str, object] = {
            'serial': device.serial,
            'kind': device.kind.value,
            'role': device.name if device.name in ROLES else 'none',
        }
        if device.kind is not DeviceKind.BASE_STATION:
            values |= {'rate [1/s]': rate_hz, 'drops': self._drops[device.name]}
        if device.battery is not None:
            values['battery [%]'] = 100.0 * device.battery
        if device.charging is not None:
            values['charging'] = 'yes' if device.charging else 'no'
        level = _LEVELS[device.status]
        return diagnostics.status(device.name, level, device.status.value, values, device.serial)
