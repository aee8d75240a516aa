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

"""The launch files started by a real `ros2 launch`: nodes, topics, and an orderly end.

launch and launch_ros are not on PyPI: without a ROS 2 installation these tests are skipped.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
import os
from pathlib import Path
import shutil
import signal
import subprocess
import sys
import tempfile

import numpy as np
import pytest
from ros_graph import environment, Listener, listening, PATIENCE_S
from ros_recording import ALL_KEPT, LATCHED, stamp_ns
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from vr_ik.io.bag_topics import known_topic, TF_TYPE
from vr_ik.io.bag_writer import BagWriter
from vr_ik.io.tf_cdr_writer import FrameEncoder
from vr_ik.trackers.simulated import SIMULATED_ROLES
from vr_ik.trackers.simulated_user import SimulatedUser
from vr_ik.types import TrackingFrame

ROOT = Path(__file__).parent.parent
ROS2 = shutil.which('ros2')
START_NS = 1_600_000_000_000_000_000
NODES = {'/tracker_node', '/solver_node', '/body_state_publisher'}
HAS_LAUNCH = find_spec('launch_ros') is not None and ROS2 is not None

pytestmark = pytest.mark.skipif(
    not HAS_LAUNCH, reason='`ros2 launch` is not installed: the launch files are not started'
)


@pytest.fixture(scope='module')
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where `colcon build` has installed the package, with links to the sources."""
    workspace = tmp_path_factory.mktemp('workspace')
    colcon = shutil.which('colcon', path=f'{Path(sys.executable).parent}:{os.environ["PATH"]}')
    if colcon is None:
        pytest.skip('colcon is not installed: the launch files are not started')
    folders = ['--build-base', workspace / 'build', '--install-base', workspace / 'install']
    log = ['--log-base', workspace / 'log']
    build = ['build', '--symlink-install', '--packages-select', 'vr_ik']
    command = [colcon, *log, *build, '--base-paths', ROOT, *folders]
    subprocess.run([str(part) for part in command], cwd=ROOT, check=True, capture_output=True)
    return workspace / 'install' / 'vr_ik'


