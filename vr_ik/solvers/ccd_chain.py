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

"""Cyclic coordinate descent on a bare chain of points, with damping and limits on bending.

L.-C. T. Wang and C. C. Chen, "A combined optimization method for solving the inverse kinematics
problems of mechanical manipulators", 1991, as told in E. Stolpe, "Inverse kinematics for arm pose
reconstruction in virtual reality", 2021, section 2.4.
"""

import math

import numpy as np

from vr_ik.kinematics.compiled import kernel
from vr_ik.solvers.chains import (
    copy_chain,
    distance,
    LENGTH,
    sideways,
    turn_between,
    turn_chain,
)
from vr_ik.types import Array

# Columns of the joints' limits.
MAX_TURN, MAX_BEND = 0, 1
# Of the tolerance: an iteration that brings the end effector less nearer is the last.
_REST = 1e-6
# How far a chain that rests straight is bent [rad].
_BEND = 0.3
_MAX_BENDS = 10


def free_joints(joints: int) -> Array:
    """Return the limits of joints that may turn and bend as they like, (joints, 2)."""
    return np.full((joints, 2), math.pi)


@kernel
def ccd_chain(
    chain: Array,
    target: Array,
    limits: Array,
    tolerance: float,
    max_iterations: int,
    root_first: bool,
    out: Array,
) -> tuple[int, float]:
    """Write `chain` (n, 4) moved so that its end is at the target; return iterations and distance.

    `limits` (n - 1, 2) holds for every joint but the end effector how far it may turn in one visit
    (damping) and how far its bone may bend off the one before it [rad]; a root has none before it.
    Visits go from the end effector to the root, which moves most what is near the end, or with
    `root_first` the other way round (B. Kenwright, "Inverse kinematics: cyclic coordinate descent
    (CCD)", 2012).
    """
    n = chain.shape[0]
    if not copy_chain(chain, target, out):
        return 0, math.inf
    gap = distance(out[n - 1], target)
    if gap <= tolerance and _within(out, limits):
        return 0, gap
    bends = 0
    for iteration in range(max_iterations):
        for visit in range(n - 1):
            i = visit if root_first else n - 2 - visit
            _turn_joint(out, i, target, limits[i, MAX_TURN])
            if i > 0 and limits[i, MAX_BEND] < math.pi:
                _unbend_joint(out, i, limits[i, MAX_BEND])
        before, gap = gap, distance(out[n - 1], target)
        if gap <= tolerance:
            return iteration + 1, gap
        if abs(before - gap) < _REST * tolerance:
            bends += 1
            is_done = bends > _MAX_BENDS or _is_too_far(out, target)
            if is_done or not _bend_straight(out, target, root_first):
                return iteration + 1, gap
    return max_iterations, gap


@kernel
def _turn_joint(chain: Array, i: int, target: Array, limit: float) -> None:
    """Turn joint i so that the end effector lies in the direction of the target."""
    end = chain.shape[0] - 1
    px, py, pz = chain[i, 0], chain[i, 1], chain[i, 2]
    u, v, w, sine, cosine = turn_between(
        chain[end, 0] - px,
        chain[end, 1] - py,
        chain[end, 2] - pz,
        target[0] - px,
        target[1] - py,
        target[2] - pz,
        limit,
    )
    if cosine < 1.0:
        turn_chain(chain, i, u, v, w, sine, cosine)


@kernel
def _is_too_far(chain: Array, target: Array) -> bool:
    """Tell whether a target is further from the root than the chain is long."""
    total = 0.0
    for i in range(chain.shape[0] - 1):
        total += chain[i, LENGTH]
    return distance(chain[0], target) > total


@kernel
def _bend_straight(chain: Array, target: Array, root_first: bool) -> bool:
    """Bend a chain that rests on one line with its target (Stolpe, section 2.4.1).

    The joint that is visited last is bent: the others then cannot undo it.
    """
    x, y, z = sideways(chain, target)
    norm = math.sqrt(x * x + y * y + z * z)
    if norm == 0.0:
        return False
    joint = chain.shape[0] - 2 if root_first else 0
    turn_chain(chain, joint, x / norm, y / norm, z / norm, math.sin(_BEND), math.cos(_BEND))
    return True


@kernel
def _bend(chain: Array, i: int) -> tuple[float, float, float, float]:
    """Return about which axis the bone after joint i is bent off the one before, and how far."""
    ax, ay, az = (
        chain[i, 0] - chain[i - 1, 0],
        chain[i, 1] - chain[i - 1, 1],
        chain[i, 2] - chain[i - 1, 2],
    )
    bx, by, bz = (
        chain[i + 1, 0] - chain[i, 0],
        chain[i + 1, 1] - chain[i, 1],
        chain[i + 1, 2] - chain[i, 2],
    )
    u, v, w, sine, cosine = turn_between(ax, ay, az, bx, by, bz, math.pi)
    return u, v, w, math.atan2(sine, cosine)


@kernel
def _unbend_joint(chain: Array, i: int, limit: float) -> None:
    """Turn joint i back to its limit where it is bent further."""
    u, v, w, angle = _bend(chain, i)
    if angle > limit:
        back = limit - angle
        turn_chain(chain, i, u, v, w, math.sin(back), math.cos(back))


@kernel
def _within(chain: Array, limits: Array) -> bool:
    for i in range(1, chain.shape[0] - 1):
        if limits[i, MAX_BEND] < math.pi and _bend(chain, i)[3] > limits[i, MAX_BEND] + 1e-9:
            return False
    return True
