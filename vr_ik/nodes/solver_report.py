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

import time

from diagnostic_msgs.msg import DiagnosticStatus

from vr_ik.health import gravest, Health, Hysteresis, Level
from vr_ik.nodes import diagnostics
from vr_ik.pipeline import Solution
from vr_ik.solver_report import BETTER_REPORTS, SolverReport

_JUDGED_S = 0.5
"""What began more recently is not judged: by chance there may be no frame in it."""
LATE_S, VERY_LATE_S = 0.05, 1.0
"""Age of a frame when its joint states go out: a user feels the one, the other is a mistake."""


class LiveReport:
    """Sums over the frames since the last report: of the frames, and of the time they took."""

    def __init__(self) -> None:
        """Begin to count now."""
        self._since_s = time.monotonic()
        self._solved = SolverReport()
        self._solve_time_s = self._longest_solve_s = 0.0
        self._latency_s = self._longest_latency_s = 0.0

    def note(self, solution: Solution, latency_s: float) -> None:
        """Count a solved frame whose joint states went out so long after its stamp."""
        self._solved.note(solution)
        self._solve_time_s += solution.solve_time_s
        self._longest_solve_s = max(self._longest_solve_s, solution.solve_time_s)
        self._latency_s += latency_s
        self._longest_latency_s = max(self._longest_latency_s, latency_s)

    def values(self) -> dict[str, object]:
        """Return the figures of the frames so far."""
        frames = max(self._solved.frames, 1)
        return {
            **self._solved.values(self.seconds()),
            'latency, mean [ms]': 1e3 * self._latency_s / frames,
            'latency, longest [ms]': 1e3 * self._longest_latency_s,
            'solve time, mean [ms]': 1e3 * self._solve_time_s / frames,
            'solve time, longest [ms]': 1e3 * self._longest_solve_s,
        }

    def health(self) -> Health:
        """Judge the frames so far by themselves; the gravest reason comes first."""
        findings = self._solved.findings(self.seconds())
        latency_s = self._latency_s / max(self._solved.frames, 1)
        if abs(latency_s) > VERY_LATE_S:
            age = f'frames are {latency_s:.3g} s old'
            text = f'{age}: clocks differ, or a bag plays without use_sim_time'
            findings.append(Health(Level.ERROR, text))
        elif latency_s > LATE_S:
            findings.append(Health(Level.WARN, f'frames are {1e3 * latency_s:.0f} ms old'))
        return gravest(findings, otherwise='solving')

    def seconds(self) -> float:
        """Return for how long it has counted."""
        return time.monotonic() - self._since_s


class SolverDiagnostics:
    """The solver's line in the diagnostics, from report to report."""

    def __init__(self) -> None:
        """Begin to count now."""
        self.report = LiveReport()
        self._hysteresis = Hysteresis(BETTER_REPORTS)

    def go_on(self) -> None:
        """Begin to count now, after a pause."""
        self.report = LiveReport()

    def line(self, totals: dict[str, object], paused: bool) -> DiagnosticStatus:
        """Return the line of the frames since the last one, with the node's own totals."""
        report = self.report
        if paused:
            # Who pauses knows why nothing comes.
            shown = Health(Level.OK, 'paused')
        elif report.seconds() < _JUDGED_S:
            shown = Health(Level.OK, 'solving again')
        else:
            shown = self._hysteresis.show(report.health())
            self.report = LiveReport()
        level = (diagnostics.OK, diagnostics.WARN, diagnostics.ERROR)[shown.level]
        return diagnostics.status('solver', level, shown.text, report.values() | totals)
