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

from typing import Any

from vr_ik.health import figure, gravest, Health, Hysteresis
from vr_ik.io.bag_topics import DIAGNOSTICS_TYPE, typestore
from vr_ik.offline.earlier import solver_name
from vr_ik.pipeline import Solution
from vr_ik.solver_report import BETTER_REPORTS, SolverReport

_PERIOD_NS = 1_000_000_000


class MotionReport:
    """Counts solved frames; unlike the live node's, it has no times of the machine in it."""

    def __init__(self, namespace: str = '') -> None:
        """Begin with no frame, of a user in a namespace."""
        self._name = f'{solver_name(namespace)}: solver'
        self._since_ns: int | None = None
        self._solved = SolverReport()
        self._before = SolverReport()
        self._hysteresis = Hysteresis(BETTER_REPORTS)

    def note(self, solution: Solution) -> bool:
        """Count a frame; return whether it ends a second of motion, so that `message` is due."""
        if self._since_ns is None or solution.stamp_ns < self._since_ns:
            self._since_ns = solution.stamp_ns
        self._solved.note(solution)
        return solution.stamp_ns - self._since_ns >= _PERIOD_NS

    def mean_errors_m(self) -> dict[str, float]:
        """Return how far each device was from where the body had it, over all frames."""
        whole = SolverReport()
        whole.add(self._before)
        whole.add(self._solved)
        return whole.mean_errors_m()

    def message(self, stamp_ns: int, totals: dict[str, object]) -> bytes:
        """Return the counts since the last message, serialized, and begin anew."""
        seconds = max(stamp_ns - (self._since_ns or 0), 1) * 1e-9
        now = gravest(self._solved.findings(seconds), otherwise='solving')
        values = self._solved.values(seconds) | totals
        self._before.add(self._solved)
        self._since_ns, self._solved = stamp_ns, SolverReport()
        return _serialized(stamp_ns, self._name, self._hysteresis.show(now), values)


def _serialized(stamp_ns: int, name: str, health: Health, values: dict[str, object]) -> bytes:
    types: dict[str, Any] = dict(typestore().types)
    seconds, nanoseconds = divmod(stamp_ns, 1_000_000_000)
    stamp = types['builtin_interfaces/msg/Time'](sec=seconds, nanosec=nanoseconds)
    pair = types['diagnostic_msgs/msg/KeyValue']
    line = types['diagnostic_msgs/msg/DiagnosticStatus'](
        level=int(health.level),
        name=name,
        message=health.text,
        hardware_id='',
        values=[pair(key=key, value=figure(value)) for key, value in values.items()],
    )
    header = types['std_msgs/msg/Header'](stamp=stamp, frame_id='')
    array = types[DIAGNOSTICS_TYPE](header=header, status=[line])
    return bytes(typestore().serialize_cdr(array, DIAGNOSTICS_TYPE))
