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

"""A node that measures how long a tracking frame takes to become joint states."""

from collections.abc import Iterator
from contextlib import contextmanager
import gc
import struct
import threading
import time
from typing import Any

from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from vr_ik.evaluation.latency import Times
from vr_ik.nodes import qos
from vr_ik.nodes.joining import joined

_SPIN_TIMEOUT_S = 0.1
_STAMP = struct.Struct('<iI')
# Where the first stamp is in a serialized message: after its 4 bytes of encapsulation, and in a
# TFMessage after the number of transforms.
_STAMP_IN_TF, _STAMP_IN_JOINT_STATE = 8, 4


class LatencyProbe(Node):
    """Notes when each frame was published by the tracker and the solver, and when it came."""

    def __init__(self, times: Times) -> None:
        """Write the times of all frames from now on into `times`."""
        super().__init__('latency_probe')
        self._times = times
        self.create_subscription(TFMessage, qos.TF_TOPIC, self._on_tf, qos.TF_QOS, raw=True)
        self.create_subscription(
            JointState,
            qos.JOINT_STATES_TOPIC,
            self._on_joint_state,
            qos.JOINT_STATES_QOS,
            raw=True,
        )

    def _on_tf(self, message: bytes, info: dict[str, Any]) -> None:
        # The solver's transforms have the same stamp as the tracker's, and come later.
        self._times.published_ns.setdefault(
            _stamp_ns(message, _STAMP_IN_TF), int(info['source_timestamp'])
        )

    def _on_joint_state(self, message: bytes, info: dict[str, Any]) -> None:
        received_ns = time.time_ns()
        stamp_ns = _stamp_ns(message, _STAMP_IN_JOINT_STATE)
        self._times.solved_ns[stamp_ns] = int(info['source_timestamp'])
        self._times.received_ns[stamp_ns] = received_ns


def _stamp_ns(message: bytes, at: int) -> int:
    seconds, nanoseconds = _STAMP.unpack_from(message, at)
    return int(seconds) * 1_000_000_000 + int(nanoseconds)


@contextmanager
def probing(times: Times) -> Iterator[None]:
    """Measure in a thread of this process, inside a `with` block."""
    with joined():
        probe = LatencyProbe(times)
        stop = threading.Event()
        thread = threading.Thread(target=_serve, args=(probe, stop), daemon=True)
        gc.collect()
        gc.freeze()
        gc.disable()
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
            gc.enable()
            probe.destroy_node()


def _serve(probe: LatencyProbe, stop: threading.Event) -> None:
    # The events executor of the PyPI wheels fails on callbacks that take the message's info.
    executor = SingleThreadedExecutor()
    executor.add_node(probe)
    while not stop.is_set():
        executor.spin_once(timeout_sec=_SPIN_TIMEOUT_S)
    executor.shutdown()
