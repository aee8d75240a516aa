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

"""Rotations and rigid transforms: quaternions (xyzw), matrices, exponential and logarithm."""

import math

import numpy as np

from vr_ik.kinematics.compiled import allocating_kernel
from vr_ik.types import Array

# The kernels have loops where NumPy has expressions on whole arrays: those take numba ten times
# as long to compile.

# Below this angle [rad] series replace quotients whose numerator and denominator both vanish.
_SMALL = 1e-4


@allocating_kernel
def matrix_from_quaternion(quaternion: Array) -> Array:
    """Return the (3, 3) rotation of a quaternion xyzw, which need not be of unit length."""
    x, y, z, w = quaternion[0], quaternion[1], quaternion[2], quaternion[3]
    s = 2.0 / (x * x + y * y + z * z + w * w)
    rotation = np.empty((3, 3))
    rotation[0, 0] = 1.0 - s * (y * y + z * z)
    rotation[0, 1] = s * (x * y - z * w)
    rotation[0, 2] = s * (x * z + y * w)
    rotation[1, 0] = s * (x * y + z * w)
    rotation[1, 1] = 1.0 - s * (x * x + z * z)
    rotation[1, 2] = s * (y * z - x * w)
    rotation[2, 0] = s * (x * z - y * w)
    rotation[2, 1] = s * (y * z + x * w)
    rotation[2, 2] = 1.0 - s * (x * x + y * y)
    return rotation


@allocating_kernel
def quaternion_from_matrix(rotation: Array) -> Array:
    """Return the unit quaternion xyzw with w >= 0 of a rotation; exact at half turns too.

    The largest of the four components is computed first, so that no division is by a
    number near zero (S. W. Shepperd, "Quaternion from rotation matrix", 1978).
    """
    r = rotation
    trace = r[0, 0] + r[1, 1] + r[2, 2]
    q = np.empty(4)
    if trace >= r[0, 0] and trace >= r[1, 1] and trace >= r[2, 2]:
        q[3] = 1.0 + trace
        q[0] = r[2, 1] - r[1, 2]
        q[1] = r[0, 2] - r[2, 0]
        q[2] = r[1, 0] - r[0, 1]
    else:
        i = 0
        if r[1, 1] > r[0, 0]:
            i = 1
        if r[2, 2] > r[i, i]:
            i = 2
        j = (i + 1) % 3
        k = (i + 2) % 3
        q[i] = 1.0 + r[i, i] - r[j, j] - r[k, k]
        q[j] = r[j, i] + r[i, j]
        q[k] = r[k, i] + r[i, k]
        q[3] = r[k, j] - r[j, k]
    norm = math.sqrt(q[0] ** 2 + q[1] ** 2 + q[2] ** 2 + q[3] ** 2)
    if q[3] < 0.0:
        norm = -norm
    for i in range(4):
        q[i] /= norm
    return q


@allocating_kernel
def exp_quaternion(vector: Array) -> Array:
    """Return the quaternion xyzw of a rotation vector [rad]."""
    angle = math.sqrt(vector[0] ** 2 + vector[1] ** 2 + vector[2] ** 2)
    if angle < _SMALL:
        scale = 0.5 - angle * angle / 48.0
    else:
        scale = math.sin(0.5 * angle) / angle
    q = np.empty(4)
    q[0] = scale * vector[0]
    q[1] = scale * vector[1]
    q[2] = scale * vector[2]
    q[3] = math.cos(0.5 * angle)
    return q


@allocating_kernel
def log_quaternion(q: Array) -> Array:
    """Return the rotation vector [rad], at most pi long, of a unit quaternion xyzw."""
    sine = math.sqrt(q[0] ** 2 + q[1] ** 2 + q[2] ** 2)
    cosine = q[3]
    if cosine < 0.0:
        sine_sign, cosine = -1.0, -cosine
    else:
        sine_sign = 1.0
    scale = 2.0 * math.atan2(sine, cosine) / sine if sine > 1e-12 else 2.0
    vector = np.empty(3)
    for i in range(3):
        vector[i] = q[i] * (sine_sign * scale)
    return vector


@allocating_kernel
def multiply_quaternions(a: Array, b: Array) -> Array:
    """Return the product a b (first b, then a) of quaternions xyzw."""
    q = np.empty(4)
    q[0] = a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1]
    q[1] = a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0]
    q[2] = a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3]
    q[3] = a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2]
    return q


@allocating_kernel
def exp_rotation(vector: Array) -> Array:
    """Return the (3, 3) rotation of a rotation vector [rad]."""
    return matrix_from_quaternion(exp_quaternion(vector))


@allocating_kernel
def log_rotation(rotation: Array) -> Array:
    """Return the rotation vector [rad], at most pi long, of a (3, 3) rotation."""
    return log_quaternion(quaternion_from_matrix(rotation))


@allocating_kernel
def poses_from_quaternions(positions: Array, quaternions: Array) -> Array:
    """Return (n, 4, 4) poses of positions (n, 3) [m] and quaternions (n, 4) xyzw."""
    n = positions.shape[0]
    poses = np.zeros((n, 4, 4))
    for i in range(n):
        rotation = matrix_from_quaternion(quaternions[i])
        for row in range(3):
            for column in range(3):
                poses[i, row, column] = rotation[row, column]
            poses[i, row, 3] = positions[i, row]
        poses[i, 3, 3] = 1.0
    return poses


def pose(rotation: Array, position: Array) -> Array:
    """Return the (4, 4) pose of a (3, 3) rotation and a position [m]."""
    matrix = np.eye(4)
    matrix[:3, :3] = rotation
    matrix[:3, 3] = position
    return matrix


def inverse_pose(pose_a_from_b: Array) -> Array:
    """Return pose_b_from_a."""
    rotation_b_from_a = pose_a_from_b[:3, :3].T
    return pose(rotation_b_from_a, -rotation_b_from_a @ pose_a_from_b[:3, 3])


def rotation_from_rpy(roll: float, pitch: float, yaw: float) -> Array:
    """Return Rz(yaw) Ry(pitch) Rx(roll), URDF's fixed-axis angles [rad]."""
    cr, sr = math.cos(roll), math.sin(roll)
    cp, sp = math.cos(pitch), math.sin(pitch)
    cy, sy = math.cos(yaw), math.sin(yaw)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def rotation_to_axis(axis: Array) -> Array:
    """Return a rotation that takes z to the unit vector `axis`; exact for x, y and z."""
    helper = np.zeros(3)
    helper[(int(np.argmax(np.abs(axis))) + 1) % 3] = 1.0
    x = np.cross(helper, axis)
    x /= np.linalg.norm(x)
    return np.column_stack((x, np.cross(axis, x), axis))
