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

"""Real arms follow a hand, keep their limits, and keep clear of edges, boxes and themselves."""

import numpy as np
import pytest
from robots import Oracle, PACKAGE_PATHS
from teleop_session_support import hand_path, Operator, PANDA, PANDA_READY, robot_text

from vr_ik.config import replace
from vr_ik.errors import VrIkError
from vr_ik.math.rotations import exp_rotation, log_rotation
from vr_ik.teleop.arm_step import ArmStep
from vr_ik.teleop.collision import distances_at
from vr_ik.teleop.config import TeleopConfig
from vr_ik.teleop.session import TeleopSession
from vr_ik.teleop.types import State
from vr_ik.types import Array

# Robot, tip, posture to begin at, and the share of the hand's path that its joints can keep up
# with: the Kinova's are slow.
ROBOTS = {
    'panda': ('panda_hand_tcp', PANDA_READY, 1.0),
    'ur3_robot': ('tool0', (0.3, -1.2, 1.6, -1.9, -1.57, 0.2), 0.6),
    'ur5_robot': ('tool0', (0.3, -1.2, 1.6, -1.9, -1.57, 0.2), 1.0),
    'ur10_robot': ('tool0', (0.3, -1.2, 1.6, -1.9, -1.57, 0.2), 1.0),
    'kinova': ('j2s6s200_end_effector', (0.2, 3.4, 1.6, 0.3, 1.8, 0.5), 0.25),
    'xarm7': ('link7', (0.0, -0.3, 0.0, 1.0, 0.2, 1.2, 0.0), 1.0),
    'z1': ('link06', (0.0, 1.3, -1.2, 0.2, 0.1, 0.0), 0.85),
}
FRAME_TICKS = 2
"""The tracker has a frame for every second tick."""


def config_of(tip: str) -> TeleopConfig:
    return TeleopConfig(
        tip_links=(tip,), velocity_scale=1.0, acceleration=15.0, operator_yaw='fixed'
    )


def operator_of(name: str, **values: object) -> Operator:
    tip, ready, _ = ROBOTS[name]
    return Operator(replace(config_of(tip), values), robot_text(name), ready)


def moved(start: Array, offset: Array) -> Array:
    """Return a pose moved and turned in world axes."""
    there = start.copy()
    there[:3, 3] += offset[:3]
    there[:3, :3] = exp_rotation(offset[3:]) @ start[:3, :3]
    return there


def tip_errors(name: str, operator: Operator, path: Array) -> Array:
    """Lead an arm along a path and return the tip's errors [m, rad], by Pinocchio."""
    tip, ready, _ = ROBOTS[name]
    oracle = Oracle(name, floating_base=False)
    model, names = oracle.model, operator.session.joint_names
    joints = dict(zip(names, ready, strict=True))
    oracle.update(model.configuration(joints))
    tip_start, hand_start = oracle.pose(tip), operator.hands[0].copy()
    errors = []
    for offset in path:
        operator.hands[0] = moved(hand_start, offset)
        command = operator.tick()
        assert command.state is State.ENGAGED
        assert command.positions is not None
        oracle.update(model.configuration(dict(zip(names, command.positions, strict=True))))
        there, wanted = oracle.pose(tip), moved(tip_start, offset)
        turn = log_rotation(np.ascontiguousarray(wanted[:3, :3] @ there[:3, :3].T))
        errors.append((np.linalg.norm(wanted[:3, 3] - there[:3, 3]), np.linalg.norm(turn)))
    return np.array(errors)


@pytest.mark.parametrize('name', ROBOTS)
def test_arm_follows_the_hand(name: str) -> None:
    operator = operator_of(name)
    operator.frame_ticks = FRAME_TICKS
    assert operator.engage().state is State.ENGAGED
    path = ROBOTS[name][2] * hand_path(8.0, seed=3)
    errors = tip_errors(name, operator, path)
    assert errors[:, 0].max() < 2e-3
    assert np.degrees(errors[:, 1].max()) < 0.5


def test_the_path_is_a_brisk_one() -> None:
    speeds = np.linalg.norm(np.diff(hand_path(8.0, seed=3), axis=0)[:, :3], axis=1) / 0.004
    assert speeds.max() > 0.35


