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


"""How commands reach a robot: controllers of ros2_control, moveit_servo, or joint states."""

from collections.abc import Sequence
from typing import Any, Protocol

from geometry_msgs.msg import PoseStamped, TwistStamped
import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from vr_ik.io.body_cdr import JointStateEncoder
from vr_ik.math.rotations import quaternion_from_matrix
from vr_ik.nodes import qos
from vr_ik.nodes.conversions import set_stamp
from vr_ik.teleop.braking import braking_points, BrakingPoint
from vr_ik.teleop.node_config import TeleopNodeConfig
from vr_ik.teleop.types import TeleopCommand
from vr_ik.types import Array


class Output(Protocol):
    """One way to command a robot."""

    def unheard(self) -> str:
        """Return a topic that nobody listens to; empty where each has somebody."""

    def send(self, now_ns: int, command: TeleopCommand) -> None:
        """Publish a command that is to be published."""


class _ToTopics:
    """What all have in common that publish to somebody else's topics."""

    _topics: Sequence[tuple[Any, ...]]
    """Publishers, each with what belongs to it."""

    def unheard(self) -> str:
        """Return a topic that nobody listens to; empty where each has somebody."""
        unheard = (p.topic_name for p, *_ in self._topics if not p.get_subscription_count())
        return next(unheard, '')


class Trajectories(_ToTopics):
    """For each joint_trajectory_controller a point ahead, and the way to rest after it.

    Should no other command come, the controller itself brings the joints smoothly to rest.
    """

    def __init__(self, node: Node, config: TeleopNodeConfig, led: tuple[str, ...]) -> None:
        """Open a topic for each controller; `config` may be exchanged while the node runs."""
        self.config = config
        self._topics = [
            (
                node.create_publisher(
                    JointTrajectory, f'{name}/joint_trajectory', qos.COMMAND_QOS
                ),
                # Without a stamp it begins when it comes, whatever the robot's clock says.
                JointTrajectory(joint_names=list(joints)),
                _places(joints, led),
            )
            for name, joints in config.joints_of_controllers(led).items()
        ]

    def send(self, now_ns: int, command: TeleopCommand) -> None:
        """Publish a command that is to be published."""
        if command.positions is None or command.velocities is None:
            return
        for publisher, message, places in self._topics:
            q, velocity = command.positions[places], command.velocities[places]
            deceleration = np.full(len(q), self.config.acceleration)
            way = [BrakingPoint(0.0, q, velocity), *braking_points(q, velocity, deceleration)]
            message.points = [self._point(point) for point in way]
            publisher.publish(message)

    def _point(self, point: BrakingPoint) -> JointTrajectoryPoint:
        message = JointTrajectoryPoint(
            positions=point.q.tolist(), velocities=point.velocity.tolist()
        )
        set_stamp(message.time_from_start, round((self.config.horizon_s + point.seconds) * 1e9))
        return message


class Commands(_ToTopics):
    """Positions for each forward_command_controller, in its own order."""

    def __init__(self, node: Node, config: TeleopNodeConfig, led: tuple[str, ...]) -> None:
        """Open a topic for each controller."""
        self._topics = [
            (_commands_topic(node, controller), Float64MultiArray(), _places(joints, led))
            for controller, joints in config.joints_of_controllers(led).items()
        ]

    def send(self, now_ns: int, command: TeleopCommand) -> None:
        """Publish a command that is to be published."""
        for publisher, message, places in self._topics:
            message.data = _numbers(command.positions, places)
            publisher.publish(message)


class ServoPoses(_ToTopics):
    """The tip's pose for each moveit_servo, within the limits that were kept already."""

    def __init__(self, node: Node, config: TeleopNodeConfig, root_link: str) -> None:
        """Open a topic for each arm."""
        self._topics = _servo_topics(node, config, PoseStamped, 'pose_target_cmds', root_link)

    def send(self, now_ns: int, command: TeleopCommand) -> None:
        """Publish a command that is to be published."""
        for (publisher, message), arm in zip(self._topics, command.arms, strict=True):
            set_stamp(message.header.stamp, now_ns)
            fill_pose(message, arm.pose_root_from_tip)
            publisher.publish(message)


