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

"""Figures of `vr_ik eval` are what they are called: bodies with known errors give those errors."""

from dataclasses import replace
import math

import numpy as np
import pytest

from vr_ik.body.human import human_urdf, T_POSE
from vr_ik.calibration.calibration import Calibration
from vr_ik.config import SolverConfig
from vr_ik.evaluation.metrics import motion_figures, overall_figures
from vr_ik.evaluation.mocap import TRUE_JOINTS
from vr_ik.evaluation.reconstruction import reconstruct, Reconstruction
from vr_ik.evaluation.recordings import Recording
from vr_ik.evaluation.tracks import tracks
from vr_ik.kinematics.model import RobotModel
from vr_ik.pipeline import Pipeline
from vr_ik.trackers.simulated_user import SimulatedUser

SIX = ('hmd', 'l_controller', 'r_controller', 'waist', 'l_foot', 'r_foot')
HELD_OUT = ('l_elbow', 'r_elbow', 'l_knee', 'r_knee')
RATE_HZ = 90.0
FRAMES = 101
UPPER = ('head', 'neck', *(f'{s}_{part}' for s in 'lr' for part in ('upper_arm', 'forearm')))
UPPER += ('l_wrist', 'r_wrist')
"""What people call the upper body, of the joints that motion capture knows."""


@pytest.fixture(scope='module')
def body():
    calibration = Calibration.nominal(1.75)
    return calibration, RobotModel.from_urdf(human_urdf(calibration.proportions), True)


def waving(model, frames=FRAMES):
    """Poses in which every joint is on the move, well within its limits."""
    rng = np.random.default_rng(3)
    rate, phase = rng.uniform(1.0, 3.0, (2, len(model.joint_names)))
    q = np.tile(model.configuration(T_POSE), (frames, 1))
    q[:, 7:] = np.clip(q[:, 7:], model.lower + 0.1, model.upper - 0.1)
    seconds = np.arange(frames)[:, None] / RATE_HZ
    room = np.minimum(q[0, 7:] - model.lower, model.upper - q[0, 7:])
    swing = np.sin(rate * seconds + phase) - np.sin(phase)
    q[:, 7:] += 0.2 * np.minimum(room, 1.0) * swing
    q[:, :3] += 0.1 * np.sin(seconds + [0.0, 1.0, 2.0])
    return q


def judged(body, q, changes=None, joints=None, roles=SIX):
    """The reconstruction of exactly these poses; devices are where the body has them.

    `changes` by device or joint: (frames, 3), by how much the truth is off.
    """
    calibration, model = body
    links = np.array([model.link_poses(row) for row in q])
    poses = {}
    for role in (*SIX, *HELD_OUT):
        mount = calibration.mounts[role]
        at = links[:, model.link_index(mount.link)] @ mount.pose_link_from_device
        at[:, :3, 3] += (changes or {}).get(role, 0.0)
        poses[role] = at
    recording = Recording('known', RATE_HZ, poses, joints or {})
    times_s = np.full(len(q), 30e-6)
    return Reconstruction(
        recording, roles, calibration, model, q, links, times_s, times_s, 2.0 * times_s, 0
    )


def true_joints(body, q, off=None):
    """Every joint at its link's origin, but moved from the second frame on."""
    _, model = body
    links = np.array([model.link_poses(row) for row in q])
    joints = {name: links[:, model.link_index(name), :3, 3].copy() for name in TRUE_JOINTS}
    for name, way in (off or {}).items():
        joints[name][1:] += way
    return joints


def test_a_body_that_is_right_has_no_error(body):
    q = waving(body[1])
    figures = motion_figures(judged(body, q, joints=true_joints(body, q)))
    assert set(figures['mean']) == {
        *('head', 'neck', 'shoulders', 'elbows', 'hands', 'hips', 'knees', 'feet'),
        *('all_joints', 'upper_joints'),
    }
    assert max(figures['mean'].values()) < 1e-6
    assert max(figures['untied'].values()) < 1e-6
    assert max(figures['rotation_deg'].values()) < 1e-6
    assert figures['jerk_ratio'] == pytest.approx(1.0)
    for track in figures['tracks'].values():
        assert track['velocity_mm_s'] < 1e-6


