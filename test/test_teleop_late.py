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

"""What a robot's controller makes of the commands, on time and late: no jump, and a calm end."""

import numpy as np
import pytest
from teleop_session_support import Operator, PANDA, PANDA_READY, robot_text

from vr_ik.config import replace
from vr_ik.simulation.controllers import Controller, TrajectoryPoint
from vr_ik.teleop.braking import braking_points
from vr_ik.teleop.types import Reason, State
from vr_ik.teleop.watch import TickClock
from vr_ik.types import Array

_SAMPLE_S = 0.001
# Between the points a controller goes along a cubic, in place of the even accelerations that led
# from tick to tick: of a way with one change of acceleration it makes up to one and a half times.
_CUBIC = 1.6


class Follower:
    """A joint_trajectory_controller, as the node's commands reach it at once."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator
        self._joints = operator.session.joint_names
        self._controller = Controller(self._joints, operator.robot.copy())
        self._acceleration = np.full(len(self._joints), operator.config.acceleration)
        self.time_s = 0.0
        self.ways: list[tuple[Array, Array]] = []

    def tick(self, seconds: float, velocity: Array) -> None:
        """Go on for a tick, then hear its command."""
        steps = max(round(seconds / _SAMPLE_S), 1)
        for _ in range(steps):
            self.time_s += seconds / steps
            self._controller.update(self.time_s)
            self.ways.append((self._controller.q.copy(), self._controller.velocity.copy()))
        command = self._operator.move(velocity, np.zeros(3), 1, seconds)
        if command.positions is None or command.velocities is None:
            return
        q, v = command.positions, command.velocities
        horizon_s = self._operator.config.horizon_s
        points = [
            TrajectoryPoint(horizon_s + p.seconds, p.q.tolist(), p.velocity.tolist())
            for p in braking_points(q, v, self._acceleration)
        ]
        points.insert(0, TrajectoryPoint(horizon_s, q.tolist(), v.tolist()))
        self._controller.follow(self.time_s, self._joints, points, self.time_s)

    def used(self) -> tuple[float, float]:
        """Return the largest speed and acceleration beside their limits."""
        speeds = np.array([velocity for _, velocity in self.ways])
        rates = np.abs(np.diff(speeds, axis=0)).max() / _SAMPLE_S
        limits = self._operator.judge.velocity
        return float((np.abs(speeds) / limits).max()), float(rates / self._acceleration[0])


@pytest.mark.parametrize('late_s', (0.03, 0.06, 0.09))
def test_a_late_tick_asks_for_no_jump(late_s: float) -> None:
    operator = Operator(PANDA, robot_text('panda'), PANDA_READY)
    operator.engage()
    follower = Follower(operator)
    velocity = np.array([0.25, 0.1, 0.0])
    for k in range(300):
        follower.tick(late_s if k % 25 == 24 else 0.004, velocity if k < 250 else np.zeros(3))
    assert max(np.abs(v).max() for _, v in follower.ways) > 0.2
    speed, rate = follower.used()
    assert speed <= 1.01
    assert rate <= _CUBIC


def test_without_another_command_the_robot_comes_to_rest() -> None:
    operator = Operator(PANDA, robot_text('panda'), PANDA_READY)
    operator.engage()
    follower = Follower(operator)
    for _ in range(100):
        follower.tick(0.004, np.array([0.25, 0.1, 0.0]))
    assert np.abs(follower.ways[-1][1]).max() > 0.2
    operator.enabled = False
    follower.tick(0.6, np.zeros(3))
    assert not follower.ways[-1][1].any()
    assert follower.used()[1] <= _CUBIC


def test_a_command_that_was_not_sent_leaves_no_trace() -> None:
    velocity = np.array([0.25, 0.1, 0.0])
    for ticks in (1, 60):  # soon after the press, and in motion
        one, two = (Operator(PANDA, robot_text('panda'), PANDA_READY) for _ in range(2))
        for operator in (one, two):
            operator.engage()
            operator.move(velocity, np.zeros(3), ticks)
        arms = [operator.session._arm for operator in (one, two)]
        arms[0].step(0.02)
        arms[0].take_back()
        for arm in arms:
            arm.step(0.05)
        np.testing.assert_array_equal(arms[0].q, arms[1].q)
        np.testing.assert_array_equal(arms[0].v, arms[1].v)


def test_a_tick_that_was_taken_back_is_a_part_of_the_next() -> None:
    clock = TickClock(PANDA)
    for now_ns in (0, 4_000_000):
        clock.tick(now_ns, now_ns)
    clock.tick(30_000_000, 30_000_000)
    clock.take_back()
    clock.tick(60_000_000, 60_000_000)
    assert clock.seconds == pytest.approx(0.056)


@pytest.mark.parametrize('output', ('commands', 'servo_pose', 'servo_twist'))
def test_where_commands_have_no_time_a_late_tick_is_a_stop_at_the_last_one(output: str) -> None:
    """A robot that has stood there since would have to jump to go on from anywhere else."""
    operator = Operator(replace(PANDA, {'output': output}), robot_text('panda'), PANDA_READY)
    operator.engage()
    velocity = np.array([0.25, 0.1, 0.0])
    for _ in range(100):
        before = operator.move(velocity, np.zeros(3), 1)
    inside = operator.move(velocity, np.zeros(3), 1, 0.9 * operator.config.horizon_s)
    assert inside.state is State.ENGAGED
    before = operator.move(velocity, np.zeros(3), 1)
    late = operator.move(velocity, np.zeros(3), 1, 1.1 * operator.config.horizon_s)
    assert (late.state, late.reason, late.publish) == (State.STOPPED, Reason.PAUSED, False)
    assert before.positions is not None
    after = operator.engage()
    assert after.state is State.ENGAGED
    assert after.positions is not None
    assert np.abs(after.positions - before.positions).max() < 0.002
