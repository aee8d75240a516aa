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

"""The URDF of the body, for others: on a topic, and for a robot_state_publisher of its own."""

from typing import Any

from rcl_interfaces.srv import SetParameters
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_msgs.msg import String

from vr_ik.nodes.qos import LATCHED_QOS, ROBOT_DESCRIPTION_TOPIC

STATE_PUBLISHER = 'body_state_publisher'
"""Name of the robot_state_publisher that follows; the usual name may be that of a robot's."""

_PERIOD_S = 0.5


class Description:
    """Publishes the URDF, and keeps the state publisher's in step with it.

    A robot_state_publisher reads no topic: its model is a parameter, which would stay what it was
    at the start, whatever calibration finds.
    """

    def __init__(self, node: Node, urdf: str) -> None:
        """Publish a body for the first time."""
        self._node = node
        self._topic = node.create_publisher(String, ROBOT_DESCRIPTION_TOPIC, LATCHED_QOS)
        self._client = node.create_client(SetParameters, f'{STATE_PUBLISHER}/set_parameters')
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = node.create_timer(_PERIOD_S, self._keep_in_step, clock=steady)
        self._told = ''
        self.publish(urdf)

    def publish(self, urdf: str) -> None:
        """Let everybody know a new body."""
        self._urdf = urdf
        self._topic.publish(String(data=urdf))
        self._keep_in_step()

    def _keep_in_step(self) -> None:
        if not self._client.service_is_ready():
            # One that comes back has the model that it was started with.
            self._told = ''
        elif self._told != self._urdf:
            self._told = self._urdf
            model = Parameter('robot_description', value=self._urdf).to_parameter_msg()
            answer = self._client.call_async(SetParameters.Request(parameters=[model]))
            answer.add_done_callback(self._on_answer)

    def _on_answer(self, answer: Any) -> None:
        for result in answer.result().results:
            if not result.successful:
                self._node.get_logger().warning(
                    f"'{STATE_PUBLISHER}' keeps its old model: {result.reason}"
                )
