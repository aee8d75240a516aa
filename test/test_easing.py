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

"""Nothing pops when devices come and go, or a calibration is exchanged, while the user moves."""

import math
import re

import numpy as np
import pytest

from vr_ik.body.easing import CALM, Easing, QUICK
from vr_ik.calibration.calibration import Calibration
from vr_ik.config import SolverConfig
from vr_ik.pipeline import Pipeline
from vr_ik.trackers.simulated_user import SimulatedUser
from vr_ik.types import Status, TrackingFrame

THREE = ('hmd', 'l_controller', 'r_controller')
SIX = (*THREE, 'waist', 'l_foot', 'r_foot')
RATE_HZ = 90.0
START_S = 4.0
LEG = re.compile('hip|thigh|knee|shin|ankle|sole|toe')
LOST, BACK, END = 60, 200, 290
"""Frames: devices are out of sight in between."""


@pytest.fixture(scope='module')
def user():
    return SimulatedUser(1.75)


def frame(user, i, roles):
    poses = user.device_poses(user.q_at(START_S + i / RATE_HZ), roles)
    return TrackingFrame(1 + int(i * 1e9 / RATE_HZ), roles, poses)


def solve(user, roles, lost=()):
    """Return the links' poses frame by frame, and the pipeline, with devices lost for a while."""
    pipeline = Pipeline(SolverConfig())
    links = []
    for i in range(END):
        seen = tuple(r for r in roles if r not in lost or not LOST <= i < BACK)
        solution = pipeline.process(frame(user, i, seen))
        links.append(pipeline.model.link_poses(solution.q))
    return np.array(links), pipeline


def steps_m(links):
    """Return how far each link's origin moves from frame to frame."""
    return np.linalg.norm(np.diff(links[:, :, :3, 3], axis=0), axis=2)


@pytest.mark.parametrize(
    ('roles', 'lost'),
    [
        (SIX, ('l_controller',)),
        (SIX, ('r_foot',)),
        (SIX, ('hmd',)),
        (SIX, ('waist',)),
        (SIX, ('waist', 'l_foot', 'r_foot')),
        (THREE, ('hmd',)),
        (THREE, ('l_controller', 'r_controller')),
    ],
    ids=lambda names: '+'.join(names),
)
def test_devices_that_go_and_come_back_cause_no_pop(user, roles, lost):
    with_all, _ = solve(user, roles)
    links, _ = solve(user, roles, lost)
    # 5 cm in a frame is 4.5 m/s on top of the user's own motion.
    assert (steps_m(links) - steps_m(with_all)).max() < 0.05
    # Something did happen, and is over soon after.
    apart = np.linalg.norm((links - with_all)[:, :, :3, 3], axis=2).max(axis=1)
    assert apart[BACK - 1] > 0.03
    # Feet that nobody tracks stay where they stand, be it a little elsewhere.
    is_guessed = [bool(LEG.search(n)) and 'l_foot' not in roles for n in user.model.link_names]
    end = np.linalg.norm((links - with_all)[-1, :, :3, 3], axis=1)
    assert (end < np.where(is_guessed, 0.03, 0.01)).all()


def test_without_the_headset_the_body_goes_on_standing(user):
    pipeline = Pipeline(SolverConfig())
    still = user.device_poses(user.q_at(START_S), THREE)
    for i in range(60):
        before = pipeline.process(TrackingFrame(1 + i * 10_000_000, THREE, still))
    for i in range(60, 300):
        after = pipeline.process(TrackingFrame(1 + i * 10_000_000, THREE[1:], still[1:]))
    assert np.linalg.norm((after.q - before.q)[:3]) < 0.05
    soles = [pipeline.model.link_pose(after.q, f'{side}_sole')[2, 3] for side in 'lr']
    assert np.abs(soles).max() < 0.06


def exchanged_bodies(user, calibration):
    """Return (n, nv) steps of the pose; in the middle the calibration is exchanged."""
    pipeline = Pipeline(SolverConfig())
    poses = []
    for i in range(END):
        if i == LOST:
            other = Pipeline(SolverConfig(), calibration)
            other.take_over(pipeline)
            pipeline = other
        poses.append(pipeline.process(frame(user, i, SIX)).q)
    model = pipeline.model
    pairs = zip(poses, poses[1:], strict=False)
    return np.array([model.difference(a, b) for a, b in pairs]), poses[-1]


