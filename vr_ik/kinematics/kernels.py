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

"""Compiled forward kinematics and Jacobians on the flat arrays of `tree`.

Poses inside the kernels are rows of 12: the rotation by rows (9), then the position (3).
"""

import math

import numpy as np

from vr_ik.kinematics.compiled import allocating_kernel, kernel
from vr_ik.kinematics.tree import (
    COLUMN_DOF,
    COLUMN_PARENT,
    FIRST_COLUMN,
    FREE,
    Ints,
    KIND,
    MULTIPLIER,
    OFFSET,
    PARENT,
    Q_INDEX,
    REVOLUTE,
)
from vr_ik.types import Array


@kernel
def compose(a: Array, b: Array, out: Array) -> None:
    """Write the pose product a b; `out` must be neither a nor b."""
    for i in range(0, 9, 3):
        a0, a1, a2 = a[i], a[i + 1], a[i + 2]
        out[i] = a0 * b[0] + a1 * b[3] + a2 * b[6]
        out[i + 1] = a0 * b[1] + a1 * b[4] + a2 * b[7]
        out[i + 2] = a0 * b[2] + a1 * b[5] + a2 * b[8]
        out[9 + i // 3] = a[9 + i // 3] + a0 * b[9] + a1 * b[10] + a2 * b[11]


@kernel
def _write_free_pose(q: Array, out: Array) -> None:
    """Write the pose of a floating root from its seven coordinates, xyz and quaternion xyzw."""
    x, y, z, w = q[3], q[4], q[5], q[6]
    s = 2.0 / (x * x + y * y + z * z + w * w)
    out[0] = 1.0 - s * (y * y + z * z)
    out[1] = s * (x * y - z * w)
    out[2] = s * (x * z + y * w)
    out[3] = s * (x * y + z * w)
    out[4] = 1.0 - s * (x * x + z * z)
    out[5] = s * (y * z - x * w)
    out[6] = s * (x * z - y * w)
    out[7] = s * (y * z + x * w)
    out[8] = 1.0 - s * (x * x + y * y)
    out[9] = q[0]
    out[10] = q[1]
    out[11] = q[2]


@kernel
def _move(kind: int, value: float, pose: Array) -> None:
    """Turn about or slide along the pose's own z axis."""
    if kind == REVOLUTE:
        c = math.cos(value)
        s = math.sin(value)
        for i in range(0, 9, 3):
            x, y = pose[i], pose[i + 1]
            pose[i] = c * x + s * y
            pose[i + 1] = c * y - s * x
    else:
        pose[9] += value * pose[2]
        pose[10] += value * pose[5]
        pose[11] += value * pose[8]


@kernel
def body_poses(body_ints: Ints, body_floats: Array, q: Array, poses: Array) -> None:
    """Write the world pose of every body, (n_bodies, 12)."""
    for body in range(body_ints.shape[0]):
        parent = body_ints[body, PARENT]
        kind = body_ints[body, KIND]
        pose = poses[body]
        if kind == FREE:
            _write_free_pose(q, pose)
            continue
        placement = body_floats[body]
        if parent < 0:
            for i in range(12):
                pose[i] = placement[i]
        else:
            compose(poses[parent], placement, pose)
        value = placement[MULTIPLIER] * q[body_ints[body, Q_INDEX]] + placement[OFFSET]
        _move(kind, value, pose)


@kernel
def body_columns(
    body_ints: Ints, body_floats: Array, poses: Array, reference: Array, columns: Array
) -> None:
    """Write each column's velocity: of the point at `reference` (3), then angular (3), world axes.

    A floating root's columns are along and about its own axes, as its tangent space is defined.
    """
    for body in range(body_ints.shape[0]):
        pose = poses[body]
        first = body_ints[body, FIRST_COLUMN]
        kind = body_ints[body, KIND]
        rx, ry, rz = pose[9] - reference[0], pose[10] - reference[1], pose[11] - reference[2]
        if kind == FREE:
            for axis in range(3):
                x, y, z = pose[axis], pose[3 + axis], pose[6 + axis]
                _write_slide(columns[first + axis], x, y, z)
                _write_turn(columns[first + 3 + axis], x, y, z, rx, ry, rz)
            continue
        # A mimic joint moves its body `multiplier` times as far.
        scale = body_floats[body, MULTIPLIER]
        x, y, z = scale * pose[2], scale * pose[5], scale * pose[8]
        if kind == REVOLUTE:
            _write_turn(columns[first], x, y, z, rx, ry, rz)
        else:
            _write_slide(columns[first], x, y, z)


@kernel
def _write_turn(
    column: Array, x: float, y: float, z: float, rx: float, ry: float, rz: float
) -> None:
    column[0] = ry * z - rz * y
    column[1] = rz * x - rx * z
    column[2] = rx * y - ry * x
    column[3] = x
    column[4] = y
    column[5] = z


@kernel
def _write_slide(column: Array, x: float, y: float, z: float) -> None:
    column[0] = x
    column[1] = y
    column[2] = z
    column[3] = 0.0
    column[4] = 0.0
    column[5] = 0.0


@allocating_kernel
def link_poses(
    body_ints: Ints,
    body_floats: Array,
    frame_bodies: Ints,
    frame_placements: Array,
    q: Array,
) -> Array:
    """Return the world poses (n_frames, 4, 4) of frames placed on bodies; body -1 is the world."""
    bodies = np.empty((body_ints.shape[0], 12))
    body_poses(body_ints, body_floats, q, bodies)
    result = np.zeros((frame_bodies.shape[0], 4, 4))
    flat = np.empty(12)
    for frame in range(frame_bodies.shape[0]):
        body = frame_bodies[frame]
        if body < 0:
            for i in range(12):
                flat[i] = frame_placements[frame, i]
        else:
            compose(bodies[body], frame_placements[frame], flat)
        for row in range(3):
            for column in range(3):
                result[frame, row, column] = flat[3 * row + column]
            result[frame, row, 3] = flat[9 + row]
        result[frame, 3, 3] = 1.0
    return result


@allocating_kernel
def frame_jacobian(
    body_ints: Ints,
    body_floats: Array,
    column_ints: Ints,
    nv: int,
    q: Array,
    body: int,
    placement: Array,
) -> tuple[Array, Array]:
    """Return a frame's Jacobian (6, nv) in world axes, linear then angular, and its pose (12)."""
    poses = np.empty((body_ints.shape[0], 12))
    body_poses(body_ints, body_floats, q, poses)
    jacobian = np.zeros((6, nv))
    if body < 0:
        return jacobian, placement.copy()
    pose = np.empty(12)
    compose(poses[body], placement, pose)
    columns = np.empty((column_ints.shape[0], 6))
    body_columns(body_ints, body_floats, poses, pose[9:], columns)
    column = last_column(body_ints, body)
    while column >= 0:
        jacobian[:, column_ints[column, COLUMN_DOF]] += columns[column]
        column = column_ints[column, COLUMN_PARENT]
    return jacobian, pose


@kernel
def last_column(body_ints: Ints, body: int) -> int:
    """Return the column nearest to the leaves among a body's own."""
    first = body_ints[body, FIRST_COLUMN]
    return first + 5 if body_ints[body, KIND] == FREE else first
