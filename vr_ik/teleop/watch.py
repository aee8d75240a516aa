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

"""What is watched beside the hands: the time between ticks, and the robot's own state."""

from collections.abc import Mapping
from dataclasses import dataclass, field
import math
from math import pi, tau

import numpy as np

from vr_ik.teleop.arm_model import ArmModel
from vr_ik.teleop.config import TeleopConfig
from vr_ik.teleop.types import Reason, RobotState
from vr_ik.types import Array

# A robot at its limits reports them a little exceeded [rad or m].
_LIMIT_TOLERANCE = 0.02
# So far the first command, which is within them, may be from where the robot is.
_START_TOLERANCE = 0.002
# A robot rests whose joints have moved no farther than this [rad or m] for so long [s]. One that
# moves would be called back to where it was when its state was measured.
_STILL = 0.005
# So far a joint that is not led may be from where it is taken to be [rad or m].
_OTHERS_TOLERANCE = 0.02
REST_S = 0.1
# How long a gain or loss of the clock counts [s].
_DRIFT_MEMORY_S = 1.0
# How old a state is, is told in steps: true as it grows older, and no new text at each tick.
_AGES_S = (1.0, 10.0, 60.0, 600.0, 3600.0)


@dataclass(frozen=True)
class Finding:
    """What is wrong, if anything, and the joint or arm that it is about."""

    reason: Reason
    about: str = ''
    amount: str = field(default='', compare=False)
    """By how much; it may change all the time while the finding stays the same."""

    @property
    def text(self) -> str:
        """The reason in words."""
        about = ' '.join(filter(None, (self.about, self.amount)))
        return f'{self.reason.value} ({about})' if about else self.reason.value


ALL_WELL = Finding(Reason.NONE)


class TickClock:
    """Measures ticks on a steady clock, and watches that the other clock goes along with it."""

    def __init__(self, config: TeleopConfig) -> None:
        """Take the thresholds."""
        self._period_s = 1.0 / config.rate_hz
        self._longest_s, self._jump_s = config.longest_wait_s, config.clock_jump_s
        self._now_ns: int | None = None
        self._steady_ns = 0
        self._before: tuple[int | None, int] = (None, 0)
        self._drift_s = 0.0
        """What the clock has gained of late; what was long ago is forgotten."""
        self.seconds = self._period_s
        """The time since the last tick; a nominal one where it is not known."""
        self.finding = ALL_WELL

    def take_back(self) -> None:
        """Let the last tick be a part of the next."""
        self._now_ns, self._steady_ns = self._before

    def tick(self, now_ns: int, steady_ns: int) -> None:
        """Take the time of a tick on both clocks."""
        steady_s = now_s = self._period_s
        if self._now_ns is not None:
            steady_s, now_s = (steady_ns - self._steady_ns) * 1e-9, (now_ns - self._now_ns) * 1e-9
        self._before = (self._now_ns, self._steady_ns)
        self._now_ns, self._steady_ns = now_ns, steady_ns
        self.seconds, self.finding = steady_s, ALL_WELL
        # By a clock that stands or crawls nothing would grow old in time.
        gained_s = now_s - steady_s
        if abs(gained_s) <= self._jump_s:
            kept = math.exp(-max(steady_s, 0.0) / _DRIFT_MEMORY_S)
            most_s = 2.0 * self._jump_s
            self._drift_s = min(max(kept * self._drift_s + gained_s, -most_s), most_s)
        if steady_s > self._longest_s:
            self.finding = Finding(Reason.PAUSED, amount=f'for {steady_s:.3f} s')
        elif steady_s <= 0.0 or abs(gained_s) > self._jump_s:
            self.finding = Finding(Reason.CLOCK_JUMP, amount=f'by {now_s:.3f} s')
            self.seconds = steady_s if steady_s > 0.0 else self._period_s
        elif abs(self._drift_s) > self._jump_s:
            pace = 'fast' if self._drift_s > 0.0 else 'slow'
            self.finding = Finding(Reason.CLOCK_JUMP, f'it is too {pace}')


