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

"""A subscriber to everything that the nodes publish, in a thread of its own."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
import threading
import time
from typing import Protocol

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.executors import Executor
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from vr_ik.errors import VrIkError
from vr_ik.io.tf_cdr import DeviceReader
from vr_ik.nodes import qos, spin
from vr_ik.nodes.conversions import stamp_in_ns
from vr_ik.nodes.joining import joined
from vr_ik.types import Array

NAME = 'listener'

_SPIN_TIMEOUT_S = 0.1
# Deep enough to lose nothing while the rest of the program keeps the interpreter busy.
_QOS = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)


class Observer(Protocol):
    """Whom the listener tells; it is called from the listener's thread."""

    def on_transforms(self, stamp_ns: int, poses: dict[str, Array]) -> None:
        """Take pose_world_from_child of the children in one message on /tf, and its stamp."""

    def on_joint_state(
        self, stamp_ns: int, received_ns: int, names: Sequence[str], positions: Sequence[float]
    ) -> None:
        """Take the joint positions [rad] of a stamp, received at a time of the system's clock."""

    def on_description(self, urdf_text: str) -> None:
        """Take the robot description."""

    def on_diagnostics(self, name: str, message: str, values: dict[str, str]) -> None:
        """Take one line of diagnostics."""


class Listener(Node):
    """Subscribes to the topics of the tracker and the solver."""

    def __init__(self, observer: Observer, world_frame: str, frames: Sequence[str]) -> None:
        """Pass on what comes; of /tf, the children of the world frame that are named here."""
        super().__init__(NAME)
        self._observer = observer
        self._reader = DeviceReader(world_frame, '', frames)
        # Loads its kernels: later, all that comes would have to wait for it.
        self._reader.read(serialize_message(TFMessage()))
        self.create_subscription(TFMessage, qos.TF_TOPIC, self._on_tf, _QOS, raw=True)
        self.create_subscription(JointState, qos.JOINT_STATES_TOPIC, self._on_joint_state, _QOS)
        self.create_subscription(
            String, qos.ROBOT_DESCRIPTION_TOPIC, self._on_description, qos.LATCHED_QOS
        )
        self.create_subscription(
            DiagnosticArray, qos.DIAGNOSTICS_TOPIC, self._on_diagnostics, _QOS
        )

    def _on_tf(self, message: bytes) -> None:
        try:
            transforms = self._reader.read(message)
        except VrIkError as error:
            self.get_logger().warning(str(error), throttle_duration_sec=5.0)
            return
        if transforms.names:
            poses = dict(zip(transforms.names, transforms.poses, strict=True))
            self._observer.on_transforms(transforms.stamps_ns[0], poses)

    def _on_joint_state(self, message: JointState) -> None:
        received_ns = time.time_ns()
        stamp_ns = stamp_in_ns(message.header.stamp)
        self._observer.on_joint_state(stamp_ns, received_ns, message.name, message.position)

    def _on_description(self, message: String) -> None:
        self._observer.on_description(message.data)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for line in message.status:
            values = {item.key: item.value for item in line.values}
            self._observer.on_diagnostics(line.name, line.message, values)


class ListenerThread(threading.Thread):
    """Serves a node that listens in the background."""

    def __init__(
        self, listener: Node, make_executor: Callable[[], Executor] = spin.make_executor
    ) -> None:
        """Prepare to serve it."""
        super().__init__(name='listener', daemon=True)
        self._listener, self._make_executor = listener, make_executor
        self._stop_requested = threading.Event()
        self._failure: Exception | None = None

    def run(self) -> None:
        """Serve until the end is asked for."""
        executor = self._make_executor()
        executor.add_node(self._listener)
        try:
            while not self._stop_requested.is_set():
                executor.spin_once(timeout_sec=_SPIN_TIMEOUT_S)
        except Exception as error:  # of whatever kind: `check` hands it to the other thread
            self._failure = error
        finally:
            executor.shutdown()

    def end(self) -> None:
        """Ask for the end and wait for it."""
        self._stop_requested.set()
        self.join()

    def check(self) -> None:
        """Raise what has ended the listener, if anything has."""
        if self._failure is not None:
            raise VrIkError(f'The listener has failed: {self._failure}') from self._failure

    def sources(self) -> int:
        """Return how many nodes publish joint states where this one listens."""
        return int(self._listener.count_publishers(qos.JOINT_STATES_TOPIC))


@contextmanager
def listening(
    observer: Observer, world_frame: str, frames: Sequence[str]
) -> Iterator[ListenerThread]:
    """Join the ROS graph and have the observer told, inside a `with` block."""
    with joined():
        listener = Listener(observer, world_frame, frames)
        thread = ListenerThread(listener)
        thread.start()
        try:
            yield thread
        finally:
            thread.end()
            listener.destroy_node()
