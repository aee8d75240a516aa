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

"""Frames that do not move, on /tf_static: base stations and the map."""

from collections.abc import Mapping

import numpy as np
from rclpy.node import Node
from tf2_msgs.msg import TFMessage

from vr_ik.nodes import qos
from vr_ik.nodes.conversions import FrameWriter
from vr_ik.types import Array, TrackingFrame


class StaticFrames:
    """Publishes static children of one frame, all of them in the one message that is kept."""

    def __init__(self, node: Node, parent_frame: str) -> None:
        """Publish nothing yet."""
        self._node = node
        self._writer = FrameWriter(parent_frame, '')
        self._publisher = node.create_publisher(TFMessage, qos.TF_STATIC_TOPIC, qos.LATCHED_QOS)
        self._poses: dict[str, Array] = {}

    def set(self, poses: Mapping[str, Array]) -> None:
        """Have these frames, by name: (4, 4) pose_parent_from_child; publish what is new."""
        if poses.keys() == self._poses.keys() and all(
            np.array_equal(pose, self._poses[name]) for name, pose in poses.items()
        ):
            return
        self._poses = dict(poses)
        stamp_ns = int(self._node.get_clock().now().nanoseconds)
        matrices = np.array(list(poses.values())).reshape(-1, 4, 4)
        frame = TrackingFrame(stamp_ns, tuple(poses), matrices)
        self._publisher.publish(self._writer.write(frame))
