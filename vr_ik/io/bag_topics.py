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

"""What a bag is made of: topics and messages, and the message types that vr_ik knows itself."""

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from rosbags.interfaces import (
    MessageDefinition,
    MessageDefinitionFormat,
    Qos,
    QosDurability,
    QosHistory,
    QosLiveliness,
    QosReliability,
    QosTime,
)
from rosbags.rosbag2.metadata import parse_qos
from rosbags.typesys import get_typestore, Stores
from rosbags.typesys.store import Typestore

TF_TYPE = 'tf2_msgs/msg/TFMessage'
JOINT_STATE_TYPE = 'sensor_msgs/msg/JointState'
STRING_TYPE = 'std_msgs/msg/String'
DIAGNOSTICS_TYPE = 'diagnostic_msgs/msg/DiagnosticArray'
JOY_TYPE = 'sensor_msgs/msg/Joy'


class Topic(NamedTuple):
    """A topic as a bag describes it."""

    name: str
    type: str
    definition: MessageDefinition
    type_hash: str
    """RIHS01; empty where the bag does not say."""
    encoding: str = 'cdr'
    qos: tuple[Qos, ...] = ()
    """Offered by its publishers."""


Messages = Iterator[tuple[Topic, int, bytes]]
"""Topic, time of the recording [ns] and serialized bytes of each message."""


@cache
def typestore() -> Typestore:
    """Return the message types of ROS 2, for reading and writing without it."""
    return get_typestore(Stores.ROS2_JAZZY)


def read_qos(text: Any) -> tuple[Qos, ...]:
    """Return the profiles that a bag has stored as text; none where they cannot be read."""
    try:
        return tuple(parse_qos(text or ''))
    except Exception:  # YAML of whatever kind, in which the library expects what it wrote
        return ()


def known_topic(name: str, type_: str, depth: int, latched: bool = False) -> Topic:
    """Return a topic of a well-known type, reliable, as our nodes publish it."""
    store = typestore()
    text, _ = store.generate_msgdef(type_, ros_version=2)
    definition = MessageDefinition(MessageDefinitionFormat.MSG, text)
    qos = _qos(depth, QosDurability.TRANSIENT_LOCAL if latched else QosDurability.VOLATILE)
    return Topic(name, type_, definition, store.hash_rihs01(type_), qos=(qos,))


def _qos(depth: int, durability: QosDurability) -> Qos:
    # Times without an end, as rmw writes them.
    endless = QosTime(9223372036, 854775807)
    return Qos(
        QosHistory.KEEP_LAST,
        depth,
        QosReliability.RELIABLE,
        durability,
        endless,
        endless,
        QosLiveliness.AUTOMATIC,
        endless,
        False,
    )