class RobotWatch:
    """Checks the robot's measured joints against time, limits and command."""

    def __init__(self, config: TeleopConfig, arm: ArmModel) -> None:
        """Take the thresholds, and the limits of the joints."""
        self._timeout_s, self._distance = config.robot_timeout_s, config.robot_distance
        self._names, self._continuous = arm.model.joint_names, arm.continuous
        self._lower, self._upper = arm.model.lower, arm.model.upper
        self._held = arm.held
        self.positions = np.zeros(len(self._names))
        """As last measured; holds only while nothing was found."""
        self._still, self._still_ns, self._rested_ns = np.full(len(self._names), math.nan), 0, 0
        self._moved = ''

    def observe(self, robot: RobotState | None) -> None:
        """Take note of how long the robot has rested, by two of its states or more."""
        if robot is None:
            self._still[:] = math.nan
            self._rested_ns = 0
            return
        values = [robot.positions.get(name, math.nan) for name in self._names]
        q = np.array([value if math.isfinite(value) else math.nan for value in values])
        away = self._turned(np.abs(q - self._still))
        if robot.stamp_ns < self._still_ns or not (away <= _STILL).all():
            self._moved = self._names[int(np.argmax(away))]
            self._still, self._still_ns = q, robot.stamp_ns
        self._rested_ns = robot.stamp_ns - self._still_ns

    def unrest(self) -> Finding:
        """Return whether the robot moves, or is not known to rest."""
        resting = self._rested_ns >= round(REST_S * 1e9)
        return ALL_WELL if resting else Finding(Reason.ROBOT_MOVES, self._moved)

    def _turned(self, away: Array) -> Array:
        """Return distances; some robots tell angles of endless joints within one turn."""
        turned: Array = np.where(self._continuous, np.abs(np.remainder(away + pi, tau) - pi), away)
        return turned

    def others_away(self, positions: Mapping[str, float]) -> Finding:
        """Return which joint that is not led is elsewhere; of those that are silent, none."""
        for name, taken in self._held.items():
            away = abs(positions.get(name, taken) - taken)
            if away > _OTHERS_TOLERANCE:
                return Finding(Reason.OTHERS_MOVED, name, f'by {away:.3f}')
        return ALL_WELL

    def check(self, robot: RobotState | None, now_ns: int, command: Array | None) -> Finding:
        """Return what is wrong with the robot's state; `command` is None before there is one."""
        if robot is None:
            return Finding(Reason.ROBOT_MISSING)
        for j, name in enumerate(self._names):
            value = robot.positions.get(name, math.nan)
            if not math.isfinite(value):
                return Finding(Reason.ROBOT_MISSING, name)
            self.positions[j] = value
        age_s = (now_ns - robot.stamp_ns) * 1e-9
        if abs(age_s) > self._timeout_s:
            return Finding(Reason.ROBOT_STALE, _beyond(age_s, self._timeout_s))
        beyond = np.maximum(self._lower - self.positions, self.positions - self._upper)
        worst = int(np.argmax(beyond))
        if beyond[worst] > (_START_TOLERANCE if command is None else _LIMIT_TOLERANCE):
            return Finding(Reason.LIMIT_VIOLATION, self._names[worst])
        if command is not None:
            away = self._turned(np.abs(command - self.positions))
            worst = int(np.argmax(away))
            if away[worst] > self._distance:
                return Finding(Reason.ROBOT_FAR, self._names[worst], f'by {away[worst]:.3f}')
        return self.others_away(robot.positions)


def _beyond(age_s: float, timeout_s: float) -> str:
    """Return by how much a stamp is too old, or too far ahead of the clock, in steps."""
    steps_s = [timeout_s, *(s for s in _AGES_S if timeout_s < s < abs(age_s))]
    return f'{"by" if age_s > 0.0 else "its stamp is ahead by"} more than {steps_s[-1]:g} s'
