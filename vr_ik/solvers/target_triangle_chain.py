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

"""Target triangle on a bare chain of points: the chain bends at one joint as a stiff triangle.

W. Song and G. Hu, "A fast inverse kinematics algorithm for joint animation", 2011, as A.
Gullickson and D. Shervheim tell it in section 2.3 of "Avatar modeling with inverse kinematics":
like CCD turned round, from the root outwards, so that the joints near the root move first. What
they leave open is settled here as follows: the triangle is of the bone, of the line from its end
to the end effector, as it is now, and of the way to the target.
"""

import math

from vr_ik.kinematics.compiled import kernel
from vr_ik.solvers.chains import (
    copy_chain,
    distance,
    LENGTH,
    NEAREST,
    place_out_of_reach,
    turn_between,
    turn_chain,
)
from vr_ik.solvers.triangulation_chain import triangle_angle, unit_across
from vr_ik.types import Array


@kernel
def target_triangle_chain(
    chain: Array, target: Array, tolerance: float, max_iterations: int, out: Array
) -> tuple[int, float]:
    """Write `chain` (n, 4) moved so that its end is at the target; return iterations and distance.

    From the root on, each bone turns so that it makes the triangle, and the rest of the chain
    turns stiffly about the bone's end so that the end effector meets the target: then it is done,
    and no joint further out has moved. Where the three lengths make no triangle, the bone points
    to the target, or away from it where the rest is too long, and the next bone is tried. A target
    out of reach is pointed at in one iteration.
    """
    n = chain.shape[0]
    if not copy_chain(chain, target, out):
        return 0, math.inf
    gap = distance(out[n - 1], target)
    if gap > tolerance and place_out_of_reach(out, target):
        return 1, distance(out[n - 1], target)
    for iteration in range(max_iterations):
        if gap <= tolerance:
            return iteration, gap
        for i in range(n - 1):
            rest = distance(out[i + 1], out[n - 1])
            _aim_bone(out, i, rest, target)
            _aim_rest(out, i + 1, target)
            gap = distance(out[n - 1], target)
            if gap <= tolerance:
                break
    return max_iterations, gap


@kernel
def _aim_bone(chain: Array, i: int, rest: float, target: Array) -> None:
    """Turn joint i, and stiffly all beyond it, so that its bone makes the triangle."""
    x, y, z = target[0] - chain[i, 0], target[1] - chain[i, 1], target[2] - chain[i, 2]
    c = math.sqrt(x * x + y * y + z * z)
    bx, by, bz = (
        chain[i + 1, 0] - chain[i, 0],
        chain[i + 1, 1] - chain[i, 1],
        chain[i + 1, 2] - chain[i, 2],
    )
    if c <= NEAREST:
        return
    along, across = triangle_angle(chain[i, LENGTH], rest, c)
    x, y, z = x / c, y / c, z / c
    ux, uy, uz = unit_across(bx, by, bz, x, y, z)
    u, v, w, sine, cosine = turn_between(
        bx,
        by,
        bz,
        along * x + across * ux,
        along * y + across * uy,
        along * z + across * uz,
        math.pi,
    )
    turn_chain(chain, i, u, v, w, sine, cosine)


@kernel
def _aim_rest(chain: Array, i: int, target: Array) -> None:
    """Turn all beyond joint i stiffly so that the end effector lies towards the target."""
    end = chain.shape[0] - 1
    if i == end:
        return
    px, py, pz = chain[i, 0], chain[i, 1], chain[i, 2]
    u, v, w, sine, cosine = turn_between(
        chain[end, 0] - px,
        chain[end, 1] - py,
        chain[end, 2] - pz,
        target[0] - px,
        target[1] - py,
        target[2] - pz,
        math.pi,
    )
    turn_chain(chain, i, u, v, w, sine, cosine)