def test_another_calibration_is_faded_in(user):
    same, _ = exchanged_bodies(user, Calibration.nominal(1.75))
    other, last = exchanged_bodies(user, Calibration.nominal(1.65))
    root_m, joints_rad = (np.abs(other - same)[:, part].max() for part in (slice(3), slice(6, 99)))
    assert root_m < 0.03
    assert joints_rad < 0.08
    # In the end it is what it would be without a past.
    pipeline = Pipeline(SolverConfig(), Calibration.nominal(1.65))
    for i in range(END):
        anew = pipeline.process(frame(user, i, SIX))
    assert np.abs((last - anew.q)[[0, 1, 2, *range(7, last.size)]]).max() < 0.02


def test_who_turns_around_while_the_headset_is_lost_is_turned_gently(user):
    pipeline = Pipeline(SolverConfig())
    still = user.device_poses(user.q_at(START_S), THREE)
    links = []
    for i in range(END):
        yaw = 1.5 * min(max(i - LOST, 0) / (BACK - LOST), 1.0)
        turn = np.eye(4)
        turn[:2, :2] = [[math.cos(yaw), -math.sin(yaw)], [math.sin(yaw), math.cos(yaw)]]
        first = 1 if LOST <= i < BACK else 0
        poses = (turn @ still)[first:]
        solution = pipeline.process(TrackingFrame(1 + i * 10_000_000, THREE[first:], poses))
        links.append(pipeline.model.link_poses(solution.q))
    assert steps_m(np.array(links)).max() < 0.05


def test_what_is_shown_is_within_the_limits_of_joints(user):
    model = user.model
    easing = Easing(model)
    low, high = model.neutral(), model.neutral()
    low[7:], high[7:] = model.lower, model.upper
    easing.begin(low, high, QUICK)
    # Meanwhile what fits has gone to where it was shown: the offset would lead beyond.
    q, _ = easing.shown(high, high, 0.01)
    assert (q[7:] <= model.upper).all()


@pytest.mark.parametrize('pace', [CALM, QUICK])
def test_an_offset_goes_in_time_and_no_joint_is_too_fast(user, pace):
    model = user.model
    easing = Easing(model)
    fits, shown = model.neutral(), user.q_at(START_S)
    easing.begin(fits, shown, pace)
    seconds, q = 0.0, shown
    path = [shown]
    while easing.is_on:
        q, _ = easing.shown(fits, q, 0.01)
        path.append(q)
        seconds += 0.01
    assert seconds < 10.0
    speeds = np.abs(np.diff(np.array(path)[:, 7:], axis=0)) / 0.01
    assert (speeds <= np.minimum(model.velocity_limits, pace.joints_rad_s) + 1e-6).all()
    np.testing.assert_allclose(path[1][7:], shown[7:], atol=1e-12)
    way = np.linalg.norm(np.diff(np.array(path)[:, :3], axis=0), axis=1)
    assert way.max() <= math.sqrt(3.0) * pace.root_m_s * 0.01 + 1e-9
    left = np.abs(model.difference(q, fits))[6:]
    assert (left <= model.velocity_limits * 0.01).all()


def test_nothing_shown_is_faster_than_joints_though_what_fits_is(user):
    model = user.model
    easing = Easing(model)
    fits, shown = model.neutral(), user.q_at(START_S)
    easing.begin(fits, shown, QUICK)
    shown, _ = easing.shown(fits, shown, 0.01)
    leapt = user.q_at(START_S + 3.0)
    after, way = easing.shown(leapt, shown, 0.01)
    np.testing.assert_allclose(model.difference(shown, after), way, atol=1e-9)
    assert (np.abs(after - shown)[7:] <= model.velocity_limits * 0.01 + 1e-9).all()
    assert (np.abs(leapt - shown)[7:] > model.velocity_limits * 0.01).any()


def test_one_joint_that_is_too_fast_makes_no_other_late(user):
    model = user.model
    easing = Easing(model)
    before = user.q_at(START_S)
    fits = before.copy()
    fits[:3] += 0.02
    fits[7 + model.joint_index('l_knee_flexion')] += 0.05
    twist = 7 + model.joint_index('r_forearm_twist')
    fits[twist] -= math.copysign(0.5, fits[twist])
    shown, _ = easing.shown(fits, before, 0.01)
    assert easing.is_on
    others = np.delete(np.arange(len(fits)), twist)
    np.testing.assert_allclose(shown[others], fits[others], atol=1e-12)
    assert abs(shown - before)[twist] == pytest.approx(
        model.velocity_limits[twist - 7] * 0.01, rel=1e-6
    )


