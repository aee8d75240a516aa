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

# mypy: disable-error-code="union-attr, attr-defined"
"""`vr_ik solve`: the same numbers every time, original topics untouched."""

import hashlib
import json
import os
import shutil

from bag_support import RATE_HZ, session, single_transforms, STORE, write_bag
from mcap.reader import make_reader
from numba import njit
import numpy as np
import pytest
from rosbags.interfaces import QosDurability
from rosbags.rosbag2 import CompressionMode, Reader, StoragePlugin, Writer
from solve_support import contents, invoke, JOINT_STATES, solve, TF

from vr_ik.config import SolverConfig
from vr_ik.errors import VrIkError
from vr_ik.io.bag_files import Bag
from vr_ik.io.bags import read_tracking
from vr_ik.offline import many
from vr_ik.offline.motion import read_motion
from vr_ik.pipeline import Pipeline


@pytest.fixture(scope='module')
def bag(tmp_path_factory):
    return write_bag(tmp_path_factory.mktemp('solve') / 'session', session(8.0))


@pytest.fixture(scope='module')
def solved(bag, tmp_path_factory):
    """Return the result of the command, and its figures."""
    folder = tmp_path_factory.mktemp('solved')
    result = invoke('solve', bag, '-o', folder / 'out', '--json', folder / 'out.json')
    assert result.exit_code == 0, result.output
    return folder / 'out', json.loads((folder / 'out.json').read_text())


def positions(path):
    """Return the stamp and the solved q of each frame in a bag, root first."""
    roots, joints = {}, {}
    for topic, _, data in contents(path):
        if topic == TF:
            for t in STORE.deserialize_cdr(data, 'tf2_msgs/msg/TFMessage').transforms:
                if t.child_frame_id == 'base_link':
                    p, q = t.transform.translation, t.transform.rotation
                    roots[stamp_ns(t.header)] = [p.x, p.y, p.z, q.x, q.y, q.z, q.w]
        elif topic == JOINT_STATES:
            state = STORE.deserialize_cdr(data, 'sensor_msgs/msg/JointState')
            joints[stamp_ns(state.header)] = state.position
    assert list(roots) == list(joints)
    return list(roots), np.array([[*roots[stamp], *joints[stamp]] for stamp in roots])


def stamp_ns(header):
    return header.stamp.sec * 1_000_000_000 + header.stamp.nanosec


def test_a_body_that_does_not_fit_is_told(bag, tmp_path):
    """By how far it is from the devices, and what to do about it."""
    # Without the leap of the first second, after which the body glides for a while.
    calm = write_bag(tmp_path / 'calm', session(8.0)[int(RATE_HZ) :])
    invoke('solve', calm, '-o', tmp_path / 'calm_out', '--json', tmp_path / 'calm.json')
    errors_mm = json.loads((tmp_path / 'calm.json').read_text())['bags'][0]['errors_mm']
    assert set(errors_mm) == {'hmd', 'l_controller', 'r_controller', 'waist', 'l_foot', 'r_foot'}
    assert max(errors_mm.values()) < 10.0
    (tmp_path / 'small.yaml').write_text('/**: {ros__parameters: {user_height_m: 1.4}}')
    result = invoke('solve', bag, '-o', tmp_path / 'out', '--config', tmp_path / 'small.yaml')
    assert 'average body of 1.4 m does not fit' in result.output
    assert f'vr_ik calibrate {bag} --user NAME' in result.output


def test_the_result_is_what_the_pipeline_gives(bag, solved):
    out, figures = solved
    config = SolverConfig()
    frames, _ = read_tracking(bag, config)
    pipeline = Pipeline(config)
    expected = np.array([pipeline.process(frame).q for frame in frames])
    stamps, q = positions(out)
    assert stamps == [frame.stamp_ns for frame in frames]
    np.testing.assert_array_equal(q[:, 7:], expected[:, 7:])
    # The root passes through a matrix; of the two quaternions of a rotation, either will do.
    signs = np.sign((q[:, 3:7] * expected[:, 3:7]).sum(axis=1))
    q[:, 3:7] *= signs[:, None]
    np.testing.assert_allclose(q[:, :7], expected[:, :7], atol=1e-12)
    assert figures['sha256'] == hashlib.sha256(expected.tobytes()).hexdigest()
    assert figures['frames'] == len(frames)
    assert figures['seconds_of_motion'] == pytest.approx((len(frames) - 1) / RATE_HZ)
    assert figures['realtime_factor'] == pytest.approx(
        figures['seconds_of_motion'] / figures['seconds_taken'], rel=0.01
    )


def test_every_run_gives_the_same_bits(bag, solved, tmp_path):
    out, figures = solved
    again = solve(bag, tmp_path / 'again')
    assert again.sha256 == figures['sha256'] == figures['bags'][0]['sha256']
    assert contents(tmp_path / 'again') == contents(out)
    assert solve(bag, tmp_path / 'other', smoothing_hz=0.0).sha256 != again.sha256


