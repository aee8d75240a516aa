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

"""What the filters are for: a body that is as calm as its wearer, though devices tremble."""

import math

import numpy as np
import pytest

from vr_ik.config import SolverConfig
from vr_ik.config_fields import from_mapping
from vr_ik.math.rotations import rotation_from_rpy
from vr_ik.pipeline import Pipeline
from vr_ik.pipeline_parts import smoothers
from vr_ik.trackers.simulated import SIMULATED_ROLES
from vr_ik.trackers.simulated_user import SimulatedUser
from vr_ik.types import TrackingFrame

RATE_HZ = 90.0
FRAMES = 360


@pytest.fixture(scope='module')
def user():
    return SimulatedUser(1.75)


def frames_of(user, shaking='', from_s=0.0):
    """Return four seconds of his motion; one device shakes at 30 Hz, by 1 mm and 0.6 deg."""
    frames = []
    for i in range(FRAMES):
        t = i / RATE_HZ
        poses = user.device_poses(user.q_at(from_s + t), SIMULATED_ROLES)
        if shaking:
            shake = math.sin(2.0 * math.pi * 30.0 * t)
            row = SIMULATED_ROLES.index(shaking)
            poses[row, :3, 3] += 1e-3 * shake
            poses[row, :3, :3] @= rotation_from_rpy(0.01 * shake, 0.01 * shake, 0.0)
        frames.append(TrackingFrame(1 + int(t * 1e9), SIMULATED_ROLES, poses))
    return frames


def jerk(pipeline, frames, link):
    """Return the mean jerk [m/s^3] of a link, half a second after the start."""
    solved = [pipeline.process(frame).q for frame in frames]
    places = np.array([pipeline.model.link_pose(q, link)[:3, 3] for q in solved])
    return np.linalg.norm(np.diff(places[45:], n=3, axis=0), axis=1).mean() * RATE_HZ**3


@pytest.mark.parametrize(
    ('device', 'link', 'share'), [('l_foot', 'l_shin', 0.4), ('r_controller', 'r_forearm', 0.55)]
)
def test_a_device_that_trembles_shakes_the_body_half_as_much(user, device, link, share):
    calm, trembling = frames_of(user), frames_of(user, device)
    config, unfiltered = SolverConfig(), SolverConfig(vibration_hz=0.0)
    added = jerk(Pipeline(config), trembling, link) - jerk(Pipeline(config), calm, link)
    passed = jerk(Pipeline(unfiltered), trembling, link) - jerk(Pipeline(unfiltered), calm, link)
    assert 0.0 < added < share * passed


@pytest.mark.parametrize('setting', ['vibration_hz', 'smoothing_hz'])
def test_each_filter_can_be_switched_off_and_set(setting):
    without = from_mapping(SolverConfig, {setting: 0.0})
    both, one = (
        [type(smoother).__name__ for smoother in smoothers(config, ('hmd',))]
        for config in (SolverConfig(), without)
    )
    assert both == ['VibrationFilter', 'OneEuro']
    assert len(one) == 1 and set(one) < set(both)


def test_a_lower_frequency_keeps_more_out(user):
    trembling = frames_of(user, 'l_foot')
    jerks = [
        jerk(Pipeline(SolverConfig(vibration_hz=hz)), trembling, 'l_shin')
        for hz in (5.0, 10.0, 30.0)
    ]
    assert jerks[0] < 0.9 * jerks[1] < 0.8 * jerks[2]


def test_turns_of_straps_are_calmed_more_than_those_of_hands_and_head():
    roles = ('hmd', 'waist', 'l_controller', 'l_foot', 'r_elbow')
    (vibration,) = smoothers(SolverConfig(smoothing_hz=0.0), roles)
    left = np.zeros(len(roles))
    for i in range(180):
        poses = np.tile(np.eye(4), (len(roles), 1, 1))
        poses[:, :3, :3] = rotation_from_rpy(0.0, 0.0, 0.01 * math.sin(2.1 * i))
        vibration.smooth(1.0 / RATE_HZ, np.ones(len(roles)), poses)
        left = np.maximum(left, np.abs(poses[:, 1, 0])) if i > 90 else left
    held, strapped = left[[0, 2]], left[[1, 3, 4]]
    assert np.ptp(held) == np.ptp(strapped) == 0.0
    assert strapped[0] < 0.8 * held[0]


def test_after_a_reset_devices_are_taken_as_they_are(user):
    pipeline = Pipeline(SolverConfig())
    for frame in frames_of(user)[:50]:
        pipeline.process(frame)
    pipeline.reset()
    elsewhere = frames_of(user, from_s=9.0)[60]
    pipeline.process(elsewhere)
    rows = [pipeline.roles.index(role) for role in SIMULATED_ROLES]
    assert np.array_equal(pipeline.targets[rows], elsewhere.poses)


@pytest.mark.parametrize('far_m', [1e5, 1e80, 1e160, 1e300])
def test_a_device_that_was_nowhere_on_earth_is_followed_again(user, far_m):
    pipeline = Pipeline(SolverConfig())
    row = SIMULATED_ROLES.index('l_controller')
    for i, frame in enumerate(frames_of(user)):
        if 60 <= i < 90:
            frame.poses[row, 0, 3] = far_m
        solution = pipeline.process(frame)
        assert np.isfinite(solution.q).all()
    assert solution.position_errors['l_controller'] < 0.01


def test_a_stall_leaves_no_wrong_speed():
    """Frames stay away for a while, and come again: what has gone on meanwhile is not guessed."""
    (vibration,) = smoothers(SolverConfig(smoothing_hz=0.0), ('waist',))
    for i in range(90):
        poses = np.eye(4)[None].copy()
        # It turns at first, and rests after the stall.
        poses[0, :3, :3] = rotation_from_rpy(0.0, 0.0, math.remainder(min(i, 44) / 6.0, math.tau))
        given = poses.copy()
        seconds = 0.4 + 1.0 / RATE_HZ if i == 45 else 1.0 / RATE_HZ
        vibration.smooth(seconds, np.ones(1), poses)
        assert np.allclose(poses, given, atol=1e-9)
