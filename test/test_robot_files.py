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


"""The robots of config/robots with their real descriptions: they load, engage and follow."""

from pathlib import Path

import numpy as np
import pytest

from vr_ik.config_file import load_config
from vr_ik.io.packages import read_description, share_folders
from vr_ik.kinematics.model import RobotModel
from vr_ik.math.rotations import exp_rotation
from vr_ik.simulation.robot_config import RobotConfig
from vr_ik.teleop.audit import CommandAudit, Limits
from vr_ik.teleop.node_config import TeleopNodeConfig
from vr_ik.teleop.session import TeleopSession
from vr_ik.teleop.types import ArmInput, RobotState, State, TeleopInputs

FOLDER = Path(__file__).parent.parent / 'config' / 'robots'
ARMS = sorted(p.stem for p in FOLDER.glob('*.yaml') if 'teleop_node' in p.read_text())
TICK_NS = 4_000_000
SECONDS = 6.0


class Robot:
    """A robot that is where it was commanded to be a tick ago."""

    def __init__(self, name: str) -> None:
        file = FOLDER / f'{name}.yaml'
        self.config = load_config(TeleopNodeConfig, file, 'teleop_node')
        self.simulated = load_config(RobotConfig, file, 'simulated_robot_node')
        text = read_description(self.simulated.urdf)
        self.model = RobotModel.from_urdf(text)
        self.session = TeleopSession(self.config, text, tuple(share_folders()))
        start = self.model.configuration(self.simulated.initial_positions())
        assert np.array_equal(start, self.model.clamp(start))
        self.positions = dict(zip(self.model.joint_names, start.tolist(), strict=True))
        config = self.config
        limits = Limits.of(config, self.model, self.session.joint_names)
        self.audit = CommandAudit(limits, config.rate_hz, config.horizon_s, config.longest_tick_s)
        self.now_ns = 10**18

    def tick(self, hands: list[np.ndarray], clutch: float):
        """Go through a tick with the hands at poses."""
        self.now_ns += TICK_NS
        arms = tuple(ArmInput(pose, self.now_ns, clutch) for pose in hands)
        state = RobotState(self.now_ns, self.positions)
        command = self.session.step(
            self.now_ns, TeleopInputs(arms, True, np.eye(4), state), self.now_ns
        )
        if command.positions is not None:
            assert command.velocities is not None
            self.audit.add(self.now_ns, command.positions, command.velocities)
            self.positions.update(
                zip(command.joint_names, command.positions.tolist(), strict=True)
            )
        return command


def hand(time_s: float, side: float) -> np.ndarray:
    """Return a hand's pose on its way: a loop of 16 cm with a turn of 20 degrees, from rest."""
    u = time_s / SECONDS
    angle = 2.0 * np.pi * u * u * (3.0 - 2.0 * u)
    pose = np.eye(4)
    way = (0.04 * np.sin(angle), 0.04 * side * np.sin(2 * angle), 0.08 * (1.0 - np.cos(angle)))
    pose[:3, 3] = np.array((0.4, side * 0.25, 1.2)) + way
    pose[:3, :3] = exp_rotation(np.radians(20.0) * np.sin(angle) * np.array((0.6, 0.0, 0.8)))
    return pose


@pytest.fixture(scope='module', params=ARMS)
def robot(request) -> Robot:
    return Robot(request.param)


def test_there_are_robots_of_six_and_seven_joints_and_of_two_arms():
    assert {'panda', 'ur5', 'ur10', 'kinova', 'xarm7', 'baxter'} <= set(ARMS)


def test_the_controllers_of_both_nodes_fit_together(robot: Robot):
    joints_of = robot.config.joints_of_controllers(robot.session.joint_names)
    simulated = robot.simulated.joints_of()
    assert joints_of.items() <= simulated.items()
    for arm, joint in enumerate(robot.config.gripper_joints):
        if joint:
            assert simulated[str(robot.config.of_arm('gripper_controllers', arm))] == (joint,)


def test_the_robot_engages_and_follows_within_its_limits(robot: Robot):
    """Within 2 mm and 0.5 degrees of the hand all the way, and at rest in the end."""
    arms, sides = robot.config.arms, (1.0, -1.0) if robot.config.arms == 2 else (-1.0,)
    start = [hand(0.0, side) for side in sides]
    for _ in range(3):
        robot.tick(start, 0.0)
    worst = np.zeros(2)
    for i in range(round(SECONDS * 1e9 / TICK_NS)):
        command = robot.tick([hand(i * TICK_NS * 1e-9, side) for side in sides], 1.0)
        assert command.state is State.ENGAGED, command.detail
        for report in command.arms:
            errors = (report.position_error_m, report.rotation_error_rad)
            worst = np.maximum(worst, errors)
    assert worst[0] < 2e-3, worst
    assert worst[1] < np.radians(0.5), worst
    for _ in range(200):
        command = robot.tick([hand(SECONDS, side) for side in sides], 0.0)
    assert command.state is State.HOLDING
    robot.audit.end()
    assert not +robot.audit.violations, (robot.audit.violations, robot.audit.worst)
    assert len(command.arms) == arms
