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

"""Arms that were led out of reach come back the way they went, their elbows on the same side."""

import math

import numpy as np
import pytest
from robots import PACKAGE_PATHS, urdf_path
from teleop_session_support import PANDA, robot_text

from vr_ik.cli.robot_files import robot_file, robot_names
from vr_ik.config_file import load_config
from vr_ik.evaluation.within_reach import Wanted, within_reach
from vr_ik.io.packages import read_description, share_folders
from vr_ik.kinematics.model import RobotModel
from vr_ik.math.rotations import exp_rotation
from vr_ik.simulation.robot_config import RobotConfig
from vr_ik.teleop.arm_step import ArmStep
from vr_ik.teleop.elbows import Elbow, find_elbows
from vr_ik.teleop.node_config import TeleopNodeConfig
from vr_ik.types import Array

PANDA_BENT = (0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785)
TICK_S, SPEED, TURN, WAYS = 0.004, 0.5, 1.0, 30
# What an arm that was stuck takes to come back, at most.
PATIENCE_S = 20.0


class Led:
    """A robot of config/robots, one of whose tips is led; all it does is looked at."""

    def __init__(self, name: str) -> None:
        file = robot_file(name)
        config = load_config(TeleopNodeConfig, file, 'teleop_node')
        simulated = load_config(RobotConfig, file, 'simulated_robot_node')
        text = read_description(simulated.urdf)
        self.arm, self.arms = ArmStep(config, text, tuple(share_folders())), config.arms
        initial = simulated.initial_positions()
        self.start = np.array([initial.get(joint, 0.0) for joint in self.arm.joint_names])
        self.elbows = find_elbows(self.arm.arm.model, self.arm.arm.tips)
        self.most = 0.0

    def side(self) -> list[bool]:
        """Return on which side of the stretched arm each elbow is."""
        return [math.sin(self.arm.q[e.joint] - e.stretched) > 0.0 for e in self.elbows]

    def go(self, i: int, target: Array, twist: Array) -> None:
        """Lead a tip for a tick."""
        arm, before = self.arm, self.arm.v.copy()
        arm.lead_arm(i, target, twist, None)
        assert arm.step(TICK_S)
        model = arm.arm
        assert (np.abs(arm.v) <= model.velocity + 1e-9).all()
        assert (np.abs(arm.v - before) <= TICK_S * model.acceleration + 1e-9).all()
        assert (arm.q >= model.lower).all() and (arm.q <= model.upper).all()

    def out_and_back(self, i: int, way: Array, turn: Array) -> None:
        """Lead a tip from the start along a straight way, wait, and lead it back the same way."""
        self.arm.reset(self.start)
        tip, length = self.arm.tip_pose(i), float(np.linalg.norm(way))
        ticks = round(length / SPEED / TICK_S)
        twist = np.concatenate((way, turn)) * SPEED / length
        for k in [*range(ticks), *[ticks] * 250, *range(ticks, 0, -1)]:
            target = tip.copy()
            target[:3, 3] += k / ticks * way
            target[:3, :3] = exp_rotation(k / ticks * turn) @ tip[:3, :3]
            self.go(i, target, twist if k < ticks else np.zeros(6))
            self.most = max(self.most, self.arm.errors(i)[0])
        for _ in range(round(PATIENCE_S / TICK_S)):
            self.go(i, tip, np.zeros(6))
            if self.arm.errors(i)[0] < 1e-3 and self.arm.errors(i)[1] < 5e-3:
                break


def straight_way(seed: int, turned: float) -> tuple[Array, Array]:
    """Return a way somewhere [m], and the turn on it [rad]."""
    rng = np.random.default_rng(seed)
    way, turn = rng.normal(size=3), rng.normal(size=3)
    turn *= turned / np.linalg.norm(turn)
    return way * rng.uniform(0.3, 1.0) / np.linalg.norm(way), turn


