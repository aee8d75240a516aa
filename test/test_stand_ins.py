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

"""What is guessed where no device is, and how devices and posture share the say."""

import math

from body_support import NATURAL_POSES
import numpy as np
import pytest

from vr_ik.calibration.calibration import Calibration
from vr_ik.config import replace, SolverConfig
from vr_ik.pipeline import Pipeline
from vr_ik.trackers.simulated_user import SimulatedUser
from vr_ik.types import TrackingFrame

THREE = ('hmd', 'l_controller', 'r_controller')
SIX = (*THREE, 'waist', 'l_foot', 'r_foot')
STEP_NS = 10_000_000


@pytest.fixture(scope='module')
def user():
    return SimulatedUser(1.75)


def settle(pipeline, roles, poses, frames=80, start=0):
    """Return the solution after a user has held still for a while."""
    for i in range(start, start + frames):
        solution = pipeline.process(TrackingFrame(1 + i * STEP_NS, roles, poses))
    return solution


def configured(**values):
    return replace(SolverConfig(), values)


@pytest.mark.parametrize('floor_m', [0.0, 0.15])
@pytest.mark.parametrize('yaw', [0.0, 2.0])
def test_guessed_feet_stand_on_the_floor_left_and_right_of_the_pelvis(user, floor_m, yaw):
    nominal = Calibration.nominal(1.75)
    pipeline = Pipeline(SolverConfig(), Calibration(nominal.proportions, nominal.mounts, floor_m))
    poses = user.device_poses(user.q_at(0.0), THREE)
    turn = np.eye(4)
    turn[:2, :2] = [[math.cos(yaw), -math.sin(yaw)], [math.sin(yaw), math.cos(yaw)]]
    q = settle(pipeline, THREE, turn @ poses).q
    model = pipeline.model
    left, right, pelvis = (model.link_pose(q, x) for x in ('l_sole', 'r_sole', 'base_link'))
    assert abs(left[2, 3] - floor_m) < 0.03
    assert abs(right[2, 3] - floor_m) < 0.03
    apart = (left - right)[:3, 3] @ pelvis[:3, 1]
    assert apart == pytest.approx(2.0 * nominal.proportions.hip_half_width, abs=0.05)


def test_a_foot_that_is_tracked_may_be_below_the_floor(user):
    """It may stand on a stair, or the floor is not where it was calibrated."""
    q = user.q_at(0.0)
    q[2] -= 0.3
    poses = user.device_poses(q, SIX)
    seen = [row for row, role in enumerate(SIX) if role != 'r_foot']
    pipeline = Pipeline(SolverConfig())
    solved = settle(pipeline, tuple(SIX[row] for row in seen), poses[seen])
    assert max(solved.position_errors.values()) < 0.005
    soles = [pipeline.model.link_pose(solved.q, link)[2, 3] for link in ('l_sole', 'r_sole')]
    assert soles[0] < -0.25
    assert soles[1] > -0.02


def test_the_pelvis_does_not_sway_with_a_hand(user):
    pipeline = Pipeline(SolverConfig())
    poses = user.device_poses(user.q_at(0.0), THREE)
    before = settle(pipeline, THREE, poses).q[:3]
    ways = []
    for i in range(40):
        poses[1, 1, 3] += 0.004 * math.cos(i)
        solution = pipeline.process(TrackingFrame(1 + (80 + i) * STEP_NS, THREE, poses))
        ways.append(np.linalg.norm(solution.q[:3] - before))
    assert max(ways) < 0.005


@pytest.mark.parametrize('sides', ['lr', 'l'])
def test_who_stands_and_swings_the_arms_keeps_hips_and_feet_still(user, sides):
    pipeline = Pipeline(SolverConfig())
    angles = dict.fromkeys(('l_elbow_flexion', 'r_elbow_flexion'), 0.6)
    points_m = []
    for i in range(360):
        swing = 0.7 * (1.0 - math.cos(2.0 * math.pi * i / 90.0))
        angles |= {f'{side}_shoulder_flexion': swing for side in sides}
        truth = user.model.configuration(angles)
        truth[:7] = user.q_at(0.0)[:7]
        frame = TrackingFrame(1 + round(i * 1e9 / 90.0), THREE, user.device_poses(truth, THREE))
        q = pipeline.process(frame).q
        links = ('base_link', 'l_ankle', 'r_ankle')
        points_m.append([pipeline.model.link_pose(q, link)[:3, 3] for link in links])
    ways_m = np.ptp(np.array(points_m)[90:], axis=0)
    assert ways_m[0].max() < 0.025
    assert ways_m[1:].max() < 0.002


def bend_deg(user, spine):
    """Return how far the spine bends when a user with a waist tracker leans."""
    lean = user.model.configuration({'lumbar_flexion': 0.5, 'thorax_flexion': 0.2})
    q = settle(Pipeline(configured(spine=spine)), SIX, user.device_poses(lean, SIX)).q
    joints = [
        i for i, n in enumerate(user.model.joint_names) if n.startswith(('lumbar', 'thorax'))
    ]
    return math.degrees(float(np.abs(q[7:][joints]).max()))


def test_spine_modes(user):
    natural, stiff, rigid = (bend_deg(user, spine) for spine in ('natural', 'stiff', 'rigid'))
    assert rigid < 1.0 < stiff < natural
    assert natural > 10.0


def test_a_device_of_no_weight_is_not_followed(user):
    poses = user.device_poses(user.q_at(0.0), SIX)
    poses[SIX.index('l_foot'), :3, 3] += (0.3, 0.1, 0.2)
    far_m = []
    for weights in ('', 'l_foot=0'):
        pipeline = Pipeline(configured(device_weights=weights))
        q, mount = settle(pipeline, SIX, poses).q, pipeline.mounts['l_foot']
        foot = pipeline.model.link_pose(q, mount.link) @ mount.pose_link_from_device
        far_m.append(np.linalg.norm((foot - poses[SIX.index('l_foot')])[:3, 3]))
    assert far_m[0] < 0.02 < 0.1 < far_m[1]


def test_feet_count_for_more_than_a_belt(user):
    poses = user.device_poses(user.q_at(0.0), SIX)
    poses[SIX.index('hmd'), 2, 3] += 0.15
    errors = settle(Pipeline(SolverConfig()), SIX, poses).position_errors
    assert errors['l_foot'] + errors['r_foot'] < 1.9 * errors['waist']


def test_a_bridged_device_gives_way_to_those_that_are_seen(user):
    pipeline = Pipeline(configured(gap_hold_s=1.0))
    poses = user.device_poses(user.q_at(0.0), SIX)
    settle(pipeline, SIX, poses)
    poses[:, :3, 3] += (0.0, 0.0, 0.03)
    seen = [row for row, role in enumerate(SIX) if role != 'waist']
    roles = tuple(SIX[row] for row in seen)
    soon = settle(pipeline, roles, poses[seen], 10, 80).position_errors['waist']
    later = settle(pipeline, roles, poses[seen], 70, 90).position_errors['waist']
    assert later > 1.2 * soon


def test_hands_behind_the_head_are_found_from_the_first_frame(user):
    truth = user.model.clamp(user.model.configuration(NATURAL_POSES['hands behind the head']))
    pipeline = Pipeline(SolverConfig())
    q = pipeline.process(TrackingFrame(1, SIX, user.device_poses(truth, SIX))).q
    for link in ('l_forearm', 'r_forearm'):
        apart = (pipeline.model.link_pose(q, link) - user.model.link_pose(truth, link))[:3, 3]
        assert np.linalg.norm(apart) < 0.06
