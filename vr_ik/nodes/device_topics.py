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

"""Topics of single devices: Joy, battery, and on request pose and twist."""

from collections.abc import Iterable
import re
import time
from typing import Any

from geometry_msgs.msg import PoseStamped, TwistStamped
import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import BatteryState, Joy

from vr_ik.config import TrackerConfig
from vr_ik.math.rotations import quaternion_from_matrix
from vr_ik.nodes.conversions import set_stamp
from vr_ik.nodes.qos import DEVICE_QOS
from vr_ik.types import Array, ControllerInput, DeviceKind, DeviceState, TrackingFrame

REPEAT_NS = 50_000_000
"""Joy comes at every change, and at least this often, so that silence means a lost controller."""
BATTERY_PERIOD_S = 1.0


def topic_name(device: str) -> str:
    """Return a device's name as ROS allows it in topics: no '-', no digit at the start."""
    name = re.sub(r'\W', '_', device, flags=re.ASCII)
    return f'device_{name}' if name[:1].isdigit() else name


class DeviceTopics:
    """
    Publishers of every device, below its name.

    `open_for` is called from the thread that serves the node and makes publishers as devices
    appear; `publish` is called from the thread that reads frames and uses those that there are.
    """

    def __init__(self, node: Node, config: TrackerConfig) -> None:
        """Begin with no devices."""
        self._node = node
        self._prefix = config.frame_prefix
        self._world_frame = config.world_frame
        self.config = config
        """May be exchanged at any time."""
        self._poses: dict[str, Any] = {}
        self._twists: dict[str, Any] = {}
        self._joys: dict[str, _JoyTopic] = {}
        self._batteries: dict[str, _BatteryTopic] = {}
        self._controllers: set[str] = set()

    def open_for(self, devices: Iterable[DeviceState]) -> None:
        """Open what is missing for these devices, and publish their batteries."""
        for device in devices:
            name, moves = device.name, device.kind is not DeviceKind.BASE_STATION
            if self.config.publish_poses and moves and name not in self._poses:
                self._poses[name] = self._publisher(PoseStamped, name, 'pose')
            if self.config.publish_twists and moves and name not in self._twists:
                self._twists[name] = self._publisher(TwistStamped, name, 'twist')
            if name in self._controllers and name not in self._joys:
                publisher = self._publisher(Joy, name, 'joy')
                self._joys[name] = _JoyTopic(publisher, self._prefix + name)
            if device.battery is not None:
                self._publish_battery(device)

    def publish(self, frame: TrackingFrame) -> None:
        """Publish what a frame says of single devices."""
        for entry in frame.inputs:
            topic = self._joys.get(entry.name)
            if topic is None:
                self._controllers.add(entry.name)
            else:
                topic.publish(frame.stamp_ns, entry)
        if self.config.publish_poses:
            self._publish_poses(frame)
        if self.config.publish_twists and frame.twists is not None:
            self._publish_twists(frame, frame.twists)

    def _publisher(self, message_type: type, device: str, topic: str) -> Any:
        name = f'{topic_name(device)}/{topic}'
        return self._node.create_publisher(message_type, name, DEVICE_QOS)

    def _publish_poses(self, frame: TrackingFrame) -> None:
        for name, matrix in zip(frame.names, frame.poses, strict=True):
            if name in self._poses:
                message = PoseStamped()
                set_stamp(message.header.stamp, frame.stamp_ns)
                message.header.frame_id = self._world_frame
                p, q = message.pose.position, message.pose.orientation
                p.x, p.y, p.z = matrix[:3, 3].tolist()
                q.x, q.y, q.z, q.w = quaternion_from_matrix(matrix[:3, :3]).tolist()
                self._poses[name].publish(message)

    def _publish_twists(self, frame: TrackingFrame, twists_world: Array) -> None:
        # As in Odometry, a twist is expressed in the axes of what moves: R^T v.
        turns = frame.poses[:, :3, :3].transpose(0, 2, 1)
        twists_device = turns[:, None] @ twists_world.reshape(-1, 2, 3, 1)
        for name, twist in zip(frame.names, twists_device[..., 0].tolist(), strict=True):
            if name in self._twists:
                message = TwistStamped()
                set_stamp(message.header.stamp, frame.stamp_ns)
                message.header.frame_id = self._prefix + name
                linear, angular = message.twist.linear, message.twist.angular
                (linear.x, linear.y, linear.z), (angular.x, angular.y, angular.z) = twist
                self._twists[name].publish(message)

    def _publish_battery(self, device: DeviceState) -> None:
        topic = self._batteries.get(device.name)
        if topic is None:
            publisher = self._publisher(BatteryState, device.name, 'battery')
            topic = _BatteryTopic(self._node, publisher, self._prefix + device.name)
            self._batteries[device.name] = topic
        topic.publish(device)


class _JoyTopic:
    """Buttons and axes of one controller, published when they change and now and then."""

    def __init__(self, publisher: Any, frame_id: str) -> None:
        self._publisher = publisher
        self._message = Joy()
        self._message.header.frame_id = frame_id
        self._last: ControllerInput | None = None
        self._last_ns = 0

    def publish(self, stamp_ns: int, entry: ControllerInput) -> None:
        # Time may go back, with simulation time, and then it is long ago as well.
        if entry == self._last and abs(stamp_ns - self._last_ns) < REPEAT_NS:
            return
        self._last, self._last_ns = entry, stamp_ns
        set_stamp(self._message.header.stamp, stamp_ns)
        self._message.axes = entry.axes
        self._message.buttons = entry.buttons
        self._publisher.publish(self._message)


class _BatteryTopic:
    """The battery of one device, published when it changes and once a second."""

    def __init__(self, node: Node, publisher: Any, frame_id: str) -> None:
        self._node = node
        self._publisher = publisher
        self._message = BatteryState(location=frame_id, present=True)
        self._message.header.frame_id = frame_id
        for unknown in ('voltage', 'temperature', 'current', 'charge', 'capacity'):
            setattr(self._message, unknown, np.nan)
        self._message.design_capacity = np.nan
        self._last: tuple[float | None, bool | None] = (None, None)
        self._next_s = 0.0

    def publish(self, device: DeviceState) -> None:
        now_s = time.monotonic()
        told = (device.battery, device.charging)
        if told == self._last and now_s < self._next_s:
            return
        self._last, self._next_s = told, now_s + BATTERY_PERIOD_S
        message = self._message
        message.header.stamp = self._node.get_clock().now().to_msg()
        message.serial_number = device.serial
        message.percentage = device.battery
        message.power_supply_status = _SUPPLY[device.charging]
        self._publisher.publish(message)


_SUPPLY = {
    True: BatteryState.POWER_SUPPLY_STATUS_CHARGING,
    False: BatteryState.POWER_SUPPLY_STATUS_DISCHARGING,
    None: BatteryState.POWER_SUPPLY_STATUS_UNKNOWN,
}
