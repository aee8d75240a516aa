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

"""Two users in one process, each in a namespace of his own, as a parameter file has them."""

from pathlib import Path
import signal
import subprocess

from demo_support import command, environment, PATIENCE_S
import pytest
from ros_graph import listening
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from vr_ik.config import SolverConfig
from vr_ik.config_file import load_config, namespaces

ROOT = Path(__file__).parent.parent
NODES = ('tracker_node', 'solver_node')


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
            states: dict[str, list[JointState]] = {'anna': [], 'ben': []}
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
            wanted = {f'{user}/{frame}' for user in states for frame in ('hmd', 'l_forearm')}
            listener.spin_until(lambda: wanted <= frames, 'the frames of both')
            assert 'hmd' not in frames
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
