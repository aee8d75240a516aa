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

"""Stage 1 of FABRIK on a tree of points: from the targets to the root, within the limits.

A. Aristidou and J. Lasenby, "FABRIK: a fast, iterative solver for the inverse kinematics problem",
2011, sections 4.1 to 4.3.
"""

import math

from vr_ik.kinematics.compiled import kernel
from vr_ik.solvers.chains import BEND
from vr_ik.solvers.fabrik_limits import limit_to_cone, write_swing
from vr_ik.solvers.fabrik_net import (
    ANGLES,
    bone,
    CONE,
    FRAME,
    HINGE,
    into_frame,
    KIND,
    LENGTH,
    Net,
    ORIENTED,
    out_of_frame,
    REST,
    SIDE,
    TWIST,
    WEIGHT,
)


@kernel
def reach_inward(net: Net, is_first: bool) -> None:
    """Stage 1: from the targets to the root; at sub-bases the centroid of what is wanted."""
    n = net.points.shape[0]
    for i in range(n):
        for k in range(4):
            net.sums[i, k] = 0.0
    _want_targets(net, is_first)
    _want_loops(net)
    for i in range(n - 1, -1, -1):
        weight = net.sums[i, 3]
        if not weight > 0.0:
            continue
        for k in range(3):
            net.points[i, k] = net.sums[i, k] / weight
        if i > 0:
            _want_parent(net, i)


@kernel
def _want_targets(net: Net, is_first: bool) -> None:
    for i in range(net.points.shape[0]):
        weight = net.targets[i, WEIGHT]
        if weight > 0.0:
            a, b, c = _sideways(net, i) if is_first else (0.0, 0.0, 0.0)
            net.sums[i, 0] += weight * (net.targets[i, 0] + a)
            net.sums[i, 1] += weight * (net.targets[i, 1] + b)
            net.sums[i, 2] += weight * (net.targets[i, 2] + c)
            net.sums[i, 3] += weight


@kernel
def _want_loops(net: Net) -> None:
    """Let both ends of each loop want to be at its length from each other, on their line."""
    for k in range(net.loops.shape[0]):
        i, j = int(net.loops[k, 0]), int(net.loops[k, 1])
        x, y, z, length = bone(net, i, j)
        half = 0.5 * (net.loops[k, 2] - length)
        for end in range(2):
            point, sign = (i, -half) if end == 0 else (j, half)
            net.sums[point, 0] += net.points[point, 0] + sign * x
            net.sums[point, 1] += net.points[point, 1] + sign * y
            net.sums[point, 2] += net.points[point, 2] + sign * z
            net.sums[point, 3] += 1.0


@kernel
def _sideways(net: Net, i: int) -> tuple[float, float, float]:
    """Return where to pull the target of a straight chain, section 5.4; zero if it is bent."""
    x, y, z = (
        net.targets[i, 0] - net.points[0, 0],
        net.targets[i, 1] - net.points[0, 1],
        net.targets[i, 2] - net.points[0, 2],
    )
    square, widest, total, point = x * x + y * y + z * z, 0.0, 0.0, i
    while point > 0:
        a, b, c = (
            net.points[point, 0] - net.points[0, 0],
            net.points[point, 1] - net.points[0, 1],
            net.points[point, 2] - net.points[0, 2],
        )
        u, v, w = y * c - z * b, z * a - x * c, x * b - y * a
        widest = max(widest, u * u + v * v + w * w)
        total += net.points[point, LENGTH]
        point = net.parents[point]
    if widest > 1e-12 * total * total * square or square >= total * total:
        return 0.0, 0.0, 0.0
    # Across the line by the frame of the last bone, so that it turns with the figure.
    frame = net.frames[i]
    return BEND * total * frame[0], BEND * total * frame[3], BEND * total * frame[6]


@kernel
def _want_parent(net: Net, i: int) -> None:
    """Let a point want its parent on their line, at the bone's length and within the limits."""
    parent = net.parents[i]
    x, y, z, length = bone(net, parent, i)
    frame = net.frames[i]
    if length == 0.0:
        x, y, z = frame[2], frame[5], frame[8]
    child = int(net.onlies[i])
    if net.targets[i, ORIENTED] > 0.0 and net.targets[i, WEIGHT] > 0.0:
        for k in range(9):
            frame[k] = net.targets[i, FRAME + k]
        x, y, z = frame[2], frame[5], frame[8]
    else:
        # A limb's limits do not turn a bone in a loop, and a hinge's plane is enough here: its
        # limits in this stage would move the sub-base, with all limbs, for the sake of one.
        if child >= 0 and net.joints[child, KIND] == CONE and net.joints[i, SIDE] < 0.0:
            x, y, z = _limit_inward(net, child, x, y, z)
        for k in range(9):
            net.scratch[1, k] = frame[k]
        write_swing(net.scratch[1], x, y, z, frame)
        if net.joints[i, KIND] == HINGE and net.parents[parent] >= 0:
            _turn_hinge_plane(net, i)
        if child >= 0:
            _untwist_inward(net, i, child)
    length = net.points[i, LENGTH]
    net.sums[parent, 0] += net.points[i, 0] - length * x
    net.sums[parent, 1] += net.points[i, 1] - length * y
    net.sums[parent, 2] += net.points[i, 2] - length * z
    net.sums[parent, 3] += 1.0


