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

"""How a trunk leans that no device tells of: bows are no squats, who sits or nods is upright."""

import dataclasses
import math

from hypothesis import given
import hypothesis.strategies as st
import numpy as np
import pytest

from vr_ik.body.lean import Lean
from vr_ik.calibration.calibration import Calibration
from vr_ik.config import replace, SolverConfig
from vr_ik.math.rotations import pose, rotation_from_rpy
from vr_ik.pipeline import Pipeline
from vr_ik.trackers.simulated_user import SimulatedUser
from vr_ik.types import TrackingFrame

RATE_HZ = 90.0
THREE = ('hmd', 'l_controller', 'r_controller')
FOUR = (*THREE, 'waist')
ANKLES = ('l_ankle', 'r_ankle')
YAWS = [0.0, 2.0]


@pytest.fixture(scope='module')
def user():
    return SimulatedUser(1.75)


def bowing(user, degrees, yaw=0.0):
    """Return a pose with straight legs, the hips behind the feet, the trunk and the head bent."""
    model, lean = user.model, math.radians(degrees)
    angles = {
        'lumbar_flexion': 0.5 * lean,
        'thorax_flexion': 0.25 * lean,
        'neck_flexion': 0.2 * lean,
        'head_flexion': 0.1 * lean,
    }
    for side in 'lr':
        angles |= {
            f'{side}_hip_flexion': 0.75 * lean,
            f'{side}_ankle_dorsiflexion': -0.25 * lean,
        }
    q = model.clamp(model.configuration(angles))
    tilt = pose(rotation_from_rpy(0.0, 0.5 * lean, 0.0), np.zeros(3))
    return placed(user, q, pose(rotation_from_rpy(0.0, 0.0, yaw), np.zeros(3)) @ tilt)


def placed(user, q, turn):
    """Return a pose turned, with its feet at the world's origin."""
    q = q.copy()
    half = 0.5 * math.acos(min(max(0.5 * (np.trace(turn[:3, :3]) - 1.0), -1.0), 1.0))
    axis = turn[[2, 0, 1], [1, 2, 0]] - turn[[1, 2, 0], [2, 0, 1]]
    q[3:6] = math.sin(half) * axis / max(np.linalg.norm(axis), 1e-9)
    q[6] = math.cos(half)
    feet = np.mean([user.model.link_pose(q, ankle)[:3, 3] for ankle in ANKLES], axis=0)
    standing = user.model.neutral()
    ankle_m = (
        user.model.link_pose(standing, 'l_ankle') - user.model.link_pose(standing, 'l_sole')
    )[2, 3]
    q[:3] += (0.0, 0.0, ankle_m) - feet
    return q


def solve(user, poses, roles=THREE, calibration=None, **values):
    """Return what the pipeline makes of the devices, frame by frame, and its largest error [m]."""
    pipeline = Pipeline(replace(SolverConfig(), values), calibration)
    solved, errors_m = [], []
    for i, q in enumerate(poses):
        stamp_ns = 1 + round(i * 1e9 / RATE_HZ)
        solution = pipeline.process(TrackingFrame(stamp_ns, roles, user.device_poses(q, roles)))
        solved.append(solution.q)
        errors_m.append(max(solution.position_errors.values()))
    return np.array(solved), max(errors_m)


def going_down(user, degrees, yaw=0.0, seconds=1.0, held_s=1.0):
    stood = [0.0] * 20
    eased = [u * u * (3.0 - 2.0 * u) for u in np.arange(0.0, 1.0, 1.0 / (seconds * RATE_HZ))]
    held = [1.0] * round(held_s * RATE_HZ)
    return [bowing(user, degrees * share, yaw) for share in (*stood, *eased, *held)]


def off_m(user, link, a, b):
    return np.linalg.norm((user.model.link_pose(a, link) - user.model.link_pose(b, link))[:3, 3])


def knees_deg(user, q):
    return [math.degrees(q[7 + user.model.joint_index(f'{s}_knee_flexion')]) for s in 'lr']


def pelvis_pitch_deg(user, q):
    return math.degrees(math.asin(-user.model.link_pose(q, 'base_link')[2, 0]))


