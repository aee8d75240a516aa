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

"""Sessions of teleoperation: every fault stops the arm smoothly, for a stated reason, for good."""

from collections.abc import Callable
import math

import numpy as np
import pytest
from robots import PACKAGE_PATHS
from teleop_fault_support import FAULTS, mend
from teleop_session_support import (
    FORWARD,
    moving_operator,
    Operator,
    PANDA,
    PANDA_READY,
    robot_text,
    STILL,
    STOP_TICKS,
)

from vr_ik.math.rotations import pose, rotation_from_rpy
from vr_ik.teleop.config import TeleopConfig
from vr_ik.teleop.retarget import Retarget
from vr_ik.teleop.session import TeleopSession
from vr_ik.teleop.types import (
    ArmInput,
    Buzz,
    Reason,
    RobotState,
    State,
    TeleopCommand,
    TeleopInputs,
)
from vr_ik.types import Array


@pytest.fixture
def operator() -> Operator:
    return moving_operator()


@pytest.mark.parametrize('fault', FAULTS, ids=lambda fault: fault.__name__)
def test_a_fault_stops_smoothly_and_for_good(
    operator: Operator, fault: Callable[[Operator], TeleopCommand]
) -> None:
    command = fault(operator)
    assert (command.state, command.reason) == (State.STOPPED, FAULTS[fault])
    assert command.detail.startswith(FAULTS[fault].value)
    assert (0, Buzz.LOSS) in command.haptics
    assert not operator.session.idle, 'parameters must not change under a moving arm'
    ticks = 0
    while command.publish:
        command, ticks = operator.tick(), ticks + 1
    assert 1 < ticks <= STOP_TICKS
    mend(operator)
    for _ in range(50):
        command = operator.tick()
        assert (command.state, command.publish) == (State.STOPPED, False)
    operator.clutches = [0.0]
    assert operator.tick().state is State.DISENGAGED
    operator.clutches = [1.0]
    assert operator.tick().state is State.ENGAGED


def test_a_silent_clutch_stops_the_arm_until_it_was_seen_released(operator: Operator) -> None:
    operator.clutches = [math.nan]
    command = operator.tick()
    assert (command.state, command.reason) == (State.STOPPED, Reason.CLUTCH_SILENT)
    assert not operator.session.idle, 'it still moves'
    assert not operator.rest(STOP_TICKS).publish
    assert operator.session.idle
    operator.clutches = [1.0]
    assert operator.rest(50).state is State.DISENGAGED
    assert operator.engage().state is State.ENGAGED


def test_a_clock_that_stands_stops_the_arm(operator: Operator) -> None:
    """Nothing would grow old any more, neither the hand nor the robot's state."""
    ticks = round(PANDA.clock_jump_s / 0.004) + 1
    for _ in range(ticks):
        operator.offset_ns -= 4_000_000
        command = operator.tick()
    assert (command.state, command.reason) == (State.STOPPED, Reason.CLOCK_JUMP)


def test_a_pause_commands_nothing_more(operator: Operator) -> None:
    command = operator.tick(0.3)
    assert (command.state, command.reason) == (State.STOPPED, Reason.PAUSED)
    assert not command.publish
    assert not operator.rest(20).publish


@pytest.mark.parametrize(
    ('jump_ns', 'reason'), ((-(10**9), Reason.CLOCK_JUMP), (10**9, Reason.PAUSED))
)
def test_with_one_clock_alone_its_jumps_stop_the_arm_too(jump_ns: int, reason: Reason) -> None:
    session = TeleopSession(PANDA, robot_text('panda'), PACKAGE_PATHS)
    robot = dict(zip(session.joint_names, PANDA_READY, strict=True))
    hand = np.eye(4)
    now_ns = 10**12

    def step(clutch: float) -> TeleopCommand:
        arm = ArmInput(hand, now_ns, clutch)
        return session.step(now_ns, TeleopInputs((arm,), True, hand, RobotState(now_ns, robot)))

    for k in range(70):
        now_ns += 4_000_000
        hand = pose(np.eye(3), np.array([0.001 * k, 0.0, 0.0]))
        command = step(float(k > 30))
    assert command.state is State.ENGAGED
    now_ns += jump_ns
    command = step(1.0)
    assert (command.state, command.reason) == (State.STOPPED, reason)
    assert command.publish is (reason is Reason.CLOCK_JUMP)


