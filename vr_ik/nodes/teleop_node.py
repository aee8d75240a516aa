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


"""The teleoperation node: the operator's hands in, commands for a robot's arms out."""

from collections.abc import Mapping, Sequence
import math
import sys
import time

from diagnostic_msgs.msg import DiagnosticStatus
import numpy as np
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool

from vr_ik.errors import ConfigError, VrIkError
from vr_ik.io.packages import read_description, share_folders
from vr_ik.kinematics.model import RobotModel
from vr_ik.nodes import diagnostics, garbage, qos, spin, triggers
from vr_ik.nodes.conversions import stamp_in_ns
from vr_ik.nodes.parameters import BoundConfig
from vr_ik.nodes.teleop_operator import Operator
from vr_ik.nodes.teleop_outputs import (
    Commands,
    Grippers,
    Output,
    ServoPoses,
    ServoTwists,
    SimulatedStates,
    Trajectories,
)
from vr_ik.nodes.teleop_report import TeleopReport
from vr_ik.teleop.measured import MeasuredJoints
from vr_ik.teleop.node_config import TeleopNodeConfig
from vr_ik.teleop.session import TeleopSession
from vr_ik.teleop.types import ArmInput, Reason, RobotState, TeleopCommand, TeleopInputs
from vr_ik.teleop.watch import REST_S

NAME = 'teleop_node'
_OUTDATED = 'The robot is described otherwise now: nothing moves until this node is started anew.'

_WARM_UP_TICKS = 3


class Driving:
    """All that depends on the robot's description."""

    def __init__(self, node: Node, config: TeleopNodeConfig, urdf_text: str) -> None:
        """Build the session, with every kernel compiled, and open the robot's topics."""
        self.urdf_text = urdf_text
        self.session = make_session(config, urdf_text)
        led = self.session.joint_names
        robot = RobotModel.from_urdf(urdf_text)
        self.measured = MeasuredJoints(led)
        self.simulated: SimulatedStates | None = None
        self.output: Output
        self.grippers: Grippers | None = None
        if config.output == 'joint_states':
            start = robot.posture(config.initial_positions())
            self.output = self.simulated = SimulatedStates(node, robot.joint_names, start)
        else:
            self.grippers = Grippers(node, config)
            if config.output == 'joint_trajectory':
                self.output = Trajectories(node, config, led)
            elif config.output == 'commands':
                self.output = Commands(node, config, led)
            elif config.output == 'servo_pose':
                self.output = ServoPoses(node, config, robot.root_link)
            else:
                self.output = ServoTwists(node, config, robot.root_link)
        self.report = TeleopReport(node, config.arms, robot.root_link)

    def send(self, now_ns: int, steady_ns: int, command: TeleopCommand) -> bool:
        """Publish the command of a tick that began at `steady_ns`, unless it is too late."""
        # A machine that was busy meanwhile has let the robot brake: this would call it back.
        in_time = time.monotonic_ns() - steady_ns < 1e9 * self.session.config.horizon_s
        sent = (command.publish and in_time) or self.simulated is not None
        if sent:
            self.output.send(now_ns, command)
        elif command.publish:
            self.session.take_back()
        if self.grippers is not None:
            self.grippers.send(command)
        return sent

    def begin_anew(self, config: TeleopNodeConfig) -> None:
        """Have a new session, with parameters that may have changed."""
        before = self.session
        self.session = make_session(config, self.urdf_text, self.measured.positions)
        self.session.keep_grippers(before)
        if isinstance(self.output, Trajectories):
            self.output.config = config


def make_session(
    config: TeleopNodeConfig, urdf_text: str, measured: Mapping[str, float] | None = None
) -> TeleopSession:
    """Return a session; another one was engaged before it, so that no tick compiles anything."""
    packages = tuple(share_folders())
    warm = TeleopSession(config, urdf_text, packages)
    robot = RobotModel.from_urdf(urdf_text)
    positions = dict(zip(robot.joint_names, robot.neutral().tolist(), strict=True))
    resting = 2 + math.ceil(REST_S * config.rate_hz)
    for tick in range(resting + _WARM_UP_TICKS):
        stamp_ns = 1 + tick * round(1e9 / config.rate_hz)
        hand = ArmInput(np.eye(4), stamp_ns, float(tick >= resting), 0.0, np.ones(3))
        state = RobotState(stamp_ns, positions)
        inputs = TeleopInputs((hand,) * config.arms, True, np.eye(4), state)
        warm.step(stamp_ns, inputs, stamp_ns)
    return TeleopSession(config, urdf_text, packages)


