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

"""`vr_ik eval` measures what it says: known motion gives known errors, bad input one sentence."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from vr_ik.body.human import T_POSE
from vr_ik.cli.main import app
from vr_ik.config import SolverConfig
from vr_ik.errors import VrIkError
from vr_ik.evaluation.metrics import (
    motion_figures,
    overall_figures,
    rotation_errors_deg,
    unbeaten,
)
from vr_ik.evaluation.reconstruction import reconstruct
from vr_ik.evaluation.recordings import read_vive, Recording
from vr_ik.evaluation.tracks import rigid_baseline, Track, tracks
from vr_ik.math.openvr_axes import poses_to_openvr
from vr_ik.math.rotations import quaternion_from_matrix, rotation_from_rpy
from vr_ik.trackers.simulated_user import SimulatedUser

TAGS = {
    'head': 'hmd',
    'hip': 'waist',
    'lHand': 'l_controller',
    'rHand': 'r_controller',
    'lFoot': 'l_foot',
    'rFoot': 'r_foot',
    'lForeArm': 'l_elbow',
    'rForeArm': 'r_elbow',
    'lKnee': 'l_knee',
    'rKnee': 'r_knee',
}
SIX = ('hmd', 'l_controller', 'r_controller', 'waist', 'l_foot', 'r_foot')


@pytest.fixture(scope='module')
def recording():
    """The simulated user's T-pose, then a second of its motion, all devices seen."""
    user = SimulatedUser(1.75)
    roles = tuple(TAGS.values())
    t_pose = user.model.configuration(T_POSE)
    t_pose[2] = user.q_at(0.0)[2]
    rows = [user.device_poses(t_pose, roles)]
    rows += [user.device_poses(user.q_at(4.0 + i / 30.0), roles) for i in range(30)]
    poses = np.array(rows)
    return Recording('wave', 90.0, {role: poses[:, i] for i, role in enumerate(roles)})


@pytest.fixture
def folder(tmp_path, recording):
    poses = np.stack([recording.poses[role] for role in TAGS.values()], axis=1)
    raw = poses_to_openvr(poses.reshape(-1, 4, 4)).reshape(*poses.shape[:2], -1, 4)
    values = np.zeros((*poses.shape[:2], 7), np.float32)
    values[..., :3] = raw[..., :3, 3]
    for index in np.ndindex(poses.shape[:2]):
        values[index][3:] = quaternion_from_matrix(np.array(raw[index][:3, :3]))
    np.savez(tmp_path / 'vive_raw.npz', wave=values, wave__tags=np.array(list(TAGS)))
    return tmp_path


def test_a_vive_file_is_read_back_as_written(folder, recording):
    (read,) = read_vive(folder / 'vive_raw.npz')
    assert read.name == 'wave' and len(read) == len(recording)
    for role, poses in recording.poses.items():
        assert np.allclose(read.poses[role], poses, atol=1e-5)


