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

"""Follow the leader on a bare chain of points.

J. Brown, J.-C. Latombe and K. Montgomery, "Real-time knot-tying simulation", 2004, as A. Aristidou
and J. Lasenby tell it in sections 2 and 5.1 of "FABRIK: a fast, iterative solver for the inverse
kinematics problem", 2011: the points follow the end effector to the target, the points follow the
root that stays, and the average of both is taken, again and again. The average changes the bones'
lengths, which is the method's known weakness; here the bones get their lengths back at the end,
with the directions they have, and what counts is where that puts the end effector. A chain that is
folded up flat would creep for ever: triangulation's pass lays it out anew.
"""

import math

from vr_ik.kinematics.compiled import kernel
from vr_ik.solvers.chains import (
    copy_chain,
    distance,
    LENGTH,
    NEAREST,
    place,
    place_out_of_reach,
    restore_lengths,
    sideways,
)
from vr_ik.solvers.triangulation_chain import PATIENCE, triangulation_chain
from vr_ik.types import Array


@kernel
def ftl_chain(
    chain: Array,
    target: Array,
    tolerance: float,
    max_iterations: int,
    followers: Array,
    out: Array,
) -> tuple[int, float]:
    """Write `chain` (n, 4) moved so that its end is at the target; return iterations and distance.

    The arrays are as `chains` describes them; `followers` (n, 4) is scratch. A target out of reach
    is pointed at in one iteration, where the original stretches the chain.
    """
    n = chain.shape[0]
    if not copy_chain(chain, target, out):
        return 0, math.inf
    gap = distance(out[n - 1], target)
    if gap > tolerance and place_out_of_reach(out, target):
        return 1, distance(out[n - 1], target)
    iteration, checked_gap = 0, math.inf
    while gap > tolerance and iteration < max_iterations:
        if iteration % PATIENCE == 0:
            if gap > 0.5 * checked_gap:
                restore_lengths(out)
                triangulation_chain(out, target, out)
                return iteration + 1, distance(out[n - 1], target)
            checked_gap = gap
        x, y, z = sideways(out, target) if iteration == 0 else (0.0, 0.0, 0.0)
        _copy(out, followers)
        followers[n - 1, 0] = target[0] + x
        followers[n - 1, 1] = target[1] + y
        followers[n - 1, 2] = target[2] + z
        for i in range(n - 2, 0, -1):
            place(followers, i, i + 1, out[i, LENGTH])
        _follow_root_and_average(out, followers)
        for k in range(3):
            out[n - 1, k] = target[k]
        gap = _gap_at_true_lengths(out, target)
        iteration += 1
    restore_lengths(out)
    return iteration, distance(out[n - 1], target)


@kernel
def _copy(chain: Array, out: Array) -> None:
    for i in range(chain.shape[0]):
        for k in range(4):
            out[i, k] = chain[i, k]


@kernel
def _follow_root_and_average(chain: Array, followers: Array) -> None:
    """Let the inner points follow the root, and average them with those that follow the end."""
    ax, ay, az = chain[0, 0], chain[0, 1], chain[0, 2]
    for i in range(1, chain.shape[0] - 1):
        x, y, z = chain[i, 0] - ax, chain[i, 1] - ay, chain[i, 2] - az
        norm = math.sqrt(x * x + y * y + z * z)
        scale = chain[i - 1, LENGTH] / norm if norm > NEAREST else 0.0
        ax, ay, az = ax + scale * x, ay + scale * y, az + scale * z
        chain[i, 0] = 0.5 * (ax + followers[i, 0])
        chain[i, 1] = 0.5 * (ay + followers[i, 1])
        chain[i, 2] = 0.5 * (az + followers[i, 2])


@kernel
def _gap_at_true_lengths(chain: Array, target: Array) -> float:
    """Return how far from the target the end is once every bone has its length again."""
    x, y, z = chain[0, 0] - target[0], chain[0, 1] - target[1], chain[0, 2] - target[2]
    for i in range(chain.shape[0] - 1):
        a, b, c = (
            chain[i + 1, 0] - chain[i, 0],
            chain[i + 1, 1] - chain[i, 1],
            chain[i + 1, 2] - chain[i, 2],
        )
        norm = math.sqrt(a * a + b * b + c * c)
        if norm > NEAREST:
            scale = chain[i, LENGTH] / norm
            x, y, z = x + scale * a, y + scale * b, z + scale * c
        else:
            x += chain[i, LENGTH]
    return math.sqrt(x * x + y * y + z * z)
