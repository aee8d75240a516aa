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


"""An operator's hand and a robot for tests of teleoperation, as other processes see them."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from ros_graph import Listener, NodeProcess
from ros_recording import ALL_KEPT, LATCHED
from sensor_msgs.msg import JointState, Joy, JoyFeedback
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from vr_ik.nodes.conversions import FrameWriter, set_stamp
from vr_ik.types import Array, TrackingFrame

ROBOTS = Path(__file__).parent.parent / 'config' / 'robots'
PERIOD_S = 0.01
START = np.array([0.4, -0.2, 1.2])
PATIENT = {
    'tracking_timeout_s': 2.0,
    'joy_timeout_s': 2.0,
    'robot_timeout_s': 2.0,
    'longest_tick_s': 0.5,
}
MENU, GRIP, TRIGGER = 4, 5, 4


def robot_file(name: str) -> list[str]:
    """Return the command line that gives a node the parameters of a robot."""
    return ['--ros-args', '--params-file', str(ROBOTS / f'{name}.yaml')]


def start(module: str, robot: str, **values: object) -> NodeProcess:
    """Start a node for a robot, with time limits that a busy machine keeps."""
    arguments = robot_file(robot)
    for name, value in {**(PATIENT if module == 'teleop_node' else {}), **values}.items():
        arguments += ['-p', f'{name}:={value}']
    return NodeProcess(module, *arguments)


class TeleopOperator:
    """Publishes a headset and one hand, and records what the teleoperation node says."""

    def __init__(self, listener: Listener) -> None:
        """Stand still with the hand in front, nothing pressed."""
        self.listener = listener
        self.position = START.copy()
        self.grip = self.trigger = 0.0
        self.menu = False
        self.tracked = self.head_tracked = self.powered = True
        self.state = ''
        self._frames = 0
        self.feedback: list[JoyFeedback] = []
        node = listener.node
        self._writer = FrameWriter('vr_world', '')
        self._tf = node.create_publisher(TFMessage, '/tf', ALL_KEPT)
        self._joy = node.create_publisher(Joy, 'r_controller/joy', ALL_KEPT)
        node.create_subscription(String, 'teleop_node/state', self._on_state, LATCHED)
        node.create_subscription(
            JoyFeedback, 'r_controller/joy/set_feedback', self.feedback.append, ALL_KEPT
        )
        self.every_frame: Callable[[], None] = lambda: None
        self._timer = node.create_timer(PERIOD_S, self._publish)

    def wait_for(self, condition: Callable[[], bool], what: str) -> None:
        """Go on as now until the condition holds."""
        self.listener.spin_until(condition, what)

    def wait_for_state(self, text: str) -> None:
        """Go on as now until the node says this."""
        self.wait_for(lambda: self.state.startswith(text), f"'{text}' after '{self.state}'")

    def go_on(self, seconds: float) -> None:
        """Go on as now for a while."""
        self.listener.spin_for(seconds)

    def move(self, way: Array, seconds: float) -> None:
        """Move the hand smoothly, frame by frame: slower on a busy machine, never in a jump."""
        begin, begin_frames = self.position.copy(), self._frames

        def arrived() -> bool:
            u = min((self._frames - begin_frames) * PERIOD_S / seconds, 1.0)
            self.position = begin + u * u * (3.0 - 2.0 * u) * np.asarray(way)
            return u >= 1.0

        self.wait_for(arrived, 'the end of a motion')

    def engage(self) -> None:
        """Enable, and press the grip, once the node listens."""
        publishers = (self._joy, self._tf)
        self.wait_for(lambda: all(p.get_subscription_count() for p in publishers), 'the node')
        self.go_on(0.3)
        self.menu = True
        self.go_on(0.2)
        self.menu = False
        self.grip = 1.0
        self.wait_for_state('engaged')

    def release(self) -> None:
        """Let go of the grip, until the node has seen it."""
        self.grip = 0.0
        self.go_on(0.3)

    def _on_state(self, message: String) -> None:
        self.state = message.data

    def _publish(self) -> None:
        stamp_ns = self.listener.node.get_clock().now().nanoseconds
        if self.tracked:
            poses = np.tile(np.eye(4), (2, 1, 1))
            poses[0, :3, 3] = (0.0, 0.0, 1.7)
            poses[1, :3, 3] = self.position
            first = 0 if self.head_tracked else 1
            frame = TrackingFrame(stamp_ns, ('hmd', 'r_controller')[first:], poses[first:])
            self._tf.publish(self._writer.write(frame))
        if self.powered:
            self._publish_joy(stamp_ns)
        self._frames += 1
        self.every_frame()

    def _publish_joy(self, stamp_ns: int) -> None:
        joy = Joy(axes=[0.0] * 6, buttons=[0] * 14)
        joy.axes[GRIP], joy.axes[TRIGGER] = self.grip, self.trigger
        joy.buttons[MENU] = int(self.menu)
        set_stamp(joy.header.stamp, stamp_ns)
        self._joy.publish(joy)


class StillRobot:
    """A robot that only says where it is, with every frame of the operator's."""

    def __init__(self, operator: TeleopOperator, positions: dict[str, float]) -> None:
        """Be at these positions."""
        self._node = operator.listener.node
        self._publisher = self._node.create_publisher(JointState, 'joint_states', ALL_KEPT)
        self._message = JointState(name=list(positions), position=list(positions.values()))
        operator.every_frame = self._publish

    def _publish(self) -> None:
        self._message.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(self._message)
