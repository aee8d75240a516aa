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

"""Laws of rotations: round trips, agreement with transforms3d, exactness at half turns."""

import math

from hypothesis import given, strategies as st
import numpy as np
import pytest
import transforms3d

from vr_ik.math import rotations

components = st.floats(-1.0, 1.0)
quaternions = (
    st.tuples(components, components, components, components)
    .map(np.array)
    .filter(lambda q: np.linalg.norm(q) > 1e-3)
    .map(lambda q: q / np.linalg.norm(q))
)
vectors = st.tuples(components, components, components).map(lambda v: 1.8 * np.array(v))


@given(quaternions)
def test_matrix_agrees_with_transforms3d(q):
    expected = transforms3d.quaternions.quat2mat(q[[3, 0, 1, 2]])
    assert np.abs(rotations.matrix_from_quaternion(q) - expected).max() < 1e-12
    assert np.abs(rotations.matrix_from_quaternion(3.0 * q) - expected).max() < 1e-12


@given(quaternions)
def test_quaternion_and_matrix_are_inverse(q):
    back = rotations.quaternion_from_matrix(rotations.matrix_from_quaternion(q))
    assert back[3] >= 0.0
    assert min(np.abs(back - q).max(), np.abs(back + q).max()) < 1e-12


@pytest.mark.parametrize('axis', np.vstack((np.eye(3), -np.eye(3), [[0.6, 0.0, 0.8]])))
@pytest.mark.parametrize('angle', [math.pi, math.pi - 1e-9, math.pi - 1e-4, 1e-9, 0.0])
def test_half_turns_and_tiny_turns_survive(axis, angle):
    matrix = rotations.exp_rotation(axis * angle)
    assert np.isfinite(rotations.quaternion_from_matrix(matrix)).all()
    vector = rotations.log_rotation(matrix)
    assert np.linalg.norm(vector) == pytest.approx(angle, abs=1e-12)
    assert np.abs(rotations.exp_rotation(vector) - matrix).max() < 1e-12


@given(vectors)
def test_exponential_and_logarithm_are_inverse(vector):
    matrix = rotations.exp_rotation(vector)
    assert np.abs(matrix @ matrix.T - np.eye(3)).max() < 1e-12
    angle = np.linalg.norm(vector)
    if angle < math.pi:
        assert np.abs(rotations.log_rotation(matrix) - vector).max() < 1e-9


@given(quaternions, quaternions)
def test_quaternion_product_is_matrix_product(a, b):
    product = rotations.matrix_from_quaternion(rotations.multiply_quaternions(a, b))
    expected = rotations.matrix_from_quaternion(a) @ rotations.matrix_from_quaternion(b)
    assert np.abs(product - expected).max() < 1e-12


@given(vectors)
def test_roll_pitch_yaw_agrees_with_transforms3d(rpy):
    expected = transforms3d.euler.euler2mat(*rpy, axes='sxyz')
    assert np.abs(rotations.rotation_from_rpy(*rpy) - expected).max() < 1e-12


@given(vectors.filter(lambda v: np.linalg.norm(v) > 1e-3))
def test_rotation_to_axis_takes_z_there(vector):
    axis = vector / np.linalg.norm(vector)
    matrix = rotations.rotation_to_axis(axis)
    assert np.abs(matrix[:, 2] - axis).max() < 1e-12
    assert np.abs(matrix @ matrix.T - np.eye(3)).max() < 1e-12
    assert np.linalg.det(matrix) == pytest.approx(1.0)


@given(quaternions, vectors)
def test_inverse_pose_undoes_a_pose(q, position):
    pose = rotations.poses_from_quaternions(position[None], q[None])[0]
    assert np.abs(rotations.inverse_pose(pose) @ pose - np.eye(4)).max() < 1e-12
