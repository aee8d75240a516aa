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

"""Two users, each in a namespace of his own, as a parameter file has them: live and offline."""

# mypy: disable-error-code="attr-defined"

from itertools import pairwise
from pathlib import Path
import signal
import subprocess

from bag_support import session, STORE
from demo_support import command, environment, PATIENCE_S
from diagnostic_msgs.msg import DiagnosticArray
import numpy as np
import pytest
from ros_graph import listening
from rosbags.rosbag2 import Reader, StoragePlugin, Writer
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage
from typer.testing import CliRunner

from vr_ik.cli.main import app
from vr_ik.config import SolverConfig
from vr_ik.config_file import load_config, namespaces
from vr_ik.errors import ConfigError
from vr_ik.io.tf_cdr_writer import FrameEncoder
from vr_ik.offline.earlier import user_namespace
from vr_ik.offline.motion import read_motion
from vr_ik.offline.solve_bag import solve_bag

ROOT = Path(__file__).parent.parent
FILE = ROOT / 'config' / 'two_users.yaml'
NODES = ('tracker_node', 'solver_node')
USERS = {'anna': 1.65, 'ben': 1.85}
SOLVED = {'/tf', '/diagnostics'} | {
    f'/{user}/{topic}' for user in USERS for topic in ('joint_states', 'robot_description')
}
LINES = {f'{user}/solver_node: solver' for user in USERS}


def test_run_has_a_tracker_and_a_solver_in_each_namespace_of_the_file():
    process = subprocess.Popen(
        command('run', '--config', 'config/two_users.yaml'),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment(),
        cwd=ROOT,
        text=True,
    )
    try:
        with listening() as listener:
            states: dict[str, list[JointState]] = {user: [] for user in USERS}
            lines: set[str] = set()
            frames: set[str] = set()
            subscribe = listener.node.create_subscription
            for user, received in states.items():
                subscribe(JointState, f'/{user}/joint_states', received.append, 10)
            subscribe(
                TFMessage,
                '/tf',
                lambda message: frames.update(t.child_frame_id for t in message.transforms),
                100,
            )
            listener.spin_until(lambda: all(map(len, states.values())), 'both users')
            subscribe(
                DiagnosticArray,
                '/diagnostics',
                lambda message: lines.update(line.name for line in message.status),
                10,
            )
            wanted = {f'{user}/{frame}' for user in states for frame in ('hmd', 'l_forearm')}
            listener.spin_until(lambda: wanted <= frames, 'the frames of both')
            assert 'hmd' not in frames
            listener.spin_until(lambda: lines >= LINES, 'diagnostics of both solvers')
            # What an offline solve writes has the same names, and no others.
            assert {name for name, _ in listener.node.get_topic_names_and_types()} >= SOLVED
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, output
        assert 'Traceback' not in output
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize(
    ('text', 'found'),
    [
        ('solver_node: {ros__parameters: {}}', ('',)),
        ('/**: {ros__parameters: {}}', ('',)),
        ('/**/solver_node: {ros__parameters: {}}', ('',)),
        ('/anna/solver_node: {ros__parameters: {}}', ('/anna',)),
        ('anna: {solver_node: {ros__parameters: {}}}', ('/anna',)),
        ('/a/b/tracker_node: {ros__parameters: {}}', ('/a/b',)),
        ('/anna/other_node: {ros__parameters: {}}', ('',)),
    ],
)
def test_a_file_tells_its_namespaces(tmp_path, text, found):
    path = tmp_path / 'file.yaml'
    path.write_text(text)
    assert namespaces(path, NODES) == found


@pytest.mark.parametrize(
    ('section', 'namespace', 'holds'),
    [
        ('/**/solver_node', '', True),
        ('/**/solver_node', '/anna', True),
        ('/*/solver_node', '/anna', True),
        ('/*/solver_node', '', False),
        ('/*/solver_node', '/a/b', False),
        ('/**', '/a/b', True),
        ('solver_node', '/anna', False),
        ('solver_node', '', True),
        ('/ben/solver_node', '/anna', False),
    ],
)
def test_sections_hold_where_ros_2_has_them_hold(tmp_path, section, namespace, holds):
    path = tmp_path / 'file.yaml'
    path.write_text(f'{section}: {{ros__parameters: {{user_height_m: 1.9}}}}')
    config = load_config(SolverConfig, path, 'solver_node', namespace)
    assert (config.user_height_m == 1.9) is holds


def invoke(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope='module')
def bag(tmp_path_factory):
    """Return a session of both users on one /tf, the second of them half a second later."""
    path = tmp_path_factory.mktemp('two') / 'session'
    frames = session(4.0)
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        tf = writer.add_connection('/tf', 'tf2_msgs/msg/TFMessage', typestore=STORE)
        for anna, ben in zip(frames, frames[30:], strict=False):
            for user, frame in (('anna/', anna), ('ben/', ben)):
                message = FrameEncoder('vr_world', user).encode(frame)
                writer.write(tf, anna.stamp_ns, bytes(message))
    return path


