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

"""When an arm is engaged, and when a press is refused."""

import numpy as np
import pytest
from teleop_fault_support import FAULTS, mend
from teleop_session_support import FORWARD, Operator, PANDA, PANDA_READY, robot_text, STILL

from vr_ik.config import replace
from vr_ik.teleop.types import Reason, State
from vr_ik.types import Array


@pytest.mark.parametrize('side', (-1, 1))
def test_a_robot_at_its_limit_is_engaged_without_a_jump_and_led_away(side: int) -> None:
    operator = Operator(PANDA, robot_text('panda'), PANDA_READY)
    limit = float((operator.judge.lower if side < 0 else operator.judge.upper)[6])
    operator.robot[6] = limit
    command = operator.engage()
    assert command.state is State.ENGAGED
    assert command.positions is not None
    assert command.positions[6] == pytest.approx(limit, abs=1e-4)
    away = operator.move(STILL, np.array([0.0, 0.0, 1.0 * side]), 200).positions
    assert away is not None
    assert abs(away[6] - limit) > 0.3


def test_a_robot_beyond_its_limit_is_not_engaged() -> None:
    operator = Operator(PANDA, robot_text('panda'), PANDA_READY)
    operator.robot[6] = operator.judge.upper[6] + 0.01
    command = operator.engage()
    assert (command.state, command.reason) == (State.DISENGAGED, Reason.LIMIT_VIOLATION)


@pytest.mark.parametrize(
    ('speed', 'engages'), ((1.0, False), (0.1, False), (0.01, True), (-1.0, False))
)
def test_a_robot_that_moves_is_not_engaged(speed: float, engages: bool) -> None:
    operator = Operator(PANDA, robot_text('panda'), PANDA_READY)
    operator.robot_age_s = 0.19
    operator.clutches = [0.0]
    operator.rest(50)
    for k in range(60):
        operator.clutches = [float(k == 59)]
        operator.robot[2] += 0.004 * speed
        command = operator.tick()
    assert (command.state is State.ENGAGED) is engages
    if not engages:
        assert command.reason is Reason.ROBOT_MOVES
        assert 'panda_joint3' in command.detail
        assert operator.engage().state is State.ENGAGED, 'it rests now'


def test_a_robot_of_which_one_state_is_known_is_not_engaged() -> None:
    operator = Operator(PANDA, robot_text('panda'), PANDA_READY)
    operator.robot_known = False
    operator.clutches = [0.0]
    operator.rest(50)
    operator.robot_known = True
    operator.clutches = [1.0]
    assert operator.tick().reason is Reason.ROBOT_MOVES


@pytest.mark.parametrize('head', (None, np.full((4, 4), np.nan)))
def test_without_a_head_the_automatic_yaw_engages_nobody(head: Array | None) -> None:
    operator = Operator(PANDA, robot_text('panda'), PANDA_READY)
    operator.head = head
    command = operator.engage()
    assert (command.state, command.reason) == (State.DISENGAGED, Reason.HEAD_LOST)
    assert PANDA.head_frame in command.detail
    operator.head = np.eye(4)
    assert operator.engage().state is State.ENGAGED
    operator.head = head
    assert operator.rest(20).state is State.ENGAGED, 'it is for the press alone'


def test_with_a_fixed_yaw_no_head_is_needed() -> None:
    config = replace(PANDA, {'operator_yaw': 'fixed'})
    operator = Operator(config, robot_text('panda'), PANDA_READY)
    operator.head = None
    assert operator.engage().state is State.ENGAGED


@pytest.mark.parametrize('fault', [f for f in FAULTS if FAULTS[f] is not Reason.ROBOT_FAR])
def test_what_stops_an_arm_refuses_it_as_well(fault) -> None:
    operator = Operator(PANDA, robot_text('panda'), PANDA_READY)
    operator.clutches = [0.0]
    operator.rest(5)
    operator.clutches = [1.0]
    command = fault(operator)
    expected = FAULTS[fault]
    expected = Reason.NOT_ENABLED if expected is Reason.ENABLE_LOST else expected
    assert (command.state, command.reason) == (State.DISENGAGED, expected)
    assert not command.publish
    mend(operator)
    assert operator.rest(30).state is State.DISENGAGED, 'the press was refused for good'
    assert operator.engage().state is State.ENGAGED


def test_a_clutch_that_is_held_at_the_start_moves_nothing() -> None:
    operator = Operator(PANDA, robot_text('panda'), PANDA_READY)
    operator.clutches = [1.0]
    assert operator.move(FORWARD, STILL, 50).state is State.DISENGAGED


def test_without_the_enable_rule_none_is_needed() -> None:
    config = replace(PANDA, {'require_enable': False})
    operator = Operator(config, robot_text('panda'), PANDA_READY)
    operator.enabled = False
    assert operator.engage().state is State.ENGAGED
