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

"""Vibration of single devices, asked for by sensor_msgs/JoyFeedback."""

from collections.abc import Callable, Iterable
from functools import partial

from rclpy.node import Node
from sensor_msgs.msg import JoyFeedback

from vr_ik.errors import VrIkError
from vr_ik.nodes.device_topics import topic_name
from vr_ik.nodes.qos import DEVICE_QOS
from vr_ik.types import DeviceKind, DeviceState

_KINDS = (DeviceKind.CONTROLLER, DeviceKind.TRACKER)
_WARNING_PERIOD_S = 5.0


class Haptics:
    """A subscription for each device that may have a motor: `<device>/joy/set_feedback`."""

    def __init__(self, node: Node, vibrate: Callable[[str, float], None]) -> None:
        """Pass on what comes to `vibrate(device, intensity)`, which may raise `VrIkError`."""
        self._node = node
        self._vibrate = vibrate
        self._devices: set[str] = set()

    def open_for(self, devices: Iterable[DeviceState]) -> None:
        """Subscribe for these devices, where that is not done yet."""
        for device in devices:
            if device.kind in _KINDS and device.name not in self._devices:
                self._devices.add(device.name)
                self._node.create_subscription(
                    JoyFeedback,
                    f'{topic_name(device.name)}/joy/set_feedback',
                    partial(self._on_feedback, device.name),
                    DEVICE_QOS,
                )

    def _on_feedback(self, device: str, feedback: JoyFeedback) -> None:
        logger = self._node.get_logger()
        if feedback.type != JoyFeedback.TYPE_RUMBLE:
            text = f"'{device}' can rumble (type 1) only, not do type {feedback.type}."
            logger.warning(text, throttle_duration_sec=_WARNING_PERIOD_S)
            return
        try:
            self._vibrate(device, feedback.intensity)
        except VrIkError as error:
            logger.warning(str(error), throttle_duration_sec=_WARNING_PERIOD_S)
