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

"""Round trips between arrays, messages and their bytes."""

import struct

from geometry_msgs.msg import TransformStamped
from hypothesis import given, strategies as st
import numpy as np
import pytest
from rclpy.serialization import serialize_message
from tf2_msgs.msg import TFMessage

from vr_ik.config import ROLES
from vr_ik.errors import VrIkError
from vr_ik.io.tf_cdr import DeviceReader, TransformReader
from vr_ik.math.rotations import exp_rotation, pose
from vr_ik.nodes.conversions import FrameWriter
from vr_ik.types import TrackingFrame

STAMP_NS = 1_700_000_000_123_456_789
finite = st.floats(-100.0, 100.0)
vectors = st.tuples(finite, finite, finite).map(np.array)


def random_frame(names: tuple[str, ...], seed: int = 1) -> TrackingFrame:
    """Return devices at random poses."""
    rng = np.random.default_rng(seed)
    poses = [pose(exp_rotation(rng.normal(size=3)), rng.normal(size=3)) for _ in names]
    return TrackingFrame(STAMP_NS, names, np.array(poses).reshape(-1, 4, 4))


def transform(parent: str, child: str, x: float = 0.0, w: float = 1.0) -> TransformStamped:
    """Return a transform as anybody may send it."""
    message = TransformStamped()
    message.header.frame_id = parent
    message.child_frame_id = child
    message.header.stamp.sec = 5
    message.transform.translation.x = x
    message.transform.rotation.w = w
    return message


def read(*transforms: TransformStamped, roles: tuple[str, ...] = ROLES) -> tuple:
    """Return names and rejected devices of a message."""
    data = serialize_message(TFMessage(transforms=list(transforms)))
    devices = DeviceReader('vr_world', '', roles).read(data)
    assert devices.poses.shape == (len(devices.names), 4, 4)
    assert len(devices.stamps_ns) == len(devices.names)
    return devices.names, devices.rejected


@given(
    st.lists(st.tuples(vectors, vectors), min_size=1, max_size=len(ROLES)),
    st.integers(0, 2**31 * 10**9 - 1),
    st.sampled_from(['', 'operator/']),
)
def test_a_frame_survives_the_way_over_the_wire(
    motions: list[tuple[np.ndarray, np.ndarray]], stamp_ns: int, prefix: str
) -> None:
    """Names, stamps and poses come back, half turns and any name lengths included."""
    poses = np.array([pose(exp_rotation(turn), position) for turn, position in motions])
    frame = TrackingFrame(stamp_ns, ROLES[: len(motions)], poses)
    data = serialize_message(FrameWriter('vr_world', prefix).write(frame))
    devices = DeviceReader('vr_world', prefix, ROLES).read(data)
    assert devices.names == list(frame.names)
    assert devices.stamps_ns == [stamp_ns] * len(motions)
    assert devices.rejected == []
    np.testing.assert_allclose(devices.poses, poses, atol=1e-12)


@given(st.lists(st.tuples(st.text(max_size=9), st.text(max_size=9)), max_size=9), st.randoms())
def test_foreign_transforms_are_passed_over_wherever_they_stand(
    foreign: list[tuple[str, str]], random: object
) -> None:
    """Other parents and other children, of any length and script, do not shift what is read."""
    foreign = [(a.replace('\0', ''), b.replace('\0', '')) for a, b in foreign]
    ours = [transform('vr_world', role) for role in ('hmd', 'waist', 'l_foot')]
    theirs = [transform(parent, child) for parent, child in foreign if parent != 'vr_world']
    mixed = [*ours, *theirs]
    random.shuffle(mixed)  # type: ignore[attr-defined]
    names, rejected = read(*mixed)
    assert names == [t.child_frame_id for t in mixed if any(t is own for own in ours)]
    assert rejected == []


def test_only_the_named_children_of_the_world_are_devices() -> None:
    """Our own root, prefixed users, names that only begin alike and missing roles are not."""
    names, _ = read(
        transform('vr_world', 'base_link'),
        transform('vr_world', 'hmd2'),
        transform('vr_world', 'hm'),
        transform('vr_world', 'other/hmd'),
        transform('vr_world2', 'hmd'),
        transform('map', 'hmd'),
        transform('vr_world', 'waist'),
        transform('vr_world', 'hmd'),
        roles=('hmd', 'l_foot'),
    )
    assert names == ['hmd']