class Launched:
    """A running launch, and the test's ear in its graph."""

    def __init__(self, process: subprocess.Popen, log: Path, listener: Listener) -> None:
        self.process = process
        self._log = log
        self.listener = listener
        self.states: dict[str, list[JointState]] = {}
        self.frames: set[tuple[str, str]] = set()
        self.descriptions: list[str] = []
        listener.node.create_subscription(TFMessage, '/tf', self._on_tf, ALL_KEPT)
        listener.node.create_subscription(TFMessage, '/tf_static', self._on_tf, LATCHED)

    def listen(self, namespace: str = '') -> None:
        """Note joint states and descriptions of a user."""
        states = self.states[namespace] = []
        subscribe = self.listener.node.create_subscription
        subscribe(JointState, f'{namespace}/joint_states', states.append, ALL_KEPT)
        subscribe(
            String,
            f'{namespace}/robot_description',
            lambda message: self.descriptions.append(message.data),
            LATCHED,
        )

    def _on_tf(self, message: TFMessage) -> None:
        self.frames |= {(t.header.frame_id, t.child_frame_id) for t in message.transforms}

    def output(self) -> str:
        return self._log.read_text()

    def wait_for(self, condition, what):
        def holds() -> bool:
            assert self.process.poll() is None or condition(), self.output()
            return condition()

        self.listener.spin_until(holds, what)

    def nodes(self) -> set[str]:
        pairs = self.listener.node.get_node_names_and_namespaces()
        return {f'{namespace.rstrip("/")}/{name}' for name, namespace in pairs} - {'/listener'}

    def end(self) -> None:
        """Press Ctrl-C, and have every process end cleanly."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait(PATIENCE_S)
        assert 'Traceback' not in self.output()
        assert 'process has died' not in self.output(), self.output()
        assert 'has finished cleanly' in self.output()


@contextmanager
def launched(prefix: Path, *arguments: str) -> Iterator[Launched]:
    """Run `ros2 launch vr_ik ...` inside a `with` block."""
    python_path = next(prefix.glob('lib/python3*/site-packages'))
    variables = {
        'AMENT_PREFIX_PATH': f'{prefix}:{os.environ.get("AMENT_PREFIX_PATH", sys.prefix)}',
        'PYTHONPATH': f'{python_path}:{os.environ.get("PYTHONPATH", "")}',
    }
    with tempfile.TemporaryDirectory() as folder, listening() as listener:
        log = Path(folder) / 'log'
        with log.open('w') as file:
            process = subprocess.Popen(
                [str(ROS2), 'launch', 'vr_ik', *arguments],
                stdout=file,
                stderr=subprocess.STDOUT,
                env=environment(ROS_LOG_DIR=folder, **variables),
                cwd=folder,
            )
        try:
            yield Launched(process, log, listener)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            process.wait(PATIENCE_S)


@pytest.mark.parametrize('name', ['demo', 'vr', 'replay', 'teleop'])
def test_the_arguments_are_shown(prefix, name):
    with launched(prefix, f'{name}_launch.py', '--show-args') as shown:
        assert shown.process.wait(PATIENCE_S) == 0
        for argument in ('model', 'solver', 'trackers', 'namespace', 'record', 'rviz', 'config'):
            assert f"'{argument}':" in shown.output()


def test_the_demonstration_moves_a_body_of_the_argued_size(prefix):
    """Nodes, topics and all link frames; and an end by Ctrl-C."""
    with launched(prefix, 'demo_launch.py', 'rviz:=false', 'height:=1.6') as demo:
        demo.listen()
        demo.wait_for(lambda: len(demo.states['']) > 50, 'joint states')
        demo.wait_for(lambda: demo.nodes() == NODES, 'all nodes')
        frames = {('vr_world', 'hmd'), ('vr_world', 'base_link'), ('l_upper_arm', 'l_forearm')}
        demo.wait_for(lambda: frames <= demo.frames, 'all frames')
        demo.wait_for(lambda: bool(demo.descriptions), 'the model')
        demo.end()


def test_the_solver_can_broadcast_the_links_itself(prefix):
    arguments = ('rviz:=false', 'robot_state_publisher:=false')
    with launched(prefix, 'demo_launch.py', *arguments) as demo:
        demo.wait_for(lambda: ('l_upper_arm', 'l_forearm') in demo.frames, 'the links')
        nodes = NODES - {'/body_state_publisher'}
        demo.wait_for(lambda: demo.nodes() == nodes, 'the nodes')
        demo.end()


def test_two_users_have_their_own_topics_and_frames(prefix):
    with (
        launched(prefix, 'demo_launch.py', 'rviz:=false', 'namespace:=anna') as anna,
        launched(prefix, 'demo_launch.py', 'rviz:=false', 'namespace:=ben') as ben,
    ):
        for user in ('/anna', '/ben'):
            anna.listen(user)
        anna.wait_for(lambda: all(len(s) > 20 for s in anna.states.values()), 'joint states')
        nodes = {f'/{user}{node}' for user in ('anna', 'ben') for node in NODES}
        anna.wait_for(lambda: anna.nodes() == nodes, 'the nodes of both')
        for user in ('anna', 'ben'):
            frames = {('vr_world', f'{user}/hmd'), (f'{user}/l_upper_arm', f'{user}/l_forearm')}
            anna.wait_for(lambda frames=frames: frames <= anna.frames, f'the frames of {user}')
        assert ('vr_world', 'hmd') not in anna.frames
        anna.end()
        ben.end()


def test_a_simulated_robot_waits_for_its_operator(prefix):
    """The operator's nodes under his namespace, the robot's joint states in the root."""
    arguments = ('simulate:=true', 'rviz:=false', 'backend:=simulated')
    with launched(prefix, 'teleop_launch.py', *arguments) as teleop:
        teleop.listen()
        teleop.listen('/operator')
        teleop.wait_for(lambda: all(len(s) > 20 for s in teleop.states.values()), 'joint states')
        nodes = {'/operator/tracker_node', '/operator/solver_node', '/teleop_node'}
        teleop.wait_for(lambda: nodes <= teleop.nodes(), 'operator and teleoperation')
        root, hand = ('vr_world', 'panda_link0'), ('panda_link7', 'panda_link8')
        teleop.wait_for(lambda: {root, hand} <= teleop.frames, "the robot's frames")
        assert set(teleop.states[''][0].name).isdisjoint(teleop.states['/operator'][0].name)
        teleop.end()


def test_hardware_is_waited_for(prefix):
    """Without SteamVR the launch stays up, says so, and can be ended."""
    with launched(prefix, 'vr_launch.py', 'rviz:=false', 'model:=upper') as vr:
        vr.wait_for(lambda: 'Waiting for the tracker' in vr.output(), 'a word about SteamVR')
        vr.wait_for(lambda: 'Ready.' in vr.output(), 'the solver')
        assert "Model 'upper'" in vr.output()
        vr.wait_for(lambda: vr.nodes() == NODES, 'all nodes')
        vr.end()


def test_a_bad_argument_ends_the_launch_with_the_reason(prefix):
    with launched(prefix, 'demo_launch.py', 'rviz:=false', 'solver:=magic') as bad:
        assert bad.process.wait(PATIENCE_S) != 0
        assert "'magic'" in bad.output()
        assert 'two_bone' in bad.output()


def write_session(path: Path, seconds: float) -> None:
    """Record the simulated user's devices, long ago."""
    user, encoder = SimulatedUser(1.75), FrameEncoder('vr_world', '')
    topic = known_topic('/tf', TF_TYPE, 100)
    with BagWriter(path) as bag:
        for i in range(int(100 * seconds)):
            poses = user.device_poses(user.q_at(i / 100), SIMULATED_ROLES)
            time_ns = START_NS + i * 10_000_000
            frame = TrackingFrame(time_ns, SIMULATED_ROLES, poses)
            bag.write(topic, time_ns, encoder.encode(frame))


def test_a_replay_solves_the_bag_and_ends_with_it(prefix, tmp_path):
    check = subprocess.run([str(ROS2), 'bag', 'play', '--help'], capture_output=True)
    if check.returncode != 0:
        pytest.skip('`ros2 bag` is not installed: replay_launch.py is not started')
    write_session(tmp_path / 'session', 8.0)
    bag = f'bag:={tmp_path / "session"}'
    with launched(prefix, 'replay_launch.py', bag, 'rviz:=false') as replay:
        replay.listen()
        replay.wait_for(lambda: replay.process.poll() is not None, 'the end of the bag')
        assert replay.process.returncode == 0, replay.output()
        assert 'process has died' not in replay.output(), replay.output()
        assert len(replay.states['']) > 50
        # The bag has waited for the solver, whose start takes seconds.
        assert stamp_ns(replay.states[''][0].header) - START_NS < 1_000_000_000
        stamps = np.array([state.header.stamp.sec for state in replay.states['']])
        assert (stamps // 10 == 160_000_000).all()
        assert ('vr_world', 'replayed/base_link') in replay.frames
        assert ('replayed/l_upper_arm', 'replayed/l_forearm') in replay.frames
        assert 'Traceback' not in replay.output()