def test_recordings_that_are_cut_off_are_named(tmp_path):
    tags = np.array(['head'])
    np.savez(tmp_path / 'whole.npz', wave=np.zeros((3, 1, 7)), wave__tags=tags)
    data = (tmp_path / 'whole.npz').read_bytes()
    for size in (0, 10, len(data) // 2):
        (tmp_path / 'cut.npz').write_bytes(data[:size])
        with pytest.raises(VrIkError, match='cut.npz'):
            read_vive(tmp_path / 'cut.npz')


def test_held_out_devices_start_exact_and_jumps_do_not_count(recording):
    r = reconstruct(recording, SIX, SolverConfig(), refined=False)
    by_name = {track.name: track for track in tracks(r)}
    for name in ('l_elbow', 'r_knee'):
        assert np.allclose(by_name[name].predicted[0], by_name[name].true[0], atol=1e-9)
    poses = {role: p.copy() for role, p in recording.poses.items()}
    poses['l_elbow'][15:, :3, 3] += 3.0
    jumped = reconstruct(Recording('a', 90.0, poses), SIX, SolverConfig(), refined=False)
    (track,) = [t for t in tracks(jumped) if t.name == 'l_elbow']
    assert not track.valid[15] and track.valid[16:].all()


def test_a_knee_device_on_the_thigh_is_measured_on_the_shin_and_on_the_thigh(recording):
    poses = {role: p.copy() for role, p in recording.poses.items()}
    user = SimulatedUser(1.75)
    above = np.eye(4)
    above[:3, 3] = 0.06, 0.0, -0.75 * user.proportions.thigh
    q = [user.model.configuration(T_POSE), *(user.q_at(4.0 + i / 30.0) for i in range(30))]
    q[0][2] = user.q_at(0.0)[2]
    poses['l_knee'] = np.array([user.model.link_pose(row, 'l_thigh') @ above for row in q])
    r = reconstruct(Recording('a', 90.0, poses), SIX, SolverConfig(), refined=False)
    by_name = {track.name: track for track in tracks(r)}
    for name, link in (('l_knee', 'l_shin'), ('l_knee_on_thigh', 'l_thigh')):
        local = np.linalg.inv(r.link(link)) @ by_name[name].predicted
        assert np.allclose(local, local[0], atol=1e-9), name
    assert 'r_knee_on_thigh' not in by_name
    assert 'knees_on_thigh' in motion_figures(r)['mean']


def test_the_baseline_is_rigid(recording):
    r = reconstruct(recording, SIX, SolverConfig(), refined=False)
    (elbow,) = [t for t in tracks(r) if t.name == 'l_elbow']
    base = rigid_baseline(r, elbow)
    assert base is not None
    hand = recording.poses['l_controller']
    local = np.linalg.inv(hand) @ base.predicted
    assert np.allclose(local, local[0])
    assert np.allclose(base.predicted[0], elbow.true[0])


def test_rotation_errors_are_angles():
    turned = np.eye(4)[None].copy()
    turned[0, :3, :3] = rotation_from_rpy(0.0, 0.0, np.radians(30.0))
    track = Track('hmd', False, turned, np.eye(4)[None], np.ones(1, bool))
    assert rotation_errors_deg(track) == pytest.approx([30.0])


def test_the_mean_is_over_motions_and_absent_truth_is_left_out(recording):
    figures = motion_figures(reconstruct(recording, SIX, SolverConfig(), refined=False))
    assert {'head', 'hands', 'feet', 'hips', 'elbows', 'knees'} == set(figures['mean'])
    other = {**figures, 'mean': {'head': figures['mean']['head'] + 2.0}}
    overall = overall_figures({'a': figures, 'b': other})
    assert overall['mean']['head'] == pytest.approx(figures['mean']['head'] + 1.0)
    assert overall['mean']['knees'] == figures['mean']['knees']
    assert overall['frames'] == 2 * len(recording)


def run(*arguments):
    return CliRunner().invoke(app, ['eval', *map(str, arguments)])


def test_the_command_prints_a_table_and_writes_json(folder, tmp_path):
    file = tmp_path / 'e.json'
    result = run(folder, '--points', '6', '--no-refine', '--json', file)
    assert result.exit_code == 0, result.output
    assert 'rigid, no IK' in result.output and 'wave' in result.output
    figures = json.loads(file.read_text())
    assert set(figures['time_us']) == {'median', 'p99'}
    assert figures['mean'] == pytest.approx(figures['motions']['wave']['mean'])
    assert set(figures['motions']) == {'wave'}
    wanted = {'mean', 'rotation_deg', 'jerk_ratio', 'time_us', 'frames'}
    assert wanted | {'motions'} <= set(figures) and wanted <= set(figures['motions']['wave'])
    assert 'solvers' not in figures
    for track in ('l_elbow', 'hmd'):
        assert {'mean', 'median', 'p95', 'rotation_deg', 'velocity_mm_s'} <= set(
            figures['tracks'][track]
        )


def test_solvers_stand_side_by_side(folder, tmp_path):
    file = tmp_path / 'e.json'
    solvers = ('--solver', 'body', '--solver', 'two_bone')
    result = run(folder, '--no-refine', *solvers, '--json', file)
    assert result.exit_code == 0, result.output
    assert 'by solver' in result.output
    figures = json.loads(file.read_text())
    assert figures['solver'] == 'body' and set(figures['solvers']) == {'two_bone'}
    other = figures['solvers']['two_bone']
    assert {'mean', 'rotation_deg', 'jerk_ratio', 'time_us', 'frames', 'motions'} <= set(other)
    assert other['mean'] != figures['mean']


def test_a_chosen_motion_is_drawn_and_an_unknown_one_refused(folder, tmp_path):
    pytest.importorskip('matplotlib')
    plots = tmp_path / 'plots'
    result = run(folder, '--no-refine', '--motion', 'wave', '--plot', plots)
    assert result.exit_code == 0, result.output
    assert (plots / 'wave_body_6.png').stat().st_size > 10_000
    refused = run(folder, '--motion', 'jump')
    assert refused.exit_code == 2 and "'jump'" in refused.output and 'wave' in refused.output


@pytest.fixture
def without_waist(folder):
    """A file of a motion that six devices did not see."""
    raw = dict(np.load(folder / 'vive_raw.npz'))
    few = np.isin(raw['wave__tags'], ['head', 'lHand', 'rHand'])
    file = folder / 'three.npz'
    np.savez(file, few=raw['wave'][:, few], few__tags=raw['wave__tags'][few])
    return file


def test_what_cannot_be_evaluated_is_left_out_and_named(folder, without_waist):
    """One file is none, one motion lacks devices, one begins in no pose to calibrate from."""
    (folder / 'broken.bvh').write_text('nothing')
    raw = dict(np.load(folder / 'vive_raw.npz'))
    tags = raw['wave__tags']
    late = {'late': raw['wave'][1:], 'late__tags': tags}
    np.savez(folder / 'late.npz', **late, short=raw['wave'][:1], short__tags=tags)
    whole, file = folder / 'whole.json', folder / 'e.json'
    assert run(folder / 'vive_raw.npz', '--no-refine', '--json', whole).exit_code == 0
    result = run(folder, '--no-refine', '--json', file)
    assert result.exit_code == 3, result.output
    expected, figures = json.loads(whole.read_text()), json.loads(file.read_text())
    assert expected['left_out'] == {} and expected['mean'] == figures['mean']
    assert set(figures['motions']) == {'wave'}
    reasons = figures['left_out']
    broken = str(folder / 'broken.bvh')
    assert set(reasons) == {broken, 'few', 'late', 'short'}
    assert 'no BVH' in reasons[broken] and 'look forward' in reasons['late']
    assert 'two frames or more' in reasons['short']
    assert "'few' has no waist, l_foot, r_foot" in reasons['few']
    assert 'it has hmd, l_controller, r_controller' in reasons['few']
    assert result.output.count('Left out: ') == len(reasons)
    # Of a motion that is asked for by name, the others are nobody's business.
    assert run(folder, '--no-refine', '--motion', 'wave').exit_code == 0
    unknown = run(folder, '--motion', 'broken')
    assert unknown.exit_code == 2 and 'is no BVH file' in unknown.output


def test_what_cannot_be_evaluated_at_all_is_refused_before_the_work(folder, without_waist):
    refused = run(without_waist, '--points', '6')
    assert refused.exit_code == 2 and 'rigid' not in refused.output
    assert "'few' has no waist, l_foot, r_foot" in refused.output
    np.savez(folder / 'again.npz', **np.load(folder / 'vive_raw.npz'))
    twice = run(folder / 'vive_raw.npz', folder / 'again.npz')
    assert twice.exit_code == 2 and "Two recordings are named 'wave'" in twice.output
    # With three devices and nothing else there is no truth, which is said.
    alone = run(without_waist, '--points', '3', '--no-refine')
    assert alone.exit_code == 0 and 'No elbows or knees are known' in alone.output


def test_where_no_ik_is_as_good_it_is_named():
    def motion(solved, rigid):
        return {'mean': {'elbows': solved, 'head': 1.0}, 'baseline': {'elbows': rigid}}

    motions = {'won': motion(11.0, 12.0), 'lost': motion(12.0, 11.0), 'easy': motion(12.0, 9.0)}
    assert unbeaten({'motions': motions}) == [('lost', 'elbows', 12.0, 11.0)]


@pytest.mark.parametrize(
    ('arguments', 'reason'),
    [
        (('nowhere',), "There is no 'nowhere'"),
        (('.', '--points', '6'), 'holds no recordings'),
        (('.', '--points', '7'), "'7'"),
        (('.', '--plot', '/dev/null/no'), 'cannot be made'),
        (('above',), 'There are some in its folders below.'),
        (('other.npz',), "there is no 'wave__tags'"),
        (('empty.npz',), "there is no 'NAME__tags'"),
    ],
)
def test_bad_input_ends_in_one_sentence(tmp_path, monkeypatch, arguments, reason):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'above' / 'below').mkdir(parents=True)
    (tmp_path / 'above' / 'below' / 'a.bvh').touch()
    if arguments[0].endswith('.npz'):
        np.savez(tmp_path / 'other.npz', wave=np.zeros((3, 1, 7)))
        np.savez(tmp_path / 'empty.npz')
    result = run(*arguments)
    assert result.exit_code == 2 and 'Traceback' not in result.output
    assert reason in result.output


