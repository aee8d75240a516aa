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
"""`vr_ik solve` on bags that are cut, damaged or none: it saves what there is, and says it."""

import json
import os
import resource
import shutil
import sqlite3
import subprocess
import sys

from bag_support import RATE_HZ, session, STORE, write_bag
import numpy as np
import pytest
from rosbags.rosbag2 import CompressionMode, StoragePlugin, Writer
from solve_support import contents, invoke, solve, TF

from vr_ik.errors import VrIkError
from vr_ik.io.bag_files import Bag
from vr_ik.io.tf_cdr_writer import FrameEncoder


@pytest.fixture(scope='module')
def bag(tmp_path_factory):
    return write_bag(tmp_path_factory.mktemp('solve') / 'session', session(8.0))


@pytest.mark.parametrize('plugin', list(StoragePlugin))
def test_what_is_left_of_a_cut_bag_is_solved(tmp_path, plugin):
    """As after a crash or a full disk: no index, no metadata, the last message in half."""
    path = write_bag(tmp_path / 'cut', session(30.0), plugin)
    before = contents(path)
    (path / 'metadata.yaml').unlink()
    file = next(path.iterdir())
    os.truncate(file, int(0.6 * file.stat().st_size))
    result = invoke('solve', path, '-o', tmp_path / 'out', '--json', tmp_path / 'out.json')
    assert result.exit_code == 0, result.output
    assert 'could not be read: metadata.yaml' in result.output
    assert 'cut off' in result.output
    frames = json.loads((tmp_path / 'out.json').read_text())['frames']
    assert frames > 0.4 * 30.0 * RATE_HZ
    after = [m for m in contents(tmp_path / 'out') if m in set(before)]
    assert after == before[: len(after)]


@pytest.mark.parametrize('compressed', [None, CompressionMode.STORAGE])
def test_a_damaged_chunk_costs_itself_alone(tmp_path, compressed):
    path = write_bag(tmp_path / 'damaged', session(30.0), compressed=compressed)
    file = path / 'damaged.mcap'
    data = bytearray(file.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 2000] = bytes(2000)
    file.write_bytes(data)
    outcome = solve(path, tmp_path / 'out')
    assert 0.1 * 30.0 * RATE_HZ < outcome.frames < 30.0 * RATE_HZ
    assert any('damaged' in text for text in outcome.lost)
    assert len(contents(tmp_path / 'out')) > 3 * outcome.frames


def test_a_lost_file_of_several_is_named(bag, tmp_path):
    copy = tmp_path / 'copy'
    shutil.copytree(bag, copy)
    metadata = copy / 'metadata.yaml'
    text = metadata.read_text()
    metadata.write_text(
        text.replace('  - session.mcap\n', '  - session.mcap\n  - session_1.mcap\n')
    )
    assert solve(copy, tmp_path / 'out').lost == ("the file 'session_1.mcap'",)


def test_what_cannot_be_used_of_tf_is_counted(tmp_path):
    """A transform that is no pose, and bytes that are no message: told, and in the diagnostics."""
    frames = session(2.0)
    frames[5].poses[0, 0, 3] = np.nan
    frames[7].poses[1:3, 0, 3] = np.inf
    path = tmp_path / 'bad'
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        tf = writer.add_connection(TF, 'tf2_msgs/msg/TFMessage', typestore=STORE)
        for i, frame in enumerate(frames):
            data = bytes(FrameEncoder('vr_world', '').encode(frame))
            writer.write(tf, frame.stamp_ns, data[:-40] if i in (20, 21) else data)
    outcome = solve(path, tmp_path / 'out')
    assert outcome.frames == len(frames) - 2
    assert set(outcome.lost) == {
        '2 messages on /tf, which are damaged',
        '3 transforms of devices, which are no poses',
    }
    messages = [data for topic, _, data in contents(tmp_path / 'out') if topic == '/diagnostics']
    line = STORE.deserialize_cdr(messages[0], 'diagnostic_msgs/msg/DiagnosticArray').status[0]
    assert {item.key: item.value for item in line.values}['transforms rejected'] == '3'


def test_a_full_disk_leaves_nothing_behind(bag, tmp_path):
    """A limit on the size of files stands in for a disk that is full."""

    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

    run = subprocess.run(
        [sys.executable, '-m', 'vr_ik.cli.main', 'solve', bag, '-o', tmp_path / 'out'],
        capture_output=True,
        text=True,
        preexec_fn=small_files,
        check=False,
    )
    assert run.returncode == 2
    assert 'cannot be written: File too large' in run.stderr
    assert 'Traceback' not in run.stderr
    assert not os.listdir(tmp_path)


def test_a_bag_of_sqlite_that_is_none_is_refused(tmp_path):
    path = tmp_path / 'x.db3'
    with sqlite3.connect(path) as db:
        db.execute('CREATE TABLE other (id INTEGER)')
    db.close()
    with pytest.raises(VrIkError, match='no bag of rosbag2'):
        Bag(path)
