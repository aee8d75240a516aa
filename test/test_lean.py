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
from posture_support import (
    ANKLES,
    bowing,
    FOUR,
    going_down,
    knees_deg,
    off_m,
    pelvis_pitch_deg,
    placed,
    RATE_HZ,
    sitting,
    solve,
    squatting,
    THREE,
)
import pytest

from vr_ik.body.lean import Lean
from vr_ik.calibration.calibration import Calibration
from vr_ik.config import SolverConfig
from vr_ik.math.rotations import pose, rotation_from_rpy
from vr_ik.pipeline import Pipeline
from vr_ik.trackers.simulated_user import SimulatedUser
from vr_ik.types import TrackingFrame

YAWS = [0.0, 2.0]


@pytest.fixture(scope='module')
def user():
    return SimulatedUser(1.75)


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


@pytest.mark.parametrize('roles', [THREE, FOUR], ids=['3', '4'])
def test_who_jumps_is_not_held_by_the_feet_and_does_not_lean_on_landing(user, roles):
    q = bowing(user, 0.0)
    path = []
    for i in range(120):
        high = q.copy()
        high[2] += max(0.4 - 0.4 * ((i - 30) / 20.0) ** 2, 0.0)
        path.append(high)
    solved, error_m = solve(user, path, roles)
    assert error_m < 0.005
    for landed in solved[60:]:
        assert abs(pelvis_pitch_deg(user, landed)) < 2.0


def test_who_squats_deeply_and_looks_ahead_is_not_bent_double(user):
    path = [squatting(user, 2.2 * min(i / 60.0, 1.0)) for i in range(80)]
    solved, _ = solve(user, path)
    assert off_m(user, 'base_link', solved[-1], path[-1]) < 0.3
    assert pelvis_pitch_deg(user, solved[-1]) < 20.0


def test_who_nods_does_not_lean(user):
    path = []
    for i in range(180):
        nod = min(i / 60.0, 1.0)
        angles = {'neck_flexion': 0.5 * nod, 'head_flexion': 0.5 * nod}
        path.append(placed(user, user.model.configuration(angles), np.eye(4)))
    for q in solve(user, path)[0]:
        assert abs(pelvis_pitch_deg(user, q)) < 2.0


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


def test_a_chest_tracker_leaves_the_spine_its_share_of_a_bow(user):
    """It tells how the trunk is, and not what of that is the hips'."""
    path = going_down(user, 60.0)
    solved, _ = solve(user, path, (*THREE, 'chest'))
    assert pelvis_pitch_deg(user, solved[-1]) == pytest.approx(30.0, abs=6.0)
    assert off_m(user, 'base_link', solved[-1], path[-1]) < 0.03