def test_one_joint_that_is_too_fast_ends_no_glide(user):
    """A loss is glided over calmly, whatever another joint does meanwhile."""
    model = user.model
    easing = Easing(model)
    fits, shown = model.neutral(), user.q_at(START_S)
    twist = 7 + model.joint_index('r_forearm_twist')
    easing.begin(fits, shown, CALM)
    speeds = []
    for i in range(60):
        if i == 20:
            fits = fits.copy()
            fits[twist] += 0.5
        shown, way = easing.shown(fits, shown, 0.01)
        speeds.append(np.abs(np.delete(way, twist - 1)[6:]).max() / 0.01)
    assert easing.is_on
    assert max(speeds) < CALM.joints_rad_s + 1e-6


def test_limbs_wait_for_a_trunk_that_is_too_fast(user):
    """All joints go the same share of their way, and none of them too far."""
    model = user.model
    easing = Easing(model)
    before = user.q_at(START_S)
    fits = before.copy()
    fits[7 + model.joint_index('thorax_flexion')] += 0.12  # twice as far as it gets in 10 ms
    fits[7 + model.joint_index('l_knee_flexion')] += 0.05
    gone = (easing.shown(fits, before, 0.01)[0] - before)[7:]
    share = gone[model.joint_index('thorax_flexion')] / 0.12
    assert share == pytest.approx(0.5)
    assert gone[model.joint_index('l_knee_flexion')] == pytest.approx(share * 0.05)


def test_what_is_held_back_all_the_time_is_not_left_behind(user):
    """A joint that has to be faster than it can for a while is at its limit all the while."""
    model = user.model
    easing = Easing(model)
    joint = model.joint_index('r_elbow_flexion')
    fastest = model.velocity_limits[joint] * 0.01
    q = shown = model.configuration({'r_elbow_flexion': 0.1})
    for i in range(8):
        fits = q.copy()
        fits[7 + joint] += (1.3 if i < 4 else 0.0) * fastest
        q, last = fits, shown
        shown, _ = easing.shown(fits, shown, 0.01)
        if i < 5:
            assert (shown - last)[7 + joint] == pytest.approx(fastest, rel=0.05)
    np.testing.assert_allclose(shown, fits, atol=1e-9)


def test_what_changes_on_the_way_does_not_undo_the_way(user):
    """A second change adds its own offset to what is left of the first."""
    model = user.model
    easing = Easing(model)
    fits, shown = model.neutral(), user.q_at(START_S)
    easing.begin(fits, shown, CALM)
    for _ in range(20):
        shown, _ = easing.shown(fits, shown, 0.01)
    assert np.abs(shown - fits)[7:].max() > 0.3
    changed = fits.copy()
    changed[7 + model.joint_index('neck_axial')] += 0.02
    easing.begin(changed, fits, CALM)
    after, _ = easing.shown(changed, shown, 0.01)
    assert np.abs(after - shown)[7:].max() < CALM.joints_rad_s * 0.01 + 1e-9


def test_a_second_try_is_eased_in(user):
    pipeline = Pipeline(SolverConfig())
    poses = user.device_poses(user.q_at(START_S), SIX)
    for i in range(30):
        solution = pipeline.process(TrackingFrame(1 + i * 10_000_000, SIX, poses))
    model = pipeline.model
    wound = solution.q.copy()
    for name in ('flexion', 'abduction', 'rotation'):
        joint = model.joint_index(f'r_shoulder_{name}')
        wound[7 + joint] = model.upper[joint] if name == 'rotation' else model.lower[joint]
    # As after a device that was led around the limits of its arm.
    pipeline._q = pipeline._wanted_q = wound
    fastest = 0.0
    for i in range(30, 200):
        solution = pipeline.process(TrackingFrame(1 + i * 10_000_000, SIX, poses))
        fastest = max(fastest, float(np.abs(solution.velocity[6:]).max()))
    assert max(solution.position_errors.values()) < 0.02
    assert 1.0 < fastest < QUICK.joints_rad_s + 0.5


def test_the_errors_are_those_of_what_is_shown(user):
    pipeline = Pipeline(SolverConfig())
    without = tuple(role for role in SIX if role != 'l_controller')
    for i in range(BACK):
        pipeline.process(frame(user, i, SIX if i < LOST else without))
    solution = pipeline.process(frame(user, BACK, SIX))
    assert solution.status != Status.FAILED
    for role in SIX:
        row, mount = pipeline.roles.index(role), pipeline.mounts[role]
        placed = pipeline.model.link_pose(solution.q, mount.link) @ mount.pose_link_from_device
        apart = np.linalg.norm((placed - pipeline.targets[row])[:3, 3])
        assert solution.position_errors[role] == pytest.approx(apart, abs=1e-9)
    assert solution.position_errors['l_controller'] > 0.03
