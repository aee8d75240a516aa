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

"""The tracker node: reads a tracking source and publishes its devices as TF and single topics."""

from collections.abc import Sequence
import sys

from diagnostic_msgs.msg import DiagnosticStatus
import numpy as np
from rclpy.clock import Clock, ClockType
from rclpy.duration import Duration
from rclpy.node import Node
from tf2_msgs.msg import TFMessage

from vr_ik import registry
from vr_ik.config import replace, TrackerConfig
from vr_ik.errors import TrackerError
from vr_ik.io.tf_cdr_writer import FrameEncoder
from vr_ik.map_file import MAP_PARAMETERS
from vr_ik.nodes import diagnostics, spin, triggers
from vr_ik.nodes.device_topics import DeviceTopics
from vr_ik.nodes.haptics import Haptics
from vr_ik.nodes.map_frame import map_frames, MapServices
from vr_ik.nodes.parameters import BoundConfig
from vr_ik.nodes.qos import TF_QOS, TF_TOPIC
from vr_ik.nodes.static_frames import StaticFrames
from vr_ik.nodes.tracker_report import TrackerReport
from vr_ik.trackers.loop import LoopState, Severity, TrackerLoop
from vr_ik.trackers.recentering import Recentering
from vr_ik.types import Tracker, TrackingFrame, VibratingTracker

NAME = 'tracker_node'

# How soon a new device has its topics, and a base station that was moved its new frame.
_DEVICES_PERIOD_S = 0.2
# How long subscribers may take to confirm the last frame, before the node ends.
_LAST_FRAME = Duration(seconds=0.2)
# What the tracker itself does not depend on.
_OF_THE_NODE = (
    'rate_hz',
    'publish_poses',
    'publish_twists',
    'haptic_s',
    'map_file',
    *MAP_PARAMETERS,
)


class TrackerNode(Node):
    """Publishes one TF message per tracking frame, from the thread that reads the frames."""

    def __init__(self, namespace: str = '') -> None:
        """Bind the parameters, make the tracker and start to read it."""
        super().__init__(NAME, namespace=namespace or None)
        self._config = BoundConfig(self, TrackerConfig)
        MapServices(self, self._config).load_at_start()
        config = self._config.value
        self._encoder = _warm(FrameEncoder(config.world_frame, config.frame_prefix))
        self._tf = self.create_publisher(TFMessage, TF_TOPIC, TF_QOS)
        self._static_frames = StaticFrames(self, config.world_frame)
        self._topics = DeviceTopics(self, config)
        self._haptics = Haptics(self, self._vibrate)
        self._report = TrackerReport()
        self._recentering = Recentering()
        self._start(_make_tracker(config), config.rate_hz)
        self._config.when_changed(self._apply)
        triggers.offer(self, '~/recenter', self._recenter)
        self._diagnostics = diagnostics.DiagnosticsTimer(self, self._make_report)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = self.create_timer(_DEVICES_PERIOD_S, self._look_at_devices, clock=steady)
        self.get_logger().info(
            f"Started: backend '{config.backend}' at {config.rate_hz:g} Hz, "
            f"devices in '{config.world_frame}'."
        )

    def destroy_node(self) -> None:
        """Stop to read, then let go of the node, with every frame delivered."""
        self._loop.stop()
        self._tf.wait_for_all_acked(_LAST_FRAME)
        super().destroy_node()

    def _start(self, tracker: Tracker, rate_hz: float, before: TrackerLoop | None = None) -> None:
        self._tracker = tracker
        self._loop = TrackerLoop(tracker, rate_hz, self._publish, self._log, self._now_ns, before)
        self._loop.start()

    def _apply(self, config: TrackerConfig) -> None:
        """Take over a live change; the tracker is made anew only if it depends on it."""
        old = self._config.value
        unchanged = replace(old, {name: getattr(config, name) for name in _OF_THE_NODE})
        if unchanged != config:
            self._start(_make_tracker(config), config.rate_hz, before=self._loop)
        has_moved = (old.backend, old.universe) != (config.backend, config.universe)
        if has_moved and self._recentering.reset():
            self.get_logger().warning('The source has another origin now: recenter again.')
        self._loop.rate_hz = config.rate_hz
        self._topics.config = config

    def _now_ns(self) -> int:
        return int(self.get_clock().now().nanoseconds)

    def _publish(self, source_frame: TrackingFrame) -> None:
        if not self.context.ok():
            return
        frame = self._recentering.apply(source_frame)
        if frame.names:
            self._tf.publish(self._encoder.encode(frame))
        self._topics.publish(frame)
        self._report.note(frame)

    def _look_at_devices(self) -> None:
        """Open topics for devices that are new, and publish what does not move."""
        devices = self._tracker.devices()
        self._topics.open_for(devices)
        if isinstance(self._tracker, VibratingTracker):
            self._haptics.open_for(devices)
        prefix = self._config.value.frame_prefix
        stations = {
            prefix + device.name: self._recentering.apply_to_pose(device.static_pose)
            for device in devices
            if device.static_pose is not None
        }
        self._static_frames.set(stations | map_frames(self._config.value))

    def _vibrate(self, device: str, intensity: float) -> None:
        if isinstance(self._tracker, VibratingTracker):
            self._tracker.vibrate(device, intensity, self._config.value.haptic_s)

    def _recenter(self) -> str:
        if self._loop.statistics().state is not LoopState.RUNNING:
            raise TrackerError('Not recentered: the tracker is not connected.')
        return f"Recentered at '{self._recentering.recenter()}'."

    def _log(self, severity: Severity, text: str) -> None:
        logger = self.get_logger()
        if severity is Severity.INFO:
            logger.info(text)
        elif severity is Severity.WARNING:
            logger.warning(text)
        else:
            logger.error(text)

    def _make_report(self) -> list[DiagnosticStatus]:
        backend, statistics = self._config.value.backend, self._loop.statistics()
        return self._report.lines(backend, statistics, self._tracker.devices())


def _make_tracker(config: TrackerConfig) -> Tracker:
    tracker: Tracker = registry.load(registry.TRACKERS, config.backend)(config)
    return tracker


def _warm(encoder: FrameEncoder) -> FrameEncoder:
    """Have its kernel compiled, so that the first frame is not late."""
    encoder.encode(TrackingFrame(0, ('hmd',), np.eye(4)[None]))
    return encoder


def create(namespace: str = '') -> TrackerNode:
    """Return the node, in a namespace where one is given; ROS must be initialized."""
    return TrackerNode(namespace)


def main(args: Sequence[str] | None = None) -> int:
    """Run the node as a process and return its exit code."""
    return spin.run(NAME, create, args)


if __name__ == '__main__':
    sys.exit(main())
