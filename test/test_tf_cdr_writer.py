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

"""Frames written as bytes are the messages that ROS 2 itself would have made of them."""

from hypothesis import given, strategies as st
import numpy as np
import pytest
from rclpy.serialization import deserialize_message
from tf2_msgs.msg import TFMessage

from vr_ik.io.tf_cdr import DeviceReader
from vr_ik.io.tf_cdr_writer import FrameEncoder
from vr_ik.math.rotations import exp_rotation, pose
from vr_ik.nodes.conversions import FrameWriter
from vr_ik.types import TrackingFrame

NAMES = st.lists(st.text('abz_Ω', min_size=1, max_size=12), unique=True, max_size=20)


def make_frame(names: list[str], stamp_ns: int, seed: int) -> TrackingFrame:
    rng = np.random.default_rng(seed)
    poses = [pose(exp_rotation(rng.normal(size=3)), rng.normal(size=3)) for _ in names]
    return TrackingFrame(stamp_ns, tuple(names), np.array(poses).reshape(-1, 4, 4))


@given(
    NAMES,
    st.integers(0, 2**31 * 10**9 - 1),
    st.integers(0, 100),
    st.text('wor_', min_size=1, max_size=9),
    st.sampled_from(['', 'me/', 'operator/']),
)
def test_the_bytes_are_the_message(names, stamp_ns, seed, world, prefix):
    frame = make_frame(names, stamp_ns, seed)
    message = deserialize_message(FrameEncoder(world, prefix).encode(frame), TFMessage)
    assert message == FrameWriter(world, prefix).write(frame)


def test_what_is_written_can_be_read():
    names = ['hmd', 'l_controller', 'waist']
    frame = make_frame(names, 1_234_567_890_123_456_789, 3)
    read = DeviceReader('vr_world', 'me/', names).read(
        FrameEncoder('vr_world', 'me/').encode(frame)
    )
    assert (read.names, read.rejected) == (names, [])
    assert set(read.stamps_ns) == {frame.stamp_ns}
    np.testing.assert_allclose(read.poses, frame.poses, atol=1e-12)


def test_an_encoder_keeps_nothing_of_other_frames():
    """Devices come and go; each frame's bytes are those of a new encoder."""
    encoder = FrameEncoder('vr_world', '')
    rng = np.random.default_rng(0)
    everyone = [f'device_{i}' for i in range(9)]
    for seed in range(300):
        names = [name for name in everyone if rng.random() < 0.5]
        frame = make_frame(names, seed, seed)
        assert encoder.encode(frame) == FrameEncoder('vr_world', '').encode(frame)
    assert len(encoder._layouts) <= 64


@pytest.mark.parametrize('angle', [np.pi, np.pi - 1e-9])
@pytest.mark.parametrize('axis', np.eye(3))
def test_half_turns_are_unit_quaternions(axis, angle):
    frame = TrackingFrame(0, ('hmd',), pose(exp_rotation(angle * axis), np.zeros(3))[None])
    message = deserialize_message(FrameEncoder('w', '').encode(frame), TFMessage)
    q = message.transforms[0].transform.rotation
    np.testing.assert_allclose(np.abs([q.x, q.y, q.z]), axis, atol=1e-8)