def test_groups_are_the_means_of_their_joints(body):
    """Every joint is off by another length, so that none can stand for another."""
    q = waving(body[1])
    off_mm = {name: 1.0 + 2.0**i for i, name in enumerate(sorted(TRUE_JOINTS))}
    off = {name: (0.0, 0.6e-3 * mm, 0.8e-3 * mm) for name, mm in off_mm.items()}
    mean = motion_figures(judged(body, q, joints=true_joints(body, q, off)))['mean']
    parts = {
        'head': ('head',),
        'neck': ('neck',),
        'shoulders': ('l_upper_arm', 'r_upper_arm'),
        'elbows': ('l_forearm', 'r_forearm'),
        'hands': ('l_wrist', 'r_wrist'),
        'hips': ('l_thigh', 'r_thigh'),
        'knees': ('l_shin', 'r_shin'),
        'feet': ('l_ankle', 'r_ankle'),
        'upper_joints': UPPER,
        'all_joints': TRUE_JOINTS,
    }
    assert mean.keys() == parts.keys()
    for group, names in parts.items():
        assert mean[group] == pytest.approx(np.mean([off_mm[name] for name in names])), group


@pytest.mark.parametrize(
    ('joint', 'bone'),
    [
        ('neck', 'torso'),
        ('l_upper_arm', 'l_clavicle'),
        ('r_upper_arm', 'r_clavicle'),
        ('l_thigh', 'base_link'),
        ('r_thigh', 'base_link'),
        ('r_forearm', 'r_forearm'),
        ('l_shin', 'l_shin'),
        ('l_ankle', 'l_ankle'),
    ],
)
def test_a_joint_is_tied_to_the_bone_that_carries_it(body, joint, bone):
    """5 cm beside where the model has it: wherever the limb turns, that is no error."""
    _, model = body
    q = waving(model)
    joints = true_joints(body, q)
    local = np.append(model.link_pose(q[0], joint)[:3, 3] + (0.03, 0.0, 0.04), 1.0)
    on_bone = np.linalg.inv(model.link_pose(q[0], bone)) @ local
    joints[joint] = np.array([(model.link_pose(row, bone) @ on_bone)[:3] for row in q])
    r = judged(body, q, joints=joints)
    (track,) = [t for t in tracks(r) if t.name == joint]
    assert np.abs((track.predicted - track.true)[:, :3, 3]).max() < 1e-9
    figures = motion_figures(r)
    assert figures['tracks'][joint]['mean'] < 1e-6
    # The plain distance is told beside it.
    assert figures['untied']['all_joints'] == pytest.approx(50.0 / len(TRUE_JOINTS))


def test_mean_median_p95_and_speed_are_those_of_a_known_error(body):
    """The truth goes away evenly: by a millimetre a frame, which is 90 mm/s."""
    q = np.tile(body[1].configuration(T_POSE), (FRAMES, 1))
    away = 1e-3 * np.arange(FRAMES)[:, None] * (0.0, 0.6, 0.8)
    for role in ('hmd', 'r_elbow'):
        figures = motion_figures(judged(body, q, {role: away}))['tracks'][role]
        assert figures['mean'] == pytest.approx(50.0)
        assert figures['median'] == pytest.approx(50.0)
        assert figures['p95'] == pytest.approx(95.0)
        assert figures['velocity_mm_s'] == pytest.approx(RATE_HZ)
    # One frame in five is off: the median does not care.
    rare = 0.04 * (np.arange(FRAMES) % 5 == 4)[:, None] * (1.0, 0.0, 0.0)
    figures = motion_figures(judged(body, q, {'hmd': rare}))['tracks']['hmd']
    assert figures['median'] < 1e-6
    assert figures['mean'] == pytest.approx(40.0 * 20 / FRAMES)


def test_a_turned_device_counts_in_degrees(body):
    calibration, _ = body
    q = waving(body[1])
    r = judged(body, q)
    turned = calibration.mounts['waist'].pose_link_from_device.copy()
    c, s = math.cos(math.radians(7.0)), math.sin(math.radians(7.0))
    turned[:3, :3] = turned[:3, :3] @ [[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]]
    mounts = {
        **calibration.mounts,
        'waist': replace(calibration.mounts['waist'], pose_link_from_device=turned),
    }
    other = replace(r, calibration=replace(calibration, mounts=mounts))
    figures = motion_figures(other)
    assert figures['rotation_deg']['hips'] == pytest.approx(7.0)
    assert figures['rotation_deg']['head'] < 1e-6
    assert figures['mean']['hips'] < 1e-6


