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

"""Before a press the state tells all that it would be refused for, in the refusal's words."""

from collections.abc import Callable
import math

import numpy as np
import pytest
from teleop_session_support import FORWARD, Operator, PANDA, PANDA_READY, robot_text, STILL

from vr_ik.config import replace
from vr_ik.teleop.config import TeleopConfig
from vr_ik.teleop.types import Reason, State

LASTING = 30
"""Ticks after which a change is told."""
READY = 'ready: press the clutch (r_controller)'


def waiting(config: TeleopConfig = PANDA) -> Operator:
    """Return someone who has all he needs and has pressed nothing yet."""
    operator = Operator(config, robot_text('panda'), PANDA_READY)
    operator.rest(2 * LASTING)
    return operator


def without_enable(operator: Operator) -> None:
    operator.enabled = False


def without_tracking(operator: Operator) -> None:
    operator.tracked = False


def without_robot(operator: Operator) -> None:
    operator.robot_known = False


def without_a_joint(operator: Operator) -> None:
    operator.robot[2] = math.nan


def with_an_old_robot(operator: Operator) -> None:
    operator.robot_age_s = 0.25


def with_a_robot_beyond_limits(operator: Operator) -> None:
    operator.robot[3] = 0.2


def without_head(operator: Operator) -> None:
    operator.head = None


def without_a_controller(operator: Operator) -> None:
    operator.unheard = '/other/joint_trajectory'


def paused(operator: Operator) -> None:
    operator.veto = Reason.HELD


LACKS: dict[Callable[[Operator], None], Reason] = {
    without_enable: Reason.NOT_ENABLED,
    without_tracking: Reason.TRACKING_LOST,
    without_robot: Reason.ROBOT_MISSING,
    without_a_joint: Reason.ROBOT_MISSING,
    with_an_old_robot: Reason.ROBOT_STALE,
    with_a_robot_beyond_limits: Reason.LIMIT_VIOLATION,
    without_head: Reason.HEAD_LOST,
    without_a_controller: Reason.NOT_HEARD,
    paused: Reason.HELD,
}


def test_who_lacks_nothing_is_told_to_press() -> None:
    command = waiting().tick()
    assert (command.state, command.reason) == (State.DISENGAGED, Reason.READY)
    assert command.detail == READY


@pytest.mark.parametrize('lack', LACKS, ids=lambda lack: lack.__name__)
def test_what_a_press_would_be_refused_for_is_told_before_it(
    lack: Callable[[Operator], None],
) -> None:
    operator = waiting()
    lack(operator)
    told = operator.rest(2 * LASTING)
    assert (told.state, told.reason) == (State.DISENGAGED, LACKS[lack])
    operator.clutches = [1.0]
    refused = operator.tick()
    assert (refused.state, refused.reason) == (State.DISENGAGED, LACKS[lack])
    assert refused.detail.partition(' by ')[0] == told.detail.partition(' by ')[0]


def test_all_that_is_missing_is_told_at_once() -> None:
    operator = Operator(PANDA, robot_text('panda'), PANDA_READY)
    operator.enabled = operator.tracked = operator.robot_known = False
    operator.head, operator.clutches = None, [math.nan]
    lacking = (
        Reason.NOT_ENABLED,
        Reason.ROBOT_MISSING,
        Reason.NEVER_TRACKED,
        Reason.HEAD_LOST,
        Reason.CLUTCH_SILENT,
    )
    places = [operator.tick().detail.find(reason.value) for reason in lacking]
    assert places == sorted(places)
    assert places[0] == 0


def test_a_clutch_that_is_held_must_be_released_first() -> None:
    operator = Operator(PANDA, robot_text('panda'), PANDA_READY)
    operator.clutches = [1.0]
    command = operator.rest(2 * LASTING)
    assert command.reason is Reason.CLUTCH_HELD
    operator.clutches = [0.0]
    assert operator.rest(LASTING).reason is Reason.READY


