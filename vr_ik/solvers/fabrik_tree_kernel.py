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

"""Compiled FABRIK on a tree of points with limits, several end effectors and closed loops.

A. Aristidou and J. Lasenby, "FABRIK: a fast, iterative solver for the inverse kinematics problem",
2011: algorithm 1, with the centroids of section 4.1 at sub-bases and at inner points with targets
(4.2), and the limits of section 4.3 in both stages.
"""

import math

from vr_ik.kinematics.compiled import kernel
from vr_ik.solvers.fabrik_inward import reach_inward
from vr_ik.solvers.fabrik_limits import limit_to_cone, limit_to_hinge, limit_twist, write_swing
from vr_ik.solvers.fabrik_net import (
    ANGLES,
    bone,
    CONE,
    HINGE,
    into_frame,
    KIND,
    LENGTH,
    Net,
    out_of_frame,
    REST,
    take_side,
    TWIST,
    WEIGHT,
)
from vr_ik.types import Array

# Share of the tolerance: when all points move less in an iteration, it is the last.
_REST_MOVE = 1e-3
# How far hinges are from their limits at the start [rad]: section 5.4.
_BEND = 0.3
# Of the square of the sine between two bones, below which they tell no plane.
_STRAIGHT = 1e-4


@kernel
def solve_net(
    net: Net, tolerance: float, max_iterations: int, root_is_free: bool
) -> tuple[int, float]:
    """Move the points in net.points to the targets; return iterations and the worst distance."""
    _write_onlies(net)
    _write_frames(net)
    root_x, root_y, root_z = net.points[0, 0], net.points[0, 1], net.points[0, 2]
    gap = _worst_gap(net)
    if gap > tolerance and _has_hinges(net):
        reach_outward(net, _BEND)
    for iteration in range(max_iterations):
        if gap <= tolerance:
            return iteration, gap
        for i in range(net.points.shape[0]):
            for k in range(3):
                net.before[i, k] = net.points[i, k]
        reach_inward(net, iteration == 0)
        if not root_is_free:
            net.points[0, 0], net.points[0, 1], net.points[0, 2] = root_x, root_y, root_z
        reach_outward(net, 0.0)
        gap = _worst_gap(net)
        if _largest_move(net) < _REST_MOVE * tolerance and iteration > 0:
            return iteration + 1, gap
    return max_iterations, gap


@kernel
def _write_onlies(net: Net) -> None:
    """Find which points move targets, and through which child."""
    n = net.points.shape[0]
    for i in range(n):
        net.onlies[i] = -1.0
        net.sums[i, 3] = net.targets[i, WEIGHT]
    for k in range(net.loops.shape[0]):
        net.sums[int(net.loops[k, 0]), 3] += 1.0
        net.sums[int(net.loops[k, 1]), 3] += 1.0
    for i in range(n - 1, 0, -1):
        parent = net.parents[i]
        if net.sums[i, 3] > 0.0:
            net.sums[parent, 3] += 1.0
            net.onlies[parent] = float(i) if net.onlies[parent] == -1.0 else -2.0


@kernel
def _write_frames(net: Net) -> None:
    """Write the bones' frames at the start: turned from rest the least, or as a hinge has it."""
    for i in range(1, net.points.shape[0]):
        if net.joints[i, KIND] == HINGE and net.parents[i] > 0:
            _turn_to_hinge(net, i)
        _write_rest(net, i, net.scratch[0])
        x, y, z, length = bone(net, net.parents[i], i)
        if length > 0.0:
            write_swing(net.scratch[0], x, y, z, net.frames[i])
        else:
            for k in range(9):
                net.frames[i, k] = net.scratch[0, k]
        take_side(net, i)


@kernel
def _has_hinges(net: Net) -> bool:
    for i in range(net.joints.shape[0]):
        if net.joints[i, KIND] == HINGE:
            return True
    return False


