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

"""What no device tells of, over time: starts, losses, exchanges, resets, steady walks."""

import math

import numpy as np
from posture_support import (
    ANKLES,
    bowing,
    FOUR,
    going_down,
    off_m,
    pelvis_pitch_deg,
    RATE_HZ,
    sitting,
    solve,
    squatting,
    THREE,
)
import pytest

from vr_ik.calibration.calibration import Calibration
from vr_ik.config import SolverConfig
from vr_ik.pipeline import Pipeline
from vr_ik.trackers.simulated_user import SimulatedUser
from vr_ik.types import TrackingFrame


@pytest.fixture(scope='module')
def user():
    return SimulatedUser(1.75)


@pytest.mark.parametrize('degrees', [60.0, 90.0])
def test_who_is_bent_at_first_is_bent(user, degrees):
    """So it is after a pause, too, in which nothing was tracked."""
    q = bowing(user, degrees)
    for solved in solve(user, [q] * 90)[0]:
        assert off_m(user, 'base_link', solved, q) < 0.1


@pytest.mark.parametrize('lost', ['hmd', 'waist'])
def test_a_bow_stays_one_while_a_device_is_lost(user, lost):
    roles = FOUR if lost == 'waist' else THREE
    pipeline = Pipeline(SolverConfig())
    path = going_down(user, 60.0, held_s=4.0)
    links, pitches = [], []
    for i, q in enumerate(path):
        seen = tuple(r for r in roles if r != lost or not 160 <= i < 300)
        frame = TrackingFrame(1 + round(i * 1e9 / RATE_HZ), seen, user.device_poses(q, seen))
        solved = pipeline.process(frame).q
        links.append(user.model.link_poses(solved)[:, :3, 3])
        pitches.append(pelvis_pitch_deg(user, solved))
    steps_m = np.linalg.norm(np.diff(links, axis=0), axis=2).max(axis=1)
    assert steps_m[130:].max() < 0.02
    # In the frame in which it is found again, nothing has moved yet.
    assert steps_m[299] < 0.001
    assert min(pitches[130:]) > 20.0


def test_a_bow_goes_on_when_the_calibration_is_exchanged(user):
    pipeline = Pipeline(SolverConfig())
    for i, q in enumerate(going_down(user, 60.0, held_s=2.0)):
        if i == 150:
            other = Pipeline(SolverConfig(), Calibration.nominal(1.75))
            other.take_over(pipeline)
            pipeline = other
        poses = user.device_poses(q, THREE)
        solved = pipeline.process(TrackingFrame(1 + round(i * 1e9 / RATE_HZ), THREE, poses)).q
    assert pelvis_pitch_deg(user, solved) == pytest.approx(30.0, abs=6.0)


def test_who_has_sat_sits_on_when_the_calibration_is_exchanged(user):
    """How high an upright neck is there, the other pipeline knows, too."""
    pipeline = Pipeline(SolverConfig())
    path = [bowing(user, 0.0)] * 10 + [sitting(user)] * round(15.0 * RATE_HZ)
    path += [sitting(user, 0.8 * min(i / 60.0, 1.0)) for i in range(180)]
    for i, q in enumerate(path):
        if i == len(path) - 100:
            other = Pipeline(SolverConfig(), Calibration.nominal(1.75))
            other.take_over(pipeline)
            pipeline = other
        poses = user.device_poses(q, THREE)
        solved = pipeline.process(TrackingFrame(1 + round(i * 1e9 / RATE_HZ), THREE, poses)).q
    assert abs(pelvis_pitch_deg(user, solved)) < 4.0


@pytest.mark.parametrize('seconds_before', [1.0, 0.6])
@pytest.mark.parametrize('roles', [THREE, FOUR], ids=['3', '4'])
def test_after_a_reset_all_is_as_new(user, roles, seconds_before):
    """Whatever was going on: a bow that is held, and one on its way."""
    pipeline = Pipeline(SolverConfig())
    path = going_down(user, 60.0)[: 20 + round(seconds_before * RATE_HZ)]
    for i, q in enumerate(path):
        pipeline.process(TrackingFrame(1 + i * 11_000_000, THREE, user.device_poses(q, THREE)))
    pipeline.reset()
    anew = Pipeline(SolverConfig())
    for i in range(30):
        poses = user.device_poses(sitting(user), roles)
        frame = TrackingFrame(1 + i * 11_000_000, roles, poses)
        a, b = pipeline.process(frame), anew.process(frame)
        np.testing.assert_array_equal(a.q, b.q)