@pytest.mark.parametrize('refined', [False, True])
def test_what_is_held_out_changes_no_pose(recording, refined):
    """Neither the first calibration nor the refinement may know of it."""
    poses = {role: p.copy() for role, p in recording.poses.items()}
    for role in set(poses) - set(SIX[:3]):
        poses[role][:, :3, 3] += (0.03, 0.02, 0.10)
    other = Recording('a', 90.0, poses)
    q = [reconstruct(r, SIX[:3], SolverConfig(), refined).q for r in (recording, other)]
    assert np.array_equal(q[0], q[1])


def test_the_step_out_of_a_made_up_pose_is_no_motion(recording):
    """Nor does what is tied in the first frame count as right there."""
    joints = {'l_forearm': recording.poses['l_elbow'][:, :3, 3].copy()}
    still = joints['l_forearm']
    still[1:] = still[1]
    r = reconstruct(
        Recording('a', 90.0, recording.poses, joints), SIX, SolverConfig(), refined=False
    )
    (joint,) = [t for t in tracks(r) if t.is_joint]
    assert not joint.valid[0] and joint.valid[1:].all()
    # The truth stands still but for the step that does not count, so there is no ratio.
    assert motion_figures(r)['jerk_ratio'] is None
    assert motion_figures(r)['untied'].keys() == {'all_joints', 'upper_joints'}