class TeleopNode(Node):
    """Goes through one tick of the core on a steady timer, and publishes what it commands."""

    def __init__(self) -> None:
        """Bind the parameters, and begin as soon as the robot is described."""
        super().__init__(NAME)
        self._config = BoundConfig(self, TeleopNodeConfig)
        config = self._config.value
        self._operator = Operator(self, config)
        self._driving: Driving | None = None
        self._mistake = ''
        """Why the robot that was described cannot be led, in words."""
        self._others_known = False
        self._veto = Reason.NONE
        self.create_service(SetBool, '~/pause', self._on_pause)
        triggers.offer(self, '~/reset', self._reset)
        self._config.when_changed(self._apply)
        self._diagnostics = diagnostics.DiagnosticsTimer(self, self._lines)
        if config.output != 'joint_states':
            self.create_subscription(
                JointState, qos.JOINT_STATES_TOPIC, self._on_robot, qos.MEASURED_QOS
            )
        if config.urdf:
            self._begin(read_description(config.urdf))
        else:
            self.get_logger().info("Waiting for the topic 'robot_description'.")
            self.create_subscription(
                String, qos.ROBOT_DESCRIPTION_TOPIC, self._on_description, qos.LATCHED_QOS
            )

    def destroy_node(self) -> None:
        """Bring the arms to rest, then let go of the node."""
        if self._driving is not None:
            config = self._config.value
            self._veto = Reason.ENDED
            deadline_s = time.monotonic() + 2.0 * config.stop_time_s
            while self._tick() and time.monotonic() < deadline_s:
                time.sleep(1.0 / config.rate_hz)
        super().destroy_node()

    def _begin(self, urdf_text: str) -> None:
        """Take on a robot, and start to tick."""
        config = self._config.value
        self.get_logger().info('Preparing; on the very first run kernels are compiled.')
        self._driving = Driving(self, config, urdf_text)
        garbage.settle()
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = self.create_timer(1.0 / config.rate_hz, self._tick, clock=steady)
        for note in self._driving.session.notes:
            self.get_logger().warning(note)
        joints = ', '.join(self._driving.session.joint_names)
        self.get_logger().info(f"Ready: '{config.output}' for {joints}.")

    def _on_description(self, message: String) -> None:
        if self._driving is not None:
            if message.data != self._driving.urdf_text:
                self._veto = Reason.ROBOT_CHANGED
                self.get_logger().error(_OUTDATED)
            return
        try:
            self._begin(message.data)
            self._mistake = ''
        except VrIkError as error:
            self._mistake = str(error)
            self.get_logger().error(self._mistake)

    def _on_robot(self, message: JointState) -> None:
        if self._driving is not None:
            now_ns = int(self.get_clock().now().nanoseconds)
            stamp_ns = stamp_in_ns(message.header.stamp) or now_ns
            self._driving.measured.update(stamp_ns, message.name, message.position)
            self._take_others()

    def _take_others(self) -> None:
        """Begin anew where joints that are not led rest elsewhere than at zero, at the start."""
        driving = self._driving
        if driving is None or self._others_known:
            return
        self._others_known = True
        if driving.session.is_outdated(driving.measured.positions) and driving.session.idle:
            driving.begin_anew(self._config.value)

    def _tick(self) -> bool:
        """Go through one tick; return whether something was commanded."""
        driving, operator = self._driving, self._operator
        if driving is None:
            return False
        now_ns, steady_ns = int(self.get_clock().now().nanoseconds), time.monotonic_ns()
        if driving.simulated is not None:
            positions = driving.simulated.positions
            driving.measured.update(now_ns, list(positions), list(positions.values()))
        inputs = TeleopInputs(
            operator.arms(now_ns),
            operator.enabled,
            operator.head(now_ns),
            driving.measured.state(),
            self._veto,
            driving.output.unheard(),
        )
        command = driving.session.step(now_ns, inputs, steady_ns)
        sent = driving.send(now_ns, steady_ns, command)
        for arm, why in command.haptics:
            operator.vibrate(arm, why)
        took_s = (time.monotonic_ns() - steady_ns) * 1e-9
        latency_s = (now_ns - operator.newest_ns) * 1e-9 + took_s
        driving.report.note(now_ns, command, sent, took_s, latency_s)
        return command.publish

    def _apply(self, config: TeleopNodeConfig) -> None:
        """Take over a live change, which must not change anything under a moving arm."""
        if self._driving is not None:
            self._check_at_rest()
            self._driving.begin_anew(config)
        self._operator.config = config

    def _reset(self) -> str:
        """Forget the last stop; it takes a fresh press to go on."""
        if self._driving is None:
            raise ConfigError('There is no robot yet.')
        self._check_at_rest()
        self._driving.begin_anew(self._config.value)
        return 'Reset.'

    def _check_at_rest(self) -> None:
        if self._driving is not None and not self._driving.session.idle:
            text = (
                'The arms are engaged, or not at rest yet: pause first, with the service ~/pause.'
            )
            raise ConfigError(text)

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        """Stop the arms, until this is taken back here; or enable them."""
        outdated = self._veto is Reason.ROBOT_CHANGED
        if not outdated:
            self._veto = Reason.HELD if request.data else Reason.NONE
        self._operator.enabled = self._operator.enabled or not request.data
        response.success = bool(request.data) or not outdated
        enabled = _OUTDATED if outdated else 'Enabled: press the clutch to move.'
        response.message = 'Paused.' if request.data else enabled
        self.get_logger().info(response.message)
        return response

    def _lines(self) -> list[DiagnosticStatus]:
        if self._driving is None and self._mistake:
            return [diagnostics.status('teleop', diagnostics.ERROR, self._mistake, {})]
        if self._driving is None:
            text = 'no robot description'
            return [diagnostics.status('teleop', diagnostics.WARN, text, {})]
        return [self._driving.report.line(self._operator.enabled and self._veto is Reason.NONE)]


def create() -> TeleopNode:
    """Return the node; ROS must be initialized."""
    return TeleopNode()


def main(args: Sequence[str] | None = None) -> int:
    """Run the node as a process and return its exit code."""
    return spin.run(NAME, create, args)


if __name__ == '__main__':
    sys.exit(main())
