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

"""Steps of q within the limits of the joints, for the compiled solvers."""

import math

from vr_ik.kinematics.compiled import kernel
from vr_ik.solvers.box_step import AT_LOWER, AT_UPPER, FREE
from vr_ik.types import Array

_FULL_TURN = 2.0 * math.pi
# A joint of this range can take any angle; URDFs say 3.14 where they mean pi.
_WHOLE_RANGE = _FULL_TURN - 0.01
# A joint this near to its limit is at it [rad or m].
_AT_BOUND = 1e-9


@kernel
def retract(q: Array, step: Array, first_q: int, out: Array) -> None:
    """Write q moved by a tangent step; a floating root turns along the exponential map."""
    n_joints = q.shape[0] - first_q
    first_v = step.shape[0] - n_joints
    for j in range(n_joints):
        out[first_q + j] = q[first_q + j] + step[first_v + j]
    if first_q == 0:
        return
    x, y, z, w = q[3], q[4], q[5], q[6]
    vx, vy, vz = step[0], step[1], step[2]
    # v + 2 u x (u x v + w v) turns v by the quaternion (u, w).
    tx = y * vz - z * vy + w * vx
    ty = z * vx - x * vz + w * vy
    tz = x * vy - y * vx + w * vz
    out[0] = q[0] + vx + 2.0 * (y * tz - z * ty)
    out[1] = q[1] + vy + 2.0 * (z * tx - x * tz)
    out[2] = q[2] + vz + 2.0 * (x * ty - y * tx)
    angle = math.sqrt(step[3] ** 2 + step[4] ** 2 + step[5] ** 2)
    scale = math.sin(0.5 * angle) / angle if angle > 1e-9 else 0.5
    a, b, c, d = scale * step[3], scale * step[4], scale * step[5], math.cos(0.5 * angle)
    qx = w * a + x * d + y * c - z * b
    qy = w * b - x * c + y * d + z * a
    qz = w * c + x * b - y * a + z * d
    qw = w * d - x * a - y * b - z * c
    inverse = 1.0 / math.sqrt(qx * qx + qy * qy + qz * qz + qw * qw)
    out[3] = qx * inverse
    out[4] = qy * inverse
    out[5] = qz * inverse
    out[6] = qw * inverse


@kernel
def clamp(q: Array, first_q: int, joints: Array) -> None:
    """Bring every joint within its limits; one of more than a full turn goes round."""
    for j in range(joints.shape[0]):
        lower, upper = joints[j, 0], joints[j, 1]
        value = q[first_q + j]
        if upper - lower >= _WHOLE_RANGE:
            if value > upper + _AT_BOUND:
                value -= _FULL_TURN
            elif value < lower - _AT_BOUND:
                value += _FULL_TURN
        q[first_q + j] = min(max(value, lower), upper)


@kernel
def wrap_blocked(joints: Array, first_q: int, rhs: Array, q: Array) -> bool:
    """Take joints pushed against a limit a full turn back, where their range holds that pose."""
    first_v = rhs.shape[0] - joints.shape[0]
    wrapped = False
    for j in range(joints.shape[0]):
        lower, upper = joints[j, 0], joints[j, 1]
        if upper - lower < _WHOLE_RANGE:
            continue
        value, push = q[first_q + j], rhs[first_v + j]
        if value >= upper and push > 0.0:
            q[first_q + j] = max(value - _FULL_TURN, lower)
            wrapped = True
        elif value <= lower and push < 0.0:
            q[first_q + j] = min(value + _FULL_TURN, upper)
            wrapped = True
    return wrapped


@kernel
def hold_pressed(rhs: Array, lower: Array, upper: Array, held: Array) -> bool:
    """Mark the dofs that the gradient presses against a bound, and tell whether there are any."""
    any_held = False
    for dof in range(rhs.shape[0]):
        held[dof] = FREE
        if lower[dof] >= -_AT_BOUND and rhs[dof] < 0.0:
            held[dof] = AT_LOWER
            any_held = True
        elif upper[dof] <= _AT_BOUND and rhs[dof] > 0.0:
            held[dof] = AT_UPPER
            any_held = True
    return any_held