@kernel
def _turn_to_hinge(net: Net, i: int) -> None:
    """Turn the bone that a hinge is on about itself, so that the hinge's bone is in its plane."""
    parent = net.parents[i]
    frame, rest = net.frames[parent], net.scratch[0]
    _write_rest(net, i, rest)
    x, y, z, _ = bone(net, parent, i)
    a, b, c = frame[2], frame[5], frame[8]
    u, v, w = b * z - c * y, c * x - a * z, a * y - b * x
    if u * u + v * v + w * w < _STRAIGHT:
        return
    if net.joints[i, ANGLES] + net.joints[i, ANGLES + 1] < 0.0:
        u, v, w = -u, -v, -w
    p, q, r = rest[0], rest[3], rest[6]
    cosine = p * u + q * v + r * w
    sine = a * (q * w - r * v) + b * (r * u - p * w) + c * (p * v - q * u)
    turn = math.atan2(sine, cosine)
    cosine, sine = math.cos(turn), math.sin(turn)
    for row in range(0, 9, 3):
        first, second = frame[row], frame[row + 1]
        frame[row], frame[row + 1] = (
            cosine * first + sine * second,
            cosine * second - sine * first,
        )


@kernel
def _write_rest(net: Net, i: int, out: Array) -> None:
    """Write the frame that the bone to point i has at rest on its parent bone as that is now."""
    base, rest = net.frames[net.parents[i]], net.joints[i]
    for row in range(0, 9, 3):
        for k in range(3):
            out[row + k] = (
                base[row] * rest[REST + k]
                + base[row + 1] * rest[REST + 3 + k]
                + base[row + 2] * rest[REST + 6 + k]
            )


@kernel
def _worst_gap(net: Net) -> float:
    """Return the largest distance of a point from its target, or of a loop from its length."""
    worst = 0.0
    for i in range(net.points.shape[0]):
        target = net.targets[i]
        if target[WEIGHT] > 0.0:
            x, y, z = (
                target[0] - net.points[i, 0],
                target[1] - net.points[i, 1],
                target[2] - net.points[i, 2],
            )
            worst = max(worst, math.sqrt(x * x + y * y + z * z))
    for k in range(net.loops.shape[0]):
        length = bone(net, int(net.loops[k, 0]), int(net.loops[k, 1]))[3]
        worst = max(worst, abs(length - net.loops[k, 2]))
    return worst


@kernel
def reach_outward(net: Net, bend: float) -> None:
    """Stage 2: from the root on, every bone at its length and within its limits.

    Hinges keep away from their limits by `bend` [rad], or stay in the middle of a small range.
    """
    for i in range(1, net.points.shape[0]):
        parent = net.parents[i]
        x, y, z, length = bone(net, parent, i)
        frame, rest, swing = net.frames[i], net.scratch[0], net.scratch[1]
        if length == 0.0:
            x, y, z = frame[2], frame[5], frame[8]
        if parent > 0:
            take_side(net, parent)
        _write_rest(net, i, rest)
        a, b, c = into_frame(rest, x, y, z)
        kind = net.joints[i, KIND]
        if kind == CONE:
            a, b, c = limit_to_cone(a, b, c, net.joints[i, ANGLES : ANGLES + 4])
        elif kind == HINGE:
            a = 0.0
            lower, upper = net.joints[i, ANGLES], net.joints[i, ANGLES + 1]
            away = min(bend, 0.5 * (upper - lower))
            b, c = limit_to_hinge(b, c, lower + away, upper - away)
        x, y, z = out_of_frame(rest, a, b, c)
        # The frame that stage 1 left, on the bone's new direction, tells the twist.
        write_swing(frame, x, y, z, net.scratch[2])
        write_swing(rest, x, y, z, swing)
        lower, upper = net.joints[i, TWIST], net.joints[i, TWIST + 1]
        limit_twist(swing, net.scratch[2], lower, upper, frame)
        length = net.points[i, LENGTH]
        net.points[i, 0] = net.points[parent, 0] + length * x
        net.points[i, 1] = net.points[parent, 1] + length * y
        net.points[i, 2] = net.points[parent, 2] + length * z


@kernel
def _largest_move(net: Net) -> float:
    """Return how far a point has moved in this iteration, at most."""
    largest = 0.0
    for i in range(net.points.shape[0]):
        for k in range(3):
            largest = max(largest, abs(net.points[i, k] - net.before[i, k]))
    return largest
