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

"""From one configuration to another along a tangent vector, and the vector between two.

A free root has position and quaternion xyzw (7) in a configuration, and in a tangent vector the
way and the turn in its own axes (6). Other coordinates are what they are in both.
"""

import math

import numpy as np

from vr_ik.kinematics.compiled import allocating_kernel
from vr_ik.math.rotations import (
    exp_quaternion,
    log_quaternion,
    matrix_from_quaternion,
    multiply_quaternions,
)
from vr_ik.types import Array

_ROOT_Q, _ROOT_V = 7, 6


@allocating_kernel
def integrate(q: Array, v: Array, has_root: bool) -> Array:
    """Return q moved by the tangent vector v."""
    moved = q.copy()
    first_q, first_v = (_ROOT_Q, _ROOT_V) if has_root else (0, 0)
    for i in range(v.shape[0] - first_v):
        moved[first_q + i] += v[first_v + i]
    if has_root:
        world_from_root = matrix_from_quaternion(q[3:7])
        for row in range(3):
            for column in range(3):
                moved[row] += world_from_root[row, column] * v[column]
        turned = multiply_quaternions(q[3:7], exp_quaternion(v[3:6]))
        length = math.sqrt(turned[0] ** 2 + turned[1] ** 2 + turned[2] ** 2 + turned[3] ** 2)
        for i in range(4):
            moved[3 + i] = turned[i] / length
    return moved


@allocating_kernel
def difference(q_from: Array, q_to: Array, has_root: bool) -> Array:
    """Return the tangent vector v with integrate(q_from, v) = q_to."""
    first_q, first_v = (_ROOT_Q, _ROOT_V) if has_root else (0, 0)
    joints = q_from.shape[0] - first_q
    v = np.zeros(first_v + joints)
    for i in range(joints):
        v[first_v + i] = q_to[first_q + i] - q_from[first_q + i]
    if has_root:
        world_from_root = matrix_from_quaternion(q_from[3:7])
        for row in range(3):
            for column in range(3):
                v[column] += world_from_root[row, column] * (q_to[row] - q_from[row])
        back = q_from[3:7].copy()
        for i in range(3):
            back[i] = -back[i]
        turn = log_quaternion(multiply_quaternions(back, q_to[3:7]))
        for i in range(3):
            v[3 + i] = turn[i]
    return v
