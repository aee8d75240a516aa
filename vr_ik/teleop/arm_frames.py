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

"""Compiled: where the arms are at a configuration, and how the joints move them there."""

from vr_ik.kinematics.compiled import inlined_kernel
from vr_ik.kinematics.kernels import body_columns, body_poses, compose, last_column
from vr_ik.kinematics.tree import COLUMN_DOF, COLUMN_PARENT
from vr_ik.teleop.arm_work import Arm, Work
from vr_ik.teleop.barriers import write_segments
from vr_ik.types import Array


@inlined_kernel
def write_frames(arm: Arm, w: Work, q: Array, arms: int) -> None:
    """Write bodies, their columns about the origin, tips with their Jacobians, and capsules."""
    body_poses(arm.body_ints, arm.body_floats, q, w.poses)
    for i in range(3):
        w.point[i] = 0.0
    body_columns(arm.body_ints, arm.body_floats, w.poses, w.point, w.columns)
    for a in range(arms):
        body = arm.frame_bodies[a]
        compose(w.poses[body], arm.frame_placements[a], w.tips[a])
        x, y, z = w.tips[a, 9], w.tips[a, 10], w.tips[a, 11]
        block = w.jacobian[6 * a : 6 * a + 6]
        for i in range(6):
            for j in range(block.shape[1]):
                block[i, j] = 0.0
        column = last_column(arm.body_ints, body)
        while column >= 0:
            c, j = w.columns[column], arm.column_ints[column, COLUMN_DOF]
            block[0, j] += c[0] + c[4] * z - c[5] * y
            block[1, j] += c[1] + c[5] * x - c[3] * z
            block[2, j] += c[2] + c[3] * y - c[4] * x
            block[3, j] += c[3]
            block[4, j] += c[4]
            block[5, j] += c[5]
            column = arm.column_ints[column, COLUMN_PARENT]
    write_segments(arm.frame_bodies[2 * arms :], arm.capsules, w.poses, w.segments)
