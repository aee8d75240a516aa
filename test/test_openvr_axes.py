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

"""OpenVR's axes against REP-103's: signs, round trips, agreement with quaternions."""

from hypothesis import given, strategies as st
import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from vr_ik.math.openvr_axes import (
    poses_from_openvr,
    poses_to_openvr,
    vectors_from_openvr,
    vectors_to_openvr,
)
from vr_ik.types import Array

_numbers = st.floats(-10.0, 10.0)
_vectors = st.tuples(_numbers, _numbers, _numbers).map(np.array)
_rotations = (
    st.tuples(*(st.floats(-1.0, 1.0),) * 4)
    .filter(lambda q: np.linalg.norm(q) > 0.1)
    .map(Rotation.from_quat)
)


def _openvr_pose(rotation: Rotation, position: ArrayLike) -> Array:
    return np.column_stack([rotation.as_matrix(), position])


def test_headset_up_ahead_and_turned_left() -> None:
    angle = np.radians(30)
    turned_left = Rotation.from_rotvec([0.0, angle, 0.0])  # about OpenVR's y, which is up
    (pose,) = poses_from_openvr(_openvr_pose(turned_left, [0.0, 1.7, -2.0])[None])
    np.testing.assert_allclose(pose[:3, 3], [2.0, 0.0, 1.7])
    looks_along = [np.cos(angle), np.sin(angle), 0.0]
    np.testing.assert_allclose(pose[:3, 0], looks_along)
    np.testing.assert_allclose(pose[:3, 2], [0.0, 0.0, 1.0])
    np.testing.assert_array_equal(pose[3], [0.0, 0.0, 0.0, 1.0])


def test_each_axis_goes_where_it_must() -> None:
    right, up, backward = np.eye(3)
    np.testing.assert_array_equal(vectors_from_openvr(right), [0, -1, 0])
    np.testing.assert_array_equal(vectors_from_openvr(up), [0, 0, 1])
    np.testing.assert_array_equal(vectors_from_openvr(backward), [-1, 0, 0])


@given(_rotations, _vectors)
def test_poses_follow_the_quaternion_rule(rotation: Rotation, position: Array) -> None:
    (pose,) = poses_from_openvr(_openvr_pose(rotation, position)[None])
    x, y, z, w = rotation.as_quat()
    expected = Rotation.from_quat([-z, -x, y, w]).as_matrix()
    np.testing.assert_allclose(pose[:3, :3], expected, atol=1e-12)
    np.testing.assert_array_equal(pose[:3, 3], [-position[2], -position[0], position[1]])


@given(_rotations, _vectors, _vectors)
def test_a_point_is_the_same_point_in_either_world(
    rotation: Rotation, position: Array, point: Array
) -> None:
    (pose,) = poses_from_openvr(_openvr_pose(rotation, position)[None])
    seen = pose[:3, :3] @ vectors_from_openvr(point) + pose[:3, 3]
    expected = vectors_from_openvr(rotation.apply(point) + position)
    np.testing.assert_allclose(seen, expected, atol=1e-9)


@given(_rotations, _vectors)
def test_round_trip(rotation: Rotation, position: Array) -> None:
    matrix = _openvr_pose(rotation, position)[None]
    np.testing.assert_array_equal(poses_to_openvr(poses_from_openvr(matrix)), matrix)
    np.testing.assert_array_equal(vectors_to_openvr(vectors_from_openvr(position)), position)
