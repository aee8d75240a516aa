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

from collections import Counter, defaultdict
import time

from diagnostic_msgs.msg import DiagnosticStatus

from vr_ik.health import Health, Hysteresis, Level
from vr_ik.nodes import diagnostics
from vr_ik.pipeline import Solution
from vr_ik.types import Status

LOW_RATE_HZ = 20.0
"""Below it motion is no longer smooth."""
LATE_S, VERY_LATE_S = 0.05, 1.0
"""Age of a frame when its joint states go out: a user feels the one, the other is a mistake."""
FAR_M = 0.1
"""A device that is so far from the body on the average is not worn by it."""
BETTER_REPORTS = 3
"""Reports in a row that must be better before a better level is shown."""


class SolverReport:
    """Sums over the frames since the last report."""

    def __init__(self) -> None:
        """Begin to count now."""
        self._since_s = time.monotonic()
        self._statuses: Counter[Status] = Counter()
        self._solve_time_s = self._longest_solve_s = 0.0
        self._latency_s = self._longest_latency_s = 0.0
        self._frames_of: Counter[str] = Counter()
        self._error_of: defaultdict[str, float] = defaultdict(float)
        self._worst_error_m = 0.0

    def note(self, solution: Solution, latency_s: float) -> None:
        """Count a solved frame whose joint states went out so long after its stamp."""
        self._statuses[solution.status] += 1
        self._solve_time_s += solution.solve_time_s
        self._longest_solve_s = max(self._longest_solve_s, solution.solve_time_s)
        self._latency_s += latency_s
        self._longest_latency_s = max(self._longest_latency_s, latency_s)
        for device, error_m in solution.position_errors.items():
            self._frames_of[device] += 1
            self._error_of[device] += error_m
            self._worst_error_m = max(self._worst_error_m, error_m)

    def values(self) -> dict[str, object]:
        """Return the figures of the frames so far."""
        frames = max(self._statuses.total(), 1)
        device, error_m = self._worst_device()
        mean_m = sum(self._error_of.values()) / max(self._frames_of.total(), 1)
        return {
            'rate [1/s]': self._rate_hz(),
            'latency, mean [ms]': 1e3 * self._latency_s / frames,
            'latency, longest [ms]': 1e3 * self._longest_latency_s,
            'solve time, mean [ms]': 1e3 * self._solve_time_s / frames,
            'solve time, longest [ms]': 1e3 * self._longest_solve_s,
            'error, mean [mm]': 1e3 * mean_m,
            'worst error [mm]': 1e3 * self._worst_error_m,
            'worst device': f'{device}, {1e3 * error_m:.1f} mm on the average'
            if device
            else 'none',
            'devices': ', '.join(self._frames_of) or 'none',
            **{f'frames {status.name.lower()}': self._statuses[status] for status in Status},
        }

    def health(self) -> Health:
        """Judge the frames so far by themselves; the gravest reason comes first."""
        frames = self._statuses.total()
        if not frames:
            return Health(Level.WARN, 'no tracking frames')
        latency_s, failed = self._latency_s / frames, self._statuses[Status.FAILED]
        if failed > frames / 2:
            return Health(Level.ERROR, Status.FAILED.text)
        if abs(latency_s) > VERY_LATE_S:
            age = f'frames are {latency_s:.3g} s old'
            return Health(
                Level.ERROR, f'{age}: clocks differ, or a bag plays without use_sim_time'
            )
        device, error_m = self._worst_device()
        warnings = {
            f'{failed} of {frames} frames failed': failed > 0,
            f'{device} is {error_m:.2g} m off: calibrate, or look where it is worn': error_m
            > FAR_M,
            f'frames are {1e3 * latency_s:.0f} ms old': latency_s > LATE_S,
            f'only {self._rate_hz():.0f} frames a second': self._rate_hz() < LOW_RATE_HZ,
            **{
                status.text: self._statuses[status] > frames / 2
                for status in (Status.UNREACHABLE, Status.STALLED)
            },
        }
        reasons = [text for text, is_so in warnings.items() if is_so]
        return Health(Level.WARN, reasons[0]) if reasons else Health(Level.OK, 'solving')

    def _rate_hz(self) -> float:
        return self._statuses.total() / (time.monotonic() - self._since_s)

    def _worst_device(self) -> tuple[str, float]:
        """Return the device that is farthest from the body on the average, and how far [m]."""
        means = {name: self._error_of[name] / frames for name, frames in self._frames_of.items()}
        device = max(means, key=means.__getitem__, default='')
        return device, means.get(device, 0.0)


class SolverDiagnostics:
    """The solver's line in the diagnostics, from report to report."""

    def __init__(self) -> None:
        """Begin to count now."""
        self.report = SolverReport()
        self._hysteresis = Hysteresis(BETTER_REPORTS)

    def line(self, totals: dict[str, object], paused: bool) -> DiagnosticStatus:
        """Return the line of the frames since the last one, with the node's own totals."""
        report, self.report = self.report, SolverReport()
        # Who pauses knows why nothing comes.
        now = Health(Level.OK, 'paused') if paused else report.health()
        shown = now if paused else self._hysteresis.show(now)
        level = (diagnostics.OK, diagnostics.WARN, diagnostics.ERROR)[shown.level]
        return diagnostics.status('solver', level, shown.text, report.values() | totals)
