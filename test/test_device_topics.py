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

"""Topics of single devices: their names, and when Joy is published."""

from typing import Any

from hypothesis import given, strategies as st
import pytest
from rclpy.validate_topic_name import validate_topic_name
from sensor_msgs.msg import Joy

from vr_ik.nodes.device_topics import _JoyTopic, REPEAT_NS, topic_name
from vr_ik.trackers.openvr_roles import frame_from_serial
from vr_ik.types import ControllerInput


class Published(list):
    """A publisher that keeps what is published: stamp [ms] and buttons."""

    def publish(self, message: Joy) -> None:
        stamp = message.header.stamp
        milliseconds = stamp.sec * 1000 + stamp.nanosec // 1_000_000
        self.append((milliseconds, list(message.buttons)))


def controls(*buttons: int) -> ControllerInput:
    return ControllerInput('l_controller', (0.0, 0.5), buttons)


def test_joy_is_published_at_once_when_it_changes_and_else_now_and_then():
    published: Any = Published()
    topic = _JoyTopic(published, 'l_controller')
    for millisecond in range(1000, 1123):
        held = 1 if 1010 <= millisecond < 1012 else 0
        topic.publish(millisecond * 1_000_000, controls(held))
    repeat_ms = REPEAT_NS // 1_000_000
    assert published == [
        (1000, [0]),
        (1010, [1]),
        (1012, [0]),
        (1012 + repeat_ms, [0]),
        (1012 + 2 * repeat_ms, [0]),
    ]


def test_joy_goes_on_when_time_goes_back():
    published: Any = Published()
    topic = _JoyTopic(published, 'l_controller')
    for second in (100, 1, 2):
        topic.publish(second * 1_000_000_000, controls(0))
    assert [milliseconds for milliseconds, _ in published] == [100_000, 1000, 2000]


@given(st.text(min_size=1, max_size=40))
def test_every_serial_gives_a_valid_topic(serial):
    assert validate_topic_name(f'{topic_name(frame_from_serial(serial))}/joy')


@pytest.mark.parametrize('name', ['hmd', 'l_controller', 'LHR_1'])
def test_a_name_that_ros_allows_is_kept(name):
    assert topic_name(name) == name
