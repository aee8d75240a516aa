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

"""Distances are kept: no part comes nearer than it may, in motion or in stops."""

from hypothesis import given, settings, strategies as st
import numpy as np
import pytest
from robots import PACKAGE_PATHS
from teleop_session_support import Operator, PANDA_READY, robot_text, Rooms

from vr_ik.config import replace
from vr_ik.math.rotations import exp_rotation
from vr_ik.teleop.arm_guard import stop_way
from vr_ik.teleop.arm_step import ArmStep
from vr_ik.teleop.config import TeleopConfig
from vr_ik.teleop.types import State

_PANDA = TeleopConfig(
    tip_links=('panda_hand_tcp',),
    velocity_scale=1.0,
    acceleration=12.0,
    operator_yaw='fixed',
    self_distance_m=0.03,
    workspace='0.15 -0.4 0.05 0.7 0.4 0.8',
    keep_out='0.45 0.1 -0.1 0.9 0.9 0.4; -1 -1 -0.5 1 1 -0.02',
    jump_deg=180.0,
    jump_m=1.0,
)
_BAXTER = TeleopConfig(
    tip_links=('left_gripper', 'right_gripper'),
    device_frames=('l_controller', 'r_controller'),
    operator_yaw='fixed',
    velocity_scale=1.0,
    jump_deg=180.0,
    jump_m=1.0,
)
_BENT = (-0.3, -0.5, 0.0, 1.2, 0.0, 0.9, 0.0), (0.3, -0.5, 0.0, 1.2, 0.0, 0.9, 0.0)
ROBOTS = {
    'panda': (_PANDA, PANDA_READY),
    'baxter': (_BAXTER, _BENT[0] + _BENT[1]),
}


def wave(operator: Operator, seed: int, rounds: int) -> np.ndarray:
    """Wave the hands about, stop and go on, in ticks of any length; return the commands."""
    rng = np.random.default_rng(seed)
    commands = [operator.robot.copy()]
    for _ in range(rounds):
        arms = len(operator.hands)
        velocities, turns = rng.uniform(-1.0, 1.0, (arms, 3)), rng.uniform(-1.5, 1.5, (arms, 3))
        operator.clutches = [float(rng.random() < 0.9) for _ in range(arms)]
        operator.enabled = rng.random() < 0.9
        odd = rng.random() < 0.3
        for _ in range(rng.integers(5, 60)):
            seconds = rng.uniform(0.0005, 0.09) if odd else 0.004
            for hand, velocity, turn in zip(operator.hands, velocities, turns, strict=True):
                hand[:3, 3] += seconds * velocity
                hand[:3, :3] = exp_rotation(seconds * turn) @ hand[:3, :3]
            command = operator.tick(seconds)
            if command.positions is not None:
                commands.append(command.positions)
        if not operator.enabled or command.state is State.STOPPED:
            operator.enabled = True
            for hand in operator.hands:  # back to where there is something to do
                hand[:3, 3] = (0.3, 0.0, 1.2)
            assert operator.engage().state is State.ENGAGED
    return np.array(commands)


@pytest.mark.parametrize('name', ROBOTS)
def test_no_distance_is_ever_broken(name: str) -> None:
    config, ready = ROBOTS[name]
    operator = Operator(config, robot_text(name), ready)
    operator.engage()
    rooms = Rooms(ArmStep(config, robot_text(name), PACKAGE_PATHS), config)
    commands = wave(operator, 1, 150)
    least = np.array([rooms.at(q) for q in commands]).min(axis=0)
    for kind, value in zip(('tips', 'parts', 'boxes'), least, strict=True):
        assert value > -1e-6, f'{kind} came too near'
        assert value < 0.02 or value == np.inf, f'{kind} were never near'


def test_what_was_too_near_comes_hardly_nearer_and_can_be_led_away() -> None:
    """The tip begins 3 cm outside of its workspace."""
    config = TeleopConfig(
        tip_links=('panda_hand_tcp',), operator_yaw='fixed', workspace='-1 -1 0 0.4 1 1'
    )
    operator = Operator(config, robot_text('panda'), PANDA_READY)
    assert operator.engage().state is State.ENGAGED
    start = operator.rest(1).arms[0].pose_root_from_tip[0, 3]
    assert start > 0.43
    command = operator.move(np.array([0.3, 0.0, 0.0]), np.zeros(3), 100)
    assert command.arms[0].pose_root_from_tip[0, 3] < start + 2e-3
    operator.move(np.array([-0.3, 0.0, 0.0]), np.zeros(3), 300)
    command = operator.rest(100)
    assert command.arms[0].pose_root_from_tip[0, 3] < 0.3
    command = operator.move(np.array([0.3, 0.0, 0.0]), np.zeros(3), 400)
    assert command.arms[0].pose_root_from_tip[0, 3] < 0.4


@pytest.mark.parametrize('above', (0.05, 0.12, 0.2))
def test_an_arm_that_begins_inside_a_box_can_be_led_out_of_it(above: float) -> None:
    free = TeleopConfig(tip_links=('panda_hand_tcp',), operator_yaw='fixed')
    operator = Operator(free, robot_text('panda'), PANDA_READY)
    tip = operator.engage().arms[0].pose_root_from_tip[2, 3]
    config = replace(free, {'keep_out': f'0.2 -0.5 -0.5 1 0.5 {tip + above:.4f}'})
    operator = Operator(config, robot_text('panda'), PANDA_READY)
    assert operator.engage().state is State.ENGAGED
    operator.move(np.array([0.0, 0.0, 0.1]), np.zeros(3), 750)
    command = operator.rest(1000)
    assert command.arms[0].pose_root_from_tip[2, 3] - tip == pytest.approx(0.3, abs=0.01)


ticks = st.lists(st.floats(0.0005, 0.1), min_size=1, max_size=30)
speeds = st.lists(st.floats(-2.0, 2.0), min_size=7, max_size=7)


@pytest.fixture(scope='module')
def panda() -> ArmStep:
    config = TeleopConfig(tip_links=('panda_hand_tcp',), velocity_scale=1.0, self_distance_m=0.0)
    return ArmStep(config, robot_text('panda'), PACKAGE_PATHS)


@settings(max_examples=200)
@given(speeds, ticks)
def test_a_stop_takes_no_longer_a_way_than_is_counted_on(panda: ArmStep, velocity, lengths):
    panda.reset(np.array(PANDA_READY))
    panda.v[:] = np.clip(velocity, -panda.arm.velocity, panda.arm.velocity)
    start, v = panda.q.copy(), panda.v.copy()
    for seconds in (*lengths, *[0.1] * 10):
        before = panda.q.copy()
        panda.step(seconds)
        assert ((panda.q - before) * v >= 0.0).all(), 'a joint went back'
    assert panda.at_rest
    most = [
        stop_way(abs(speed), a, TeleopConfig().horizon_s)
        for speed, a in zip(v, panda.arm.acceleration, strict=True)
    ]
    assert (np.abs(panda.q - start) <= np.array(most) + 1e-12).all()