@pytest.mark.parametrize('yaw', YAWS)
@pytest.mark.parametrize('degrees', [30.0, 60.0])
def test_a_bow_is_no_squat(user, degrees, yaw):
    path = going_down(user, degrees, yaw)
    solved, error_m = solve(user, path)
    assert error_m < 0.002
    for q, truly in zip(solved, path, strict=True):
        assert off_m(user, 'base_link', q, truly) < 0.09
        assert max(knees_deg(user, q)) < 35.0
    assert off_m(user, 'base_link', solved[-1], path[-1]) < 0.05
    assert pelvis_pitch_deg(user, path[-1]) == pytest.approx(0.5 * degrees)
    assert pelvis_pitch_deg(user, solved[-1]) == pytest.approx(0.5 * degrees, abs=6.0)
    assert max(knees_deg(user, solved[-1])) < 25.0
    for ankle in ANKLES:
        assert off_m(user, ankle, solved[-1], path[-1]) < 0.08


@pytest.mark.parametrize('roles', [THREE, FOUR], ids=['3', '4'])
@pytest.mark.parametrize('seconds', [0.4, 1.0])
@pytest.mark.parametrize('yaw', YAWS)
def test_a_bow_until_the_head_hangs_down_does_not_turn_the_body_around(user, roles, seconds, yaw):
    """The eyes look behind by then."""
    path = going_down(user, 110.0, yaw, seconds)
    assert user.model.link_pose(path[-1], 'gaze')[2, 2] < -0.5
    solved, error_m = solve(user, path, roles)
    assert error_m < 0.01
    for q in solved:
        left = user.model.link_pose(q, 'base_link')[:3, 1]
        assert left @ (-math.sin(yaw), math.cos(yaw), 0.0) > 0.98
    assert off_m(user, 'base_link', solved[-1], path[-1]) < 0.15


def spine_columns(user):
    names = enumerate(user.model.joint_names, 7)
    return [i for i, name in names if name.startswith(('lumbar', 'thorax'))]


@pytest.mark.parametrize(('spine', 'bend_deg'), [('stiff', 15.0), ('rigid', 1.0)])
def test_who_leans_with_a_stiff_spine_leans_by_the_hips(user, spine, bend_deg):
    path = going_down(user, 60.0)
    solved, _ = solve(user, path, spine=spine)
    assert np.degrees(np.abs(solved[-1, spine_columns(user)]).max()) < bend_deg
    assert pelvis_pitch_deg(user, solved[-1]) > 35.0
    assert max(knees_deg(user, solved[-1])) < 55.0
    assert off_m(user, 'base_link', solved[-1], path[-1]) < 0.12


def test_a_bow_is_one_on_any_floor_and_with_any_headset(user):
    """A tilted headset on the forehead, and a world whose floor is not at 0."""
    worn = pose(rotation_from_rpy(0.0, 0.35, 0.0), np.array([0.06, 0.0, 0.08]))
    nominal = Calibration.nominal(1.75)
    gaze = nominal.mounts['hmd']
    tilted = dataclasses.replace(gaze, pose_link_from_device=gaze.pose_link_from_device @ worn)
    calibration = Calibration(nominal.proportions, {**nominal.mounts, 'hmd': tilted}, 0.3)
    pipeline = Pipeline(SolverConfig(), calibration)
    for i, q in enumerate(going_down(user, 60.0)):
        poses = user.device_poses(q, THREE)
        poses[0] = poses[0] @ worn
        poses[:, 2, 3] += 0.3
        solved = pipeline.process(TrackingFrame(1 + round(i * 1e9 / RATE_HZ), THREE, poses)).q
    q[2] += 0.3
    assert off_m(user, 'base_link', solved, q) < 0.05
    assert max(knees_deg(user, solved)) < 25.0


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
    steps_m = np.linalg.norm(np.diff(links, axis=0), axis=2)[130:]
    assert steps_m.max() < 0.02
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
    assert max(behind[100:]) < 0.06


def test_who_lands_from_a_jump_does_not_lean(user):
    q = bowing(user, 0.0)
    path = []
    for i in range(120):
        high = q.copy()
        high[2] += max(0.4 - 0.4 * ((i - 30) / 20.0) ** 2, 0.0)
        path.append(high)
    for solved in solve(user, path)[0][60:]:
        assert abs(pelvis_pitch_deg(user, solved)) < 2.0


