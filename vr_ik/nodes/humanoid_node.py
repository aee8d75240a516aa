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


"""The humanoid node: the operator's body in, the joint states of a humanoid robot out."""

from collections import Counter
from collections.abc import Sequence
import sys

from diagnostic_msgs.msg import DiagnosticStatus
import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from vr_ik.body.anthropometry import Proportions
from vr_ik.body.human import human_urdf
from vr_ik.errors import VrIkError
from vr_ik.io.body_cdr import JointStateEncoder
from vr_ik.io.packages import read_description
from vr_ik.io.tf_cdr import DeviceReader
from vr_ik.math.rotations import quaternion_from_matrix
from vr_ik.nodes import diagnostics, qos, spin
from vr_ik.nodes.conversions import FrameWriter, stamp_in_ns
from vr_ik.nodes.parameters import BoundConfig
from vr_ik.nodes.tf_layout import in_our_layout
from vr_ik.teleop.humanoid import HumanoidRetargeting
from vr_ik.teleop.humanoid_config import HumanoidConfig
from vr_ik.types import Status

NAME = 'humanoid_node'

_ANYBODY = Proportions.from_height(1.75)
_WARNING_PERIOD_S = 5.0
_LONGEST_STEP_S = 0.1
"""After a pause the robot does not catch up in one step."""


class HumanoidNode(Node):
    """Retargets each joint state of the operator, and publishes it under the same stamp."""

    def __init__(self) -> None:
        """Bind the parameters, describe the robot, and wait for the operator's description."""
        super().__init__(NAME)
        self._config = BoundConfig(self, HumanoidConfig).value
        self._urdf_text = read_description(self._config.urdf)
        # A mistyped link ends the node now, not when the operator comes.
        HumanoidRetargeting(self._config, self._urdf_text, human_urdf(_ANYBODY))
        self._mistake = ''
        """Why the operator's body cannot be retargeted, in words."""
        self._retargeting: HumanoidRetargeting | None = None
        self._last_ns = 0
        self._counts: Counter[Status] = Counter()
        self._reader = DeviceReader(self._config.world_frame, '', [self._config.operator_frame])
        self._root = FrameWriter(self._config.world_frame, self._config.frame_prefix)
        self._tf = self.create_publisher(TFMessage, qos.TF_TOPIC, qos.TF_QOS)
        self._states = self.create_publisher(
            JointState, qos.JOINT_STATES_TOPIC, qos.JOINT_STATES_QOS
        )
        description = self.create_publisher(String, qos.ROBOT_DESCRIPTION_TOPIC, qos.LATCHED_QOS)
        description.publish(String(data=self._urdf_text))
        operator = self._config.operator
        self.create_subscription(
            String,
            f'{operator}/{qos.ROBOT_DESCRIPTION_TOPIC}',
            self._on_description,
            qos.LATCHED_QOS,
        )
        self.create_subscription(
            JointState,
            f'{operator}/{qos.JOINT_STATES_TOPIC}',
            self._on_joint_state,
            qos.JOINT_STATES_QOS,
        )
        self.create_subscription(TFMessage, qos.TF_TOPIC, self._on_tf, qos.TF_QOS, raw=True)
        self._diagnostics = diagnostics.DiagnosticsTimer(self, self._report)
        self.get_logger().info(f"Waiting for the body of '{operator}'.")

    def _on_description(self, message: String) -> None:
        """Begin anew with this body of the operator's."""
        try:
            retargeting = HumanoidRetargeting(self._config, self._urdf_text, message.data)
        except VrIkError as error:
            self._retargeting, self._mistake = None, str(error)
            self.get_logger().error(self._mistake)
            return
        self._mistake = ''
        human = retargeting.human
        retargeting.retarget(human.neutral())  # compiles what is not yet
        retargeting.reset()
        self._q_human = human.neutral()
        self._encoder = JointStateEncoder(retargeting.model.joint_names)
        self._retargeting = retargeting
        self.get_logger().info(f"'{retargeting.model.name}' does as the operator does. Ready.")

    def _on_joint_state(self, message: JointState) -> None:
        retargeting = self._retargeting
        if retargeting is None:
            return
        positions = np.array(message.position)
        names = retargeting.human.joint_names
        if tuple(message.name) != names or len(positions) != len(names):
            self._warn('The joint states are not those of the described body.')
            return
        if not np.isfinite(positions).all():
            self._warn('Dropped joint states that are not finite.')
            return
        stamp_ns = stamp_in_ns(message.header.stamp)
        seconds = min(max(stamp_ns - self._last_ns, 0) * 1e-9, _LONGEST_STEP_S)
        before = retargeting.q
        self._last_ns = stamp_ns
        self._q_human[retargeting.human.first_q :] = positions
        pose = retargeting.retarget(self._q_human, seconds)
        self._counts[pose.status] += 1
        velocity = (pose.q - before) / seconds if seconds > 0.0 else np.zeros_like(pose.q)
        self._states.publish(self._encoder.encode(stamp_ns, pose.q, velocity))

    def _on_tf(self, message: bytes) -> None:
        if self._retargeting is None:
            return
        try:
            roots = self._reader.read(in_our_layout(message))
        except VrIkError as error:
            self._warn(str(error))
            return
        for stamp_ns, pose in zip(roots.stamps_ns, roots.poses, strict=True):
            position = self._retargeting.scale * pose[:3, 3]
            quaternion = quaternion_from_matrix(pose[:3, :3])
            root = self._retargeting.model.root_link
            self._tf.publish(self._root.write_one(stamp_ns, root, position, quaternion))

    def _warn(self, text: str) -> None:
        self.get_logger().warning(text, throttle_duration_sec=_WARNING_PERIOD_S)

    def _report(self) -> list[DiagnosticStatus]:
        counts, self._counts = self._counts, Counter()
        values = {f'frames {status.name.lower()}': counts[status] for status in Status}
        if self._mistake:
            return [diagnostics.status('humanoid', diagnostics.ERROR, self._mistake, values)]
        if self._retargeting is None:
            return [diagnostics.status('humanoid', diagnostics.WARN, 'no operator', values)]
        if not counts:
            return [diagnostics.status('humanoid', diagnostics.WARN, 'no joint states', values)]
        if counts[Status.FAILED]:
            text = 'frames that could not be solved'
            return [diagnostics.status('humanoid', diagnostics.WARN, text, values)]
        return [diagnostics.status('humanoid', diagnostics.OK, 'retargeting', values)]


def create() -> HumanoidNode:
    """Return the node; ROS must be initialized."""
    return HumanoidNode()


def main(args: Sequence[str] | None = None) -> int:
    """Run the node as a process and return its exit code."""
    return spin.run(NAME, create, args)


if __name__ == '__main__':
    sys.exit(main())
