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

"""Laws of the reconstructed body: no inverted knee, no flip of an arm, left is right mirrored.

The truth is a smooth path of the human model; its devices, by forward kinematics, are all that
the pipeline sees.
"""

import math

from body_support import arms, both, NATURAL_POSES
import numpy as np
import pytest

from vr_ik.body.joints import mirror_joint
from vr_ik.body.shoulder import shoulder_angles
from vr_ik.calibration.calibration import Calibration
from vr_ik.config import SolverConfig
from vr_ik.pipeline import Pipeline
from vr_ik.trackers.simulated_user import SimulatedUser
from vr_ik.types import TrackingFrame

THREE = ('hmd', 'l_controller', 'r_controller')
FOUR = (*THREE, 'waist')
SIX = (*FOUR, 'l_foot', 'r_foot')
RATE_HZ = 90.0
LEG_POSES = (
    'sitting',
    'sitting, legs apart',
    'sitting cross-legged',
    'legs crossed',
    'deep squat',
    'kneeling',
    'sitting on the heels',
    'lunge',
)
LEG_JOINTS = (
    'hip_flexion',
    'hip_abduction',
    'hip_rotation',
    'knee_flexion',
    'ankle_dorsiflexion',
    'ankle_inversion',
)
STAND = arms((0.1, 0.2, -1.0), (1.0, -0.3, 0.0), elbow_flexion=20)
KNEES_UP = {**STAND, **both(hip_flexion=60, knee_flexion=100)}
HEELS_UP = {**STAND, **both(knee_flexion=80)}
BENT = arms((0.5, 0.3, -0.8), (0.6, -0.3, 0.7), elbow_flexion=100)


@pytest.fixture(scope='module')
def user():
    return SimulatedUser(1.75)


def standing_in(name):
    return {**STAND, **NATURAL_POSES[name]}


def right_arm(upper_arm, bend, elbow_deg):
    """Standing, the right arm elsewhere; directions as in `shoulder_angles`."""
    names = ('r_shoulder_flexion', 'r_shoulder_abduction', 'r_shoulder_rotation')
    angles = dict(zip(names, shoulder_angles(upper_arm, bend), strict=True))
    return {**STAND, **angles, 'r_elbow_flexion': math.radians(elbow_deg)}


def smooth_path(model, poses, pitches_deg=None, seconds=0.7):
    """Return (n, nq) from pose to pose; the pelvis pitches, and the lowest link is at z = 0."""
    joints = [model.clamp(model.configuration(pose))[7:] for pose in poses]
    pitches = np.radians(pitches_deg or [0.0] * len(poses))
    path = []
    for i in range(len(poses) - 1):
        for u in np.arange(0.0, 1.0, 1.0 / (seconds * RATE_HZ)):
            blend = u**3 * (10.0 - 15.0 * u + 6.0 * u * u)
            q = model.neutral()
            q[7:] = joints[i] + blend * (joints[i + 1] - joints[i])
            half = 0.5 * (pitches[i] + blend * (pitches[i + 1] - pitches[i]))
            q[3:7] = (0.0, math.sin(half), 0.0, math.cos(half))
            q[2] -= model.link_poses(q)[:, 2, 3].min()
            path.append(q)
    return np.array(path)


def solve(user, path, roles, calibration=None):
    """Return (n, nq): what the pipeline makes of the devices' poses along a path."""
    pipeline = Pipeline(SolverConfig(), calibration)
    assert pipeline.model.joint_names == user.model.joint_names
    stamps = (1 + np.arange(len(path)) * (1e9 / RATE_HZ)).astype(np.int64)
    return np.array(
        [
            pipeline.process(TrackingFrame(int(stamp), roles, user.device_poses(q, roles))).q
            for stamp, q in zip(stamps, path, strict=True)
        ]
    )


def joint_columns(model, *endings):
    return [7 + i for i, name in enumerate(model.joint_names) if name.endswith(endings)]


def distances_m(model, link, a, b):
    """Return how far apart a link's origin is on two bodies, frame by frame."""
    return np.array(
        [
            np.linalg.norm((model.link_pose(x, link) - model.link_pose(y, link))[:3, 3])
            for x, y in zip(a, b, strict=True)
        ]
    )


def largest_step(path, columns):
    return np.abs(np.diff(path[:, columns], axis=0)).max()


def assert_knees_are_true(user, path):
    solved = solve(user, path, SIX)
    knees = joint_columns(user.model, 'knee_flexion')
    assert np.degrees(np.abs(solved - path)[:, knees].max()) < 10.0
    for link in ('l_shin', 'r_shin'):
        assert distances_m(user.model, link, solved, path).max() < 0.04
    legs = joint_columns(user.model, 'knee_flexion', 'hip_flexion', 'hip_rotation')
    assert largest_step(solved, legs) < 1.3 * largest_step(path, legs)


@pytest.mark.parametrize('name', LEG_POSES)
def test_knees_bend_as_the_users_do(user, name):
    pose = standing_in(name)
    assert_knees_are_true(user, smooth_path(user.model, [STAND, pose, STAND]))