@pytest.mark.parametrize('name', robot_names())
def test_an_arm_led_out_of_reach_and_back_the_same_way_comes_back(name: str) -> None:
    led = Led(name)
    led.arm.reset(led.start)
    sides = led.side()
    assert len(sides) == led.arms
    stuck = []
    for seed in range(WAYS):
        way, turn = straight_way(seed, (seed + 1) % 2 * TURN)
        led.out_and_back(seed % led.arms, way, turn)
        error_m, error_rad = led.arm.errors(seed % led.arms)
        if error_m > 3e-3 or error_rad > 0.01:
            stuck.append((seed, error_m, error_rad))
        assert led.side() == sides
    assert not stuck
    assert led.most > 0.3, 'it was never out of reach'


@pytest.mark.parametrize(('seed', 'turned'), [(26, 0.0), (19, 1.0)])
def test_the_judge_of_what_is_within_reach_comes_back_too(seed: int, turned: float) -> None:
    arm, q = ArmStep(PANDA, robot_text('panda'), PACKAGE_PATHS), np.array(PANDA_BENT)
    arm.reset(q)
    way, turn = straight_way(seed, turned)
    ticks = round(np.linalg.norm(way) / SPEED / TICK_S)
    shares = np.concatenate((np.linspace(0, 1, ticks), np.linspace(1, 0, ticks), np.zeros(800)))
    poses = np.tile(arm.tip_pose(0), (len(shares), 1, 1, 1))
    poses[:, 0, :3, 3] += shares[:, None] * way
    for pose, share in zip(poses[:, 0], shares, strict=True):
        pose[:3, :3] = exp_rotation(share * turn) @ pose[:3, :3]
    times_s = np.arange(len(shares), dtype=float) * TICK_S
    reach = within_reach(PANDA, arm, q, Wanted(times_s, poses, times_s, poses))
    assert not reach.reachable[ticks]
    assert reach.reachable[-1]


@pytest.mark.parametrize(
    ('robot', 'tip', 'joint', 'shoulder', 'wrist'),
    [
        ('panda', 'panda_hand_tcp', 'panda_joint4', 'panda_link2', 'panda_link5'),
        ('ur5_robot', 'tool0', 'elbow_joint', 'upper_arm_link', 'wrist_1_link'),
        ('xarm7', 'link_eef', 'joint4', 'link2', 'link5'),
        ('baxter', 'left_gripper', 'left_e1', 'left_lower_shoulder', 'left_lower_forearm'),
    ],
)
def test_an_elbow_is_stretched_where_the_wrist_is_farthest(robot, tip, joint, shoulder, wrist):
    model = RobotModel.from_urdf(urdf_path(robot))
    (elbow,) = find_elbows(model, [tip])
    assert elbow.joint == model.joint_index(joint)
    q = model.random(np.random.default_rng(1))

    def reach(angle: float) -> float:
        q[elbow.joint] = angle
        poses = [model.link_pose(q, link) for link in (shoulder, wrist)]
        return float(np.linalg.norm(poses[0][:3, 3] - poses[1][:3, 3]))

    farthest = reach(elbow.stretched)
    for angle in np.linspace(0.1, math.pi, 20):
        assert reach(elbow.stretched + angle) < farthest
        # Both sides are alike, but for 1 cm between two axes of Baxter's wrist.
        other = reach(elbow.stretched - angle)
        assert reach(elbow.stretched + angle) == pytest.approx(other, abs=5e-3)


@pytest.mark.parametrize(
    ('angle', 'limits', 'kept'),
    [
        (-2.0, (-3.0, -0.07), (-3.0, -0.6)),
        # It may come from the side where there is hardly room.
        (-0.2, (-3.0, -0.07), (-3.0, -0.07)),
        (2.0, (-3.1, 3.1), (-0.4, 2.541592653589793)),
        (-2.0, (-3.1, 3.1), (-3.1, -0.6)),
    ],
)
def test_an_elbow_keeps_its_side_if_there_is_room_on_it(angle, limits, kept) -> None:
    assert Elbow(0, -0.5).side(angle, *limits) == pytest.approx(kept)