class ServoTwists(_ToTopics):
    """The tip's velocity for each moveit_servo, in the axes of the robot's root."""

    def __init__(self, node: Node, config: TeleopNodeConfig, root_link: str) -> None:
        """Open a topic for each arm."""
        self._topics = _servo_topics(node, config, TwistStamped, 'delta_twist_cmds', root_link)

    def send(self, now_ns: int, command: TeleopCommand) -> None:
        """Publish a command that is to be published."""
        for (publisher, message), arm in zip(self._topics, command.arms, strict=True):
            set_stamp(message.header.stamp, now_ns)
            linear, angular = message.twist.linear, message.twist.angular
            linear.x, linear.y, linear.z, angular.x, angular.y, angular.z = arm.twist.tolist()
            publisher.publish(message)


class SimulatedStates:
    """The joint states of a robot that is where it is commanded to be."""

    def __init__(self, node: Node, names: Sequence[str], positions: Array) -> None:
        """Have a robot with all these joints."""
        self._publisher = node.create_publisher(
            JointState, qos.JOINT_STATES_TOPIC, qos.JOINT_STATES_QOS
        )
        self._encoder = JointStateEncoder(names)
        self.positions = dict(zip(names, positions.tolist(), strict=True))

    def unheard(self) -> str:
        """Return nothing: it is a robot by itself, whoever looks at it."""
        return ''

    def send(self, now_ns: int, command: TeleopCommand) -> None:
        """Take over a command, and be there."""
        if command.positions is not None:
            names = command.joint_names
            self.positions.update(zip(names, command.positions.tolist(), strict=True))
        self.positions.update(command.gripper)
        speeds = dict.fromkeys(self.positions, 0.0)
        if command.velocities is not None:
            speeds.update(zip(command.joint_names, command.velocities.tolist(), strict=True))
        positions = np.array(list(self.positions.values()))
        self._publisher.publish(
            self._encoder.encode(now_ns, positions, np.array(list(speeds.values())))
        )


class Grippers:
    """The position of each gripper's joint for its forward_command_controller."""

    def __init__(self, node: Node, config: TeleopNodeConfig) -> None:
        """Open a topic for each gripper."""
        self._topics: dict[str, Any] = {}
        self._last: dict[str, float] = {}
        for arm in range(config.arms):
            joint = str(config.of_arm('gripper_joints', arm))
            if joint:
                controller = str(config.of_arm('gripper_controllers', arm))
                self._topics[joint] = _commands_topic(node, controller)

    def send(self, command: TeleopCommand) -> None:
        """Publish what has changed."""
        for joint, position in command.gripper.items():
            if position != self._last.get(joint):
                self._last[joint] = position
                self._topics[joint].publish(Float64MultiArray(data=[position]))


def fill_pose(message: PoseStamped, pose: Array) -> None:
    """Write a pose (4, 4) into a message."""
    p, q = message.pose.position, message.pose.orientation
    p.x, p.y, p.z = pose[:3, 3].tolist()
    q.x, q.y, q.z, q.w = quaternion_from_matrix(pose[:3, :3]).tolist()


def _servo_topics(
    node: Node, config: TeleopNodeConfig, kind: type, name: str, root_link: str
) -> list[tuple[Any, Any]]:
    """Return a publisher for each moveit_servo, and the message that it sends over and over."""
    topics = []
    for servo in config.servo_nodes:
        message = kind()
        message.header.frame_id = root_link
        topics.append((node.create_publisher(kind, f'{servo}/{name}', qos.COMMAND_QOS), message))
    return topics


def _commands_topic(node: Node, controller: str) -> Any:
    return node.create_publisher(Float64MultiArray, f'{controller}/commands', qos.COMMAND_QOS)


def _places(joints: Sequence[str], led: tuple[str, ...]) -> list[int]:
    return [led.index(joint) for joint in joints]


def _numbers(values: Array | None, places: list[int]) -> list[float]:
    numbers: list[float] = [] if values is None else values[places].tolist()
    return numbers
