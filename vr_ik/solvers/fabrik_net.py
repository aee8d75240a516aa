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

"""A tree of points with bones, frames, limits and targets, as `fabrik_tree_kernel` sees it."""

import math
from typing import NamedTuple

from vr_ik.kinematics.compiled import kernel
from vr_ik.kinematics.tree import Ints
from vr_ik.types import Array

# Columns of the points: position, length of the bone from the parent.
LENGTH = 3
# Columns of the joints; the one in a row moves the bone from the point's parent to the point.
KIND, REST, ANGLES, TWIST, SIDE = 0, 1, 10, 14, 16
JOINT = 17
FREE, CONE, HINGE = 0.0, 1.0, 2.0
# Columns of the targets: position, weight, whether the frame counts, frame.
WEIGHT, ORIENTED, FRAME = 3, 4, 5
TARGET = 14


class Net(NamedTuple):
    """Points, bones and limits, and the buffers of one solve."""

    parents: Ints
    """(n,): a parent comes before its children; -1 for the root."""
    joints: Array
    """(n, 17): kind, rest frame in the parent bone's frame (9), limits (4) and twist (2) [rad];
    the point on whose side of the bone its frame's x is, or -1."""
    targets: Array
    """(n, 14)."""
    loops: Array
    """(k, 3): two points and their distance, beyond the bones of the tree."""
    points: Array
    """(n, 4)."""
    frames: Array
    """(n, 9): of the bone that ends in the point; of the root, the frame of the base."""
    before: Array
    """(n, 3): where the points were before an iteration."""
    sums: Array
    """(n, 4): where stage 1 wants a point, times how much wants it there; how much."""
    onlies: Array
    """(n,): the one child that moves a target, -1 for none, -2 for several."""
    scratch: Array
    """(3, 9): frames."""


@kernel
def bone(net: Net, a: int, b: int) -> tuple[float, float, float, float]:
    """Return the unit vector from point a to point b, and their distance."""
    p, q = net.points[a], net.points[b]
    x, y, z = q[0] - p[0], q[1] - p[1], q[2] - p[2]
    length = math.sqrt(x * x + y * y + z * z)
    if length > 0.0:
        return x / length, y / length, z / length, length
    return 0.0, 0.0, 0.0, 0.0


@kernel
def into_frame(frame: Array, x: float, y: float, z: float) -> tuple[float, float, float]:
    """Return a direction of the world in a frame."""
    return (
        frame[0] * x + frame[3] * y + frame[6] * z,
        frame[1] * x + frame[4] * y + frame[7] * z,
        frame[2] * x + frame[5] * y + frame[8] * z,
    )


@kernel
def out_of_frame(frame: Array, x: float, y: float, z: float) -> tuple[float, float, float]:
    """Return a direction of a frame in the world."""
    return (
        frame[0] * x + frame[1] * y + frame[2] * z,
        frame[3] * x + frame[4] * y + frame[5] * z,
        frame[6] * x + frame[7] * y + frame[8] * z,
    )


@kernel
def take_side(net: Net, i: int) -> None:
    """Turn the frame of a bone in a closed loop by the loop's points, where one tells its side."""
    side = int(net.joints[i, SIDE])
    if side < 0:
        return
    x, y, z, length = bone(net, net.parents[i], i)
    a, b, c, _ = bone(net, net.parents[i], side)
    along = a * x + b * y + c * z
    a, b, c = a - along * x, b - along * y, c - along * z
    size = math.sqrt(a * a + b * b + c * c)
    if length > 0.0 and size > 1e-9:
        a, b, c = a / size, b / size, c / size
        frame = net.frames[i]
        frame[0], frame[3], frame[6] = a, b, c
        frame[1], frame[4], frame[7] = y * c - z * b, z * a - x * c, x * b - y * a
        frame[2], frame[5], frame[8] = x, y, z