def test_released_arm_comes_to_rest_and_holds_and_goes_on_from_there(operator: Operator) -> None:
    operator.clutches = [0.0]
    command = operator.move(FORWARD, STILL, STOP_TICKS)
    assert command.state is State.HOLDING
    assert command.publish and not np.any(command.velocities)
    held = command.arms[0].pose_root_from_tip
    operator.move(FORWARD, STILL, 100)
    operator.clutches = [1.0]
    command = operator.rest(20)
    assert command.state is State.ENGAGED
    np.testing.assert_allclose(command.arms[0].pose_root_from_tip, held, atol=1e-3)


def test_untracked_hand_is_no_fault_while_the_arm_holds(operator: Operator) -> None:
    operator.clutches = [0.0]
    operator.rest(STOP_TICKS)
    operator.tracked = False
    assert operator.rest(50).state is State.HOLDING
    operator.clutches = [1.0]
    command = operator.tick()
    assert (command.state, command.reason) == (State.HOLDING, Reason.TRACKING_LOST)


@pytest.mark.parametrize(('pace', 'stops'), ((0.0, True), (0.7, True), (1.3, True), (0.99, False)))
def test_a_clock_of_another_pace_stops_the_arm(
    operator: Operator, pace: float, stops: bool
) -> None:
    for _ in range(250):
        operator.offset_ns += round((pace - 1.0) * 4_000_000)
        command = operator.tick()
    assert (command.state is State.STOPPED) is stops
    assert not stops or command.reason is Reason.CLOCK_JUMP


def test_an_arm_without_a_solution_brakes(
    operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Retarget, 'target', lambda *_: np.full((4, 4), np.nan))
        command = operator.tick()
    assert (command.state, command.reason) == (State.STOPPED, Reason.SOLVER_FAILED)
    assert np.any(command.velocities), 'it brakes smoothly'
    assert not operator.rest(STOP_TICKS).publish
    assert operator.engage().state is State.ENGAGED


def test_a_robot_that_tells_angles_within_one_turn_is_where_it_was_commanded_to_be() -> None:
    config = TeleopConfig(tip_links=('j2s6s200_end_effector',), velocity_scale=1.0)
    operator = Operator(config, robot_text('kinova'), (3.1, 3.4, 1.6, 0.3, 1.8, 0.5))
    assert operator.engage().state is State.ENGAGED
    wrapped = False
    for _ in range(300):
        for hand in operator.hands:  # round the vertical axis of the first joint
            hand[:3, :3] = rotation_from_rpy(0.0, 0.0, 0.002) @ hand[:3, :3]
        command = operator.tick()
        wrapped = wrapped or bool((operator.robot > math.pi).any())
        operator.robot = np.where(
            operator.judge.upper == np.inf,
            np.remainder(operator.robot + math.pi, math.tau) - math.pi,
            operator.robot,
        )
    assert wrapped
    assert command.state is State.ENGAGED, command.detail


def test_operator_feels_what_holds_the_arm_back(operator: Operator) -> None:
    felt: list[tuple[int, Buzz]] = []
    for _ in range(600):
        felt += operator.move(np.array([0.5, 0.0, 0.0]), STILL, 1).haptics
    assert felt.count((0, Buzz.LIMIT)) == 1
    assert (0, Buzz.LOSS) not in felt


def test_steps_are_deterministic() -> None:
    def commands() -> list[Array | None]:
        operator = Operator(PANDA, robot_text('panda'), PANDA_READY)
        operator.engage()
        return [operator.move(FORWARD, FORWARD, 1).positions for _ in range(200)]

    np.testing.assert_array_equal(np.array(commands()), np.array(commands()))


def test_missing_arms_and_foreign_joints_do_no_harm() -> None:
    session = TeleopSession(PANDA, robot_text('panda'))
    robot = RobotState(0, {'foreign_joint': 1.0})
    command = session.step(0, TeleopInputs((), True, np.full((4, 4), np.nan), robot))
    assert command.state is State.DISENGAGED
    assert not command.publish


def test_missing_meshes_are_said() -> None:
    session = TeleopSession(PANDA, robot_text('panda'))
    assert any('link0.stl' in note for note in session.notes)
