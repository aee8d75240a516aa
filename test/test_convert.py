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

"""`vr_ik convert`: motion to BVH, CSV and bags, and back, by the laws of forward kinematics."""

import csv
import math
import os
import shutil

from bag_support import HEIGHT_M, session, write_bag
from hypothesis import given, settings, strategies as st
import numpy as np
import pytest
from typer.testing import CliRunner

from vr_ik.body.anthropometry import Proportions
from vr_ik.body.human import human_urdf
from vr_ik.body.skeleton import MODELS
from vr_ik.cli.main import app
from vr_ik.config import SolverConfig
from vr_ik.evaluation.mocap import read_mocap
from vr_ik.io.bags import read_tracking
from vr_ik.io.bvh import read_bvh
from vr_ik.io.bvh_writer import AXES, bvh_name, CM_PER_M, write_bvh, zxy_angles
from vr_ik.kinematics.model import RobotModel
from vr_ik.kinematics.urdf import read_urdf
from vr_ik.math.rotations import matrix_from_quaternion
from vr_ik.offline.motion import Motion, read_motion
from vr_ik.trackers.simulated_user import SimulatedUser


def invoke(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope='module')
def bag(tmp_path_factory):
    return write_bag(tmp_path_factory.mktemp('convert') / 'session', session(4.0))


@pytest.fixture(scope='module')
def solved(bag, tmp_path_factory):
    out = tmp_path_factory.mktemp('solved') / 'out'
    result = invoke('solve', bag, '-o', out)
    assert result.exit_code == 0, result.output
    return out


@pytest.fixture(scope='module')
def dance(tmp_path_factory):
    """A BVH file of a user in motion, after a T-pose."""
    user = SimulatedUser(HEIGHT_M)
    path = tmp_path_factory.mktemp('bvh') / 'dance.bvh'
    q = np.array([user.q_at(0.0), *(user.q_at(4.0 + i / 60.0) for i in range(120))])
    write_bvh(path, human_urdf(user.proportions), q, 1.0 / 60.0)
    return path


@pytest.mark.parametrize('model_name', MODELS)
def test_a_bvh_file_has_the_models_forward_kinematics(tmp_path, model_name):
    """Every joint of the file is where its link is, in any pose, and turned as it."""
    urdf = human_urdf(Proportions.from_height(1.68), model_name)
    model = RobotModel.from_urdf(urdf, floating_base=True)
    rng = np.random.default_rng(3)
    q = np.array([model.random(rng) for _ in range(20)])
    write_bvh(tmp_path / 'x.bvh', urdf, q, 0.01)
    bvh = read_bvh(tmp_path / 'x.bvh')
    assert bvh.frame_time_s == 0.01
    poses = bvh.poses()
    links = {bvh_name(link): link for link in model.link_names}
    turning = {joint.child for joint in read_urdf(urdf).joints if joint.kind != 'fixed'}
    assert {links[name] for name in bvh.names} - {model.root_link} <= turning
    for i, row in enumerate(q):
        placed = model.link_poses(row)
        for name, pose in zip(bvh.names, poses[i], strict=True):
            link = placed[model.link_index(links[name])]
            at = AXES.T @ pose[:3, 3] / CM_PER_M
            np.testing.assert_allclose(at, link[:3, 3], atol=1e-6)
            np.testing.assert_allclose(AXES.T @ pose[:3, :3] @ AXES, link[:3, :3], atol=1e-6)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-math.pi, math.pi), min_size=3, max_size=3), st.booleans())
def test_angles_give_their_rotation_back(angles, locked):
    z, x, y = angles
    x = math.copysign(math.pi / 2.0, x) if locked else x
    rotation = turn(2, z) @ turn(0, x) @ turn(1, y)
    found = zxy_angles(rotation[None])[0]
    back = turn(2, found[0]) @ turn(0, found[1]) @ turn(1, found[2])
    # Near a right angle the arcsine has half the digits.
    np.testing.assert_allclose(back, rotation, atol=1e-7)


def test_a_hinge_bends_beyond_a_right_angle_on_its_own_axis():
    """Also through the very right angle, where z and y turn about one axis."""
    bend = np.concatenate((np.linspace(0.0, 2.6, 50), [math.pi / 2.0], np.linspace(1.5, -2.6, 90)))
    found = zxy_angles(np.array([turn(0, x) for x in bend]))
    np.testing.assert_allclose(found, np.column_stack((0 * bend, bend, 0 * bend)), atol=1e-7)


def test_angles_go_on_evenly_over_whole_turns():
    """As of somebody who turns round and round, and bows beyond the horizontal."""
    time_s = np.linspace(0.0, 10.0, 2000)
    true = np.column_stack((0.3 * np.sin(time_s), 1.8 * np.sin(0.7 * time_s), 2.0 * time_s))
    found = zxy_angles(np.array([turn(2, z) @ turn(0, x) @ turn(1, y) for z, x, y in true]))
    np.testing.assert_allclose(found, true, atol=1e-6)


def turn(axis, angle):
    quaternion = np.zeros(4)
    quaternion[axis], quaternion[3] = math.sin(0.5 * angle), math.cos(0.5 * angle)
    return matrix_from_quaternion(quaternion)


