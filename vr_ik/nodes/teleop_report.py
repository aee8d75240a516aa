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


"""What the teleoperation node tells of itself: state, diagnostics, target and tip of each arm."""

from collections import Counter
import time

from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from rclpy.node import Node
from std_msgs.msg import String

from vr_ik.nodes import diagnostics, qos
from vr_ik.nodes.conversions import set_stamp
from vr_ik.nodes.teleop_outputs import fill_pose
from vr_ik.teleop.types import Reason, State, TeleopCommand

_LEVELS = {State.STOPPED: diagnostics.ERROR}
_GOOD = (Reason.NONE, Reason.READY)
_HELD_LINES = 3
"""What has held an arm back is in so many lines: in the one after it, and what follows."""


class TeleopReport:
    """Publishes each change of state at once, and sums up the ticks for the diagnostics."""

    def __init__(self, node: Node, arms: int, root_link: str) -> None:
        """Open `~/state`, and for each arm `~/target_N` and `~/tip_N`."""
        self._node = node
        self._state = node.create_publisher(String, '~/state', qos.LATCHED_QOS)
        self._poses = [
            [
                node.create_publisher(PoseStamped, f'~/{name}_{arm}', qos.COMMAND_QOS)
                for name in ('target', 'tip')
            ]
            for arm in range(arms)
        ]
        self._message = PoseStamped()
        self._message.header.frame_id = root_link
        self._told = ''
        self._last: TeleopCommand | None = None
        self._stops: Counter[Reason] = Counter()
        self._commands = self._late = self._ticks = 0
        self._held, self._held_ticks, self._held_lines = '', 0, 0
        self._longest_s = self._latency_s = 0.0
        self._since_s = time.monotonic()

    def note(
        self, now_ns: int, command: TeleopCommand, sent: bool, took_s: float, latency_s: float
    ) -> None:
        """Count a tick, tell a change, and show where the arms are wanted and are."""
        before = State.DISENGAGED if self._last is None else self._last.state
        if command.state is State.STOPPED and before is not State.STOPPED:
            self._stops[command.reason] += 1
        self._last = command
        self._ticks += 1
        if any(report.held_by for report in command.arms):
            self._held, self._held_lines = command.detail, _HELD_LINES
            self._held_ticks += 1
        self._longest_s = max(self._longest_s, took_s)
        self._late += command.publish and not sent
        if command.publish and sent:
            self._commands += 1
            self._latency_s = max(self._latency_s, latency_s)
            self._show(now_ns, command)
        self._tell(f'{command.state.value}: {command.detail}')

    def line(self, enabled: bool) -> DiagnosticStatus:
        """Return the diagnostics since the last line."""
        now_s, command = time.monotonic(), self._last
        seconds, self._since_s = now_s - self._since_s, now_s
        values: dict[str, object] = {
            'enabled': 'yes' if enabled else 'no',
            'tick rate [1/s]': self._ticks / seconds,
            'tick, longest [ms]': 1e3 * self._longest_s,
            'age of the hand at the command, longest [ms]': 1e3 * self._latency_s,
            'commands': self._commands,
            'commands too late to be sent': self._late,
            'held back [%]': 100.0 * self._held_ticks / max(self._ticks, 1),
        }
        values |= {f'stops, {reason.name.lower()}': n for reason, n in self._stops.items()}
        self._ticks, self._held_ticks, self._longest_s, self._latency_s = 0, 0, 0.0, 0.0
        self._held_lines = max(self._held_lines - 1, 0)
        if command is None:
            text = 'no robot description'
            return diagnostics.status('teleop', diagnostics.WARN, text, values)
        for arm, report in enumerate(command.arms):
            values[f'error of arm {arm} [mm]'] = 1e3 * report.position_error_m
            values[f'singular value of arm {arm}'] = report.singularity
        return diagnostics.status('teleop', *self._health(command), values)

    def _health(self, command: TeleopCommand) -> tuple[bytes, str]:
        """Return how well it goes; what held an arm back is remembered for a few lines."""
        if command.state is State.ENGAGED and self._held_lines:
            return diagnostics.WARN, f'{command.state.value}: {self._held}'
        level = _LEVELS.get(command.state, diagnostics.OK)
        if command.state is not State.STOPPED and command.reason not in _GOOD:
            level = diagnostics.WARN
        return level, self._told

    def _tell(self, text: str) -> None:
        if text != self._told:
            self._told = text
            self._state.publish(String(data=text))
            self._node.get_logger().info(text)

    def _show(self, now_ns: int, command: TeleopCommand) -> None:
        for (target, tip), report in zip(self._poses, command.arms, strict=True):
            for publisher, pose in (
                (target, report.pose_root_from_target),
                (tip, report.pose_root_from_tip),
            ):
                if publisher.get_subscription_count():
                    set_stamp(self._message.header.stamp, now_ns)
                    fill_pose(self._message, pose)
                    publisher.publish(self._message)
