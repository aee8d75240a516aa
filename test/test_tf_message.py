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

"""TFMessage is the official one, wherever it comes from: its hash, its bytes, its delivery."""

from collections.abc import Iterator
import subprocess
import sys
import time
from typing import Any

from geometry_msgs.msg import TransformStamped
from hypothesis import given, strategies as st
import pytest
import rclpy
from rclpy.node import Node
from rclpy.serialization import deserialize_message, serialize_message
from rosbags.typesys import get_typestore, Stores
from tf2_msgs.msg import TFMessage

NAME = 'tf2_msgs/msg/TFMessage'
OFFICIAL = get_typestore(Stores.ROS2_JAZZY)

PUBLISHER = """
import time

from geometry_msgs.msg import TransformStamped
import rclpy
from tf2_msgs.msg import TFMessage

rclpy.init()
publisher = rclpy.create_node('publisher').create_publisher(TFMessage, '/tf', 10)
transforms = [TransformStamped(child_frame_id=name) for name in ('hmd', 'waist')]
message = TFMessage(transforms=transforms)
while True:
    publisher.publish(message)
    time.sleep(0.05)
"""

any_text = st.text(st.characters(exclude_characters='\0', exclude_categories=['Cs']))
numbers = st.floats(width=64)


def letters(count: int) -> st.SearchStrategy[str]:
    return st.text('abcdefghijklmnopqrstuvwxyz_', min_size=count, max_size=count)


@st.composite
def transforms(
    draw: st.DrawFn,
    frames: st.SearchStrategy[str] = any_text,
    children: st.SearchStrategy[str] = any_text,
) -> TransformStamped:
    transform = TransformStamped(child_frame_id=draw(children))
    transform.header.frame_id = draw(frames)
    transform.header.stamp.sec = draw(st.integers(-(2**31), 2**31 - 1))
    transform.header.stamp.nanosec = draw(st.integers(0, 2**32 - 1))
    for part, axes in (('translation', 'xyz'), ('rotation', 'xyzw')):
        for axis in axes:
            setattr(getattr(transform.transform, part), axis, draw(numbers))
    return transform


messages = st.builds(TFMessage, transforms=st.lists(transforms(), max_size=5))

# Fast CDR leaves the bytes between the fields as they were. Names of these lengths leave no gaps.
gapless_first = transforms(frames=letters(3), children=letters(7))
gapless_others = st.lists(transforms(frames=letters(3), children=letters(3)), max_size=4)
gapless_messages = st.builds(
    lambda first, others: TFMessage(transforms=[first, *others]), gapless_first, gapless_others
)


def official(message: Any) -> Any:
    """Return the same message in the types of rosbags, an independent implementation."""
    if isinstance(message, list):
        return [official(item) for item in message]
    if not hasattr(message, 'get_fields_and_field_types'):
        return message
    package, kind = type(message).__module__.split('.')[0], type(message).__name__
    names = message.get_fields_and_field_types()
    return OFFICIAL.types[f'{package}/msg/{kind}'](
        **{name: official(getattr(message, name)) for name in names}
    )


@pytest.fixture
def node() -> Iterator[Node]:
    rclpy.init()
    node = rclpy.create_node('test_tf_message')
    yield node
    node.destroy_node()
    rclpy.try_shutdown()


def test_type_hash_is_official(node: Node) -> None:
    publisher = node.create_publisher(TFMessage, '/tf', 10)
    deadline_s = time.monotonic() + 10
    while not (found := node.get_publishers_info_by_topic(publisher.topic_name)):
        assert time.monotonic() < deadline_s
    hash_text = f'RIHS01_{bytes(found[0].topic_type_hash.value).hex()}'
    assert hash_text == OFFICIAL.hash_rihs01(NAME)
    assert hash_text.startswith('RIHS01_e369d0f0')
    assert hash_text.endswith('d020f087')


@given(gapless_messages)
def test_bytes_are_official(message: TFMessage) -> None:
    assert serialize_message(message) == bytes(OFFICIAL.serialize_cdr(official(message), NAME))


@given(messages)
def test_rosbags_reads_what_rclpy_wrote(message: TFMessage) -> None:
    read = OFFICIAL.deserialize_cdr(serialize_message(message), NAME)
    assert repr(read) == repr(official(message))


@given(messages)
def test_rclpy_reads_what_rosbags_wrote(message: TFMessage) -> None:
    written = bytes(OFFICIAL.serialize_cdr(official(message), NAME))
    assert repr(deserialize_message(written, TFMessage)) == repr(message)


def test_message_reaches_another_process(node: Node) -> None:
    received: list[TFMessage] = []
    node.create_subscription(TFMessage, '/tf', received.append, 10)
    with subprocess.Popen(
        [sys.executable, '-c', PUBLISHER], stderr=subprocess.PIPE, text=True
    ) as publisher:
        deadline_s = time.monotonic() + 30
        while not received and time.monotonic() < deadline_s and publisher.poll() is None:
            rclpy.spin_once(node, timeout_sec=0.5)
        publisher.kill()
        _, errors = publisher.communicate()
    assert errors == ''
    assert [item.child_frame_id for item in received[0].transforms] == ['hmd', 'waist']
