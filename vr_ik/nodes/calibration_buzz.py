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

"""What the user feels in both hands of a calibration: who holds a pose does not look at a log."""

from rclpy.clock import Clock
from rclpy.node import Node
from sensor_msgs.msg import JoyFeedback

from vr_ik.nodes.qos import DEVICE_QOS

# A controller vibrates for `haptic_s` of the tracker, 0.1 s unless told otherwise: pulses so far
# apart are felt as several.
_PERIOD_S = 0.3
_ACCEPTED, _REFUSED = 1.0, 0.5
_REFUSED_PULSES = 3


class CalibrationBuzz:
    """One firm pulse says yes, three weak ones say no."""

    def __init__(self, node: Node, clock: Clock) -> None:
        """Publish to both controllers of a node; `clock` is that of the pulses."""
        self._publishers = [
            node.create_publisher(JoyFeedback, f'{side}_controller/joy/set_feedback', DEVICE_QOS)
            for side in 'lr'
        ]
        self._pulses_left = 0
        self._timer = node.create_timer(_PERIOD_S, self._go_on, clock=clock)
        self._timer.cancel()

    def accepted(self) -> None:
        """Tell that the user is measured."""
        self._pulses_left = 0
        self._send(_ACCEPTED)

    def refused(self) -> None:
        """Tell that he is not, and that the old calibration stays."""
        self._pulses_left = _REFUSED_PULSES - 1
        self._send(_REFUSED)
        self._timer.reset()

    def _go_on(self) -> None:
        if self._pulses_left > 0:
            self._pulses_left -= 1
            self._send(_REFUSED)
        if self._pulses_left == 0:
            self._timer.cancel()

    def _send(self, intensity: float) -> None:
        for publisher in self._publishers:
            publisher.publish(JoyFeedback(type=JoyFeedback.TYPE_RUMBLE, intensity=intensity))
