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

"""When a device is to vibrate: once at the onset of what the operator should feel."""

from collections.abc import Sequence

from vr_ik.teleop.holding import NEAR_SINGULAR
from vr_ik.teleop.types import ArmReport, Buzz


class Haptics:
    """Remembers what each hand feels already."""

    def __init__(self, arms: int) -> None:
        """Begin with nothing felt."""
        self._felt: list[set[Buzz]] = [set() for _ in range(arms)]
        self._losses: list[int] = []

    def loss(self, arm: int) -> None:
        """Let a hand feel that its arm has stopped or does not start."""
        self._losses.append(arm)

    def take(self, reports: Sequence[ArmReport]) -> tuple[tuple[int, Buzz], ...]:
        """Return what is new since the last tick, as (arm, why)."""
        new = [(arm, Buzz.LOSS) for arm in self._losses]
        self._losses = []
        for arm, report in enumerate(reports):
            felt = _feelings(report, self._felt[arm]) if report.following else set()
            new += [(arm, buzz) for buzz in Buzz if buzz in felt - self._felt[arm]]
            self._felt[arm] = felt
        return tuple(new)


def _feelings(report: ArmReport, before: set[Buzz]) -> set[Buzz]:
    """Return what holds an arm back; what is felt already ends later than it begins."""
    felt = {Buzz.LIMIT} if report.held_by else set()
    if report.singularity < NEAR_SINGULAR * (2.0 if Buzz.SINGULARITY in before else 1.0):
        felt.add(Buzz.SINGULARITY)
    if report.goes_back:
        felt.add(Buzz.RETURN)
    return felt