def test_what_was_compiled_just_now_is_solved_with_in_another_process(bag, tmp_path, monkeypatch):
    """Optimized anew, kernels may round otherwise than those that later runs load."""

    def compile_one(pipeline, config):
        njit(lambda x: x + 1.0)(2.0)

    monkeypatch.setattr(many, 'warm_up', compile_one)
    monkeypatch.setattr(many, 'solve_bag', lambda *arguments: pytest.fail('in this process'))
    shares = []
    (outcome,) = many.solve_all(
        [many.Job(bag, tmp_path / 'out')], SolverConfig(), None, lambda *told: shares.append(told)
    )
    assert outcome.frames == 480
    assert shares and {number for number, _ in shares} == {0}
    monkeypatch.setattr(many, 'warm_up', lambda pipeline, config: None)
    with pytest.raises(pytest.fail.Exception, match='in this process'):
        many.solve_all([many.Job(bag, tmp_path / 'again')], SolverConfig(), None, print)


def test_original_topics_pass_unchanged_and_in_order(bag, solved):
    out, _ = solved
    before = contents(bag)
    after = contents(out)
    added = {JOINT_STATES, '/robot_description', '/diagnostics'}
    assert [m for m in after if m[0] == '/chatter'] == [m for m in before if m[0] == '/chatter']
    tf = [m for m in after if m[0] == TF]
    assert [m for m in tf if b'base_link' not in m[2]] == [m for m in before if m[0] == TF]
    assert {m[0] for m in after} - {m[0] for m in before} == added
    times = [m[1] for m in after]
    assert times == sorted(times)


def test_readers_of_others_open_the_result(solved):
    out, figures = solved
    with Reader(out) as reader:
        topics = {c.topic: c for c in reader.connections}
        assert reader.message_count == sum(c.msgcount for c in reader.connections)
    latched = topics['/robot_description'].ext.offered_qos_profiles[0]
    assert latched.durability is QosDurability.TRANSIENT_LOCAL
    assert topics[JOINT_STATES].msgcount == figures['frames']
    with (out / 'out.mcap').open('rb') as file:
        summary = make_reader(file, validate_crcs=True).get_summary()
        channels = {c.id: c.topic for c in summary.channels.values()}
        counts = summary.statistics.channel_message_counts
        assert {channels[i]: n for i, n in counts.items()} == {
            name: c.msgcount for name, c in topics.items()
        }
        file.seek(0)
        read = [
            (channel.topic, message.log_time, message.data)
            for _, channel, message in make_reader(file).iter_messages()
        ]
    assert sorted(read) == sorted(contents(out))


def test_diagnostics_tell_of_each_second(solved):
    out, _ = solved
    messages = [data for topic, _, data in contents(out) if topic == '/diagnostics']
    assert 6 <= len(messages) <= 8
    line = STORE.deserialize_cdr(messages[0], 'diagnostic_msgs/msg/DiagnosticArray').status[0]
    values = {item.key: item.value for item in line.values}
    assert float(values['rate [1/s]']) == pytest.approx(RATE_HZ, rel=0.05)


def test_a_solved_bag_is_solved_anew_without_doubles(solved, tmp_path):
    out, figures = solved
    again = solve(out, tmp_path / 'again')
    assert again.sha256 == figures['sha256']
    assert again.replaced > 2 * figures['frames']
    assert contents(tmp_path / 'again') == contents(out)


def test_the_body_has_its_own_prefix_and_all_links_on_request(solved, tmp_path):
    """As of the live node; a body that was solved without the prefix is replaced all the same."""
    out, figures = solved
    again = solve(out, tmp_path / 'again', body_prefix='new/', publish_link_tf=True)
    assert again.sha256 == figures['sha256']
    children = [
        {
            t.child_frame_id
            for t in STORE.deserialize_cdr(data, 'tf2_msgs/msg/TFMessage').transforms
        }
        for topic, _, data in contents(tmp_path / 'again')
        if topic == TF
    ]
    assert sum({'new/base_link', 'new/l_wrist'} <= names for names in children) == again.frames
    assert not any('base_link' in names for names in children)
    motion = read_motion(tmp_path / 'again', SolverConfig(body_prefix='new/'), None)
    assert len(motion.q) == again.frames


def test_what_is_of_other_robots_stays(bag, tmp_path):
    """Joint states, descriptions and frames that are no human body's pass, as anything does."""
    path = tmp_path / 'robot'
    types = STORE.types
    header = types['std_msgs/msg/Header'](
        stamp=types['builtin_interfaces/msg/Time'](sec=5, nanosec=0), frame_id=''
    )
    none = np.zeros(0)
    state = types['sensor_msgs/msg/JointState'](header, ['elbow'], np.ones(1), none, none)
    text = types['std_msgs/msg/String']('<robot name="arm"/>')
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        for name, message in (('/joint_states', state), ('/robot_description', text)):
            kind = message.__msgtype__
            connection = writer.add_connection(name, kind, typestore=STORE)
            writer.write(connection, 10**18, STORE.serialize_cdr(message, kind))
        tf = writer.add_connection(TF, 'tf2_msgs/msg/TFMessage', typestore=STORE)
        for topic, stamp, data in contents(bag):
            if topic == TF:
                writer.write(tf, stamp, data)
    outcome = solve(path, tmp_path / 'out')
    assert outcome.replaced == 0
    after = contents(tmp_path / 'out')
    assert all(message in after for message in contents(path))


