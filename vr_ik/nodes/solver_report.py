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

"""What the solver node counts from one diagnostics report to the next."""

from collections import Counter
import time

from diagnostic_msgs.msg import DiagnosticStatus

from vr_ik.nodes import diagnostics
from vr_ik.pipeline import Solution
from vr_ik.types import Status


class SolverReport:
    """Sums over the frames since the last report."""

    def __init__(self) -> None:
        """Begin to count now."""
        self._since_s = time.monotonic()
        self._statuses: Counter[Status] = Counter()
        self._solve_time_s = 0.0
        self._longest_solve_s = 0.0
        self._worst_error_m = 0.0
        self._worst_device = ''

    def note(self, solution: Solution) -> None:
        """Count a solved frame."""
        self._statuses[solution.status] += 1
        self._solve_time_s += solution.solve_time_s
        self._longest_solve_s = max(self._longest_solve_s, solution.solve_time_s)
        for device, error_m in solution.position_errors.items():
            if error_m > self._worst_error_m:
                self._worst_error_m, self._worst_device = float(error_m), device

    def line(self, totals: dict[str, object]) -> DiagnosticStatus:
        """Return the diagnostics of the frames so far, with the node's own totals."""
        frames = self._statuses.total()
        seconds = time.monotonic() - self._since_s
        values: dict[str, object] = {
            'rate [1/s]': frames / seconds,
            'solve time, mean [ms]': 1e3 * self._solve_time_s / max(frames, 1),
            'solve time, longest [ms]': 1e3 * self._longest_solve_s,
            'worst error [mm]': 1e3 * self._worst_error_m,
            'worst device': self._worst_device or 'none',
        }
        values |= {f'frames {status.name.lower()}': self._statuses[status] for status in Status}
        level, message = self._judge(frames)
        return diagnostics.status('solver', level, message, values | totals)

    def _judge(self, frames: int) -> tuple[bytes, str]:
        if not frames:
            return diagnostics.WARN, 'no tracking frames'
        if self._statuses[Status.FAILED]:
            return diagnostics.ERROR, Status.FAILED.text
        for status in (Status.UNREACHABLE, Status.STALLED):
            if self._statuses[status] > frames / 2:
                return diagnostics.WARN, status.text
        return diagnostics.OK, 'solving'