@pytest.mark.parametrize(
    ('between', 'moved', 'pitch_deg'),
    [('sitting', KNEES_UP, -90.0), ('kneeling', HEELS_UP, 90.0)],
    ids=['on the back', 'prone'],
)
def test_knees_bend_as_the_users_do_who_lies_down(user, between, moved, pitch_deg):
    poses = [STAND, standing_in(between), STAND, moved, STAND]
    pitches = [0.0, 0.0, pitch_deg, pitch_deg, pitch_deg]
    assert_knees_are_true(user, smooth_path(user.model, poses, pitches))


def assert_knees_point_forward(model, q):
    assert (q[joint_columns(model, 'knee_flexion')] >= 0.0).all()
    forward = model.link_pose(q, 'base_link')[:3, 0]
    for side in 'lr':
        hip, knee, ankle = (
            model.link_pose(q, f'{side}_{part}')[:3, 3] for part in ('thigh', 'shin', 'ankle')
        )
        assert (knee - 0.5 * (hip + ankle)) @ forward > 0.0


@pytest.mark.parametrize('name', LEG_POSES)
def test_knees_that_no_device_tells_of_bend_forward(user, name):
    path = smooth_path(user.model, [STAND, standing_in(name), STAND])
    for q in solve(user, path, THREE):
        assert_knees_point_forward(user.model, q)


@pytest.mark.parametrize('name', ['shrugging', 'Y-pose', 'hugging oneself', 'guard'])
@pytest.mark.parametrize('roles', [THREE, SIX], ids=['3', '6'])
def test_who_moves_alike_on_both_sides_is_alike_on_both_sides(user, name, roles):
    """Rounding must not decide which arm goes where."""
    model = user.model
    pose = standing_in(name)
    solved = solve(user, smooth_path(model, [STAND, pose, pose], seconds=1.0), roles)
    apart = np.abs(mirrored(model, solved) - solved)
    assert apart[-1, [0, 1, 2, *range(7, apart.shape[1])]].max() < 0.02


@pytest.mark.parametrize('pitch_deg', [-90.0, 90.0], ids=['on the back', 'prone'])
def test_knees_that_no_device_tells_of_bend_forward_when_the_user_lies_down(user, pitch_deg):
    between = 'sitting' if pitch_deg < 0.0 else 'kneeling'
    poses = [STAND, standing_in(between), STAND, STAND, standing_in(between), STAND]
    path = smooth_path(user.model, poses, [0.0, 0.0, pitch_deg, pitch_deg, 0.0, 0.0])
    solved = solve(user, path, THREE)
    for q in solved:
        assert_knees_point_forward(user.model, q)
    fastest = user.model.velocity_limits / RATE_HZ
    assert (np.abs(np.diff(solved[:, 7:], axis=0)) <= fastest + 1e-6).all()


FORWARD = arms((1.0, 0.0, 0.0), (0.0, 0.0, 1.0), elbow_flexion=0)
ARM_PATHS = {
    'bent, straight ahead, bent, straight aside': (
        BENT,
        FORWARD,
        BENT,
        standing_in('T-pose'),
        BENT,
        FORWARD,
    ),
    'a straight arm from behind, ahead, overhead': tuple(
        right_arm((math.cos(t), 0.15, math.sin(t)), (-math.sin(t), -0.2, math.cos(t)), 0.0)
        for t in (-1.9, -1.2, -0.4, 0.4, 1.1, 1.8)
    ),
    'a straight arm aside, from below to overhead': tuple(
        right_arm((0.3, math.cos(t), math.sin(t)), (1.0, 0.0, 0.0), 0.0)
        for t in (-1.3, -0.6, 0.1, 0.8, 1.4)
    ),
    'a hand behind the back, the head, and out ahead': (
        STAND,
        right_arm((-0.4, 0.25, -0.9), (-0.3, -1.0, 0.0), 85.0),
        right_arm((-0.5, 0.4, -0.7), (-0.3, -1.0, 0.3), 110.0),
        right_arm((0.1, 0.9, 0.4), (-0.6, -0.7, 0.4), 140.0),
        right_arm((1.0, 0.0, 0.0), (0.0, 0.0, 1.0), 0.0),
        STAND,
    ),
    'both hands all around': tuple(
        standing_in(name)
        for name in (
            'guard',
            'reaching forward',
            'hands overhead',
            'hands behind the head',
            'arms stretched back',
            'hand behind the back',
            'hugging oneself',
            'surrender',
            'forearms hanging from level arms',
        )
    ),
}


@pytest.mark.parametrize('roles', [THREE, SIX], ids=['3', '6'])
@pytest.mark.parametrize('name', ARM_PATHS)
def test_arms_do_not_flip(user, name, roles):
    model = user.model
    path = smooth_path(model, ARM_PATHS[name])
    solved = solve(user, path, roles)
    # With three devices nothing tells how the legs move.
    guessed = () if roles is SIX else joint_columns(model, *LEG_JOINTS)
    columns = [i for i in range(7, len(path[0])) if i not in guessed]
    # A flip turns a joint by tens of degrees in a frame, whatever the user does.
    assert largest_step(solved, columns) < 1.3 * largest_step(path, columns)
    for link in ('l_forearm', 'r_forearm'):
        assert distances_m(model, link, solved, path).max() < 0.1