@pytest.mark.parametrize('name', ('panda', 'ur5_robot', 'kinova'))
def test_what_is_out_of_reach_is_waited_for_at_rest(name: str) -> None:
    operator = operator_of(name)
    operator.engage()
    operator.move(np.array([0.5, 0.1, 0.2]), np.zeros(3), 700)
    command = operator.rest(2500)
    assert command.arms[0].position_error_m > 0.3
    assert np.abs(np.array(command.velocities)).max() < 0.02
    operator.move(np.array([-0.5, -0.1, -0.2]), np.zeros(3), 700)
    command = operator.rest(2500)
    assert command.arms[0].position_error_m < 2e-3
    assert command.arms[0].rotation_error_rad < 0.01


def test_wrist_singularity_is_passed_through() -> None:
    operator = operator_of('ur5_robot')
    operator.robot = np.array([0.3, -1.2, 1.6, -1.9, -0.3, 0.2])
    operator.engage()
    nearest = np.inf
    for _ in range(400):
        # The fifth joint's axis, about which the tool turns through the singularity.
        command = operator.move(np.zeros(3), np.array([0.0, 0.0, 0.8]), 1)
        nearest = min(nearest, command.arms[0].singularity)
    command = operator.rest(1000)
    assert nearest < 0.1
    assert command.state is State.ENGAGED
    assert command.arms[0].position_error_m < 2e-3
    assert command.arms[0].rotation_error_rad < 0.01


def test_tip_stays_in_its_workspace() -> None:
    operator = operator_of('panda', workspace='0.2 -0.3 0.3 0.6 0.3 0.8')
    operator.engage()
    rng = np.random.default_rng(5)
    for _ in range(40):
        velocity = rng.uniform(-1.0, 1.0, 3)
        for _ in range(60):
            at = operator.move(velocity, np.zeros(3), 1).arms[0].pose_root_from_tip[:3, 3]
            assert (at >= (0.2, -0.3, 0.3)).all() and (at <= (0.6, 0.3, 0.8)).all()


def violently(operator: Operator, seed: int, rounds: int = 40) -> list[Array]:
    """Wave the hand about; return all commands."""
    rng = np.random.default_rng(seed)
    commands = []
    for _ in range(rounds):
        velocity, turn = rng.uniform(-0.8, 0.8, 3), rng.uniform(-1.5, 1.5, 3)
        for _ in range(60):
            command = operator.move(velocity, turn, 1)
            commands.append(np.array(command.positions))
    return commands


def arm_of(operator: Operator) -> ArmStep:
    return ArmStep(operator.config, robot_text('panda'), PACKAGE_PATHS)


def test_parts_keep_their_distance_from_each_other() -> None:
    operator = operator_of('panda', self_distance_m=0.03, jump_deg=180.0)
    operator.engage()
    arm = arm_of(operator)
    commands = np.array(violently(operator, 2))
    distances = distances_at(arm.collisions, arm.arm, arm.collisions.pairs, commands)
    assert distances.min() >= 0.03
    assert distances.min() < 0.05, 'they were never near each other'


def test_no_part_enters_a_box_to_keep_out_of() -> None:
    box = np.array([[0.35, 0.05, -0.1], [0.9, 0.9, 0.45]])
    text = ' '.join(str(number) for number in box.ravel())
    operator = operator_of('panda', keep_out=text)
    operator.engage()
    arm = arm_of(operator)
    samples = np.linspace(0.0, 1.0, 15)
    nearest = np.inf
    # Down and aside, into the box: without it the tip would end deep inside.
    operator.move(np.array([0.1, 0.4, -0.2]), np.zeros(3), 200)
    commands = [operator.move(np.array([0.1, 0.3, -0.2]), np.zeros(3), 1) for _ in range(150)]
    positions = [np.array(command.positions) for command in commands]
    assert commands[-1].arms[0].position_error_m > 0.1
    for q in [*positions, *violently(operator, 4)[::3]]:
        poses = [arm.arm.model.link_pose(q, f'panda_link{i}') for i in range(1, 8)]
        for body, capsule in zip(arm.collisions.bodies, arm.collisions.capsules, strict=True):
            if body < 0:
                continue
            turned = arm.arm.model.placement(f'panda_link{body + 1}').pose_body_from_frame
            pose = poses[body] @ np.linalg.inv(turned)
            points = capsule[:3] + samples[:, None] * capsule[3:6]
            points = points @ pose[:3, :3].T + pose[:3, 3]
            outside = np.maximum(points - box[1], 0.0) + np.minimum(points - box[0], 0.0)
            distance = np.linalg.norm(outside, axis=1).min() - capsule[6]
            nearest = min(nearest, distance)
    assert nearest >= 0.0
    assert nearest < 0.02, 'the arm was never near the box'


