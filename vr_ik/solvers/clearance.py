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


"""Compiled cost of points that are where none can be: elbows in the trunk, feet in the ground.

The trunk is an ellipsoid. With s the distance of a point from its centre, in units of the
semi-axis there, a point inside (s < 1) costs 1/2 w (1 - s)^2: nothing at the surface, without a
step in cost or gradient. Joints that move point and trunk alike do not count; all others lie on
one way from the trunk to the point, so the normal equations keep their sparse pattern. The ground
is all that is lower than a height; a point there costs 1/2 w depth^2.
"""

import math

from vr_ik.kinematics.compiled import kernel
from vr_ik.kinematics.kernels import last_column
from vr_ik.kinematics.tree import COLUMN_DOF, COLUMN_PARENT, Ints
from vr_ik.types import Array

# Columns of a row: bodies, the point on its own, the ellipsoid on the other (pose, semi-axes). Of
# the ground, which is no body, the height [m] in the world alone; the weight is in 1/m^2 then.
POINT_BODY, OTHER_BODY, POINT, AXES, CENTRE, RADII, WEIGHT = 0, 1, 2, 5, 14, 17, 20
CLEARANCE = 21
HEIGHT = CENTRE + 2
GROUND = -1

# Nearer to the centre the way out is not clear, and the push no greater.
_CORE = 0.1


@kernel
def _depth(row: Array, poses: Array, point: Array, outward: Array) -> float:
    """Return how far in a point is; write it and, where it is inside, the way out, world axes."""
    own = poses[int(row[POINT_BODY])]
    for i in range(3):
        point[i] = own[9 + i]
        for j in range(3):
            point[i] += own[3 * i + j] * row[POINT + j]
    if int(row[OTHER_BODY]) == GROUND:
        outward[0], outward[1], outward[2] = 0.0, 0.0, 1.0
        return max(row[HEIGHT] - point[2], 0.0)
    return _depth_in_ellipsoid(row, poses[int(row[OTHER_BODY])], point, outward)


@kernel
def _depth_in_ellipsoid(row: Array, other: Array, point: Array, outward: Array) -> float:
    """Return 1 - s, and write the gradient of s."""
    x, y, z = point[0] - other[9], point[1] - other[10], point[2] - other[11]
    bx = other[0] * x + other[3] * y + other[6] * z - row[CENTRE]
    by = other[1] * x + other[4] * y + other[7] * z - row[CENTRE + 1]
    bz = other[2] * x + other[5] * y + other[8] * z - row[CENTRE + 2]
    square = 0.0
    gx, gy, gz = 0.0, 0.0, 0.0
    for axis in range(3):
        ax, ay, az = row[AXES + axis], row[AXES + 3 + axis], row[AXES + 6 + axis]
        share = (ax * bx + ay * by + az * bz) / row[RADII + axis]
        square += share * share
        slope = share / row[RADII + axis]
        gx, gy, gz = gx + slope * ax, gy + slope * ay, gz + slope * az
    if square >= 1.0:
        return 0.0
    s = math.sqrt(square)
    inverse = 1.0 / max(s, _CORE)
    for i in range(3):
        outward[i] = inverse * (other[3 * i] * gx + other[3 * i + 1] * gy + other[3 * i + 2] * gz)
    return 1.0 - s


@kernel
def clearance_cost(rows: Array, poses: Array, point: Array, outward: Array) -> float:
    """Return the cost of all points; `point` (3) and `outward` (3) are scratch."""
    cost = 0.0
    for i in range(rows.shape[0]):
        if rows[i, WEIGHT] > 0.0:
            depth = _depth(rows[i], poses, point, outward)
            cost += 0.5 * rows[i, WEIGHT] * depth * depth
    return cost


@kernel
def _slope(column: Array, reference: Array, point: Array, outward: Array) -> float:
    """Return how fast a column's motion takes the point outward."""
    x, y, z = point[0] - reference[0], point[1] - reference[1], point[2] - reference[2]
    wx, wy, wz = column[3], column[4], column[5]
    return (
        outward[0] * (column[0] + wy * z - wz * y)
        + outward[1] * (column[1] + wz * x - wx * z)
        + outward[2] * (column[2] + wx * y - wy * x)
    )


@kernel
def add_clearances(
    rows: Array,
    body_ints: Ints,
    column_ints: Ints,
    paths: Ints,
    poses: Array,
    reference: Array,
    columns: Array,
    point: Array,
    outward: Array,
    matrix: Array,
    rhs: Array,
) -> None:
    """Add the Gauss-Newton matrix and minus the gradient; trees without mimic joints only."""
    for i in range(rows.shape[0]):
        row = rows[i]
        depth = _depth(row, poses, point, outward) if row[WEIGHT] > 0.0 else 0.0
        if depth <= 0.0:
            continue
        last = GROUND
        if int(row[OTHER_BODY]) != GROUND:
            last = last_column(body_ints, int(row[OTHER_BODY]))
        column = last_column(body_ints, int(row[POINT_BODY]))
        while column != last:
            dof = column_ints[column, COLUMN_DOF]
            slope = _slope(columns[column], reference, point, outward)
            rhs[dof] += row[WEIGHT] * depth * slope
            place = paths[dof, 0]
            other = column
            while other != last:
                other_slope = _slope(columns[other], reference, point, outward)
                matrix[dof, place] += row[WEIGHT] * slope * other_slope
                place -= 1
                other = column_ints[other, COLUMN_PARENT]
            column = column_ints[column, COLUMN_PARENT]
