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

"""Diagnostics of the nodes (REP-107): a timer that reports once a second."""

from collections.abc import Callable, Mapping, Sequence

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from vr_ik.health import figure
from vr_ik.nodes.qos import DIAGNOSTICS_QOS, DIAGNOSTICS_TOPIC

OK = DiagnosticStatus.OK
WARN = DiagnosticStatus.WARN
ERROR = DiagnosticStatus.ERROR
STALE = DiagnosticStatus.STALE

PERIOD_S = 1.0


def status(
    name: str,
    level: bytes,
    message: str,
    values: Mapping[str, object],
    hardware_id: str = '',
) -> DiagnosticStatus:
    """Return one line of diagnostics; numbers are shown with four digits."""
    return DiagnosticStatus(
        name=name,
        level=level,
        message=message,
        hardware_id=hardware_id,
        values=[KeyValue(key=key, value=figure(value)) for key, value in values.items()],
    )


class DiagnosticsTimer:
    """Publishes what `report` returns, once a second by the wall, whatever ROS time does."""

    def __init__(self, node: Node, report: Callable[[], Sequence[DiagnosticStatus]]) -> None:
        """Start the timer on the node."""
        self._node = node
        self._report = report
        self._publisher = node.create_publisher(
            DiagnosticArray, DIAGNOSTICS_TOPIC, DIAGNOSTICS_QOS
        )
        self._timer = node.create_timer(
            PERIOD_S, self._publish, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )

    def _publish(self) -> None:
        message = DiagnosticArray(status=list(self._report()))
        for line in message.status:
            line.name = f'{self._node.get_fully_qualified_name()[1:]}: {line.name}'
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(message)
