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

"""Diagnostics of an offline solve: one message for each second of motion, the same every time."""

from collections import Counter
from typing import Any

from vr_ik.io.bag_topics import DIAGNOSTICS_TYPE, typestore
from vr_ik.offline.earlier import SOLVER_NAME
from vr_ik.pipeline import Solution
from vr_ik.types import Status

_PERIOD_NS = 1_000_000_000
_OK, _WARN, _ERROR = 0, 1, 2


class MotionReport:
    """Counts solved frames; unlike the live node's, it has no times of the machine in it."""

    def __init__(self) -> None:
        """Begin with no frame."""
        self._since_ns: int | None = None
        self._statuses: Counter[Status] = Counter()
        self._worst_m, self._worst_device = 0.0, ''

    def note(self, solution: Solution) -> bool:
        """Count a frame; return whether it ends a second of motion, so that `message` is due."""
        if self._since_ns is None or solution.stamp_ns < self._since_ns:
            self._since_ns = solution.stamp_ns
        self._statuses[solution.status] += 1
        for device, error_m in solution.position_errors.items():
            if error_m > self._worst_m:
                self._worst_m, self._worst_device = error_m, device
        return solution.stamp_ns - self._since_ns >= _PERIOD_NS

    def message(self, stamp_ns: int, totals: dict[str, object]) -> bytes:
        """Return the counts since the last message, serialized, and begin anew."""
        frames = self._statuses.total()
        seconds = max(stamp_ns - (self._since_ns or 0), 1) * 1e-9
        values: dict[str, object] = {
            'rate [1/s]': f'{frames / seconds:.4g}',
            'worst error [mm]': f'{1e3 * self._worst_m:.4g}',
            'worst device': self._worst_device or 'none',
        }
        values |= {f'frames {s.name.lower()}': self._statuses[s] for s in Status}
        level, text = self._judge(frames)
        self._since_ns = stamp_ns
        self._statuses.clear()
        self._worst_m, self._worst_device = 0.0, ''
        return _serialized(stamp_ns, level, text, values | totals)

    def _judge(self, frames: int) -> tuple[int, str]:
        if self._statuses[Status.FAILED]:
            return _ERROR, Status.FAILED.text
        for status in (Status.UNREACHABLE, Status.STALLED):
            if self._statuses[status] > frames / 2:
                return _WARN, status.text
        return _OK, 'solving'


def _serialized(stamp_ns: int, level: int, text: str, values: dict[str, object]) -> bytes:
    types: dict[str, Any] = dict(typestore().types)
    seconds, nanoseconds = divmod(stamp_ns, 1_000_000_000)
    stamp = types['builtin_interfaces/msg/Time'](sec=seconds, nanosec=nanoseconds)
    pair = types['diagnostic_msgs/msg/KeyValue']
    line = types['diagnostic_msgs/msg/DiagnosticStatus'](
        level=level,
        name=f'{SOLVER_NAME}: solver',
        message=text,
        hardware_id='',
        values=[pair(key=key, value=str(value)) for key, value in values.items()],
    )
    header = types['std_msgs/msg/Header'](stamp=stamp, frame_id='')
    array = types[DIAGNOSTICS_TYPE](header=header, status=[line])
    return bytes(typestore().serialize_cdr(array, DIAGNOSTICS_TYPE))
