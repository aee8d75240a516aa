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

"""The tracker node: reads a tracking source and publishes its devices as TF."""

from collections import Counter
from collections.abc import Sequence
import sys
import time

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node
from tf2_msgs.msg import TFMessage

from vr_ik import registry
from vr_ik.config import replace, TrackerConfig
from vr_ik.nodes import diagnostics, spin
from vr_ik.nodes.conversions import FrameWriter
from vr_ik.nodes.parameters import BoundConfig
from vr_ik.nodes.qos import TF_QOS, TF_TOPIC
from vr_ik.trackers.loop import LoopState, Severity, TrackerLoop
from vr_ik.types import DeviceState, DeviceStatus, Tracker, TrackingFrame

NAME = 'tracker_node'

_DEVICE_LEVELS = {
    DeviceStatus.OK: diagnostics.OK,
    DeviceStatus.CALIBRATING: diagnostics.WARN,
    DeviceStatus.LOST: diagnostics.WARN,
    DeviceStatus.DISCONNECTED: diagnostics.STALE,
}


class TrackerNode(Node):
    """Publishes one TF message per tracking frame, from the thread that reads the frames."""

    def __init__(self) -> None:
        """Bind the parameters, make the tracker and start to read it."""
        super().__init__(NAME)
        self._config = BoundConfig(self, TrackerConfig)
        config = self._config.value
        self._writer = FrameWriter(config.world_frame, config.frame_prefix)
        self._tf = self.create_publisher(TFMessage, TF_TOPIC, TF_QOS)
        self._frames_of: Counter[str] = Counter()
        self._reported: Counter[str] = Counter()
        self._reported_frames = 0
        self._reported_at_s = time.monotonic()
        self._tracker = _make_tracker(config)
        self._loop = self._make_loop(self._tracker, config.rate_hz)
        self._config.when_changed(self._apply)
        self._diagnostics = diagnostics.DiagnosticsTimer(self, self._report)
        self._loop.start()
        self.get_logger().info(
            f"Ready: backend '{config.backend}' at {config.rate_hz:g} Hz, "
            f"devices in '{config.world_frame}'."
        )

    def destroy_node(self) -> None:
        """Stop to read, then let go of the node."""
        self._loop.stop()
        super().destroy_node()

    def _make_loop(self, tracker: Tracker, rate_hz: float) -> TrackerLoop:
        return TrackerLoop(tracker, rate_hz, self._publish, self._log, self._now_ns)

    def _apply(self, config: TrackerConfig) -> None:
        """Take over a live change; only a new rate leaves the tracker connected."""
        if replace(self._config.value, {'rate_hz': config.rate_hz}) == config:
            self._loop.rate_hz = config.rate_hz
            return
        tracker = _make_tracker(config)
        self._loop.stop()
        self._tracker = tracker
        self._loop = self._make_loop(tracker, config.rate_hz)
        self._loop.start()

    def _now_ns(self) -> int:
        return int(self.get_clock().now().nanoseconds)

    def _publish(self, frame: TrackingFrame) -> None:
        if not frame.names or not self.context.ok():
            return
        self._tf.publish(self._writer.write(frame))
        self._frames_of.update(frame.names)

    def _log(self, severity: Severity, text: str) -> None:
        logger = self.get_logger()
        if severity is Severity.INFO:
            logger.info(text)
        elif severity is Severity.WARNING:
            logger.warning(text)
        else:
            logger.error(text)

    def _report(self) -> list[DiagnosticStatus]:
        """Return the source's line, then one for each device it knows."""
        now_s = time.monotonic()
        seconds = now_s - self._reported_at_s
        counted = Counter(self._frames_of)
        lines = [self._source_line(seconds)]
        for device in self._tracker.devices():
            rate_hz = (counted[device.name] - self._reported[device.name]) / seconds
            lines.append(_device_line(device, rate_hz))
        self._reported, self._reported_at_s = counted, now_s
        return lines

    def _source_line(self, seconds: float) -> DiagnosticStatus:
        statistics = self._loop.statistics()
        rate_hz = (statistics.frames - self._reported_frames) / seconds
        self._reported_frames = statistics.frames
        running = statistics.state is LoopState.RUNNING
        values = {
            'backend': self._config.value.backend,
            'rate [1/s]': rate_hz,
            'frames': statistics.frames,
            'late frames': statistics.late,
            'skipped frames': statistics.skipped,
            'connections lost': statistics.losses,
        }
        return diagnostics.status(
            'source',
            diagnostics.OK if running else diagnostics.ERROR,
            statistics.reason or statistics.state.value,
            values,
        )


def _make_tracker(config: TrackerConfig) -> Tracker:
    tracker: Tracker = registry.load(registry.TRACKERS, config.backend)(config)
    return tracker


def _device_line(device: DeviceState, rate_hz: float) -> DiagnosticStatus:
    values: dict[str, object] = {'kind': device.kind.value, 'rate [1/s]': rate_hz}
    if device.battery is not None:
        values['battery [%]'] = 100.0 * device.battery
    level = _DEVICE_LEVELS[device.status]
    return diagnostics.status(device.name, level, device.status.value, values, device.serial)


def create() -> TrackerNode:
    """Return the node; ROS must be initialized."""
    return TrackerNode()


def main(args: Sequence[str] | None = None) -> int:
    """Run the node as a process and return its exit code."""
    return spin.run(NAME, create, args)


if __name__ == '__main__':
    sys.exit(main())
