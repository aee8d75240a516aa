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


"""The operator as the teleoperation node sees him: devices from TF, Joy, his elbows."""

from collections.abc import Iterator
from functools import partial
import math
import time
from typing import Any

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState, Joy, JoyFeedback
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from vr_ik.errors import VrIkError
from vr_ik.io.tf_cdr import TransformReader
from vr_ik.math.rotations import quaternion_from_matrix
from vr_ik.nodes import qos
from vr_ik.nodes.conversions import stamp_in_ns
from vr_ik.nodes.device_topics import topic_name
from vr_ik.nodes.tf_layout import in_our_layout
from vr_ik.teleop.frame_tree import FrameTree
from vr_ik.teleop.measured import OperatorBody
from vr_ik.teleop.node_config import TeleopNodeConfig
from vr_ik.teleop.types import ArmInput, Buzz
from vr_ik.types import Array

_WARNING_PERIOD_S = 5.0
_ROOT = 'base_link'
_INTENSITY = {Buzz.LIMIT: 0.3, Buzz.SINGULARITY: 0.3, Buzz.RETURN: 0.6, Buzz.LOSS: 1.0}


class Operator:
    """Collects what has come of the operator until the next tick."""

    def __init__(self, node: Node, config: TeleopNodeConfig) -> None:
        """Subscribe to all of it; `config` may be exchanged while the node runs."""
        self._node = node
        self.config = config
        self.enabled = not config.require_enable
        """Whether the operator has allowed the arms to move, or has not to be asked."""
        self._joys: dict[str, tuple[int, Joy]] = {}
        self._body: OperatorBody | None = None
        elbows = {frame for frame in config.elbow_frames if frame}
        frames = {*config.device_frames, config.head_frame, *elbows, _ROOT} - {''}
        self._tree = FrameTree(config.world_frame, map(self._frame, frames))
        self._static_reader, self._reader = TransformReader(), self._make_reader()
        self._feedback = [self._open_device(frame) for frame in config.device_frames]
        if elbows:
            self._follow_body()
        for topic, listen, kept in (
            (qos.TF_TOPIC, self._on_tf, qos.TF_QOS),
            (qos.TF_STATIC_TOPIC, self._on_tf_static, qos.STATIC_QOS),
        ):
            node.create_subscription(TFMessage, topic, listen, kept, raw=True)
        quaternion_from_matrix(np.eye(3))  # compiled now, not in the loop

    @property
    def newest_ns(self) -> int:
        """The stamp of the newest pose of a device that leads an arm; 0 before any."""
        frames = map(self._frame, self.config.device_frames)
        return max(self._tree.place(frame, 0).stamp_ns for frame in frames)

    def arms(self, now_ns: int) -> tuple[ArmInput, ...]:
        """Return what each hand does now."""
        return tuple(self._arm(arm, now_ns) for arm in range(self.config.arms))

    def head(self, now_ns: int) -> Array | None:
        """Return pose_world_from_head; None where it is lost."""
        return self._recent(self.config.head_frame, now_ns)

    def vibrate(self, arm: int, why: Buzz) -> None:
        """Let the operator feel something in one hand."""
        message = JoyFeedback(type=JoyFeedback.TYPE_RUMBLE, intensity=_INTENSITY[why])
        self._feedback[arm].publish(message)

    def _arm(self, arm: int, now_ns: int) -> ArmInput:
        config, frame = self.config, self.config.device_frames[arm]
        place = self._tree.place(self._frame(frame), now_ns)
        clutch = trigger = math.nan
        heard_ns, joy = self._joys.get(frame, (0, None))
        silent_s = (time.monotonic_ns() - heard_ns) * 1e-9
        if joy is not None and silent_s < config.joy_timeout_s:
            clutch = max(_axis(joy, config.clutch_axis), _button(joy, config.clutch_button))
            trigger = _axis(joy, config.trigger_axis)
        elbow = self._elbow(arm, now_ns)
        return ArmInput(place.pose, place.stamp_ns, clutch, trigger, elbow, place.lack)

    def _elbow(self, arm: int, now_ns: int) -> Array | None:
        """Return where the operator's elbow is: a device there, or else his solved body's."""
        frame = str(self.config.of_arm('elbow_frames', arm))
        if not frame:
            return None
        pose = self._recent(frame, now_ns)
        if pose is not None:
            return pose[:3, 3]
        if self._body is None:
            return None
        root = self._tree.place(self._frame(_ROOT), now_ns)
        if root.pose is not None:
            self._body.set_root(root.stamp_ns, root.pose)
        return self._body.position(frame, now_ns, self.config.tracking_timeout_s)

    def _recent(self, frame: str, now_ns: int) -> Array | None:
        """Return pose_world_from_frame; None where it is lost."""
        return self._tree.recent(self._frame(frame), now_ns, self.config.tracking_timeout_s)

    def _frame(self, name: str) -> str:
        return f'{self.config.frame_prefix}{name}'

    def _make_reader(self) -> TransformReader:
        return TransformReader(sorted(self._tree.wanted))

    def _open_device(self, frame: str) -> Any:
        topic = self._topic(f'{topic_name(frame)}/joy')
        self._node.create_subscription(Joy, topic, partial(self._on_joy, frame), qos.DEVICE_QOS)
        return self._node.create_publisher(JoyFeedback, f'{topic}/set_feedback', qos.DEVICE_QOS)

    def _follow_body(self) -> None:
        subscribe = self._node.create_subscription
        description = self._topic(qos.ROBOT_DESCRIPTION_TOPIC)
        states = self._topic(qos.JOINT_STATES_TOPIC)
        subscribe(String, description, self._on_description, qos.LATCHED_QOS)
        subscribe(JointState, states, self._on_body, qos.JOINT_STATES_QOS)

    def _topic(self, name: str) -> str:
        return f'{self.config.operator}/{name}' if self.config.operator else name

    def _on_joy(self, frame: str, joy: Joy) -> None:
        _, before = self._joys.get(frame, (0, None))
        self._joys[frame] = (time.monotonic_ns(), joy)
        button = self.config.enable_button
        # A button that is stuck, or was held when the node began, must not enable.
        fresh = before is not None and _button(joy, button) and not _button(before, button)
        if fresh and not self.enabled:
            self.enabled = True
            self._node.get_logger().info(f"Enabled by the operator, with '{frame}'.")

    def _on_description(self, message: String) -> None:
        # A device of this name, such as an elbow tracker, needs no body.
        try:
            self._body = OperatorBody(message.data, [f for f in self.config.elbow_frames if f])
        except VrIkError as error:
            self._body = None
            self._warn(str(error))

    def _on_body(self, message: JointState) -> None:
        if self._body is not None:
            stamp_ns = stamp_in_ns(message.header.stamp)
            self._body.set_joints(stamp_ns, message.name, message.position)

    def _on_tf(self, message: bytes) -> None:
        known = len(self._tree.wanted)
        for parent, child, stamp_ns, pose in self._transforms(self._reader, message):
            self._tree.update(parent, child, stamp_ns, pose)
        if len(self._tree.wanted) > known:
            self._reader = self._make_reader()

    def _on_tf_static(self, message: bytes) -> None:
        for parent, child, _, pose in self._transforms(self._static_reader, message):
            self._tree.update_static(parent, child, pose)
        self._reader = self._make_reader()

    def _transforms(
        self, reader: TransformReader, message: bytes
    ) -> Iterator[tuple[str, str, int, Array]]:
        """Yield parent, child, stamp and pose of each transform that is one."""
        try:
            read = reader.read(in_our_layout(message))
        except VrIkError as error:
            self._warn(str(error))
            return
        if read.rejected:
            self._warn(f'Dropped an impossible transform of {", ".join(read.rejected)}.')
        yield from zip(read.parents, read.children, read.stamps_ns, read.poses, strict=True)

    def _warn(self, text: str) -> None:
        self._node.get_logger().warning(text, throttle_duration_sec=_WARNING_PERIOD_S)


def _axis(joy: Joy, index: int) -> float:
    return float(joy.axes[index]) if index < len(joy.axes) else 0.0


def _button(joy: Joy, index: int) -> float:
    return float(joy.buttons[index]) if index < len(joy.buttons) else 0.0
