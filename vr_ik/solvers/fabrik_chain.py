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

"""FABRIK on a bare chain of points without limits.

A. Aristidou and J. Lasenby, "FABRIK: a fast, iterative solver for the inverse kinematics problem",
2011, algorithm 1; E. Stolpe, "Inverse kinematics for arm pose reconstruction in virtual reality",
2021, section 2.3. Limits, several end effectors and closed loops are in `fabrik_tree`.

Where the stages creep, as they do near the border of the reach, stage 1 overshoots: it puts the
end effector beyond the target by a multiple of the gap, which grows while less than half of the
gap goes in an iteration. The papers have no such thing; the first iteration is theirs, and so are
those of a chain that is flat, which an overshoot would fold up on the line to the target. A chain
that is folded up flat all the same would creep for thousands of iterations: where the gap is not
halved in a hundred, triangulation's pass lays the chain out anew.
"""

import math

from vr_ik.kinematics.compiled import kernel
from vr_ik.solvers.chains import (
    copy_chain,
    distance,
    LENGTH,
    place,
    place_out_of_reach,
    sideways,
)
from vr_ik.solvers.triangulation_chain import PATIENCE, triangulation_chain
from vr_ik.types import Array

# How far beyond the target stage 1 puts the end effector at most, as a multiple of the gap.
_MOST_OVERSHOOT = 64.0
# A chain is flat whose points are nearer to the line than this share of sqrt(length^2 - line^2):
# a chain of two equal bones has half of it. Found on chains that begin nearly straight.
_FLAT = 0.4


@kernel
def fabrik_chain(
    chain: Array, target: Array, tolerance: float, max_iterations: int, out: Array
) -> tuple[int, float]:
    """Write `chain` (n, 4) moved so that its end is at the target; return iterations and distance.

    Both arrays are as `chains` describes them; `out` may be `chain`. A target out of reach is
    pointed at in one iteration. What is not finite moves nothing, and gives infinity for distance.
    """
    n = chain.shape[0]
    if not copy_chain(chain, target, out):
        return 0, math.inf
    gap = distance(out[n - 1], target)
    if gap > tolerance and place_out_of_reach(out, target):
        return 1, distance(out[n - 1], target)
    overshoot, checked_gap = 0.0, math.inf
    for iteration in range(max_iterations):
        if gap <= tolerance:
            return iteration, gap
        if iteration % PATIENCE == 0:
            if gap > 0.5 * checked_gap:
                triangulation_chain(out, target, out)
                return iteration + 1, distance(out[n - 1], target)
            checked_gap = gap
        x = overshoot * (target[0] - out[n - 1, 0])
        y = overshoot * (target[1] - out[n - 1, 1])
        z = overshoot * (target[2] - out[n - 1, 2])
        if iteration == 0:
            x, y, z = sideways(out, target)
        root_x, root_y, root_z = out[0, 0], out[0, 1], out[0, 2]
        # Stage 1, lines 1.19 to 1.28: from the end effector, put on the target, to the root.
        out[n - 1, 0] = target[0] + x
        out[n - 1, 1] = target[1] + y
        out[n - 1, 2] = target[2] + z
        for i in range(n - 2, -1, -1):
            place(out, i, i + 1, out[i, LENGTH])
        # Stage 2, lines 1.29 to 1.38: from the root, put back, to the end effector.
        out[0, 0], out[0, 1], out[0, 2] = root_x, root_y, root_z
        for i in range(1, n):
            place(out, i, i - 1, out[i - 1, LENGTH])
        before, gap = gap, distance(out[n - 1], target)
        overshoot = _next_overshoot(overshoot, before, gap)
        if overshoot > 0.0 and _is_flat(out, target):
            overshoot = 0.0
    return max_iterations, gap


@kernel
def _next_overshoot(overshoot: float, before: float, gap: float) -> float:
    """Return how far to overshoot next, from the gap before an iteration and after it."""
    if gap > before:
        return 0.0
    if gap > 0.5 * before:
        return min(2.0 * overshoot + 0.5, _MOST_OVERSHOOT)
    return 0.5 * overshoot


@kernel
def _is_flat(chain: Array, target: Array) -> bool:
    """Tell whether all points are near the line from the root to the target."""
    x, y, z = target[0] - chain[0, 0], target[1] - chain[0, 1], target[2] - chain[0, 2]
    square = x * x + y * y + z * z
    total, widest = 0.0, 0.0
    for i in range(1, chain.shape[0]):
        total += chain[i - 1, LENGTH]
        a, b, c = chain[i, 0] - chain[0, 0], chain[i, 1] - chain[0, 1], chain[i, 2] - chain[0, 2]
        u, v, w = y * c - z * b, z * a - x * c, x * b - y * a
        widest = max(widest, u * u + v * v + w * w)
    return widest < _FLAT * _FLAT * (total * total - square) * square
