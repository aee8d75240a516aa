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


"""Judges joint commands from outside, by what was published alone."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from vr_ik.teleop.braking import BrakingPoint
from vr_ik.types import Array

POSITION, VELOCITY, ACCELERATION = 'position', 'velocity', 'acceleration'

_SLACK = 1e-6
"""Part of a limit that rounding may go beyond it."""
_LEAST_SPEED = 1e-3
"""Below this [rad/s or m/s] commands tell nothing of the time between them."""
_LONGEST_LAG_S = 1.0
"""A message is no later than this [s]; a longer silence was one."""
_FIT = 1e-4
"""How far positions and velocities may disagree in a step [rad or m]."""


@dataclass(frozen=True)
class Limits:
    """What a command must keep to, joint by joint."""

    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array


class CommandAudit:
    """Counts violations of limits in a stream of positions and velocities.

    Between two commands joints accelerate evenly, so that the step q1 - q0 = t (v0 + v1) / 2 has
    told the time t itself; when a message came is no measure of it on a busy machine. That this
    time is the true one in the sum, and fits all joints, is checked too.
    """

    def __init__(self, limits: Limits, rate_hz: float, silence_s: float) -> None:
        """Judge by these limits; `rate_hz` is the rate of the commands.

        After a longer silence than that the robot was left alone: it must have been at rest.
        """
        self._limits = limits
        self._period_s, self._silence_s = 1.0 / rate_hz, silence_s
        self.violations: Counter[str] = Counter({POSITION: 0, VELOCITY: 0, ACCELERATION: 0})
        self.commands = 0
        self.worst: dict[str, float] = dict.fromkeys(self.violations, 0.0)
        """Largest share of each limit that was used; of positions, how far beyond [rad or m]."""
        self._last: tuple[int, Array, Array] | None = None
        self._speed_left = np.zeros(0)
        self._told_s = self._true_s = 0.0

    def add(
        self,
        heard_ns: int,
        positions: ArrayLike,
        velocities: ArrayLike,
        tail: Sequence[BrakingPoint] = (),
    ) -> None:
        """Take a command, heard at a time; its tail is what to do if no other one comes."""
        q, v = np.array(positions, float), np.array(velocities, float)
        self.commands += 1
        self._judge_point(q, v)
        if self._last is not None:
            self._judge_step(heard_ns, q, v)
        self._judge_tail(q, v, tail)
        # Where the tail leads to rest, nothing is left in motion by silence.
        self._last = (heard_ns, q, v)
        self._speed_left = tail[-1].velocity if tail else v

    def end(self) -> None:
        """Judge the end: whoever commands no more must have come to rest."""
        if self._last is not None:
            self._judge_rest()
            self._last = None

    @property
    def clock_error(self) -> float:
        """The time that commands have told beside that in which they were heard, less one."""
        return self._told_s / self._true_s - 1.0 if self._true_s > 0.0 else 0.0

    def _judge_step(self, heard_ns: int, q: Array, v: Array) -> None:
        assert self._last is not None
        before_ns, q_before, v_before = self._last
        heard_s = (heard_ns - before_ns) * 1e-9
        both = v + v_before
        square = float(both @ both)
        if square < _LEAST_SPEED**2:
            seconds = max(heard_s, self._period_s)
        else:
            seconds = 2.0 * float((q - q_before) @ both) / square
        fits = np.abs(q - q_before - 0.5 * seconds * both).max() <= _FIT
        if not (fits and 0.0 < seconds <= self._silence_s) or heard_s > _LONGEST_LAG_S:
            self._judge_break(heard_s)
            return
        if square >= _LEAST_SPEED**2:
            self._told_s += seconds
            self._true_s += heard_s
        share = np.abs(v - v_before) / (seconds * self._limits.acceleration)
        self._judge(ACCELERATION, float(share.max()), 1.0)

    def _judge_break(self, heard_s: float) -> None:
        """Judge commands that do not go on from those before: only a new start may do that."""
        if heard_s > self._silence_s:
            self._judge_rest()
        else:
            self.violations[VELOCITY] += 1

    def _judge_tail(self, q: Array, v: Array, tail: Sequence[BrakingPoint]) -> None:
        before_s = 0.0
        for point in tail:
            seconds = point.seconds - before_s
            self._judge_point(point.q, point.velocity)
            fits = np.abs(point.q - q - 0.5 * seconds * (v + point.velocity)).max() <= _FIT
            share = np.abs(point.velocity - v) / (seconds * self._limits.acceleration)
            self._judge(ACCELERATION, float(share.max()) if fits else np.inf, 1.0)
            q, v, before_s = point.q, point.velocity, point.seconds

    def _judge_rest(self) -> None:
        if np.abs(self._speed_left).max() > _LEAST_SPEED:
            self.violations[ACCELERATION] += 1

    def _judge_point(self, q: Array, v: Array) -> None:
        limits = self._limits
        beyond = float(np.maximum(limits.lower - q, q - limits.upper).max())
        self._judge(POSITION, beyond, 0.0)
        self._judge(VELOCITY, float((np.abs(v) / limits.velocity).max()), 1.0)

    def _judge(self, kind: str, value: float, limit: float) -> None:
        self.worst[kind] = max(self.worst[kind], value)
        if value > limit + _SLACK:
            self.violations[kind] += 1