def test_a_robot_that_moves_is_waited_for() -> None:
    operator = waiting()
    for _ in range(2 * LASTING):
        operator.robot[2] += 0.002
        command = operator.tick()
    assert command.reason is Reason.ROBOT_MOVES
    assert operator.rest(3 * LASTING).detail == READY


def test_the_last_stop_is_not_forgotten_before_the_arm_is_engaged_again() -> None:
    operator = waiting()
    operator.clutches = [1.0]
    operator.move(FORWARD, STILL, 50)
    operator.hands[0][1, 3] += 0.1
    operator.rest(200)
    operator.clutches = [0.0]
    jumped = f'before: {Reason.TRACKING_JUMP.value} (r_controller)'
    command = operator.rest(2 * LASTING)
    assert (command.reason, command.detail) == (Reason.READY, f'{READY}; {jumped}')
    operator.clutches = [1.0]
    assert operator.tick().detail == Reason.NONE.value
    operator.clutches = [0.0]
    assert operator.rest(2 * LASTING).detail == READY


def test_an_arm_that_holds_tells_what_its_next_press_lacks() -> None:
    operator = waiting()
    operator.clutches = [1.0]
    operator.move(FORWARD, STILL, 50)
    operator.clutches = [0.0]
    command = operator.rest(200)
    assert (command.state, command.detail) == (State.HOLDING, READY)
    operator.tracked = False
    command = operator.rest(2 * LASTING)
    assert (command.state, command.reason) == (State.HOLDING, Reason.TRACKING_LOST)


def test_what_lasts_for_a_moment_only_is_not_told_nor_an_age_that_grows() -> None:
    operator = waiting()
    told = {operator.tick(0.12).detail for _ in range(3)}
    operator.robot_age_s = 0.3
    for _ in range(2 * LASTING):
        operator.robot_age_s += 0.004
        told.add(operator.tick().detail)
    assert len(told) == 2, told


def test_a_stop_of_an_arm_that_holds_leaves_nobody_ready() -> None:
    """It was ready for its next press before the robot fell silent."""
    operator = waiting()
    operator.clutches = [1.0]
    operator.move(FORWARD, STILL, 50)
    operator.clutches = [0.0]
    assert operator.rest(200).detail == READY
    operator.robot_age_s = 0.3
    states = [operator.tick() for _ in range(LASTING)]
    assert {command.state for command in states} == {State.STOPPED, State.DISENGAGED}
    assert all(command.reason is Reason.ROBOT_STALE for command in states)


@pytest.mark.parametrize('sign', (1.0, -1.0))
def test_how_old_the_robot_is_stays_true_and_is_told_in_few_steps(sign: float) -> None:
    operator = waiting()
    told: dict[str, float] = {}
    for age_s in np.geomspace(0.3, 20.0, 60):
        operator.robot_age_s = sign * age_s
        told.setdefault(operator.rest(LASTING).detail, age_s)
    assert len(told) == 3, told
    for text, since_s in told.items():
        least_s = float(text.partition('more than ')[2].split()[0])
        assert least_s < since_s < 1.1 * max(least_s, 0.3), text


def test_of_two_arms_each_is_told() -> None:
    config = replace(
        PANDA,
        {
            'tip_links': ('panda_link8', 'panda_hand_tcp'),
            'device_frames': ('l_controller', 'r_controller'),
        },
    )
    operator = waiting(config)
    assert operator.tick().detail == 'ready: press the clutch (l_controller, r_controller)'
    operator.clutches = [0.0, math.nan]
    command = operator.rest(LASTING)
    silent = f'{Reason.CLUTCH_SILENT.value} (r_controller)'
    assert command.detail == f'ready: press the clutch (l_controller); {silent}'
    operator.head = np.full((4, 4), np.nan)
    command = operator.rest(LASTING)
    assert command.detail == f'{Reason.HEAD_LOST.value} (hmd); {silent}'
