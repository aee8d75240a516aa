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

"""Records what a tracker publishes to a bag, where there is no `ros2 bag record`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, ExitStack
from pathlib import Path
import time

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import Joy
from tf2_msgs.msg import TFMessage

from vr_ik.io.bag_topics import JOY_TYPE, known_topic, TF_TYPE
from vr_ik.io.bag_writer import BagWriter
from vr_ik.nodes import qos
from vr_ik.nodes.listener import ListenerThread

NAME = 'recorder'

_TOPICS = (
    (qos.TF_TOPIC, TFMessage, TF_TYPE, qos.TF_QOS),
    (qos.TF_STATIC_TOPIC, TFMessage, TF_TYPE, qos.LATCHED_QOS),
    ('/l_controller/joy', Joy, JOY_TYPE, qos.DEVICE_QOS),
    ('/r_controller/joy', Joy, JOY_TYPE, qos.DEVICE_QOS),
)


class Recorder(Node):
    """Writes every message as it comes, with the time of its arrival."""

    def __init__(self, writer: BagWriter) -> None:
        """Subscribe to the devices' topics."""
        super().__init__(NAME)
        for name, message, type_, profile in _TOPICS:
            self.create_subscription(
                message, name, _writing(writer, name, type_, profile), profile, raw=True
            )


def _writing(
    writer: BagWriter, name: str, type_: str, profile: QoSProfile
) -> Callable[[bytes], None]:
    latched = profile.durability is DurabilityPolicy.TRANSIENT_LOCAL
    topic = known_topic(name, type_, profile.depth, latched)
    writer.add(topic)
    return lambda message: writer.write(topic, time.time_ns(), message)


@contextmanager
def recording(path: Path) -> Iterator[ListenerThread]:
    """Record inside a `with` block, however it ends; ROS must be initialized."""
    with ExitStack() as stack:
        writer = stack.enter_context(BagWriter(path))
        recorder = Recorder(writer)
        thread = ListenerThread(recorder)
        thread.start()
        try:
            yield thread
        finally:
            thread.end()
            recorder.destroy_node()
            # Closed as if nothing had happened: a recording that was broken off is one, too.
            stack.close()
