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


"""The teleoperation node as a real process, with a simulated robot as another."""

from collections.abc import Callable, Iterator
import signal

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
import numpy as np
import pytest
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from ros_graph import listening, NodeProcess
from ros_recording import ALL_KEPT
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger
from teleop_support import PATIENT, robot_file, ROBOTS, start, TeleopOperator
from trajectory_msgs.msg import JointTrajectory

from vr_ik.config_file import load_config
from vr_ik.io.packages import read_description
from vr_ik.kinematics.model import RobotModel
from vr_ik.nodes.teleop_listener import way_of
from vr_ik.simulation.robot_config import RobotConfig
from vr_ik.teleop.audit import CommandAudit, Limits
from vr_ik.teleop.node_config import TeleopNodeConfig

CONFIG = load_config(TeleopNodeConfig, ROBOTS / 'panda.yaml', 'teleop_node')
ROBOT = load_config(RobotConfig, ROBOTS / 'panda.yaml', 'simulated_robot_node')
PANDA = RobotModel.from_urdf(read_description(ROBOT.urdf))
ARM = [f'panda_joint{i}' for i in range(1, 8)]
UP = np.array([0.0, 0.0, 0.1])


class Graph:
    """Operator, teleoperation node and simulated robot, and all that went between them."""

    def __init__(self, operator: TeleopOperator) -> None:
        self.operator = operator
        self.commands: list[tuple[dict, JointTrajectory]] = []
        self.gripper: list[float] = []
        self.robot: dict[str, float] = {}
        node = operator.listener.node
        subscribe = node.create_subscription
        subscribe(
            JointTrajectory, 'panda_arm_controller/joint_trajectory', self._on_command, ALL_KEPT
        )
        subscribe(
            Float64MultiArray,
            'panda_gripper_controller/commands',
            lambda message: self.gripper.append(message.data[0]),
            ALL_KEPT,
        )
        subscribe(JointState, 'joint_states', self._on_state, ALL_KEPT)
        self.pause = node.create_client(SetBool, 'teleop_node/pause')
        self.reset = node.create_client(Trigger, 'teleop_node/reset')
        self.set_parameters = node.create_client(SetParameters, 'teleop_node/set_parameters')

    def tip(self) -> np.ndarray:
        q = PANDA.configuration(self.robot)
        return PANDA.link_pose(q, 'panda_hand_tcp')[:3, 3]

    def call(self, client, request):
        assert client.wait_for_service(10.0)
        future = client.call_async(request)
        self.operator.wait_for(future.done, 'an answer')
        return future.result()

    def audit(self, first: int) -> CommandAudit:
        """Judge the commands from one on."""
        audit = CommandAudit(
            Limits.of(CONFIG, PANDA, ARM),
            CONFIG.rate_hz,
            CONFIG.horizon_s,
            PATIENT['longest_tick_s'],
        )
        for info, message in self.commands[first:]:
            assert list(message.joint_names) == ARM
            way, number = way_of(message), info['publication_sequence_number']
            audit.add(info['source_timestamp'], way[0].q, way[0].velocity, way[1:], number)
        audit.end()
        return audit

    def check_silence(self) -> None:
        """Nothing more is commanded; all that was has kept within its limits, and ends at rest."""
        self.operator.go_on(CONFIG.stop_time_s + 0.2)
        count = len(self.commands)
        self.operator.go_on(0.5)
        assert len(self.commands) == count
        audit = self.audit(0)
        assert not +audit.violations, (audit.violations, audit.worst)
        assert abs(audit.clock_error) < 0.1
        for _, message in self.commands:
            assert not any(message.points[-1].velocities)

    def _on_command(self, message: JointTrajectory, info) -> None:
        self.commands.append((info, message))

    def _on_state(self, message: JointState) -> None:
        self.robot.update(zip(message.name, message.position, strict=True))


@pytest.fixture(scope='module')
def robot_process() -> Iterator[NodeProcess]:
    process = start('simulated_robot_node', 'panda')
    try:
        yield process
        assert process.end() == 0, process.output()
    finally:
        process.kill()


@pytest.fixture(scope='module')
def graph(robot_process: NodeProcess) -> Iterator[Graph]:
    process = start('teleop_node', 'panda')
    try:
        with listening() as listener:
            graph = Graph(TeleopOperator(listener))
            graph.operator.wait_for_state('disengaged')
            graph.operator.wait_for(lambda: bool(graph.robot), 'the robot')
            yield graph
        assert process.end(signal.SIGTERM) == 0, process.output()
        assert 'Traceback' not in process.output()
    finally:
        process.kill()