def test_a_bvh_file_becomes_a_session_and_the_body_comes_back(dance, tmp_path):
    """Devices on the actor, solved: his size is measured, and his joints are found again."""
    result = invoke('convert', dance, tmp_path / 'bag')
    assert result.exit_code == 0, result.output
    config = SolverConfig()
    frames, _ = read_tracking(tmp_path / 'bag', config)
    truth = read_mocap(dance)
    assert set(frames[0].names) == set(truth.poses)
    moved = frames[-(len(truth) - 1) :]
    for role, poses in truth.poses.items():
        recorded = [frame.poses[frame.names.index(role)] for frame in moved]
        np.testing.assert_allclose(recorded, poses[1:], atol=1e-9)
    result = invoke('calibrate', tmp_path / 'bag', '--no-refine')
    assert result.exit_code == 0, result.output
    assert f'height {HEIGHT_M:.1f}' in result.output
    assert invoke('convert', dance, tmp_path / 'again.bvh').exit_code == 0
    back = read_mocap(tmp_path / 'again.bvh')
    motion = read_motion(dance, config, None)
    model = RobotModel.from_urdf(motion.urdf, floating_base=True)
    solved = np.array([model.link_poses(q)[:, :3, 3] for q in motion.q])
    for joint in back.joints:
        found = solved[:, model.link_index(joint)]
        np.testing.assert_allclose(back.joints[joint], found, atol=1e-6, err_msg=joint)
    # Lengths and mounts are estimates from one T-pose: how good is measured by `vr_ik eval`.
    for joint in truth.joints:
        away = np.linalg.norm(back.joints[joint] - truth.joints[joint], axis=1)
        assert np.median(away) < 0.08, joint


def test_a_solved_bag_is_taken_as_it_is_and_another_is_solved(bag, solved, tmp_path):
    config = SolverConfig()
    as_it_is = read_motion(solved, config, None)
    anew = read_motion(bag, config, None)
    assert as_it_is.urdf == anew.urdf and as_it_is.joint_names == anew.joint_names
    np.testing.assert_array_equal(as_it_is.stamps_ns, anew.stamps_ns)
    np.testing.assert_allclose(np.abs(as_it_is.q), np.abs(anew.q), atol=1e-9)
    other = read_motion(bag, SolverConfig(user_height_m=1.9), None)
    assert np.abs(other.q - anew.q).max() > 0.01


def test_what_is_lost_of_a_cut_bag_is_told(bag, solved, tmp_path):
    for number, source in enumerate((bag, solved)):
        cut = tmp_path / f'cut_{number}'
        shutil.copytree(source, cut)
        file = next(cut.glob('*.mcap'))
        os.truncate(file, int(0.8 * file.stat().st_size))
        whole = invoke('convert', source, tmp_path / f'whole_{number}.csv')
        result = invoke('convert', cut, tmp_path / f'cut_{number}.csv')
        assert result.exit_code == whole.exit_code == 0, result.output
        assert f'{cut}: could not be read: the file is cut off' in result.stderr
        assert not whole.stderr


def test_csv_holds_every_number(solved, tmp_path):
    motion = read_motion(solved, SolverConfig(), None)
    result = invoke('convert', solved, tmp_path / 'x.csv')
    assert result.exit_code == 0, result.output
    with (tmp_path / 'x.csv').open() as file:
        header, *rows = csv.reader(file)
    assert header[:8] == ['stamp_ns', 'x', 'y', 'z', 'qx', 'qy', 'qz', 'qw']
    assert tuple(header[8:]) == motion.joint_names
    assert [int(row[0]) for row in rows] == motion.stamps_ns.tolist()
    np.testing.assert_array_equal([[float(x) for x in row[1:]] for row in rows], motion.q)


def test_frames_at_odd_times_are_evened_out():
    """A frame is missing, time goes back once, the root's quaternion changes its sign."""
    stamps = np.array([0, 10, 20, 40, 50, 5, 15], np.int64) * 1_000_000
    joint = np.array([0.0, 1.0, 2.0, 4.0, 5.0, 6.0, 7.0])
    q = np.zeros((7, 8))
    q[:, 6] = [1.0, 1.0, -1.0, -1.0, 1.0, 1.0, 1.0]
    q[:, 7] = joint
    frame_time_s, even = Motion('', ('joint',), stamps, q).evenly()
    assert frame_time_s == pytest.approx(0.01)
    np.testing.assert_allclose(even[:, 7], np.arange(8.0), atol=1e-9)
    np.testing.assert_allclose(np.abs(even[:, 6]), 1.0)


@pytest.mark.parametrize(
    ('names', 'part'),
    [
        (('session', 'x.fbx'), "unknown format '.fbx'"),
        (('session', 'y'), 'vr_ik solve'),
        (('nothing.txt', 'x.bvh'), 'neither a bag nor'),
        (('session', 'session'), 'exists already'),
    ],
)
def test_what_cannot_be_converted_is_refused(bag, names, part):
    source, target = (bag.parent / name for name in names)
    result = invoke('convert', source, target)
    assert result.exit_code == 2
    assert part in result.output
