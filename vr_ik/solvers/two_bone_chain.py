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

"""Two bones, solved by the cosine rule, and poles that say which way a limb bends.

The pole is after E. Stolpe, "Inverse kinematics for arm pose reconstruction in virtual reality",
2021, section 2.5.
"""

import math

from vr_ik.kinematics.compiled import kernel
from vr_ik.solvers.chains import copy_chain, distance, LENGTH
from vr_ik.solvers.triangulation_chain import triangle_angle, unit_across
from vr_ik.types import Array


@kernel
def two_bone_chain(chain: Array, target: Array, pole: Array, out: Array) -> tuple[int, float]:
    """Write a chain of three points (3, 4) with its end at the target; return 1 and the distance.

    Of all places of the middle joint, on a circle about the line from root to target, it takes the
    one nearest to the pole; a pole at the middle joint's own place turns it as little as possible.
    Out of reach, the limb is straight towards the target, or folded where it is too near.
    """
    if not copy_chain(chain, target, out):
        return 0, math.inf
    x, y, z = target[0] - out[0, 0], target[1] - out[0, 1], target[2] - out[0, 2]
    c = math.sqrt(x * x + y * y + z * z)
    if c > 0.0:
        x, y, z = x / c, y / c, z / c
    else:
        x, y, z = unit_across(1.0, 0.0, 0.0, 0.0, 0.0, 1.0)
    along, across = triangle_angle(out[0, LENGTH], out[1, LENGTH], c)
    u, v, w = unit_across(pole[0] - out[0, 0], pole[1] - out[0, 1], pole[2] - out[0, 2], x, y, z)
    upper, lower = out[0, LENGTH], out[1, LENGTH]
    out[1, 0] = out[0, 0] + upper * (along * x + across * u)
    out[1, 1] = out[0, 1] + upper * (along * y + across * v)
    out[1, 2] = out[0, 2] + upper * (along * z + across * w)
    a, b, d = target[0] - out[1, 0], target[1] - out[1, 1], target[2] - out[1, 2]
    norm = math.sqrt(a * a + b * b + d * d)
    a, b, d = (a / norm, b / norm, d / norm) if norm > 1e-12 * upper else (-x, -y, -z)
    out[2, 0] = out[1, 0] + lower * a
    out[2, 1] = out[1, 1] + lower * b
    out[2, 2] = out[1, 2] + lower * d
    return 1, distance(out[2], target)


@kernel
def turn_to_pole(chain: Array, pole: Array) -> None:
    """Turn each inner joint about the line of its neighbours to its place nearest to the pole.

    Equations 15 to 17 of Stolpe: pole and joint are projected on the plane across that line, and
    the joint turns by the angle between them. Bones keep their lengths, the ends their places.
    """
    for i in range(1, chain.shape[0] - 1):
        before, joint, after = chain[i - 1], chain[i], chain[i + 1]
        x, y, z = after[0] - before[0], after[1] - before[1], after[2] - before[2]
        norm = math.sqrt(x * x + y * y + z * z)
        px, py, pz = pole[0] - before[0], pole[1] - before[1], pole[2] - before[2]
        if not norm > 0.0 or not math.isfinite(px + py + pz):
            continue
        x, y, z = x / norm, y / norm, z / norm
        jx, jy, jz = joint[0] - before[0], joint[1] - before[1], joint[2] - before[2]
        along = jx * x + jy * y + jz * z
        radius = math.sqrt(max(0.0, jx * jx + jy * jy + jz * jz - along * along))
        towards = px * x + py * y + pz * z
        px, py, pz = px - towards * x, py - towards * y, pz - towards * z
        size = math.sqrt(px * px + py * py + pz * pz)
        if size > 0.0:  # A pole on the line itself favours no place.
            scale = radius / size
            joint[0] = before[0] + along * x + scale * px
            joint[1] = before[1] + along * y + scale * py
            joint[2] = before[2] + along * z + scale * pz