@pytest.fixture
def engaged(graph: Graph) -> Iterator[Graph]:
    """The arm follows the hand; in the end everything is at rest and released."""
    graph.operator.release()
    graph.operator.engage()
    yield graph
    graph.operator.tracked = True
    graph.operator.release()


def test_nothing_moves_before_it_is_enabled(graph: Graph) -> None:
    operator = graph.operator
    operator.release()
    operator.grip = 1.0
    operator.wait_for_state('disengaged: not enabled')
    operator.go_on(0.2)
    operator.menu = True  # enabled with the clutch already pressed: a fresh press is needed
    operator.go_on(0.3)
    operator.menu = False
    assert operator.state.startswith('disengaged')
    operator.release()
    assert graph.commands == []


def test_the_robot_follows_the_hand_and_its_gripper_the_trigger(engaged: Graph) -> None:
    before = engaged.tip()
    engaged.operator.trigger = 1.0
    engaged.operator.move(UP, 1.0)
    engaged.operator.move(np.array([0.05, 0.05, 0.0]), 1.0)
    engaged.operator.go_on(0.5)
    moved = engaged.tip() - before
    np.testing.assert_allclose(moved, UP + (0.05, 0.05, 0.0), atol=3e-3)
    assert engaged.gripper[-1] == pytest.approx(0.0)
    assert engaged.robot['panda_finger_joint1'] == pytest.approx(0.0, abs=1e-3)
    engaged.operator.trigger = 0.0
    engaged.operator.wait_for(lambda: engaged.gripper[-1] > 0.039, 'the open gripper')


def test_a_released_clutch_holds_the_robot_and_a_press_takes_it_from_there(
    engaged: Graph,
) -> None:
    operator = engaged.operator
    operator.grip = 0.0
    operator.wait_for_state('holding')
    operator.go_on(0.3)
    before = engaged.tip()
    operator.move(-UP, 0.5)
    np.testing.assert_allclose(engaged.tip(), before, atol=1e-3)
    operator.grip = 1.0
    operator.wait_for_state('engaged')
    operator.move(-0.5 * UP, 0.5)
    operator.go_on(0.3)
    np.testing.assert_allclose(engaged.tip() - before, -0.5 * UP, atol=3e-3)


def test_a_head_that_was_seen_long_ago_engages_nobody(engaged: Graph) -> None:
    operator = engaged.operator
    operator.release()
    operator.head_tracked = False
    operator.go_on(PATIENT['tracking_timeout_s'] + 0.2)
    operator.grip = 1.0
    operator.wait_for_state('holding: the head is not tracked')
    operator.head_tracked = True
    operator.release()


def lose_tracking(graph: Graph) -> None:
    graph.operator.tracked = False


def jump(graph: Graph) -> None:
    graph.operator.position = graph.operator.position + (0.0, 0.3, 0.0)


def pause(graph: Graph) -> None:
    assert graph.call(graph.pause, SetBool.Request(data=True)).message == 'Paused.'


@pytest.mark.parametrize(
    ('fault', 'reason'),
    [
        (lose_tracking, 'the device is not tracked (r_controller)'),
        (jump, 'the device jumped (r_controller)'),
        (pause, 'paused by the service'),
    ],
)
def test_a_fault_stops_the_moving_arm_smoothly_until_the_clutch_is_pressed_anew(
    engaged: Graph, fault: Callable[[Graph], None], reason: str
) -> None:
    operator = engaged.operator
    operator.feedback.clear()
    operator.move(0.5 * UP, 0.3)
    fault(engaged)
    operator.wait_for_state(f'stopped: {reason}')
    engaged.check_silence()
    assert operator.feedback[-1].intensity == 1.0
    operator.tracked = True
    operator.go_on(0.3)
    assert operator.state.startswith('stopped')  # the grip is still pressed
    assert engaged.call(engaged.pause, SetBool.Request(data=False)).success
    operator.release()
    operator.wait_for_state('disengaged')
    operator.grip = 1.0
    operator.wait_for_state('engaged')
    operator.move(-0.5 * UP, 0.3)