def test_another_users_body_stays(solved, tmp_path):
    """Ben's topics, in the bag of a session with two, are not Anna's to replace or to convert."""
    out, figures = solved
    path = tmp_path / 'two'
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        with Reader(out) as reader:
            kinds = {c.topic: c.msgtype for c in reader.connections}
        bens = {name: f'/ben{name}' for name in (JOINT_STATES, '/robot_description')}
        topics = {
            name: writer.add_connection(name, kind, typestore=STORE)
            for name, kind in kinds.items()
        } | {
            name: writer.add_connection(name, kinds[ours], typestore=STORE)
            for ours, name in bens.items()
        }
        for topic, stamp, data in contents(out):
            writer.write(topics[topic], stamp, data)
            if topic in bens:
                writer.write(topics[bens[topic]], stamp, data[:-8] + bytes(8))
            if topic == '/diagnostics':
                kind = kinds[topic]
                message = STORE.deserialize_cdr(data, kind)
                message.status[0].name = 'ben/solver_node: solver'
                writer.write(topics[topic], stamp, STORE.serialize_cdr(message, kind))
    again = solve(path, tmp_path / 'again')
    assert again.sha256 == figures['sha256']
    kept = [m for m in contents(path) if m[0].startswith('/ben') or b'ben/solver' in m[2]]
    assert len(kept) > figures['frames']
    assert [m for m in contents(tmp_path / 'again') if m in kept] == kept
    motion = read_motion(path, SolverConfig(), None)
    np.testing.assert_array_equal(motion.q, read_motion(out, SolverConfig(), None).q)


def test_sources_that_split_frames_and_other_storages_give_the_same(bag, tmp_path):
    """Of frames that come device by device, only the first is solved with what is there yet."""
    frames = session(8.0)
    single = [part for frame in frames for part in single_transforms(frame)]
    split = solve(write_bag(tmp_path / 'split', single), tmp_path / 'split_out')
    whole = solve(
        write_bag(tmp_path / 'sqlite', frames, StoragePlugin.SQLITE3), tmp_path / 'sqlite_out'
    )
    assert whole.sha256 == solve(bag, tmp_path / 'out').sha256
    assert abs(split.frames - whole.frames) <= 2
    stamps, q = positions(tmp_path / 'split_out')
    same_stamps, same_q = positions(tmp_path / 'sqlite_out')
    of = dict(zip(same_stamps, same_q, strict=True))
    away = [np.abs(a - of[t]).max() for t, a in zip(stamps, q, strict=True)]
    assert np.median(away) < 1e-3


def test_several_bags_are_solved_in_processes_of_their_own(bag, solved, tmp_path):
    _, figures = solved
    other = tmp_path / 'other'
    shutil.copytree(bag, other)
    bad = tmp_path / 'bad'
    bad.mkdir()
    result = invoke('solve', bag, other, bad, '-o', tmp_path / 'out', '--json', tmp_path / 'j')
    assert result.exit_code == 2
    assert f"'{bad}' cannot be read" in result.output
    together = json.loads((tmp_path / 'j').read_text())
    assert together['frames'] == 2 * figures['frames']
    assert [one['sha256'] for one in together['bags']] == 2 * [figures['sha256']]
    assert sorted(os.listdir(tmp_path / 'out')) == ['other', bag.name]


@pytest.mark.parametrize('mode', [CompressionMode.MESSAGE, CompressionMode.FILE])
@pytest.mark.parametrize('plugin', list(StoragePlugin))
def test_compressed_bags_are_read(bag, tmp_path, plugin, mode):
    path = write_bag(tmp_path / 'compressed', session(1.0), plugin, compressed=mode)
    plain = write_bag(tmp_path / 'plain', session(1.0))
    with Bag(path) as ours:
        assert [(t.name, n, d) for t, n, d in ours.messages()] == contents(plain)
        assert not ours.lost


def test_wrong_frames_are_named(bag, tmp_path):
    with pytest.raises(VrIkError, match="'arena' to 'hmd'.*'vr_world' to 'hmd'"):
        solve(bag, tmp_path / 'out', world_frame='arena')
    assert not os.listdir(tmp_path)


def test_an_existing_output_is_refused_before_anything_is_done(bag, tmp_path):
    (tmp_path / 'out').mkdir()
    result = invoke('solve', bag, '-o', tmp_path / 'out')
    assert result.exit_code == 2
    assert 'exists already' in result.output
    assert not os.listdir(tmp_path / 'out')


def test_unknown_users_and_solvers_are_named(bag, tmp_path):
    for arguments in (['--user', 'nobody'], ['--solver', 'nothing']):
        result = invoke('solve', bag, '-o', tmp_path / 'out', *arguments)
        assert result.exit_code == 2
        assert arguments[1] in result.output
