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

"""Recorded sessions: a bag comes back as frames, a calibrated user, an evaluation."""

import json
import os
import sqlite3
from typing import Any

from bag_support import HEIGHT_M, LOST, RATE_HZ, session, STORE, write_bag
from mcap.writer import Writer as McapWriter
import numpy as np
import pytest
from rosbags.highlevel import AnyReader
from rosbags.rosbag2 import CompressionMode, Reader, StoragePlugin, Writer
from typer.testing import CliRunner

from vr_ik.calibration import storage
from vr_ik.cli.main import app
from vr_ik.config import SolverConfig
from vr_ik.errors import VrIkError
from vr_ik.evaluation.eval_data import read_recordings
from vr_ik.io.bag_files import Bag
from vr_ik.io.bags import read_tracking
from vr_ik.io.tf_cdr_writer import FrameEncoder
from vr_ik.offline.solve_bag import solve_bag
from vr_ik.trackers.simulated import SIMULATED_ROLES
from vr_ik.types import TrackingFrame

ZSTD_MAGIC = b'\x28\xb5\x2f\xfd'


@pytest.fixture(scope='module')
def bag(tmp_path_factory):
    return write_bag(tmp_path_factory.mktemp('bags') / 'session', session(8.0))


def invoke(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.mark.parametrize('plugin', list(StoragePlugin))
def test_frames_come_back_as_they_were(tmp_path, plugin):
    frames = session(2.0)
    read = read_tracking(write_bag(tmp_path / 'bag', frames, plugin), SolverConfig()).frames
    assert [frame.stamp_ns for frame in read] == [frame.stamp_ns for frame in frames]
    for a, b in zip(read, frames, strict=True):
        assert a.names == b.names
        np.testing.assert_allclose(a.poses, b.poses, atol=1e-12)


def test_a_bag_of_a_big_endian_machine_is_read(tmp_path):
    frames = session(0.5)
    kind = 'tf2_msgs/msg/TFMessage'
    with Writer(tmp_path / 'big', version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        tf = writer.add_connection('/tf', kind, typestore=STORE)
        for frame in frames:
            message = STORE.deserialize_cdr(FrameEncoder('vr_world', '').encode(frame), kind)
            data = STORE.serialize_cdr(message, kind, little_endian=False)
            writer.write(tf, frame.stamp_ns, bytes(data))
        writer.write(tf, frames[-1].stamp_ns, bytes(data)[:-9])
    read, lost = read_tracking(tmp_path / 'big', SolverConfig())
    assert [frame.names for frame in read] == [frame.names for frame in frames]
    np.testing.assert_allclose(read[-1].poses, frames[-1].poses, atol=1e-12)
    assert lost == ('1 messages on /tf, which are damaged',)


@pytest.mark.parametrize('plugin', list(StoragePlugin))
def test_damage_of_compressed_bags_is_told(tmp_path, plugin):
    """A message costs itself alone; a file that cannot be unpacked is named."""
    path = write_bag(tmp_path / 'x', session(1.0), plugin, compressed=CompressionMode.FILE)
    file = next(path.glob('*.zstd'))
    os.truncate(file, file.stat().st_size // 2)
    with pytest.raises(VrIkError, match=f"'{file.name}': the compressed bytes are damaged"):
        read_tracking(path, SolverConfig())
    path = write_bag(tmp_path / 'y', session(1.0), plugin, compressed=CompressionMode.MESSAGE)
    file = next(f for f in path.iterdir() if f.suffix in ('.mcap', '.db3'))
    data = file.read_bytes()
    with Bag(path) as bag:
        whole = len(list(bag.messages()))
    start = data.index(ZSTD_MAGIC, len(data) // 2)
    file.write_bytes(data[:start] + bytes(4) + data[start + 4 :])
    with Bag(path) as bag:
        assert len(list(bag.messages())) == whole - 1
        assert ['1 messages on /' in text for text in bag.lost] == [True]
        assert 'the compressed bytes are damaged' in bag.lost[0]


def test_what_is_not_of_ros_2_is_dropped_and_named(tmp_path):
    """Channels of JSON, protobuf or nothing beside /tf: the result is a bag that others read."""
    path = tmp_path / 'foreign.mcap'
    frames, encoder = session(0.5), FrameEncoder('vr_world', '')
    with path.open('wb') as file:
        writer = McapWriter(file)
        writer.start()
        text, _ = STORE.generate_msgdef('tf2_msgs/msg/TFMessage', ros_version=2)
        schema = writer.register_schema('tf2_msgs/msg/TFMessage', 'ros2msg', text.encode())
        tf = writer.register_channel('/tf', 'cdr', schema)
        json_schema = writer.register_schema('Note', 'jsonschema', b'{}')
        notes = writer.register_channel('/notes', 'json', json_schema)
        bare = writer.register_channel('/bare', '', 0)
        unnamed = writer.register_channel('/unnamed', 'cdr', 0)
        for frame in frames:
            at, data = frame.stamp_ns, bytes(encoder.encode(frame))
            writer.add_message(tf, at, data, at)
            writer.add_message(notes, at, b'{}', at)
        for channel in (bare, unnamed):
            writer.add_message(channel, at, b'', at)
        writer.add_message(tf, 2**63, data, 2**63)
        writer.finish()
    outcome = solve_bag(path, tmp_path / 'out', SolverConfig(), None, lambda share: None)
    assert outcome.frames == len(frames)
    with Reader(tmp_path / 'out') as reader:
        names = {connection.topic for connection in reader.connections}
        assert len(list(reader.messages())) == reader.message_count
    assert names == {'/tf', '/joint_states', '/robot_description'}
    assert set(outcome.lost) == {
        f"{len(frames)} messages on /notes: the encoding 'json' is not of ROS 2",
        "1 messages on /bare: the encoding '' is not of ROS 2",
        '1 messages on /unnamed: the type is not told',
        '1 messages on /tf: the time of recording is none',
    }


@pytest.mark.parametrize(
    ('encoding', 'text', 'is_known'),
    [
        ('ros2msg', 'int32 x', True),
        ('ros2msg', 'std_msgs/Header header\nint32 x', True),
        ('ros2idl', 'module foo { module msg { struct Bar { long x; }; }; };', True),
        ('omgidl', 'struct Bar { long x; };', False),
        ('ros2msg', '\x00 no ((definition', False),
        ('', '', False),
    ],
)
def test_types_of_others_pass_and_readers_take_the_bag(tmp_path, encoding, text, is_known):
    """A reader compares each definition with its hash, and refuses a bag in which one differs."""
    path = tmp_path / 'x.mcap'
    frames, content = session(0.5), b'\x00\x01\x00\x00\x05\x00\x00\x00'
    with path.open('wb') as file:
        writer = McapWriter(file)
        writer.start()
        tf_schema = writer.register_schema('tf2_msgs/msg/TFMessage', 'ros2msg', b'')
        tf = writer.register_channel('/tf', 'cdr', tf_schema)
        schema = writer.register_schema('foo/msg/Bar', encoding, text.encode())
        bar = writer.register_channel('/bar', 'cdr', schema)
        for frame in frames:
            at = frame.stamp_ns
            writer.add_message(tf, at, bytes(FrameEncoder('vr_world', '').encode(frame)), at)
            writer.add_message(bar, at, content, at)
        writer.finish()
    solve_bag(path, tmp_path / 'out', SolverConfig(), None, lambda share: None)
    first: Any
    with AnyReader([tmp_path / 'out']) as reader:
        read = list(reader.messages())
        first = next(
            reader.deserialize(data, c.msgtype) for c, _, data in read if c.topic == '/tf'
        )
        messages = [data for c, _, data in read if c.topic == '/bar']
        _, fields = reader.typestore.fielddefs['foo/msg/Bar']
    assert len(first.transforms) == len(frames[0].names)
    assert messages == [content] * len(frames)
    assert ('x' in [name for name, _ in fields]) is is_known


def test_rows_that_are_no_messages_are_dropped_and_named(tmp_path):
    """SQLite holds columns to no type, and times may be negative."""
    frames = session(0.5)
    path = write_bag(tmp_path / 'rows', frames, StoragePlugin.SQLITE3)
    with sqlite3.connect(path / 'rows.db3') as db:
        row = 'INSERT INTO messages (topic_id, timestamp, data) VALUES (?, ?, ?)'
        db.execute(row, (1, -5, b'x'))
        db.execute(row, (1, 5, 'text'))
        db.execute(row, (99, 7, b'x'))
        db.execute("UPDATE topics SET offered_qos_profiles = '- {history: 1}' WHERE id = 1")
    db.close()
    outcome = solve_bag(path, tmp_path / 'out', SolverConfig(), None, lambda share: None)
    assert outcome.frames == len(frames)
    with Reader(tmp_path / 'out') as reader:
        assert len(list(reader.messages())) == reader.message_count
    assert set(outcome.lost) == {
        '1 messages on /tf: the time of recording is none',
        '1 messages on /tf: the contents are no bytes',
        '1 messages of topics that the file does not name',
    }


def test_what_comes_too_late_is_counted(tmp_path):
    """As behind a stamp that is wrong: the frames up to it are over already."""
    frames = session(1.0)
    wrong = frames[10]
    frames[10] = TrackingFrame(frames[15].stamp_ns + 1_000_000, wrong.names, wrong.poses)
    with Writer(tmp_path / 'late', version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        tf = writer.add_connection('/tf', 'tf2_msgs/msg/TFMessage', typestore=STORE)
        for i, frame in enumerate(frames):
            writer.write(tf, 10**18 + i, bytes(FrameEncoder('vr_world', '').encode(frame)))
    read, lost = read_tracking(tmp_path / 'late', SolverConfig())
    assert len(read) == len(frames) - 5
    late = 5 * len(SIMULATED_ROLES)
    assert lost == (f'{late} transforms of devices, whose frame was over already',)


def test_messages_that_are_gone_without_a_trace_are_counted(tmp_path):
    """By what the bag says of itself."""
    path = write_bag(tmp_path / 'gone', session(0.5), StoragePlugin.SQLITE3)
    with sqlite3.connect(path / 'gone.db3') as db:
        db.execute('DELETE FROM messages WHERE id IN (4, 5)')
    db.close()
    _, lost = read_tracking(path, SolverConfig())
    assert lost == ('2 messages that metadata.yaml counts',)


def test_a_file_whose_topics_stand_in_its_chunks_alone_is_read(tmp_path):
    frames, path = session(0.5), tmp_path / 'plain.mcap'
    with path.open('wb') as file:
        writer = McapWriter(file, repeat_channels=False, repeat_schemas=False)
        writer.start()
        schema = writer.register_schema('tf2_msgs/msg/TFMessage', 'ros2msg', b'')
        tf = writer.register_channel('/tf', 'cdr', schema)
        for frame in frames:
            data = bytes(FrameEncoder('vr_world', '').encode(frame))
            writer.add_message(tf, frame.stamp_ns, data, frame.stamp_ns)
        writer.finish()
    read, lost = read_tracking(path, SolverConfig())
    assert len(read) == len(frames) and not lost


def test_what_is_no_session_is_refused_with_the_reason(tmp_path):
    with pytest.raises(VrIkError, match='cannot be read'):
        read_tracking(tmp_path, SolverConfig())
    other = write_bag(tmp_path / 'other', session(1.0))
    with pytest.raises(VrIkError, match="'world' to 'hmd'"):
        read_tracking(other, SolverConfig(world_frame='world'))
    static = write_bag(tmp_path / 'static', session(1.0), topic='/tf_static')
    with pytest.raises(VrIkError, match='no tracked devices'):
        read_tracking(static, SolverConfig())


def test_a_user_is_measured_from_a_bag(bag, tmp_path):
    config, out = tmp_path / 'c.yaml', tmp_path / 'out.json'
    config.write_text(f'solver_node:\n  ros__parameters:\n    users_folder: {tmp_path}/users\n')
    result = invoke('calibrate', bag, '--user', 'short', '--config', config, '--json', out)
    assert result.exit_code == 0, result.output
    saved = storage.load('short', tmp_path / 'users')
    assert abs(saved.proportions.height - HEIGHT_M) < 0.03 * HEIGHT_M
    assert set(saved.mounts) == set(SIMULATED_ROLES)
    assert json.loads(out.read_text())['devices'].keys() == saved.mounts.keys()
    (tmp_path / 'users' / 'broken.yaml').write_text('version: 1\n')
    broken, short = invoke('calibrate', '--list', '--config', config).stdout.splitlines()
    assert broken.startswith('broken: ') and "no 'lengths_m'" in broken
    assert short.startswith(f'short: {saved.summary()} Saved 20')


@pytest.mark.parametrize(
    ('arguments', 'part'), [([], 'Name a bag'), (['nowhere'], 'cannot be read')]
)
def test_calibrate_says_what_is_wrong(arguments, part):
    result = invoke('calibrate', *arguments)
    assert result.exit_code == 2
    assert part in result.output


def test_a_name_that_no_user_can_have_is_refused_before_the_work(bag):
    result = invoke('calibrate', bag, '--user', '../anna')
    assert result.exit_code == 2
    assert "'../anna' cannot be a user's name" in result.output
    assert 'Pose found' not in result.output


def test_devices_that_flicker_are_named_by_the_command(tmp_path):
    frames = []
    for i, frame in enumerate(session(3.0)):
        seen = [k for k, name in enumerate(frame.names) if name != 'waist' or i % 4 == 0]
        names = tuple(frame.names[k] for k in seen)
        frames.append(TrackingFrame(frame.stamp_ns, names, frame.poses[seen]))
    result = invoke('calibrate', write_bag(tmp_path / 'flicker', frames), '--no-refine')
    assert result.exit_code == 0, result.output
    assert 'Left out' in result.output and 'waist' in result.output.split('Left out')[1]


def test_a_bag_without_a_calibration_pose_is_refused(tmp_path):
    moving = write_bag(tmp_path / 'moving', session(1.0))
    result = invoke('calibrate', moving)
    assert result.exit_code == 2
    assert 'No T-pose or A-pose' in result.output


def test_a_folder_of_bags_is_evaluated_and_drawn(tmp_path):
    """Under the stamps of the bag: a second of it is a second."""
    pytest.importorskip('matplotlib')
    write_bag(tmp_path / 'bags' / 'one', session(4.0))
    (recording,) = read_recordings([tmp_path / 'bags'])
    assert recording.name == 'one'
    assert recording.rate_hz == pytest.approx(RATE_HZ, rel=1e-3)
    plots = tmp_path / 'plots'
    result = invoke('eval', tmp_path / 'bags', '--points', '3', '--no-refine', '--plot', plots)
    assert result.exit_code == 0, result.output
    assert (plots / 'one_body_3.png').stat().st_size > 10_000


def test_what_was_lost_in_a_bag_is_nowhere(bag):
    (recording,) = read_recordings([bag])
    lost = ~np.isfinite(recording.poses['l_foot']).all(axis=(1, 2))
    assert lost.sum() == len(LOST)
    assert np.isfinite(recording.poses['r_foot']).all()


def test_bags_without_a_pose_or_a_headset_are_named(tmp_path):
    moving = write_bag(tmp_path / 'moving', session(1.0))
    result = invoke('eval', moving)
    assert result.exit_code == 2 and 'moving' in result.output and 'No T-pose' in result.output
    headless = []
    for frame in session(3.0):
        names = frame.names[1:]
        assert 'hmd' not in names
        headless.append(TrackingFrame(frame.stamp_ns, names, frame.poses[1:]))
    result = invoke('eval', write_bag(tmp_path / 'headless', headless))
    assert result.exit_code == 2
    assert 'hmd is not tracked in any frame' in ' '.join(result.output.split())


def test_a_bag_can_be_evaluated(bag, tmp_path):
    out = tmp_path / 'out.json'
    result = invoke('eval', bag, '--points', '6', '--json', out, '--no-refine')
    assert result.exit_code == 0, result.output
    figures = json.loads(out.read_text())
    assert figures['mean']['head'] < 5.0 and figures['mean']['hands'] < 5.0
    assert figures['frames'] < 8.0 * RATE_HZ - 60
    # Of a foot that was lost meanwhile fewer frames count.
    tracks = figures['motions'][bag.name]['tracks']
    assert tracks['r_foot']['frames'] == figures['frames'] > tracks['l_foot']['frames']


def test_a_bag_that_is_cut_off_is_evaluated_and_says_so(tmp_path):
    bag = write_bag(tmp_path / 'cut', session(8.0))
    (file,) = bag.glob('*.mcap')
    os.truncate(file, int(0.8 * file.stat().st_size))
    out = tmp_path / 'out.json'
    result = invoke('eval', bag, '--points', '6', '--json', out, '--no-refine')
    assert result.exit_code == 0, result.output
    begins, lost = json.loads(out.read_text())['motions']['cut']['remarks']
    assert begins.startswith('judged from') and 'cut off' in lost
    assert 'could not be read: the file is cut off' in ' '.join(result.output.split())


def test_a_bag_that_is_cut_off_and_has_no_pose_says_both(tmp_path):
    bag = write_bag(tmp_path / 'cut', session(1.5), StoragePlugin.SQLITE3)
    (file,) = bag.glob('*.db3')
    os.truncate(file, int(0.6 * file.stat().st_size))
    result = invoke('eval', bag, '--points', '6')
    told = ' '.join(result.output.split())
    assert result.exit_code == 2
    assert 'No T-pose or A-pose' in told and 'could not be read: the file is cut off' in told, told