def mirrored(model, path):
    """Return a path as seen in a mirror that stands on the world's x and z axes."""
    out = path * np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0] + [1.0] * len(model.joint_names))
    for column, name in enumerate(model.joint_names, start=7):
        other, sign = mirror_joint(name)
        out[:, column] = sign * path[:, 7 + model.joint_index(other)]
    return out


@pytest.mark.parametrize('roles', [THREE, SIX], ids=['3', '6'])
def test_the_mirrored_user_is_the_mirrored_body(user, roles):
    path = np.array([user.q_at(4.0 + i / RATE_HZ) for i in range(400)])
    solved = solve(user, path, roles)
    other = solve(user, mirrored(user.model, path), roles)
    # The root's quaternion may have either sign.
    apart = np.abs(mirrored(user.model, solved) - other)
    assert apart[:, [0, 1, 2, *range(7, apart.shape[1])]].max() < 1e-6


@pytest.mark.parametrize('pitch_deg', [-90.0, 90.0], ids=['on the back', 'prone'])
@pytest.mark.parametrize('roles', [THREE, FOUR, SIX], ids=['3', '4', '6'])
def test_who_lies_down_lies_on_the_floor(user, pitch_deg, roles):
    between = 'sitting' if pitch_deg < 0.0 else 'kneeling'
    poses = [STAND, standing_in(between), STAND, STAND]
    path = smooth_path(user.model, poses, [0.0, 0.0, pitch_deg, pitch_deg])
    lying = user.model.link_poses(solve(user, path, roles)[-1])
    assert lying[:, 2, 3].min() > -0.07
    assert lying[user.model.link_index('base_link'), 2, 3] < 0.2
    truly = user.model.link_pose(path[-1], 'base_link')[:3, 2]
    assert lying[user.model.link_index('base_link'), :3, 2] @ truly > 0.9


FEET = ('l_sole', 'r_sole', 'l_toe', 'r_toe')


@pytest.mark.parametrize('floor_m', [0.0, 0.3])
@pytest.mark.parametrize(
    'name', ['sitting on the heels', 'sitting cross-legged', 'deep squat', 'kneeling', 'sitting']
)
@pytest.mark.parametrize('roles', [THREE, FOUR], ids=['3', '4'])
def test_guessed_feet_do_not_go_into_the_floor(user, name, roles, floor_m):
    poses = [STAND, standing_in(name), standing_in(name), STAND]
    path = smooth_path(user.model, poses, seconds=0.5)
    path[:, 2] += floor_m
    nominal = Calibration.nominal(1.75)
    calibration = Calibration(nominal.proportions, nominal.mounts, floor_m)
    for q in solve(user, path, roles, calibration):
        for foot in FEET:
            assert user.model.link_pose(q, foot)[2, 3] > floor_m - 0.03


@pytest.mark.parametrize('name', ['sitting on the heels', 'sitting cross-legged', 'deep squat'])
@pytest.mark.parametrize('roles', [THREE, FOUR], ids=['3', '4'])
def test_who_sits_on_the_floor_is_above_it(user, name, roles):
    poses = [STAND, standing_in(name), standing_in(name), STAND]
    path = smooth_path(user.model, poses, seconds=1.0)
    links = np.array([user.model.link_poses(q) for q in solve(user, path, roles)])
    assert links[:, :, 2, 3].min() > -0.03
    truly = np.array([user.model.link_poses(q) for q in path])
    extra_m = np.linalg.norm(np.diff(links - truly, axis=0)[:, :, :3, 3], axis=2)
    assert extra_m.max() < 0.05


@pytest.mark.parametrize('roles', [THREE, FOUR], ids=['3', '4'])
def test_who_squats_does_not_buckle_to_one_side(user, roles):
    path = np.array([user.q_at(t) for t in np.arange(6.0, 11.0, 1.0 / RATE_HZ)])
    solved = solve(user, path, roles)
    assert solved[:, joint_columns(user.model, 'knee_flexion')].max() > math.radians(90.0)
    assert np.abs(solved[:, joint_columns(user.model, 'knee_rotation')]).max() < math.radians(8.0)


def test_feet_face_as_the_waist_does_not_as_the_head_does(user):
    ahead = user.model.configuration(STAND)
    ahead[2] -= user.model.link_poses(ahead)[:, 2, 3].min()
    path = np.tile(ahead, (200, 1))
    for joint in ('neck_axial', 'head_axial'):
        turned = np.minimum(np.arange(200) / 45.0, 1.0) * 0.6
        path[:, 7 + user.model.joint_index(joint)] = turned
    q = solve(user, path, FOUR)[-1]
    for link in ('base_link', 'l_ankle', 'r_ankle'):
        forward = user.model.link_pose(q, link)[:3, 0]
        assert abs(math.atan2(forward[1], forward[0])) < math.radians(10.0)
