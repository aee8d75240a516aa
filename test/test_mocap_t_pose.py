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

"""T-poses of motion capture: upright, hands straight, soles flat, on the ground of the motion."""

import numpy as np
import pytest
from test_bvh import HIPS_X, rows, skeleton, write

from vr_ik.errors import VrIkError
from vr_ik.evaluation.mocap import read_mocap

HAND_Z = {'l': 6 + 3 * 6, 'r': 6 + 3 * 10}
THIGH_Z = {'l': 6 + 3 * 11, 'r': 6 + 3 * 14}
THIGH_X, SHIN_X, FOOT_X = (
    {s: column + 3 * i + 1 for s, column in THIGH_Z.items()} for i in range(3)
)
FOOT_Z = {side: column - 1 for side, column in FOOT_X.items()}
"""Columns of turns: a hand on its forearm; a leg to the side; pitches of thigh, shin and foot."""


def hanging_arms(count):
    """Return a motion that does not begin with a T-pose."""
    row = rows(count, 0.0)
    row[:, [6 + 3 * 4, 6 + 3 * 8]] = -70.0, 70.0
    return row


def read(folder, row):
    return read_mocap(write(folder, skeleton(len(row), row)))


def test_a_t_pose_is_put_before_motion_that_has_none(tmp_path):
    row = rows(5, 0.0)
    row[:, 6 + 3 * 4] = -70.0
    recording = read_mocap(write(tmp_path, skeleton(5, row)))
    assert len(recording) == 6
    arm = recording.joints['l_wrist'][0] - recording.joints['l_upper_arm'][0]
    assert np.allclose(arm / np.linalg.norm(arm), (0.0, 1.0, 0.0), atol=1e-6)
    ankle = recording.joints['l_ankle']
    assert ankle[0, 2] == pytest.approx(ankle[1, 2])


@pytest.mark.parametrize('side', ['l', 'r'])
def test_hands_are_straight_in_a_t_pose_that_is_put_before(tmp_path, side):
    """However the motion begins: how hands will be bent is for the solver to find out."""
    row = hanging_arms(4)
    row[:, HAND_Z[side]] = 40.0
    recording = read(tmp_path, row)
    forearm = recording.joints[f'{side}_wrist'] - recording.joints[f'{side}_forearm']
    forearm /= np.linalg.norm(forearm, axis=1, keepdims=True)
    hand = recording.poses[f'{side}_controller'][:, :3, :3]
    in_hand = np.einsum('nji,nj->ni', hand, forearm)
    bend_deg = np.degrees(np.arccos(np.clip(in_hand[1:] @ in_hand[0], -1.0, 1.0)))
    assert np.allclose(bend_deg, 40.0)


@pytest.mark.parametrize('side', ['l', 'r'])
def test_soles_are_flat_in_a_t_pose_that_is_put_before(tmp_path, side):
    """As they are where the foot stands, though it begins on its toes, and mostly is lifted."""
    row = hanging_arms(40)
    row[:, THIGH_Z[side]] = 12.0
    row[:, FOOT_Z[side]] = -12.0
    row[:25, FOOT_X[side]] = 30.0
    row[:25, 1] += 8.0
    up = read(tmp_path, row).poses[f'{side}_foot'][:, 2, 2]
    assert np.allclose(up[26:], 1.0, atol=1e-9)
    assert np.allclose(up[1:26], np.cos(np.radians(30.0)))


