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

"""Joints that are not led: they are where the robot says, and nobody is led where they are not."""

import numpy as np
import pytest
from teleop_session_support import robot_text

from vr_ik.kinematics.model import RobotModel
from vr_ik.teleop.arm_model import arm_model
from vr_ik.teleop.config import TeleopConfig
from vr_ik.teleop.session import TeleopSession
from vr_ik.teleop.types import Reason, RobotState
from vr_ik.teleop.watch import RobotWatch

RIGHT = TeleopConfig(tip_links=('right_gripper',), self_distance_m=0.0)
BENT = {'left_s0': 0.4, 'left_s1': -0.9, 'left_e1': 1.3, 'head_pan': 0.2}


@pytest.fixture(scope='module')
def baxter() -> str:
    return robot_text('baxter')


def test_the_other_arm_is_where_it_was_measured(baxter: str) -> None:
    whole = RobotModel.from_urdf(baxter)
    arm = arm_model(RIGHT, baxter, BENT)
    q = np.linspace(-0.2, 0.3, arm.model.nv)
    led = dict(zip(arm.model.joint_names, q.tolist(), strict=True))
    truth = whole.configuration(led | BENT)
    for link in ('left_gripper', 'right_gripper', 'left_lower_forearm', 'head'):
        np.testing.assert_allclose(
            arm.model.link_pose(q, link), whole.link_pose(truth, link), atol=1e-12
        )


def test_what_an_arm_carries_and_what_is_led_is_not_among_the_others(baxter: str) -> None:
    held = arm_model(RIGHT, baxter, BENT | {'left_w0': np.nan}).held
    assert BENT.items() <= held.items()
    assert held['left_w0'] == 0.0
    assert not any(name.startswith(('right_', 'r_gripper')) for name in held)


@pytest.mark.parametrize('command', (None, np.zeros(7)))
def test_another_joint_that_is_elsewhere_is_found(baxter: str, command: np.ndarray | None) -> None:
    arm = arm_model(RIGHT, baxter, BENT)
    watch = RobotWatch(RIGHT, arm)
    resting = dict.fromkeys(arm.model.joint_names, 0.0)

    def reason(others: dict[str, float]) -> Reason:
        return watch.check(RobotState(0, resting | others), 0, command).reason

    assert reason(BENT) is Reason.NONE
    assert reason({}) is Reason.NONE, 'who is silent is taken at his word'
    assert reason(BENT | {'left_e1': 1.31}) is Reason.NONE
    assert reason(BENT | {'left_e1': 1.33}) is Reason.OTHERS_MOVED
    assert reason(BENT | {'r_gripper_l_finger_joint': 0.02}) is Reason.NONE


def test_a_session_knows_whether_it_is_outdated(baxter: str) -> None:
    assert TeleopSession(RIGHT, baxter).is_outdated(BENT)
    assert not TeleopSession(RIGHT, baxter, (), BENT).is_outdated(BENT)
