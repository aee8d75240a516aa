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


"""A subscriber to all that goes between operator, teleoperation node and robot."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
from rcl_interfaces.srv import SetParameters
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage
from trajectory_msgs.msg import JointTrajectory

from vr_ik.errors import VrIkError
from vr_ik.io.tf_cdr import DeviceReader
from vr_ik.nodes import qos
from vr_ik.nodes.conversions import seconds_of, stamp_in_ns
from vr_ik.nodes.joining import joined
from vr_ik.nodes.listener import ListenerThread
from vr_ik.nodes.tf_layout import in_our_layout
from vr_ik.teleop.braking import BrakingPoint
from vr_ik.types import Array

MessageInfo = dict[str, Any]
"""What the middleware knows of a message; no type of rclpy has a name for it."""

_QOS = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)


class TeleopObserver(Protocol):
    """Whom the listener tells, from its own thread."""

    def on_transforms(self, poses: dict[str, Array]) -> None:
        """Take pose_world_from_child of devices, or of the operator's root."""

    def on_body(self, names: Sequence[str], positions: Sequence[float]) -> None:
        """Take the joints of the operator's body."""

    def on_body_description(self, urdf_text: str) -> None:
        """Take the operator's body."""

    def on_robot(self, stamp_ns: int, names: Sequence[str], positions: Sequence[float]) -> None:
        """Take the joints of the robot."""

    def on_command(
        self,
        sent_ns: int,
        number: int | None,
        joints: Sequence[str],
        way: Sequence[BrakingPoint],
    ) -> None:
        """Take a command, with its publisher's stamp and number, and its way to rest."""

    def on_state(self, text: str) -> None:
        """Take a change of the teleoperation node's state."""


def way_of(message: JointTrajectory) -> list[BrakingPoint]:
    """Return the points of a command, timed from the first one on."""
    begin_s = seconds_of(message.points[0].time_from_start)
    return [
        BrakingPoint(
            seconds_of(point.time_from_start) - begin_s,
            np.array(point.positions),
            np.array(point.velocities),
        )
        for point in message.points
    ]


class TeleopListener(Node):
    """Passes on what comes."""

    def __init__(self, observer: TeleopObserver, operator: str, frames: Sequence[str]) -> None:
        """Listen to the operator's namespace and frames, and to the robot."""
        super().__init__('teleop_listener')
        self._observer = observer
        self._reader = DeviceReader('vr_world', f'{operator}/', frames)
        self._reader.read(serialize_message(TFMessage()))
        subscribe = self.create_subscription
        subscribe(TFMessage, qos.TF_TOPIC, self._on_tf, _QOS, raw=True)
        subscribe(JointState, f'{operator}/joint_states', self._on_body, _QOS)
        subscribe(String, f'{operator}/robot_description', self._on_description, qos.LATCHED_QOS)
        subscribe(JointState, qos.JOINT_STATES_TOPIC, self._on_robot, _QOS)
        subscribe(String, 'teleop_node/state', self._on_state, qos.LATCHED_QOS)
        self._tracker = self.create_client(
            SetParameters, f'{operator}/tracker_node/set_parameters'
        )

    def lead_from(self, origin_s: int) -> bool:
        """Have the simulated operator begin at a time; false where his tracker is not there."""
        if not self._tracker.service_is_ready():
            return False
        parameter = Parameter('origin_s', value=float(origin_s)).to_parameter_msg()
        self._tracker.call_async(SetParameters.Request(parameters=[parameter]))
        return True

    def _on_tf(self, message: bytes) -> None:
        try:
            found = self._reader.read(in_our_layout(message))
        except VrIkError as error:
            self.get_logger().warning(str(error), throttle_duration_sec=5.0)
            return
        if found.names:
            self._observer.on_transforms(dict(zip(found.names, found.poses, strict=True)))

    def _on_body(self, message: JointState) -> None:
        self._observer.on_body(message.name, message.position)

    def _on_description(self, message: String) -> None:
        self._observer.on_body_description(message.data)

    def _on_robot(self, message: JointState) -> None:
        stamp_ns = stamp_in_ns(message.header.stamp)
        self._observer.on_robot(stamp_ns, message.name, message.position)

    def _on_state(self, message: String) -> None:
        self._observer.on_state(message.data)


class CommandListener(Node):
    """Passes on commands with what the middleware knows of them."""

    def __init__(self, observer: TeleopObserver, topics: Sequence[str]) -> None:
        """Listen to topics of trajectories."""
        super().__init__('command_listener')
        self._observer = observer
        for topic in topics:
            self.create_subscription(JointTrajectory, topic, self._on_command, _QOS)

    def _on_command(self, message: JointTrajectory, info: MessageInfo) -> None:
        # By these, not by when it is heard: on a busy machine messages come late, or never.
        sent_ns, number = info['source_timestamp'], info['publication_sequence_number']
        self._observer.on_command(sent_ns, number, message.joint_names, way_of(message))


@contextmanager
def listening(
    observer: TeleopObserver, operator: str, frames: Sequence[str], topics: Sequence[str]
) -> Iterator[tuple[Callable[[int], bool], Sequence[ListenerThread]]]:
    """Join the ROS graph and have the observer told, inside a `with` block.

    Yields `TeleopListener.lead_from`, and the threads that listen.
    """
    with joined():
        listener = TeleopListener(observer, operator, frames)
        nodes: Sequence[Node] = (listener, CommandListener(observer, topics))
        # The executor of events fails at callbacks that ask for a message's stamp and number.
        threads = (ListenerThread(nodes[0]), ListenerThread(nodes[1], SingleThreadedExecutor))
        for thread in threads:
            thread.start()
        try:
            yield listener.lead_from, threads
        finally:
            for thread, node in zip(threads, nodes, strict=True):
                thread.end()
                node.destroy_node()
