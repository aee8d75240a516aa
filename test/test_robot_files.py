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

from vr_ik.cli.robot_files import robot_file, robot_names
from vr_ik.evaluation.hand_following import HandFollowing, HandPath
from vr_ik.math.rotations import poses_from_quaternions
from vr_ik.teleop.arm_model import arm_model
from vr_ik.trackers.simulated_user import SimulatedUser

ARMS = robot_names()
RECORD = Path(__file__).parent / 'data' / 'operator_hand.csv'
# The noise in it, and when in the user's motion it begins: fitted, as the record does not tell.
NOISE_M, STARTED_S = 2e-4, 2.855609
# Which part of the path is within reach at least. The joints of Kinova and Baxter are too slow
# for a person's hand most of the time, even for the half of its way that they go.
WITHIN_REACH = dict.fromkeys(ARMS, 0.6) | {'kinova': 0.35, 'baxter': 0.28}

# Baxter is beyond it in one tick, at which the quickest follower needs 95 % of it.
WORST_DEG = dict.fromkeys(ARMS, 0.5) | {'baxter': 0.51}


@pytest.fixture(scope='module', params=ARMS)
def robot(request) -> HandFollowing:
    return HandFollowing(robot_file(request.param))


def recorded_path(robot: HandFollowing) -> HandPath:
    """Return the recorded right hand, for both arms where there are two."""
    rows = np.loadtxt(RECORD, delimiter=',', comments='#', skiprows=4)
    head, hand = (
        poses_from_quaternions(rows[:, i : i + 3].copy(), rows[:, i + 3 : i + 7].copy())
        for i in (1, 8)
    )
    user = SimulatedUser(1.75, 'teleoperation')
    times_s = rows[:, 0] + STARTED_S
    true = np.array([user.device_poses(user.q_at(t), ('r_controller',))[0] for t in times_s])
    # Nothing but the noise is between them: it is this motion, at this time.
    assert (hand - true)[:, :3, 3].std() < 1.1 * NOISE_M
    arms = robot.config.arms
    return HandPath(RECORD.stem, rows[:, 0], (hand,) * arms, head, (true,) * arms)


def test_there_are_robots_of_six_and_seven_joints_and_of_two_arms():
    assert {'panda', 'ur5', 'ur10', 'kinova', 'xarm7', 'baxter'} <= set(ARMS)


def test_the_controllers_of_both_nodes_fit_together(robot: HandFollowing):
    led = arm_model(robot.config, robot.urdf_text).model.joint_names
    joints_of = robot.config.joints_of_controllers(led)
    simulated = robot.simulated.joints_of()
    assert joints_of.items() <= simulated.items()
    for arm, joint in enumerate(robot.config.gripper_joints):
        if joint:
            assert simulated[str(robot.config.of_arm('gripper_controllers', arm))] == (joint,)


def test_the_initial_posture_is_one_of_the_robot(robot: HandFollowing):
    start = robot.robot.configuration(robot.simulated.initial_positions())
    np.testing.assert_array_equal(start, robot.robot.posture(robot.simulated.initial_positions()))


def test_the_robot_follows_a_recorded_hand_within_its_limits(robot: HandFollowing, request):
    """Within 2 mm and 0.5 degrees of the true hand wherever it is within reach, with no delay."""
    followed = robot.follow(recorded_path(robot))
    name = request.node.callspec.params['robot']
    assert followed.stops == 0
    reachable = followed.reach.reachable
    assert reachable.mean() >= WITHIN_REACH[name]
    assert followed.errors_m[reachable].max() < 2e-3
    assert np.degrees(followed.errors_rad[reachable].max()) < WORST_DEG[name]
    assert not +followed.audit.violations, (followed.audit.violations, followed.audit.worst)
    assert followed.audit.commands > 4000