@pytest.mark.parametrize(
    ('x', 'w'),
    [
        (np.nan, 1.0),
        (np.inf, 1.0),
        (-np.inf, 1.0),
        (1e300, 1.0),
        (0.0, np.nan),
        (0.0, np.inf),
        (0.0, 0.0),
        (0.0, 0.5),
        (0.0, 1e200),
    ],
)
def test_what_is_no_pose_is_rejected_and_the_rest_is_kept(x: float, w: float) -> None:
    """A bad device does not take its neighbours with it."""
    bad = transform('vr_world', 'hmd', x, w)
    good = transform('vr_world', 'waist')
    assert read(bad, good) == (['waist'], ['hmd'])
    assert read(good, bad) == (['waist'], ['hmd'])
    assert read(bad) == ([], ['hmd'])


def test_a_slightly_long_quaternion_is_normalized() -> None:
    """Single precision sources are off by little."""
    data = serialize_message(TFMessage(transforms=[transform('vr_world', 'hmd', 0.0, 1.001)]))
    devices = DeviceReader('vr_world', '', ROLES).read(data)
    np.testing.assert_allclose(devices.poses[0], np.eye(4), atol=1e-12)


def test_damaged_bytes_are_an_error_and_never_a_pose() -> None:
    """However a message is cut off, and whatever its counts claim, nothing is made up."""
    frame = random_frame(ROLES[:3])
    data = serialize_message(FrameWriter('vr_world', '').write(frame))
    reader = DeviceReader('vr_world', '', ROLES)
    for size in range(len(data) - 4):
        with pytest.raises(VrIkError):
            reader.read(data[:size])
    for count in (4, 1000, 2**32 - 1):
        with pytest.raises(VrIkError):
            reader.read(data[:4] + struct.pack('<I', count) + data[8:])
    huge_string = data[:16] + struct.pack('<I', 2**32 - 1) + data[20:]
    with pytest.raises(VrIkError):
        reader.read(huge_string)
    with pytest.raises(VrIkError, match='little endian'):
        reader.read(b'\x00\x00' + data[2:])


def test_an_empty_message_has_no_devices() -> None:
    """Nothing in, nothing out."""
    assert read() == ([], [])


def test_a_message_is_reused_but_never_shows_an_older_frame() -> None:
    """Devices that drop out are gone from the message, and come back with their new pose."""
    writer = FrameWriter('vr_world', '')
    reader = DeviceReader('vr_world', '', ROLES)
    for seed, names in enumerate([ROLES, ROLES[:2], (), ROLES[1:5], ROLES]):
        frame = random_frame(names, seed)
        devices = reader.read(serialize_message(writer.write(frame)))
        assert devices.names == list(names)
        np.testing.assert_allclose(devices.poses, frame.poses, atol=1e-12)


def test_a_root_transform_is_written_as_given() -> None:
    """Position and quaternion are passed on unchanged."""
    quaternion = np.array([0.5, -0.5, 0.5, 0.5])
    message = FrameWriter('vr_world', 'operator/').write_one(
        STAMP_NS, 'base_link', np.array([1.0, 2.0, 3.0]), quaternion
    )
    (root,) = message.transforms
    assert root.header.frame_id == 'vr_world'
    assert root.child_frame_id == 'operator/base_link'
    p, q = root.transform.translation, root.transform.rotation
    assert (p.x, p.y, p.z) == (1.0, 2.0, 3.0)
    assert (q.x, q.y, q.z, q.w) == tuple(quaternion)


@given(
    st.lists(st.tuples(st.text(max_size=9), st.text(max_size=9)), max_size=9),
    st.sets(st.integers(0, 8)),
)
def test_transforms_are_read_with_their_parents(
    names: list[tuple[str, str]], bad: set[int]
) -> None:
    """Of all children or of some; those that are no poses are named."""
    names = [(a.replace('\0', ''), b.replace('\0', '')) for a, b in names]
    transforms = [
        transform(parent, child, x=float(i), w=0.0 if i in bad else 1.0)
        for i, (parent, child) in enumerate(names)
    ]
    data = serialize_message(TFMessage(transforms=transforms))
    wanted = [child for _, child in names[:3]]
    for reader, rows in (
        (TransformReader(), range(len(names))),
        (TransformReader(wanted), [i for i in range(len(names)) if names[i][1] in wanted]),
    ):
        if not names:
            continue
        read = reader.read(data)
        good = [i for i in rows if i not in bad]
        assert list(zip(read.parents, read.children, strict=True)) == [names[i] for i in good]
        assert read.poses[:, 0, 3].tolist() == good
        assert read.stamps_ns == [5 * 10**9] * len(good)
        assert read.rejected == [names[i][1] for i in rows if i in bad]
