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

"""What the tests of the nodes share: a recording of the graph, its processes, a sender."""

from collections.abc import Callable
import signal
import time

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import TransformStamped
import numpy as np
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from ros_graph import Listener, NodeProcess, parameters
from sensor_msgs.msg import JointState
from std_msgs.msg import Header, String
from tf2_msgs.msg import TFMessage

from vr_ik.nodes.conversions import FrameWriter
from vr_ik.trackers.simulated import SIMULATED_ROLES
from vr_ik.trackers.simulated_user import SimulatedUser
from vr_ik.types import TrackingFrame

HEIGHT_M = 1.75
ALL_KEPT = QoSProfile(depth=5000, reliability=ReliabilityPolicy.RELIABLE)
LATCHED = QoSProfile(
    depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
)
PERIOD_NS = 8_000_000


def stamp_ns(header: Header) -> int:
    """Return the stamp of a header."""
    return header.stamp.sec * 1_000_000_000 + header.stamp.nanosec


class Recording:
    """Everything that the graph has published, in the order of its arrival."""

    def __init__(self, listener: Listener) -> None:
        """Subscribe to all of it."""
        self.frames: list[list[TransformStamped]] = []
        self.roots: dict[int, TransformStamped] = {}
        self.joint_states: list[JointState] = []
        self.descriptions: list[str] = []
        self.diagnostics: dict[str, DiagnosticStatus] = {}
        self.listener = listener
        subscribe = listener.node.create_subscription
        subscribe(TFMessage, '/tf', self._on_tf, ALL_KEPT)
        subscribe(JointState, 'joint_states', self.joint_states.append, ALL_KEPT)
        subscribe(String, 'robot_description', self._on_description, LATCHED)
        subscribe(DiagnosticArray, '/diagnostics', self._on_diagnostics, ALL_KEPT)
        self.tf = listener.node.create_publisher(TFMessage, '/tf', ALL_KEPT)

    def _on_tf(self, message: TFMessage) -> None:
        if not message.transforms:
            return
        if message.transforms[0].child_frame_id == 'base_link':
            self.roots[stamp_ns(message.transforms[0].header)] = message.transforms[0]
        else:
            self.frames.append(message.transforms)

    def _on_description(self, message: String) -> None:
        self.descriptions.append(message.data)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        self.diagnostics.update({status.name: status for status in message.status})

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        """Listen until the condition holds."""
        self.listener.spin_until(condition, what)

    def wait_for_joint_states(self, count: int) -> list[JointState]:
        """Return so many joint states that come from now on."""
        already = len(self.joint_states)
        self.wait(lambda: len(self.joint_states) >= already + count, f'{count} joint states')
        return self.joint_states[already:]

    def wait_for_stamp(self, stamp: int) -> JointState:
        """Return the joint state of a frame."""
        found: list[JointState] = []

        def has_come() -> bool:
            found[:] = [js for js in self.joint_states if stamp_ns(js.header) == stamp]
            return bool(found)

        self.wait(has_come, f'the joint state of {stamp}')
        return found[0]


class Graph:
    """The nodes that run; started when a test needs them, shared by the tests that do."""

    def __init__(self) -> None:
        """Begin with none."""
        self.running: dict[str, NodeProcess] = {}
        self._ended: list[NodeProcess] = []

    def start(self, module: str, **values: object) -> NodeProcess:
        """Return the running node, or start it."""
        if module not in self.running:
            self.running[module] = NodeProcess(module, *parameters(**values))
        return self.running[module]

    def end(self, module: str, signal_number: int = signal.SIGINT) -> None:
        """End a node, if it runs: with exit code 0, unless by kill."""
        process = self.running.pop(module, None)
        if process is not None:
            self._ended.append(process)
            expected = 0 if signal_number != signal.SIGKILL else -signal.SIGKILL
            assert process.end(signal_number) == expected, process.output()
            assert 'Traceback' not in process.output()

    def close(self) -> None:
        """Leave nothing behind."""
        for process in [*self.running.values(), *self._ended]:
            process.kill()


class Sender:
    """The simulated user without a tracker node, sent frame by frame by the test itself."""

    def __init__(self, recording: Recording, graph: Graph) -> None:
        """Have only a solver run, and send until it answers."""
        graph.end('tracker_node')
        self.solver = graph.start('solver_node', user_height_m=HEIGHT_M)
        self._recording = recording
        self._user = SimulatedUser(HEIGHT_M)
        self._origin_ns = time.time_ns()
        self.tick = 0
        first = len(recording.joint_states)
        recording.wait(lambda: self._is_answered(first), 'the solver')
        self._settle()

    def _settle(self) -> None:
        """Go on until the body rests: the solver may have been elsewhere a moment ago."""
        last = np.array(self.solve(self.message()).position)
        for _ in range(200):
            now = np.array(self.solve(self.message()).position)
            if np.abs(now - last).max() < 1e-3:
                return
            last = now
        raise AssertionError('the body does not come to rest')

    def _is_answered(self, first: int) -> bool:
        if len(self._recording.joint_states) == first:
            self.send(self.message())
        return len(self._recording.joint_states) > first

    def message(self, tick: int | None = None) -> TFMessage:
        """Return the next frame, or another one, in a slow part of the motion."""
        if tick is None:
            self.tick += 1
            tick = self.tick
        stamp = self._origin_ns + tick * PERIOD_NS
        poses = self._user.device_poses(self._user.q_at(0.0), SIMULATED_ROLES)
        return FrameWriter('vr_world', '').write(TrackingFrame(stamp, SIMULATED_ROLES, poses))

    def tick_at(self, time_ns: int) -> int:
        """Return the tick of a frame with this stamp, or one just before it."""
        return (time_ns - self._origin_ns) // PERIOD_NS

    def send(self, message: TFMessage) -> int:
        """Publish a message and return its stamp."""
        self._recording.tf.publish(message)
        return stamp_ns(message.transforms[0].header)

    def solve(self, message: TFMessage) -> JointState:
        """Publish a message and return the joint state that comes of it."""
        return self._recording.wait_for_stamp(self.send(message))
