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

from bag_support import HEIGHT_M, RATE_HZ, session, write_bag
import numpy as np
import pytest
from rosbags.rosbag2 import StoragePlugin
from typer.testing import CliRunner

from vr_ik.calibration import storage
from vr_ik.cli.main import app
from vr_ik.config import SolverConfig
from vr_ik.errors import VrIkError
from vr_ik.io.bags import read_tracking
from vr_ik.trackers.simulated import SIMULATED_ROLES


@pytest.fixture(scope='module')
def bag(tmp_path_factory):
    return write_bag(tmp_path_factory.mktemp('bags') / 'session', session(8.0))


def invoke(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.mark.parametrize('plugin', list(StoragePlugin))
def test_frames_come_back_as_they_were(tmp_path, plugin):
    frames = session(2.0)
    read = read_tracking(write_bag(tmp_path / 'bag', frames, plugin), SolverConfig())
    assert [frame.stamp_ns for frame in read] == [frame.stamp_ns for frame in frames]
    for a, b in zip(read, frames, strict=True):
        assert a.names == b.names
        np.testing.assert_allclose(a.poses, b.poses, atol=1e-12)


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
    assert invoke('calibrate', '--list', '--config', config).stdout == 'short\n'


@pytest.mark.parametrize(
    ('arguments', 'part'), [([], 'Name a bag'), (['nowhere'], 'cannot be read')]
)
def test_calibrate_says_what_is_wrong(arguments, part):
    result = invoke('calibrate', *arguments)
    assert result.exit_code == 2
    assert part in result.output


def test_a_bag_without_a_calibration_pose_is_refused(tmp_path):
    moving = write_bag(tmp_path / 'moving', session(1.0))
    result = invoke('calibrate', moving)
    assert result.exit_code == 2
    assert 'No T-pose or A-pose' in result.output


def test_a_bag_can_be_evaluated(bag, tmp_path):
    out = tmp_path / 'out.json'
    result = invoke('eval', bag, '--points', '6', '--json', out, '--no-refine')
    assert result.exit_code == 0, result.output
    figures = json.loads(out.read_text())
    assert figures['mean']['head'] < 5.0 and figures['mean']['hands'] < 5.0
    assert figures['frames'] < 8.0 * RATE_HZ - 60