@pytest.mark.parametrize('roles', [THREE, FOUR], ids=['3', '4'])
def test_a_frame_that_is_sent_twice_moves_nothing(user, roles):
    pipeline = Pipeline(SolverConfig())
    for i, q in enumerate(going_down(user, 60.0, seconds=0.5)):
        frame = TrackingFrame(1 + round(i * 1e9 / RATE_HZ), roles, user.device_poses(q, roles))
        first, again = pipeline.process(frame).q, pipeline.process(frame).q
        steps = [off_m(user, link, first, again) for link in ('base_link', 'l_shin', 'head')]
        assert max(steps) < 0.005


def test_feet_go_along_with_who_walks_though_a_hand_comes_and_goes(user):
    q = bowing(user, 0.0)
    pipeline = Pipeline(SolverConfig())
    behind = []
    for i in range(400):
        q[0] = 1.2 * i / RATE_HZ
        seen = THREE if i < 100 or i % 50 < 25 else THREE[:2]
        frame = TrackingFrame(1 + round(i * 1e9 / RATE_HZ), seen, user.device_poses(q, seen))
        solved = pipeline.process(frame).q
        behind.append(solved[0] - user.model.link_pose(solved, 'l_ankle')[0, 3])
    assert max(behind[100:]) < 0.03


@pytest.mark.parametrize('gone_s', [1.0, 2.0])
def test_a_headset_that_is_lost_does_not_stop_who_walks(user, gone_s):
    """Nobody knows then that the trunk rests: the hands take it along."""
    q = bowing(user, 0.0)
    pipeline = Pipeline(SolverConfig())
    hands_m, pelvis_m = [], []
    for i in range(420):
        q[0] = 1.2 * max(0.0, i / RATE_HZ - 1.0)
        seen = THREE[1:] if 2.0 <= i / RATE_HZ < 2.0 + gone_s else THREE
        frame = TrackingFrame(1 + round(i * 1e9 / RATE_HZ), seen, user.device_poses(q, seen))
        solution = pipeline.process(frame)
        hands_m += [solution.position_errors[role] for role in THREE[1:]]
        pelvis_m.append(off_m(user, 'base_link', solution.q, q))
    assert max(hands_m) < 0.03
    assert max(pelvis_m) < 0.35


def test_no_joint_leaps_when_the_headset_of_who_walks_comes_and_goes(user):
    q = bowing(user, 0.0)
    pipeline = Pipeline(SolverConfig())
    gone = np.zeros(450, bool)
    random = np.random.default_rng(0)
    for begin in random.integers(60, 400, 8):
        gone[begin : begin + random.integers(5, 60)] = True
    assert 0.3 < gone.mean() < 0.6
    fastest = 0.0
    for i in range(len(gone)):
        q[0] = 1.2 * i / RATE_HZ
        seen = THREE[1:] if gone[i] else THREE
        frame = TrackingFrame(1 + round(i * 1e9 / RATE_HZ), seen, user.device_poses(q, seen))
        velocity = pipeline.process(frame).velocity
        fastest = max(fastest, np.abs(velocity[6:]).max())
    assert fastest < 7.0


@pytest.mark.parametrize('roles', [THREE, FOUR], ids=['3', '4'])
@pytest.mark.parametrize('knees_deg', [60.0, 90.0, 110.0, 130.0])
def test_who_squats_at_first_has_the_feet_below(user, roles, knees_deg):
    q = squatting(user, math.radians(knees_deg))
    solved, _ = solve(user, [q] * 30, roles)
    for ankle in ANKLES:
        assert off_m(user, ankle, solved[0], q) < 0.3
        assert off_m(user, ankle, solved[0], solved[-1]) < 0.05


@pytest.mark.parametrize('rate_hz', [30.0, 90.0, 250.0])
@pytest.mark.parametrize('speed_m_s', [-1.2, 0.6, 2.5])
def test_the_trunk_of_who_goes_steadily_does_not_stay_behind(user, speed_m_s, rate_hz):
    q = bowing(user, 0.0)
    pipeline = Pipeline(SolverConfig())
    for i in range(round(3.0 * rate_hz)):
        q[0] = speed_m_s * i / rate_hz
        stamp_ns = 1 + round(i * 1e9 / rate_hz)
        poses = user.device_poses(q, THREE)
        solved = pipeline.process(TrackingFrame(stamp_ns, THREE, poses)).q
    assert abs(solved[0] - q[0]) < 0.01
    assert abs(pelvis_pitch_deg(user, solved)) < 2.0
