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

"""A simulated robot as a node: the topics of ros2_control's controllers in, joint states out."""

from collections.abc import Sequence
from functools import partial
import sys
import time

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory

from vr_ik.errors import VrIkError
from vr_ik.io.body_cdr import JointStateEncoder
from vr_ik.io.packages import read_description
from vr_ik.nodes import qos, spin
from vr_ik.nodes.conversions import stamp_in_ns
from vr_ik.nodes.parameters import BoundConfig
from vr_ik.simulation.controllers import Controller, TrajectoryPoint
from vr_ik.simulation.robot import SimulatedRobot, STEP_S
from vr_ik.simulation.robot_config import DEFAULT_CONTROLLER, RobotConfig

NAME = 'simulated_robot_node'

_WARNING_PERIOD_S = 5.0
_LONGEST_LAG_S = 0.1
"""A machine that was busy for longer makes the robot's time stand still meanwhile."""


class SimulatedRobotNode(Node):
    """Takes JointTrajectory and Float64MultiArray for each of its controllers."""

    def __init__(self) -> None:
        """Put up the robot and start its time."""
        super().__init__(NAME)
        config = BoundConfig(self, RobotConfig).value
        urdf_text = read_description(config.urdf)
        self._open_loop = config.open_loop_control
        self._robot = SimulatedRobot(urdf_text, config.initial_positions())
        joints_of = config.joints_of() or {DEFAULT_CONTROLLER: self._robot.model.joint_names}
        self._q, self._velocity = self._robot.q, 0.0 * self._robot.q
        self._controllers = [self._open(name, joints) for name, joints in joints_of.items()]
        self._encoder = JointStateEncoder(self._robot.model.joint_names)
        self._states = self.create_publisher(
            JointState, qos.JOINT_STATES_TOPIC, qos.JOINT_STATES_QOS
        )
        description = self.create_publisher(String, qos.ROBOT_DESCRIPTION_TOPIC, qos.LATCHED_QOS)
        description.publish(String(data=urdf_text))
        self._began_s = time.monotonic()
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = self.create_timer(1.0 / config.rate_hz, self._advance, clock=steady)
        self.get_logger().info(
            f"Robot '{self._robot.model.name}' with controllers {', '.join(joints_of)}. Ready."
        )

    def _open(self, name: str, joints: tuple[str, ...]) -> tuple[Controller, list[int]]:
        """Open the topics of a controller; return it with its joints' places in q."""
        places = [self._robot.model.joint_index(joint) for joint in joints]
        controller = Controller(joints, self._q[places])
        self.create_subscription(
            JointTrajectory,
            f'{name}/joint_trajectory',
            partial(self._on_trajectory, controller, places),
            qos.COMMAND_QOS,
        )
        self.create_subscription(
            Float64MultiArray,
            f'{name}/commands',
            partial(self._on_commands, controller),
            qos.COMMAND_QOS,
        )
        return controller, places

    def _advance(self) -> None:
        """Bring the robot's time up to now, and tell where it is."""
        now_s = time.monotonic() - self._began_s
        lag_s = now_s - self._robot.time_s
        if lag_s > _LONGEST_LAG_S:
            self._began_s += lag_s - STEP_S
            now_s = self._robot.time_s + STEP_S
        while self._robot.time_s + STEP_S <= now_s:
            for controller, places in self._controllers:
                controller.update(self._robot.time_s + STEP_S)
                self._q[places] = controller.q
                self._velocity[places] = controller.velocity
            self._robot.step(self._q, self._velocity)
        stamp_ns = self.get_clock().now().nanoseconds
        self._states.publish(self._encoder.encode(stamp_ns, self._robot.q, self._robot.velocity))

    def _on_trajectory(
        self, controller: Controller, places: list[int], message: JointTrajectory
    ) -> None:
        now_s = self._robot.time_s
        stamp_ns = stamp_in_ns(message.header.stamp)
        ahead_s = (stamp_ns - self.get_clock().now().nanoseconds) * 1e-9 if stamp_ns else 0.0
        points = [
            TrajectoryPoint(
                point.time_from_start.sec + point.time_from_start.nanosec * 1e-9,
                point.positions,
                point.velocities,
            )
            for point in message.points
        ]
        measured = None
        if not self._open_loop:
            measured = self._robot.q[places], self._robot.velocity[places]
        try:
            controller.follow(now_s, message.joint_names, points, now_s + ahead_s, measured)
        except VrIkError as error:
            self._refuse(error)

    def _on_commands(self, controller: Controller, message: Float64MultiArray) -> None:
        try:
            controller.command(message.data)
        except VrIkError as error:
            self._refuse(error)

    def _refuse(self, error: VrIkError) -> None:
        self.get_logger().warning(str(error), throttle_duration_sec=_WARNING_PERIOD_S)


def create() -> SimulatedRobotNode:
    """Return the node; ROS must be initialized."""
    return SimulatedRobotNode()


def main(args: Sequence[str] | None = None) -> int:
    """Run the node as a process and return its exit code."""
    return spin.run(NAME, create, args)


if __name__ == '__main__':
    sys.exit(main())
