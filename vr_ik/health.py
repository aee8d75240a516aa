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

"""How well something goes: levels as in ROS 2 diagnostics, which do not flicker."""

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple


class Level(IntEnum):
    """The levels of diagnostic_msgs/DiagnosticStatus."""

    OK = 0
    WARN = 1
    ERROR = 2


class Health(NamedTuple):
    """A level, and why."""

    level: Level
    text: str


def gravest(findings: Sequence[Health], otherwise: str) -> Health:
    """Return the worst of the findings, of equals the first; without any, all is well."""
    return max(findings, key=lambda health: health.level, default=Health(Level.OK, otherwise))


def figure(value: object) -> str:
    """Return a value as diagnostics show it: numbers with four digits."""
    return f'{value:.4g}' if isinstance(value, float) else str(value)


class Hysteresis:
    """Reports what is worse at once, and what is better only when it stays so."""

    def __init__(self, reports: int) -> None:
        """Believe a better level after so many reports in a row."""
        self._reports = reports
        self._shown: Health | None = None
        self._better = 0

    def show(self, health: Health) -> Health:
        """Take the health as it is now; return the one to report."""
        if self._shown is None or health.level >= self._shown.level:
            self._shown, self._better = health, 0
            return health
        self._better += 1
        if self._better >= self._reports:
            self._shown, self._better = health, 0
        return self._shown