def test_jerk_is_the_third_difference_of_joints_where_they_are_known(body):
    """The root goes evenly and along a cubic, which for the truth is 1.5 times slower."""
    _, model = body
    q = np.tile(model.configuration(T_POSE), (FRAMES, 1))
    cubic = (np.arange(FRAMES) / FRAMES) ** 3
    q[:, 0] += 0.9 * cubic + 0.01 * np.arange(FRAMES)
    away = np.column_stack((0.6 * cubic - 0.9 * cubic, 0.0 * cubic, 0.0 * cubic))
    devices = dict.fromkeys((*SIX, *HELD_OUT), away)
    assert motion_figures(judged(body, q, devices))['jerk_ratio'] == pytest.approx(1.5)
    # Joints move as the body does, devices do not: what went in is no judge of joints.
    joints = true_joints(body, q)
    assert motion_figures(judged(body, q, devices, joints))['jerk_ratio'] == pytest.approx(1.0)
    # A jump of the truth is neither its jerk nor its speed.
    jump = np.where(np.arange(FRAMES)[:, None] >= 50, 1.0, 0.0) * (0.0, 1.0, 0.0)
    figures = motion_figures(judged(body, q, {role: way + jump for role, way in devices.items()}))
    assert figures['jerk_ratio'] == pytest.approx(1.5, rel=1e-6)
    fastest = RATE_HZ * 1e3 * 0.3 * np.diff(cubic).max()
    assert figures['tracks']['hmd']['velocity_mm_s'] < fastest


@pytest.mark.parametrize(('step_m', 'counts'), [(0.049, True), (0.051, False)])
def test_frames_in_which_the_truth_jumps_by_five_centimetres_do_not_count(body, step_m, counts):
    q = np.tile(body[1].configuration(T_POSE), (FRAMES, 1))
    step = np.where(np.arange(FRAMES)[:, None] >= 50, step_m, 0.0) * (0.0, 0.6, 0.8)
    for role in ('l_elbow', 'waist'):
        r = judged(body, q, {role: step})
        (track,) = [t for t in tracks(r) if t.name == role]
        assert track.valid[50] == counts
        assert track.valid[:50].all() and track.valid[51:].all()
        frames_off = 51 if counts else 50
        expected = 1e3 * step_m * frames_off / (FRAMES if counts else FRAMES - 1)
        assert motion_figures(r)['tracks'][role]['mean'] == pytest.approx(expected)


def test_a_lost_device_counts_where_it_is_seen(body):
    q = np.tile(body[1].configuration(T_POSE), (FRAMES, 1))
    lost = np.zeros((FRAMES, 3))
    lost[20:60] = np.nan
    lost[60:, 2] = 0.01
    figures = motion_figures(judged(body, q, {'l_knee': lost}))
    # The frame in which it comes back has no step that could be looked at.
    assert figures['tracks']['l_knee']['mean'] == pytest.approx(10.0 * 40 / 60)


def test_elbows_are_rigid_on_hands_and_knees_on_feet_where_there_is_no_ik(body):
    """Of the baseline's devices each moves by another way, and takes along what is rigid on it."""
    q = np.tile(body[1].configuration(T_POSE), (FRAMES, 1))
    late = (np.arange(FRAMES) >= 1)[:, None]
    ways = {'l_controller': 1, 'r_controller': 2, 'l_foot': 4, 'r_foot': 8}
    changes = {role: 1e-3 * n * late * (0.0, 0.6, 0.8) for role, n in ways.items()}
    figures = motion_figures(judged(body, q, changes))
    # Of a real recording the first frame counts as well.
    share = (FRAMES - 1) / FRAMES
    assert figures['baseline'] == pytest.approx({'elbows': 1.5 * share, 'knees': 6.0 * share})
    joints = true_joints(body, q)
    with_joints = motion_figures(judged(body, q, changes, joints))
    assert with_joints['baseline'] == pytest.approx({'elbows': 1.5, 'knees': 6.0})
    # What was held out cannot carry anything.
    three = motion_figures(judged(body, q, changes, roles=SIX[:3]))
    assert three['baseline'] == pytest.approx({'elbows': 1.5 * share})


def test_a_held_out_elbow_is_fixed_to_the_forearm_and_joints_take_its_place(body):
    """As is the custom, wherever it is strapped; beside known joints it does not count at all."""
    q = waving(body[1])
    r = judged(body, q)
    by_name = {track.name: track for track in tracks(r)}
    assert set(by_name) == {*SIX, *HELD_OUT}
    for side in 'lr':
        local = np.linalg.inv(r.link(f'{side}_forearm')) @ by_name[f'{side}_elbow'].predicted
        assert np.allclose(local, local[0], atol=1e-9)
    with_joints = judged(body, q, joints=true_joints(body, q))
    assert {track.name for track in tracks(with_joints)} == {*SIX, *TRUE_JOINTS}


