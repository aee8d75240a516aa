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

"""Bodies written as bytes are the messages that ROS 2 itself would have made of them."""

from hypothesis import given, strategies as st
import numpy as np
import pytest
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from vr_ik.body.anthropometry import Proportions
from vr_ik.body.human import human_urdf
from vr_ik.io.body_cdr import BodyFramesEncoder, JointStateEncoder
from vr_ik.kinematics.model import RobotModel
from vr_ik.math.rotations import matrix_from_quaternion, pose

STAMP_NS = 1_700_000_000_123_456_789


@pytest.fixture(scope='module')
def model() -> RobotModel:
    urdf = human_urdf(Proportions.from_height(1.75))
    return RobotModel.from_urdf(urdf, floating_base=True)


@given(
    st.lists(st.text('abz_Ω', max_size=12), max_size=50),
    st.integers(0, 2**31 * 10**9 - 1),
    st.integers(0, 100),
)
def test_the_bytes_are_the_joint_state(names, stamp_ns, seed):
    positions, velocities = np.random.default_rng(seed).normal(size=(2, len(names)))
    encoder = JointStateEncoder(names)
    encoder.encode(1, velocities, positions)
    message = deserialize_message(encoder.encode(stamp_ns, positions, velocities), JointState)
    expected = JointState(
        name=names, position=positions.tolist(), velocity=velocities.tolist(), effort=[]
    )
    expected.header.stamp.sec, expected.header.stamp.nanosec = divmod(stamp_ns, 10**9)
    assert message == expected


def read_frames(message: bytes) -> dict[str, tuple[str, int, np.ndarray]]:
    """Return parent, stamp and pose of each child."""
    frames = {}
    for entry in deserialize_message(message, TFMessage).transforms:
        p, q = entry.transform.translation, entry.transform.rotation
        turn = matrix_from_quaternion(np.array([q.x, q.y, q.z, q.w]))
        stamp_ns = entry.header.stamp.sec * 10**9 + entry.header.stamp.nanosec
        placed = pose(turn, np.array([p.x, p.y, p.z]))
        frames[entry.child_frame_id] = (entry.header.frame_id, stamp_ns, placed)
    return frames


@pytest.mark.parametrize('prefix', ['', 'operator/'])
def test_link_frames_chain_to_where_the_links_are(model, prefix):
    """Every link is there once, on fixed joints too, and from parent to parent leads its pose."""
    encoder = BodyFramesEncoder(model, 'vr_world', prefix, with_links=True)
    rng = np.random.default_rng(0)
    for _ in range(5):
        q = model.random(rng)
        frames = read_frames(encoder.encode(STAMP_NS, q))
        assert set(frames) == {prefix + link for link in model.link_names}
        for link, truth in zip(model.link_names, model.link_poses(q), strict=True):
            frame, world_from_link = prefix + link, np.eye(4)
            while frame != 'vr_world':
                frame, stamp_ns, parent_from_frame = frames[frame]
                assert stamp_ns == STAMP_NS
                world_from_link = parent_from_frame @ world_from_link
            np.testing.assert_allclose(world_from_link, truth, atol=1e-12)


def test_without_links_there_is_the_root_alone(model):
    encoder = BodyFramesEncoder(model, 'world', 'me/', with_links=False)
    q = model.random(np.random.default_rng(1))
    (child, (parent, _, placed)) = next(iter(read_frames(encoder.encode(STAMP_NS, q)).items()))
    assert (parent, child) == ('world', 'me/base_link')
    np.testing.assert_allclose(placed, model.link_pose(q, 'base_link'), atol=1e-12)