def test_a_table_under_the_base_slows_nobody_who_goes_above_it() -> None:
    """The capsules of a UR5's shoulder and upper arm reach into it, and turn about its normal."""
    commands = []
    for box in ('', '-1 -1 -0.5 1 1 0'):
        operator = Operator(
            TeleopConfig(tip_links=('tool0',), operator_yaw='fixed', keep_out=box),
            robot_text('ur5_robot'),
            (0.0, -1.8, 1.8, -1.571, -1.571, 0.0),
        )
        assert operator.engage().state is State.ENGAGED
        speeds = 0.5 * np.cos(3.0 * 0.004 * np.arange(300))
        moves = [operator.move(np.array([0.0, v, 0.0]), np.zeros(3), 1) for v in speeds]
        commands.append(np.array([command.positions for command in moves]))
    np.testing.assert_allclose(commands[1], commands[0], atol=1e-3)


@pytest.mark.parametrize('side', (1.0, -1.0))
def test_elbow_goes_to_the_side_of_the_operators_and_the_tip_stays(side: float) -> None:
    config = replace(config_of('panda_hand_tcp'), {'elbow_links': ('panda_link4',)})
    arm = ArmStep(config, robot_text('panda'), PACKAGE_PATHS)
    arm.reset(np.array(PANDA_READY))
    tip = arm.tip_pose(0)
    for _ in range(2000):
        arm.lead_arm(0, tip, np.zeros(6), np.array([-0.2, side * 0.3, 0.1]))
        arm.step(0.004)
        assert arm.errors(0)[0] < 1e-3
    elbow = arm.arm.model.link_pose(arm.q, 'panda_link4')[:3, 3]
    assert side * elbow[1] > 0.1


def test_two_arms_follow_their_own_hands() -> None:
    config = TeleopConfig(
        tip_links=('left_gripper', 'right_gripper'),
        device_frames=('l_controller', 'r_controller'),
        operator_yaw='fixed',
        velocity_scale=1.0,
    )
    bent = (0.0, -0.5, 0.0, 1.2, 0.0, 0.9, 0.0)
    operator = Operator(config, robot_text('baxter'), bent + bent)
    operator.engage()
    before = operator.rest(1).arms
    for k in range(200):
        operator.hands[0][0, 3] += 0.0005
        operator.hands[1][2, 3] += 0.0005 if k < 100 else 0.0
        command = operator.tick()
    command = operator.rest(200)
    ways = [
        after.pose_root_from_tip[:3, 3] - arm.pose_root_from_tip[:3, 3]
        for arm, after in zip(before, command.arms, strict=True)
    ]
    np.testing.assert_allclose(ways[0], (0.1, 0.0, 0.0), atol=1e-3)
    np.testing.assert_allclose(ways[1], (0.0, 0.0, 0.05), atol=1e-3)
    operator.clutches = [1.0, 0.0]
    command = operator.move(np.array([0.0, 0.0, 0.1]), np.zeros(3), 200)
    assert [arm.following for arm in command.arms] == [True, False]
    assert command.state is State.ENGAGED


@pytest.mark.parametrize(
    ('values', 'text'),
    (
        ({'tip_links': ('panda_nose',)}, "'panda_nose'.*panda_hand"),
        ({'base_link': 'panda_link9'}, 'panda_link9'),
        ({'base_link': 'panda_hand'}, 'No joint moves'),
        ({'tip_links': ('panda_link2',), 'base_link': 'panda_link4'}, 'not beyond'),
        ({'elbow_links': ('panda_link0',)}, 'elbow link'),
        ({'gripper_joints': ('panda_thumb',)}, "'panda_thumb'"),
        ({'limit_margin': 0.5, 'tip_links': ('panda_leftfinger',)}, 'no range'),
    ),
)
def test_what_does_not_fit_the_robot_is_named(values, text: str) -> None:
    with pytest.raises(VrIkError, match=text):
        TeleopSession(replace(PANDA, values), robot_text('panda'), PACKAGE_PATHS)