def kneeling(count):
    """Stand, then kneel for half of the time: shanks lie, and toes point back."""
    row = hanging_arms(count)
    down = slice(count // 2, None)
    for side in 'lr':
        row[down, SHIN_X[side]] = 90.0
        row[down, FOOT_X[side]] = 60.0
    row[down, 1] -= 46.0  # knees are on the ground, and ankles lower than of one who stands
    return row


def test_who_kneels_stands_on_no_ankle(tmp_path):
    """Neither the soles nor the ground are where ankles are lowest."""
    recording = read(tmp_path, kneeling(40))
    ankles = recording.joints['l_ankle'][:, 2]
    assert ankles[-1] < ankles[1] - 0.03
    assert ankles[0] == pytest.approx(ankles[1])
    for side in 'lr':
        assert np.allclose(recording.poses[f'{side}_foot'][1:20, 2, 2], 1.0, atol=1e-9)


def test_who_never_stands_keeps_the_feet_on_the_shanks(tmp_path):
    """Soles that nothing tells of are turned with their shanks, and nothing fails."""
    recording = read(tmp_path, kneeling(40)[20:])
    assert np.isfinite(recording.poses['l_foot']).all()
    assert recording.poses['l_foot'][0, 2, 2] == pytest.approx(1.0)
    assert recording.joints['l_ankle'][0, 2] == pytest.approx(recording.joints['l_ankle'][1, 2])


@pytest.mark.parametrize('frames', [3, 20])
@pytest.mark.parametrize('sunk_m', [0.5, 0.1, -0.3])
def test_a_t_pose_that_floats_or_sinks_is_put_on_the_ground(tmp_path, sunk_m, frames):
    """On that of the foot that stands, while the other is lifted."""
    row = rows(frames, 60.0)
    row[1:, THIGH_X['l']] = -20.0
    row[1:, SHIN_X['l']] = 40.0
    standing = read(tmp_path, row)
    assert standing.joints['l_ankle'][1, 2] > standing.joints['r_ankle'][1, 2] + 0.03
    assert standing.joints['r_ankle'][0, 2] == pytest.approx(standing.joints['r_ankle'][1, 2])
    row[0, 1] -= 100.0 * sunk_m
    recording = read(tmp_path, row)
    for joint, places in standing.joints.items():
        assert np.allclose(recording.joints[joint], places, atol=1e-9), joint
    for role, poses in standing.poses.items():
        assert np.allclose(recording.poses[role], poses, atol=1e-9), role


def test_a_t_pose_that_stands_stays_where_it_is(tmp_path):
    """A centimetre is how people stand; what was recorded is not changed for it."""
    row = rows(20, 60.0)
    row[0, 1] += 1.0
    assert read(tmp_path, row).joints['l_ankle'][0, 2] == pytest.approx(
        read(tmp_path, row[1:]).joints['l_ankle'][1, 2] + 0.01
    )


def test_an_arm_that_points_the_wrong_way_is_turned_around(tmp_path):
    """There is no shortest way for half a turn, and yet it is one."""
    row = rows(3, 0.0)
    row[:, 6 + 3 * 4] = 180.0
    recording = read(tmp_path, row)
    arm = recording.joints['l_wrist'][0] - recording.joints['l_upper_arm'][0]
    assert np.allclose(arm / np.linalg.norm(arm), (0.0, 1.0, 0.0), atol=1e-6)


def test_a_pose_is_no_motion(tmp_path):
    with pytest.raises(VrIkError, match='single frame'):
        read(tmp_path, rows(1, 0.0))


def test_who_begins_bowed_is_put_upright_first(tmp_path):
    """Arms slanting by 40 deg are no T-pose, either; where the head looks at first is ahead."""
    row = rows(3, 0.0)
    row[:, HIPS_X] = 30.0
    for column, angle in ((6 + 3 * 4, -40.0), (6 + 3 * 8, 40.0)):
        row[:, column] = angle
    recording = read_mocap(write(tmp_path, skeleton(3, row)))
    assert len(recording) == 4
    first = {name: places[0] for name, places in recording.joints.items()}
    hips = 0.5 * (first['l_thigh'] + first['r_thigh'])
    assert np.allclose((first['neck'] - hips)[:2], 0.0, atol=1e-6)
    assert first['l_wrist'][2] == pytest.approx(first['l_upper_arm'][2])
    assert first['r_wrist'][2] == pytest.approx(first['r_upper_arm'][2])
    assert np.allclose(recording.poses['hmd'][:, :3, :3], np.eye(3), atol=1e-9)
    # The belt's device is level in the pose put before, and bowed in the motion.
    belt = recording.poses['waist'][:, :3, 2]
    assert np.allclose(belt[0], (0.0, 0.0, 1.0), atol=1e-9)
    assert belt[1] @ belt[0] == pytest.approx(np.cos(np.radians(30.0)))