@kernel
def _turn_hinge_plane(net: Net, i: int) -> None:
    """Turn a bone about itself so that its hinge moves in the plane of the joint before; figure 7.

    Of the two ways to lie in that plane, the one that suits the hinge's limits better.
    """
    frame = net.frames[i]
    before, length = net.parents[net.parents[i]], net.points[i, LENGTH]
    x, y, z = frame[2], frame[5], frame[8]
    ux = net.points[i, 0] - length * x - net.points[before, 0]
    uy = net.points[i, 1] - length * y - net.points[before, 1]
    uz = net.points[i, 2] - length * z - net.points[before, 2]
    nx, ny, nz = y * uz - z * uy, z * ux - x * uz, x * uy - y * ux
    size = math.sqrt(nx * nx + ny * ny + nz * nz)
    if not size > 1e-9 * math.sqrt(ux * ux + uy * uy + uz * uz):
        return
    sign = 1.0 if nx * frame[0] + ny * frame[3] + nz * frame[6] >= 0.0 else -1.0
    if _excess(net, i, ux, uy, uz, sign) > _excess(net, i, ux, uy, uz, -sign) + 1e-9:
        sign = -sign
    nx, ny, nz = sign * nx / size, sign * ny / size, sign * nz / size
    frame[0], frame[3], frame[6] = nx, ny, nz
    frame[1], frame[4], frame[7] = y * nz - z * ny, z * nx - x * nz, x * ny - y * nx


@kernel
def _excess(net: Net, i: int, ux: float, uy: float, uz: float, sign: float) -> float:
    """Return by how much a hinge would exceed its limits with its axis along sign * (z x u)."""
    frame, rest = net.frames[i], net.joints[i]
    x, y, z = frame[2], frame[5], frame[8]
    along = x * ux + y * uy + z * uz
    across = math.sqrt(max(ux * ux + uy * uy + uz * uz - along * along, 0.0))
    # In that frame the parent bone is (0, -sign * across, along); at rest it is the last row of
    # the rest frame, and the joint turns by the angle from the one to the other, about x.
    b, c = rest[REST + 7], rest[REST + 8]
    v = -sign * across
    angle = math.atan2(v * c - along * b, v * b + along * c)
    return max(rest[ANGLES] - angle, angle - rest[ANGLES + 1], 0.0)


@kernel
def _untwist_inward(net: Net, i: int, child: int) -> None:
    """Turn a bone about itself by what its child is twisted against it too far; algorithm 2."""
    lower, upper = net.joints[child, TWIST], net.joints[child, TWIST + 1]
    if upper - lower >= 2.0 * math.pi:
        return
    frame, below, rest, swing = net.frames[i], net.frames[child], net.scratch[0], net.scratch[1]
    for row in range(0, 9, 3):
        for k in range(3):
            rest[row + k] = 0.0
            for m in range(3):
                rest[row + k] += frame[row + m] * net.joints[child, REST + 3 * m + k]
    write_swing(rest, below[2], below[5], below[8], swing)
    c = swing[0] * below[0] + swing[3] * below[3] + swing[6] * below[6]
    s = swing[1] * below[0] + swing[4] * below[3] + swing[7] * below[6]
    twist = math.atan2(s, c)
    excess = twist - min(max(twist, lower), upper)
    c, s = math.cos(excess), math.sin(excess)
    for row in range(0, 9, 3):
        x, y = frame[row], frame[row + 1]
        frame[row], frame[row + 1] = c * x + s * y, c * y - s * x


@kernel
def _limit_inward(
    net: Net, child: int, x: float, y: float, z: float
) -> tuple[float, float, float]:
    """Return the direction of a bone, limited by the cone of the joint that holds its child.

    Seen from the child, the parent bone turns the other way: the angles change sides.
    """
    joint, frame, rest = net.joints[child], net.frames[child], net.scratch[0]
    # Where the parent bone's frame would be, were the joint at rest.
    for row in range(0, 9, 3):
        for k in range(3):
            rest[row + k] = (
                frame[row] * joint[REST + 3 * k]
                + frame[row + 1] * joint[REST + 3 * k + 1]
                + frame[row + 2] * joint[REST + 3 * k + 2]
            )
    # The parent's direction among the child's axes, about the direction that it has at rest.
    a, b, c = into_frame(rest, x, y, z)
    angles = net.scratch[2]
    for k in range(4):
        angles[k] = joint[ANGLES + (k + 2) % 4]
    a, b, c = limit_to_cone(a, b, c, angles)
    return out_of_frame(rest, a, b, c)
