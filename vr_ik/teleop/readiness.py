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

"""What is still missing before a press of the clutch moves anything, in words."""

from collections.abc import Sequence

from vr_ik.teleop.types import Reason
from vr_ik.teleop.watch import ALL_WELL, Finding

_LASTING_S = 0.1
"""What comes and goes within this time, such as one late tick, is not told."""


class Readiness:
    """Tells what a press would be refused for now: all of it, in the words of the refusal."""

    def __init__(self, devices: Sequence[str]) -> None:
        """Know nothing yet of the arms, which these devices lead."""
        self._devices = tuple(devices)
        self._told: tuple[Finding, ...] = ()
        self._other_s = 0.0
        self._before = ALL_WELL

    @property
    def reason(self) -> Reason:
        """The first that is missing, or `READY`."""
        return self._told[0].reason if self._told else Reason.NONE

    @property
    def text(self) -> str:
        """All that is missing; and the last stop or refusal, where it is another."""
        texts = [finding.text for finding in self._told]
        if self._before is not ALL_WELL and self._before not in self._told:
            texts.append(f'before: {self._before.text}')
        return '; '.join(texts)

    def refused(self, why: Finding) -> None:
        """Take a refusal, which is told at once, and not forgotten before an arm is engaged."""
        self._before, self._told, self._other_s = why, (why,), 0.0

    def stopped(self, why: Finding) -> None:
        """Take a stop, which is not forgotten before an arm is engaged again."""
        self._before, self._told = why, ()

    def forget(self) -> None:
        """Begin anew: an arm is engaged."""
        self._before, self._told = ALL_WELL, ()

    def update(
        self, common: Sequence[Finding], arms: Sequence[Sequence[Finding]], seconds: float
    ) -> None:
        """Take what is missing now for all arms, and for each of them."""
        found = self._ready(common, arms)
        for finding in (*common, *(finding for arm in arms for finding in arm)):
            found.setdefault(finding)
        missing = tuple(found)
        self._other_s = 0.0 if missing == self._told else self._other_s + seconds
        if not self._told or self._other_s >= _LASTING_S:
            self._told, self._other_s = missing, 0.0

    def _ready(
        self, common: Sequence[Finding], arms: Sequence[Sequence[Finding]]
    ) -> dict[Finding, None]:
        """Return that some arm is ready, and by which device, where one is."""
        devices = [d for d, arm in zip(self._devices, arms, strict=True) if not arm and not common]
        return {Finding(Reason.READY, ', '.join(devices)): None} if devices else {}