@pytest.fixture(scope='module')
def solved(bag):
    """Return the bag solved for Anna, that solved for Ben, and that solved for Anna once more."""
    paths = [bag]
    for user in ('anna', 'ben', 'anna'):
        paths.append(bag.parent / f'{len(paths)}_{user}')
        arguments = ('-o', paths[-1], '--config', FILE, '--namespace', user)
        result = invoke('solve', paths[-2], *arguments)
        assert result.exit_code == 0, result.output
    return paths[1:]


def contents(path):
    with Reader(path) as reader:
        return [(c.topic, stamp, bytes(data)) for c, stamp, data in reader.messages()]


def test_two_users_are_solved_one_after_the_other_and_nothing_is_lost(bag, solved):
    """Each in his namespace, under the names that the live nodes have."""
    for before, after in pairwise([bag, *solved[:2]]):
        old = contents(before)
        known = set(old)
        assert [message for message in contents(after) if message in known] == old
    assert sorted(contents(solved[2])) == sorted(contents(solved[1]))
    assert {topic for topic, _, _ in contents(solved[1])} == SOLVED
    lines = {
        line.name
        for topic, _, data in contents(solved[1])
        if topic == '/diagnostics'
        for line in STORE.deserialize_cdr(data, 'diagnostic_msgs/msg/DiagnosticArray').status
    }
    assert lines == LINES


def test_each_has_his_own_body(bag, solved, tmp_path):
    """As if he were alone; also when it is converted."""
    for user in USERS:
        config = load_config(SolverConfig, FILE, 'solver_node', f'/{user}')
        alone = tmp_path / user
        solve_bag(bag, alone, config, None, lambda share: None)
        assert f'/{user}/joint_states' in {topic for topic, _, _ in contents(alone)}
        own = read_motion(alone, config, None)
        both = read_motion(solved[1], config, None, f'/{user}')
        assert own.urdf == both.urdf
        np.testing.assert_array_equal(own.q, both.q)
        result = invoke(
            'convert', solved[1], f'{alone}.csv', '--config', FILE, '--namespace', user
        )
        assert result.exit_code == 0, result.output
        assert f'{len(own.q)} frames' in result.output


@pytest.mark.parametrize(
    ('told', 'tf', 'prefix', 'namespace'),
    [
        ('/ben', '/anna/tf', 'anna/', '/ben'),
        ('', '/tf', 'anna/', ''),
        (None, '/anna/tf', 'ben/', '/anna'),
        (None, '/tf', 'anna/', '/anna'),
        (None, '/tf', 'a/b/', '/a/b'),
        (None, '/tf', '', ''),
        (None, '/tf', 'left_', ''),
        (None, '/tf', 'no-name/', ''),
    ],
)
def test_a_user_has_his_topics_in_one_namespace(told, tf, prefix, namespace):
    """As told; else beside his TF; else as his frames are named, where that is a namespace."""
    assert user_namespace(told, tf, prefix) == namespace


def test_in_a_namespace_that_the_file_does_not_name_frames_have_its_prefix(bag, tmp_path):
    """As the launch files have it: with `/**/solver_node:` in the file, or without a file."""
    general = tmp_path / 'general.yaml'
    general.write_text('/**/solver_node: {ros__parameters: {user_height_m: 1.65}}')
    for number, arguments in enumerate(([], ['--config', general])):
        out = tmp_path / f'out_{number}'
        result = invoke('solve', bag, '-o', out, '--namespace', 'anna', *arguments)
        assert result.exit_code == 0, result.output
        assert {topic for topic, _, _ in contents(out)} == {
            name for name in SOLVED if 'ben' not in name
        }


@pytest.mark.parametrize('name', ['solve', 'convert', 'calibrate'])
def test_a_file_of_several_users_wants_one_of_them_named(bag, tmp_path, name):
    arguments = {
        'solve': (bag, '-o', tmp_path / 'out'),
        'convert': (bag, tmp_path / 'out.csv'),
        'calibrate': (bag,),
    }[name]
    for namespace, part in (
        ((), 'choose one (--namespace): /anna, /ben'),
        (('--namespace', 'carl'), "'/carl'; it has /anna/solver_node, /ben/solver_node"),
        (('--namespace', 'a b'), "'a b' is none of ROS 2"),
    ):
        result = invoke(name, *arguments, '--config', FILE, *namespace)
        assert result.exit_code == 2
        assert part in ' '.join(result.output.split())
    assert not list(tmp_path.iterdir())
    with pytest.raises(ConfigError, match='/anna, /ben'):
        load_config(SolverConfig, FILE, 'solver_node')