def test_shares_of_frames_at_limits(body):
    _, model = body
    q = waving(model)
    knee, elbow = (7 + model.joint_index(name) for name in ('l_knee_flexion', 'r_elbow_flexion'))
    q[:, knee] = q[:, elbow] = 1.0
    q[:30, knee] = model.lower[knee - 7]
    q[20:40, elbow] = model.upper[elbow - 7]
    figures = motion_figures(judged(body, q))
    assert figures['limit_share'] == pytest.approx(
        {'l_knee_flexion': 30 / FRAMES, 'r_elbow_flexion': 20 / FRAMES}
    )
    assert figures['at_limit'] == pytest.approx(40 / FRAMES)
    free = motion_figures(judged(body, waving(model)))
    assert free['at_limit'] == 0.0 and free['limit_share'] == {}
    overall = overall_figures({'a': figures, 'b': free})
    assert overall['at_limit'] == pytest.approx(20 / FRAMES)
    assert overall['limit_share']['l_knee_flexion'] == pytest.approx(15 / FRAMES)


def test_times_are_microseconds_without_the_first_frames(body):
    r = judged(body, waving(body[1]))
    times_s = 1e-6 * np.concatenate((np.full(10, 1e5), np.arange(91.0)))
    figures = motion_figures(replace(r, solve_times_s=times_s, frame_times_s=2.0 * times_s))
    assert figures['time_us'] == pytest.approx({'median': 45.0, 'p99': 89.1})
    assert figures['frame_us'] == pytest.approx({'median': 90.0, 'p99': 178.2})


def test_the_mean_over_motions_weighs_each_alike(body):
    _, model = body
    q = np.tile(model.configuration(T_POSE), (FRAMES, 1))
    cubic = (np.arange(FRAMES) / FRAMES)[:, None] ** 3 * (1.0, 0.0, 0.0)
    q[:, :3] += cubic
    off = dict.fromkeys((*SIX, *HELD_OUT), -0.5 * cubic)
    twice, once = motion_figures(judged(body, q, off)), motion_figures(judged(body, q))
    overall = overall_figures({'twice': twice, 'once': once})
    assert twice['jerk_ratio'] == pytest.approx(2.0)
    assert overall['jerk_ratio'] == pytest.approx(1.5)
    for name in ('hmd', 'l_knee'):
        mean = 0.5 * (twice['tracks'][name]['p95'] + once['tracks'][name]['p95'])
        assert overall['tracks'][name]['p95'] == pytest.approx(mean)


@pytest.fixture(scope='module')
def acted():
    """A T-pose and then, at once, the simulated user in the middle of his motion."""
    user = SimulatedUser(1.75)
    t_pose = user.model.configuration(T_POSE)
    t_pose[2] = user.q_at(0.0)[2]
    q = np.array([t_pose, *(user.q_at(4.0 + i / RATE_HZ) for i in range(60))])
    roles = (*SIX, *HELD_OUT)
    poses = np.array([user.device_poses(row, roles) for row in q])
    joints = {
        name: np.array([user.model.link_pose(row, name)[:3, 3] for row in q])
        for name in TRUE_JOINTS
    }
    return Recording('acted', RATE_HZ, {r: poses[:, i] for i, r in enumerate(roles)}, joints)


def test_the_pose_put_before_motion_capture_is_no_past_of_it(acted):
    r = reconstruct(acted, SIX, SolverConfig(), refined=False)
    pipeline = Pipeline(SolverConfig(), r.calibration.wearing(SIX))
    anew = np.array([pipeline.process(frame).q for frame in acted.frames(SIX)[1:]])
    assert np.array_equal(r.q[1:], anew)
    # A real recording, without known joints, did begin in that pose.
    real = reconstruct(replace(acted, joints={}), SIX, SolverConfig(), refined=False)
    assert not np.array_equal(real.q[1:], anew)


@pytest.mark.parametrize('roles', [SIX[:3], SIX])
def test_what_is_held_out_tells_the_refinement_nothing(acted, roles):
    """Were it to, devices worn by somebody else would lead to another body."""
    poses = dict(acted.poses)
    for role in set(poses) - set(roles):
        poses[role] = poses[role].copy()
        poses[role][:, :3, 3] += 0.1 * np.sin(np.arange(len(acted)) / 5.0)[:, None]
    other = replace(acted, poses=poses)
    mine, theirs = (reconstruct(x, roles, SolverConfig()) for x in (acted, other))
    assert np.array_equal(mine.q, theirs.q)
    assert mine.calibration.proportions == theirs.calibration.proportions
    plain = reconstruct(acted, roles, SolverConfig(), refined=False)
    assert mine.calibration.proportions != plain.calibration.proportions
    assert mine.calibration.floor_m == plain.calibration.floor_m


def test_joints_of_a_known_user_are_found(acted):
    """With his true lengths, six devices leave little to guess; upside down would be far off."""
    figures = motion_figures(reconstruct(acted, SIX, SolverConfig()))
    assert figures['mean']['all_joints'] < 25.0
    assert figures['mean']['upper_joints'] < 30.0
    assert 1.0 < figures['untied']['all_joints'] < 80.0