def squatting(user, knees):
    legs = {'hip_flexion': 0.8 * knees, 'knee_flexion': knees, 'ankle_dorsiflexion': 0.2 * knees}
    angles = {f'{s}_{name}': angle for s in 'lr' for name, angle in legs.items()}
    return placed(user, user.model.configuration(angles), np.eye(4))


def test_who_squats_deeply_and_looks_ahead_is_not_bent_double(user):
    path = [squatting(user, 2.2 * min(i / 60.0, 1.0)) for i in range(80)]
    solved, _ = solve(user, path)
    assert off_m(user, 'base_link', solved[-1], path[-1]) < 0.3
    assert pelvis_pitch_deg(user, solved[-1]) < 20.0


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


def test_who_nods_does_not_lean(user):
    path = []
    for i in range(180):
        nod = min(i / 60.0, 1.0)
        angles = {'neck_flexion': 0.5 * nod, 'head_flexion': 0.5 * nod}
        path.append(placed(user, user.model.configuration(angles), np.eye(4)))
    for q in solve(user, path)[0]:
        assert abs(pelvis_pitch_deg(user, q)) < 2.0


def sitting(user, nod=0.0):
    legs = {'hip_flexion': math.pi / 2.0, 'knee_flexion': math.pi / 2.0}
    angles = {f'{s}_{name}': angle for s in 'lr' for name, angle in legs.items()}
    angles |= {'neck_flexion': 0.5 * nod, 'head_flexion': 0.5 * nod}
    return placed(user, user.model.configuration(angles), np.eye(4))


def test_who_sits_is_upright_after_a_while_and_may_look_down(user):
    path = [bowing(user, 0.0)] * 10 + [sitting(user)] * round(15.0 * RATE_HZ)
    path += [sitting(user, 0.8 * min(i / 60.0, 1.0)) for i in range(180)]
    solved, _ = solve(user, path)
    assert pelvis_pitch_deg(user, solved[60]) > 5.0
    assert abs(pelvis_pitch_deg(user, solved[-181])) < 3.0
    assert abs(pelvis_pitch_deg(user, solved[-1])) < 4.0


def test_who_stays_bent_is_not_taken_to_sit(user):
    path = going_down(user, 60.0, held_s=15.0)
    solved, _ = solve(user, path)
    assert pelvis_pitch_deg(user, solved[-1]) == pytest.approx(30.0, abs=6.0)


def test_a_waist_tracker_knows_better(user):
    """The lean that head and hands tell of must not bend the spine of who squats upright."""
    path = [bowing(user, 0.0)] * 10 + [sitting(user)] * 60
    solved, _ = solve(user, path, FOUR)
    assert abs(pelvis_pitch_deg(user, solved[-1])) < 1.0
    assert np.degrees(np.abs(solved[-1, spine_columns(user)]).max()) < 1.0


heights = st.floats(0.2, 2.2)
pitches = st.floats(-1.5, 2.5)
angles = st.floats(-3.1, 3.1)


def follow(frames):
    """Return the lean after frames of (height, pitch, yaw, seconds)."""
    lean = Lean(Calibration.nominal(1.75))
    for height, pitch, yaw, seconds in frames:
        head = pose(rotation_from_rpy(0.0, pitch, yaw), np.array([0.3, -2.0, height]))
        lean.follow(head, yaw, seconds)
    return lean.angle


frames = st.lists(st.tuples(heights, pitches, angles, st.floats(0.0, 3.0)), min_size=1, max_size=5)


@given(frames, angles)
def test_lean_is_forward_and_the_same_whichever_way_one_faces(before, turn):
    angle = follow(before)
    assert 0.0 <= angle < 2.5
    turned = follow([(height, pitch, yaw + turn, s) for height, pitch, yaw, s in before])
    assert turned == pytest.approx(angle, abs=1e-9)


@given(st.floats(-0.05, 0.05), angles, heights)
def test_upside_down_a_tremor_does_not_bend_the_trunk(tremor, yaw, height):
    stood = (1.6, 0.0, yaw, 0.0)
    bent = [follow([stood, (height, math.pi + t, yaw, 0.01)]) for t in (tremor, -tremor)]
    assert abs(bent[0] - bent[1]) < 10.0 * abs(tremor) + 1e-6