def test_a_controller_that_falls_silent_with_its_grip_pressed_lets_go_for_good(
    engaged: Graph,
) -> None:
    operator = engaged.operator
    operator.move(0.5 * UP, 0.3)
    operator.powered = False
    # Stopped for as long as the arm moves; no grip is known to be pressed after that.
    silent = 'the buttons of the device are silent (r_controller)'
    operator.wait_for(lambda: silent in operator.state, silent)
    engaged.check_silence()
    operator.powered = True  # and the grip is still pressed
    operator.go_on(0.3)
    assert operator.state.startswith('disengaged')
    operator.release()
    operator.engage()
    operator.move(-0.5 * UP, 0.3)


def test_a_robot_that_is_silent_stops_the_arm_and_is_not_engaged(
    engaged: Graph, robot_process: NodeProcess
) -> None:
    operator = engaged.operator
    operator.move(0.5 * UP, 0.3)
    robot_process.process.send_signal(signal.SIGSTOP)
    try:
        operator.wait_for_state('stopped: the state of the robot is too old')
        engaged.check_silence()
        operator.release()
        operator.grip = 1.0
        operator.wait_for_state('disengaged: the state of the robot is too old')
    finally:
        robot_process.process.send_signal(signal.SIGCONT)
    operator.release()
    # A press before the robot is heard again would be refused, and held for good.
    operator.wait_for_state('disengaged: ready')
    operator.engage()
    operator.move(-0.5 * UP, 0.3)


def test_parameters_change_at_rest_only_and_a_reset_forgets_the_stop(engaged: Graph) -> None:
    scale = Parameter('position_scale', value=0.5).to_parameter_msg()
    request = SetParameters.Request(parameters=[scale])
    result = engaged.call(engaged.set_parameters, request).results[0]
    assert not result.successful
    assert 'engaged' in result.reason
    assert not engaged.call(engaged.reset, Trigger.Request()).success
    pause(engaged)
    engaged.operator.wait_for_state('stopped')
    engaged.operator.go_on(CONFIG.stop_time_s)
    horizon = Parameter('horizon_s', value=0.05).to_parameter_msg()
    request.parameters.append(horizon)
    results = engaged.call(engaged.set_parameters, request).results
    assert [result.successful for result in results] == [True, True]
    assert engaged.call(engaged.reset, Trigger.Request()).success
    engaged.operator.wait_for_state('disengaged: paused by the service ~/pause')
    assert engaged.call(engaged.pause, SetBool.Request(data=False)).success
    engaged.operator.release()
    engaged.operator.engage()
    before = engaged.tip()
    engaged.operator.move(-UP, 0.7)
    engaged.operator.go_on(0.3)
    assert engaged.operator.state.startswith('engaged'), engaged.operator.state
    np.testing.assert_allclose(engaged.tip() - before, -0.5 * UP, atol=3e-3)
    assert engaged.commands[-1][1].points[0].time_from_start.nanosec == 50_000_000


def test_diagnostics_tell_the_state_and_count_the_stops(graph: Graph) -> None:
    lines = {}

    def note(message: DiagnosticArray) -> None:
        lines.update({line.name: line for line in message.status})

    graph.operator.listener.node.create_subscription(
        DiagnosticArray, '/diagnostics', note, ALL_KEPT
    )
    graph.operator.wait_for(lambda: 'teleop_node: teleop' in lines, 'diagnostics')
    line = lines['teleop_node: teleop']
    values = {value.key: value.value for value in line.values}
    assert line.message == graph.operator.state
    assert int(values['commands']) > 100
    assert int(values['stops, tracking_lost']) >= 1


def test_a_robot_that_cannot_be_led_is_an_error_in_the_diagnostics(
    robot_process: NodeProcess,
) -> None:
    named = ('-r', '__ns:=/other', '-r', 'robot_description:=/robot_description')
    mistyped = ('-p', 'tip_links:=[panda_hnd_tcp]')
    process = NodeProcess('teleop_node', *robot_file('panda'), *mistyped, *named)
    levels: list[bytes] = []

    def note(message: DiagnosticArray) -> None:
        levels.extend(x.level for x in message.status if 'panda_hand_tcp' in x.message)

    try:
        with listening() as listener:
            listener.node.create_subscription(DiagnosticArray, '/diagnostics', note, ALL_KEPT)
            TeleopOperator(listener).wait_for(lambda: bool(levels), 'the reason')
        assert levels[-1] == DiagnosticStatus.ERROR
        assert process.end(signal.SIGTERM) == 0
    finally:
        process.kill()
