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

from vr_ik.kinematics.model import RobotModel
from vr_ik.teleop.braking import BrakingPoint
from vr_ik.teleop.config import TeleopConfig
from vr_ik.types import Array

POSITION, VELOCITY, ACCELERATION = 'position', 'velocity', 'acceleration'

_SLACK = 1e-6
"""Part of a limit that rounding may go beyond it."""
_LEAST_SPEED = 1e-3
"""Below this [rad/s or m/s] commands tell nothing of the time between them."""
_FIT = 1e-4
"""How far positions and velocities may disagree in a step [rad or m]."""
_TRIED = 40
"""Times that are tried for a motion from one command to another."""
_TOLD = 10
"""Violations that are told in words."""
_START = 0.01
"""How far from where the robot is a first command may be [rad or m]; a robot at rest sags."""


@dataclass(frozen=True)
class Limits:
    """What a command must keep to, joint by joint."""

    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array

    @classmethod
    def of(cls, config: TeleopConfig, robot: RobotModel, joints: Sequence[str]) -> 'Limits':
        """Return those of a robot's joints, in an order, as the parameters have them."""
        rows = [robot.joint_index(joint) for joint in joints]
        return cls(
            robot.lower[rows],
            robot.upper[rows],
            config.velocity_scale * robot.velocity_limits[rows],
            np.full(len(rows), config.acceleration),
        )


