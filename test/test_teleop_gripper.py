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

"""Grippers: taken over softly, kept through stops, and never led beyond their joints."""

import math

import pytest
from robots import PACKAGE_PATHS
from teleop_session_support import (
    moving_operator,
    Operator,
    PANDA,
    PANDA_READY,
    robot_text,
    STOP_TICKS,
)

from vr_ik.config import replace
from vr_ik.errors import VrIkError
from vr_ik.teleop.config import TeleopConfig
from vr_ik.teleop.session import TeleopSession
from vr_ik.teleop.types import State


@pytest.fixture
def operator() -> Operator:
    return moving_operator()


def test_trigger_closes_the_gripper_no_faster_than_its_joint(operator: Operator) -> None:
    operator.trigger = 1.0
    before = operator.rest(1).gripper['panda_finger_joint1']
    after = operator.rest(1).gripper['panda_finger_joint1']
    assert before - after == pytest.approx(0.5 * 0.2 * 0.004)
    assert operator.rest(200).gripper['panda_finger_joint1'] == 0.0
    operator.trigger = math.nan
    assert operator.rest(10).gripper['panda_finger_joint1'] == 0.0


def test_a_press_leaves_the_gripper_until_the_trigger_has_been_where_it_is(
    operator: Operator,
) -> None:
    def gripper(trigger: float, ticks: int = 200) -> float:
        operator.trigger = trigger
        return operator.rest(ticks).gripper['panda_finger_joint1']

    assert gripper(0.5) == pytest.approx(0.02)
    operator.clutches = [0.0]
    assert gripper(0.0) == pytest.approx(0.02)
    operator.clutches = [1.0]
    assert gripper(0.0) == pytest.approx(0.02)
    assert gripper(0.3) == pytest.approx(0.02)
    assert gripper(0.8, 1) < 0.02, 'it was passed'
    assert gripper(0.8) == pytest.approx(0.008)
    assert gripper(0.0) == pytest.approx(0.04)


FINGER = 'panda_finger_joint1'


def test_what_a_gripper_holds_is_squeezed_on_after_a_stop_and_a_fresh_press(
    operator: Operator,
) -> None:
    operator.object_m, operator.trigger = 0.02, 1.0
    assert operator.rest(200).gripper[FINGER] == 0.0
    assert operator.fingers[FINGER] == 0.02
    operator.enabled = False
    operator.tick()
    assert not operator.rest(STOP_TICKS).gripper
    operator.enabled = True
    command = operator.engage()
    assert command.state is State.ENGAGED
    assert command.gripper[FINGER] == 0.0
    operator.enabled = False
    operator.tick()
    operator.rest(STOP_TICKS)
    operator.enabled = True
    anew = TeleopSession(PANDA, robot_text('panda'), PACKAGE_PATHS)
    anew.keep_grippers(operator.session)
    operator.session = anew
    assert operator.engage().gripper[FINGER] == 0.0


def test_nothing_is_commanded_to_a_gripper_before_its_trigger_has_found_it() -> None:
    operator = Operator(PANDA, robot_text('panda'), PANDA_READY)
    operator.fingers[FINGER] = 0.02
    assert not operator.engage().gripper
    operator.trigger = 0.4
    assert not operator.rest(20).gripper
    operator.trigger = 0.6
    assert operator.rest(1).gripper[FINGER] == pytest.approx(0.02 - 0.5 * 0.2 * 0.004)


def test_a_gripper_that_nothing_is_known_of_gets_no_command() -> None:
    operator = Operator(PANDA, robot_text('panda'), PANDA_READY)
    operator.fingers.clear()
    operator.engage()
    for trigger in (0.0, 0.5, 1.0, 0.0):
        operator.trigger = trigger
        assert not operator.rest(5).gripper


def test_pressing_one_clutch_commands_the_gripper_of_that_arm_alone() -> None:
    names = ('l_gripper_l_finger_joint', 'r_gripper_l_finger_joint')
    config = TeleopConfig(
        tip_links=('left_gripper', 'right_gripper'),
        device_frames=('l_controller', 'r_controller'),
        gripper_joints=names,
        gripper_open=(0.02,),
    )
    operator = Operator(config, robot_text('baxter'), (0.0, -0.5, 0.0, 1.2, 0.0, 0.9, 0.0) * 2)
    operator.rest(50)
    operator.clutches = [0.0, 1.0]
    assert set(operator.rest(5).gripper) == {names[1]}


@pytest.mark.parametrize('name', ('gripper_open', 'gripper_closed'))
def test_a_gripper_is_not_led_beyond_its_joint(name: str) -> None:
    with pytest.raises(VrIkError, match=rf"'{name}'.*panda_finger_joint1' goes from 0 to 0.04"):
        TeleopSession(replace(PANDA, {name: (0.05,)}), robot_text('panda'), PACKAGE_PATHS)
