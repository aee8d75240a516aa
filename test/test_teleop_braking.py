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

"""A pause that only its service takes back, and a node that is killed while the arm moves."""

from collections.abc import Iterator

import numpy as np
import pytest
from ros_graph import listening, NodeProcess
from ros_recording import ALL_KEPT
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool
from teleop_support import start, TeleopOperator
from trajectory_msgs.msg import JointTrajectory

from vr_ik.teleop.config import TeleopConfig

UP = np.array([0.0, 0.0, 0.1])
CONFIG = TeleopConfig()
# A message or two before the end the robot may have heard alone, or the test [rad].
_UNHEARD = 0.01


class Recorder:
    """The last command, and where the robot is."""

    def __init__(self, operator: TeleopOperator) -> None:
        self.command = JointTrajectory()
        self.positions: dict[str, float] = {}
        subscribe = operator.listener.node.create_subscription
        topic = 'panda_arm_controller/joint_trajectory'
        subscribe(JointTrajectory, topic, self._on_command, ALL_KEPT)
        subscribe(JointState, 'joint_states', self._on_state, ALL_KEPT)

    def _on_command(self, message: JointTrajectory) -> None:
        self.command = message

    def _on_state(self, message: JointState) -> None:
        self.positions.update(zip(message.name, message.position, strict=True))


@pytest.fixture
def nodes() -> Iterator[NodeProcess]:
    """The teleoperation node, which requires no enable, and a simulated robot."""
    processes = [
        start('simulated_robot_node', 'panda'),
        start('teleop_node', 'panda', require_enable='false'),
    ]
    try:
        yield processes[1]
        assert processes[0].end() == 0, processes[0].output()
    finally:
        for process in processes:
            process.kill()


def test_a_pause_is_taken_back_by_its_service_alone_and_a_killed_node_leaves_the_arm_a_way_to_rest(
    nodes: NodeProcess,
) -> None:
    with listening() as listener:
        operator = TeleopOperator(listener)
        robot = Recorder(operator)
        operator.wait_for(lambda: bool(robot.positions), 'the robot')
        operator.wait_for_state('disengaged')
        pause_and_go_on(operator)
        kill_in_motion(operator, nodes, robot)


def pause_and_go_on(operator: TeleopOperator) -> None:
    """Nothing was enabled, and nothing has to be: the pause works all the same."""
    pause = operator.listener.node.create_client(SetBool, 'teleop_node/pause')

    def call(paused: bool) -> None:
        assert pause.wait_for_service(10.0)
        answer = pause.call_async(SetBool.Request(data=paused))
        operator.wait_for(answer.done, 'an answer')
        assert answer.result().success

    operator.release()
    operator.grip = 1.0
    operator.wait_for_state('engaged')
    call(True)
    operator.wait_for_state('stopped: paused by the service')
    operator.release()
    operator.wait_for_state('disengaged')
    operator.menu = True
    operator.go_on(0.2)
    operator.menu = False
    operator.grip = 1.0
    operator.go_on(0.5)
    assert operator.state.startswith('disengaged: paused by the service'), 'the menu took it back'
    call(False)
    operator.release()
    operator.grip = 1.0
    operator.wait_for_state('engaged')


def kill_in_motion(operator: TeleopOperator, node: NodeProcess, robot: Recorder) -> None:
    """End the node while the arm is fast; it goes on by its last command alone."""
    halfway = operator.position[2] + 0.5 * UP[2]
    operator.every_frame = lambda: node.process.kill() if operator.position[2] > halfway else None
    operator.move(UP, 0.3)
    assert node.process.wait() < 0
    operator.go_on(CONFIG.stop_time_s + 0.5)
    first, *_, last = robot.command.points
    assert max(map(abs, first.velocities)) > 0.6, 'it was not killed in motion'
    assert not any(last.velocities)
    measured = [robot.positions[joint] for joint in robot.command.joint_names]
    np.testing.assert_allclose(measured, last.positions, atol=_UNHEARD)
    assert np.abs(np.subtract(measured, first.positions)).max() > 2.0 * _UNHEARD