class CommandAudit:
    """Counts violations of limits in a stream of positions and velocities.

    Between two commands joints accelerate evenly, so that the step q1 - q0 = t (v0 + v1) / 2 has
    told the time t itself; when a message came is no measure of it on a busy machine. That this
    time fits all joints is checked. In the sum it must be the true one, but for the time that a
    command may be late: where it is not, the robot is as much faster or slower than it was told.

    Where messages between two commands were lost on their way to the judge, or a tick was so late
    that the robot had begun to brake by itself, the two must be such that a motion within all
    limits can have led from one to the other in the time between. A command is stamped when it is
    published, at some time after the instant that it is for, but this instant is after the stamp
    before it: the time between two is at most from the stamp before the first to the second's. The
    very first is taken for one that is published at once.

    The first command after a silence begins at rest, where the robot is.
    """

    def __init__(self, limits: Limits, rate_hz: float, horizon_s: float, silence_s: float) -> None:
        """Judge by these limits; `rate_hz` is the rate of commands, `horizon_s` of a late one.

        After a longer silence than `silence_s` the robot was left alone: it must be at rest.
        """
        self._limits = limits
        self._period_s, self._horizon_s, self._silence_s = 1.0 / rate_hz, horizon_s, silence_s
        self.violations: Counter[str] = Counter({POSITION: 0, VELOCITY: 0, ACCELERATION: 0})
        self.commands = 0
        self.missed = 0
        """Commands that were published but not heard."""
        self.found: list[str] = []
        """The first violations in words."""
        self.worst: dict[str, float] = dict.fromkeys(self.violations, 0.0)
        """Largest share of each limit that was used; of positions, how far beyond [rad or m]."""
        self._last: tuple[int, Array, Array] | None = None
        self._before_last_ns = 0
        self._number: int | None = None
        self._speed_left = np.zeros(0)
        self._told_s = self._true_s = 0.0
        self._gained_s = 0.0
        """What the commands' time is ahead of the true one, in steps that tell it."""

    def add(
        self,
        sent_ns: int,
        positions: ArrayLike,
        velocities: ArrayLike,
        tail: Sequence[BrakingPoint] = (),
        number: int | None = None,
        measured: ArrayLike | None = None,
    ) -> None:
        """Take a command with the stamp and the number that its publisher gave it.

        Its tail is what to do if no other one comes. Without a number, none is thought missing.
        `measured` is where the robot is, if that is known: a first command is compared with it.
        Where it is not, the very first of all may be one of a motion that has begun before.
        """
        q, v = np.array(positions, float), np.array(velocities, float)
        missed = 0 if number is None or self._number is None else number - self._number - 1
        self._number = number
        self.commands += 1
        self.missed += missed
        if not all(np.isfinite((*point.q, *point.velocity)).all() for point in tail) or not (
            np.isfinite(q).all() and np.isfinite(v).all()
        ):
            self._judge(POSITION, np.inf, 0.0)
            return
        self._judge_point(q, v)
        silent_s = np.inf if self._last is None else (sent_ns - self._last[0]) * 1e-9
        if silent_s > self._silence_s and (self._last is not None or measured is not None):
            # One of those that were not heard may have been the first, at any time of the silence.
            self._judge_first(q, v, silent_s if missed else self._horizon_s, measured)
        if self._last is not None:
            self._judge_step(sent_ns, q, v, missed)
        self._judge_tail(q, v, tail)
        # Where the tail leads to rest, nothing is left in motion by silence.
        self._before_last_ns = sent_ns if self._last is None else self._last[0]
        self._last = (sent_ns, q, v)
        self._speed_left = tail[-1].velocity if tail else v

    def end(self) -> None:
        """Judge the end: whoever commands no more must have come to rest."""
        if self._last is not None:
            self._judge_rest()
            self._last = None

    @property
    def clock_error(self) -> float:
        """The time that commands have told beside that of their stamps, less one."""
        return self._told_s / self._true_s - 1.0 if self._true_s > 0.0 else 0.0

    def _judge_first(
        self, q: Array, v: Array, before_s: float, measured: ArrayLike | None
    ) -> None:
        """Judge a command that none led to, or for so long: from rest, where the robot was."""
        share = np.abs(v) / (before_s * self._limits.acceleration)
        if (share > 1.0 + _SLACK).any():
            self._violate(ACCELERATION, f'the first command is in motion, {share.max():.3f}')
        if measured is not None:
            way = 0.5 * before_s**2 * self._limits.acceleration
            away = np.abs(q - np.asarray(measured, float))
            if (away > _START + way).any():
                self._violate(VELOCITY, f'the first command is {away.max():.4f} from the robot')

    def _judge_step(self, sent_ns: int, q: Array, v: Array, missed: int) -> None:
        assert self._last is not None
        before_ns, q_before, v_before = self._last
        true_s = (sent_ns - before_ns) * 1e-9
        both = v + v_before
        square = float(both @ both)
        if square < _LEAST_SPEED**2:
            seconds = max(true_s, self._period_s)
        else:
            seconds = 2.0 * float((q - q_before) @ both) / square
        fits = np.abs(q - q_before - 0.5 * seconds * both).max() <= _FIT
        longest_s = (sent_ns - self._before_last_ns) * 1e-9
        share = np.abs(v - v_before) / (max(seconds, 1e-9) * self._limits.acceleration)
        used = float(share.max()) if fits and 0.0 < seconds <= self._silence_s else np.inf
        gained_s, self._gained_s = self._gained_s, 0.0
        if true_s > self._silence_s:
            self._judge_rest()
        elif missed or (used > 1.0 + _SLACK and longest_s >= self._horizon_s):
            self._judge_gap(q - q_before, v_before, v, longest_s)
        elif used == np.inf:
            self._violate(VELOCITY, 'positions and velocities of a step do not fit together')
        else:
            # In a late tick the robot has braked: the step tells no time.
            if square >= _LEAST_SPEED**2 and true_s < self._horizon_s:
                self._told_s += seconds
                self._true_s += true_s
                self._judge_clock(gained_s + seconds - true_s)
            self._judge(ACCELERATION, used, 1.0)

    def _judge_clock(self, gained_s: float) -> None:
        """Judge whether the time that commands tell goes along with that of their stamps."""
        if abs(gained_s) > self._horizon_s + self._period_s:
            self._violate(VELOCITY, f'the time of commands is {gained_s:.3f} s ahead of stamps')
        else:
            self._gained_s = gained_s

    def _judge_gap(self, way: Array, v_before: Array, v: Array, longest_s: float) -> None:
        """Judge two commands by whether any motion can have led from one to the other."""
        limits = self._limits
        if (np.abs(way) > limits.velocity * longest_s + _FIT).any():
            self._violate(VELOCITY, f'too far for {longest_s:.3f} s')
            return
        times_s = np.linspace(0.0, longest_s, _TRIED)[1:, None]
        change = np.abs(v - v_before)
        farthest = _farthest(v_before, v, times_s, limits).max(axis=0)
        nearest = -_farthest(-v_before, -v, times_s, limits).max(axis=0)
        possible = (way <= farthest + _FIT) & (way >= nearest - _FIT)
        possible &= change <= limits.acceleration * longest_s * (1.0 + _SLACK)
        if not possible.all():
            self._violate(ACCELERATION, f'no motion leads there in {longest_s:.3f} s')

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
            self._violate(ACCELERATION, 'silence in motion')

    def _judge_point(self, q: Array, v: Array) -> None:
        limits = self._limits
        beyond = float(np.maximum(limits.lower - q, q - limits.upper).max())
        self._judge(POSITION, beyond, 0.0)
        self._judge(VELOCITY, float((np.abs(v) / limits.velocity).max()), 1.0)

    def _judge(self, kind: str, value: float, limit: float) -> None:
        self.worst[kind] = max(self.worst[kind], value)
        if value > limit + _SLACK:
            self._violate(kind, f'{value:.6g} beside {limit:g}')

    def _violate(self, kind: str, text: str) -> None:
        self.violations[kind] += 1
        if len(self.found) < _TOLD:
            self.found.append(f'command {self.commands}, {kind}: {text}')


def _farthest(v_before: Array, v: Array, times_s: Array, limits: Limits) -> Array:
    """Return how far joints can go from one velocity to another in times (n, 1): (n, joints).

    They accelerate to a peak, which is no more than their limit, and brake from it.
    """
    a = limits.acceleration
    peak = np.minimum(0.5 * (v_before + v + a * times_s), limits.velocity)
    changing_s = (2.0 * peak - v_before - v) / a
    ways = (2.0 * peak**2 - v_before**2 - v**2) / (2.0 * a)
    farthest: Array = ways + peak * np.maximum(times_s - changing_s, 0.0)
    return farthest
