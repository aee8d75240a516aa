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

"""Where the elbow of a limb goes: the triangle of shoulder, elbow and wrist, turned to a pole.

E. Stolpe, "Inverse kinematics for arm pose reconstruction in virtual reality", 2021, section 2.5,
equations 15 to 17; A. Gullickson and D. Shervheim, "Avatar modeling with inverse kinematics",
section 3.4, for the choice between a far and a near pole.
"""

import math

from vr_ik.kinematics.compiled import kernel
from vr_ik.solvers.chains import distance
from vr_ik.solvers.geometric_state import Problem, VARIANT, Work
from vr_ik.solvers.joint_steps import joint_range, joint_value
from vr_ik.solvers.limbs import (
    AXES,
    BASE,
    BEND,
    FAR_POLE,
    FIXED_POLE,
    HALF_WIDTH,
    IS_KNEE,
    MARGIN,
    NEAR_POLE,
    OUTWARD,
    POLE_FIXED,
    POLE_KEEP,
)
from vr_ik.solvers.triangulation_chain import unit_across
from vr_ik.types import Array

# Rows of w.chain: shoulder, elbow, wrist, and a point off the shoulder along the elbow's axis; in
# w.chain_out is where the last three should be, in w.followers the unit vectors along the limb, to
# the elbow across it, and across both.
S_ROW, E_ROW, W_ROW, A_ROW = 0, 1, 2, 3
# Of the upper bone's length: an elbow nearer to the line from shoulder to wrist is straight.
_STRAIGHT = 1e-4


@kernel
def _write_triangle(p: Problem, w: Work, task: int) -> None:
    """Write the limb's axes as it is now; the elbow's hinge tells them of a straight one too."""
    chain, axes = w.chain, w.followers
    bend = w.poses[int(p.params[task, BEND])]
    reach, upper = distance(chain[S_ROW], chain[W_ROW]), distance(chain[S_ROW], chain[E_ROW])
    for i in range(3):
        axes[0, i] = (chain[W_ROW, i] - chain[S_ROW, i]) / reach if reach > 0.0 else bend[3 * i]
    x, y, z = (
        chain[E_ROW, 0] - chain[S_ROW, 0],
        chain[E_ROW, 1] - chain[S_ROW, 1],
        chain[E_ROW, 2] - chain[S_ROW, 2],
    )
    u, v, t = unit_across(x, y, z, axes[0, 0], axes[0, 1], axes[0, 2])
    if u * x + v * y + t * z < _STRAIGHT * upper:
        u, v, t = _straight_side(p, w, task)
    axes[1, 0], axes[1, 1], axes[1, 2] = u, v, t
    _write_cross(axes)


@kernel
def _straight_side(p: Problem, w: Work, task: int) -> tuple[float, float, float]:
    """Return where a straight limb's elbow will point: away from where the wrist can swing."""
    body = int(p.params[task, BEND])
    bend, axes = w.poses[body], w.followers
    lower, upper = joint_range(p, body)
    value = joint_value(p, w.q, body)
    sign = 1.0 if value - lower > upper - value else -1.0
    return unit_across(
        sign * (bend[5] * axes[0, 2] - bend[8] * axes[0, 1]),
        sign * (bend[8] * axes[0, 0] - bend[2] * axes[0, 2]),
        sign * (bend[2] * axes[0, 1] - bend[5] * axes[0, 0]),
        axes[0, 0],
        axes[0, 1],
        axes[0, 2],
    )


@kernel
def _write_cross(axes: Array) -> None:
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        axes[2, i] = axes[0, j] * axes[1, k] - axes[0, k] * axes[1, j]


@kernel
def turn_triangle(p: Problem, w: Work, task: int, swivel: float) -> None:
    """Write where elbow, wrist and axis should be: the triangle turned to goal and pole.

    From there it is turned on by the swivel [rad] about the line to the goal.
    """
    chain, out, axes = w.chain, w.chain_out, w.followers
    _write_triangle(p, w, task)
    for row in range(3):
        for i in range(3):
            # In the limb's axes as they are.
            w.spread[3 * row + i] = 0.0
            for k in range(3):
                w.spread[3 * row + i] += axes[i, k] * (chain[E_ROW + row, k] - chain[S_ROW, k])
    x, y, z = _pole_direction(p, w, task)
    norm = distance(chain[S_ROW], w.reference)
    if norm > 0.0:
        for i in range(3):
            axes[0, i] = (w.reference[i] - chain[S_ROW, i]) / norm
    x, y, z = unit_across(x, y, z, axes[0, 0], axes[0, 1], axes[0, 2])
    axes[1, 0], axes[1, 1], axes[1, 2] = x, y, z
    _write_cross(axes)
    for i in range(3):
        axes[1, i] = math.cos(swivel) * axes[1, i] + math.sin(swivel) * axes[2, i]
    _write_cross(axes)
    for row in range(3):
        for i in range(3):
            out[row, i] = chain[S_ROW, i]
            for k in range(3):
                out[row, i] += w.spread[3 * row + k] * axes[k, i]


@kernel
def _pole_direction(p: Problem, w: Work, task: int) -> tuple[float, float, float]:
    """Return the direction of the pole from the shoulder."""
    if p.settings[VARIANT] != POLE_KEEP:
        return _to_world_axes(p, w, task, _pole_offset(p, w, task))
    x, y, z = w.followers[1, 0], w.followers[1, 1], w.followers[1, 2]
    if p.weights[task, 1] > 0.0:
        return _follow_hand(p, w, task, x, y, z)
    return x, y, z


@kernel
def _follow_hand(
    p: Problem, w: Work, task: int, a: float, b: float, c: float
) -> tuple[float, float, float]:
    """Return a direction turned by what the hand still lacks: an ankle cannot twist, a hip can."""
    frame, target = w.task_poses[task], p.targets[task]
    u = frame[0] * a + frame[3] * b + frame[6] * c
    v = frame[1] * a + frame[4] * b + frame[7] * c
    t = frame[2] * a + frame[5] * b + frame[8] * c
    return (
        target[0, 0] * u + target[0, 1] * v + target[0, 2] * t,
        target[1, 0] * u + target[1, 1] * v + target[1, 2] * t,
        target[2, 0] * u + target[2, 1] * v + target[2, 2] * t,
    )


@kernel
def _pole_offset(p: Problem, w: Work, task: int) -> int:
    """Return which pole holds: the first of its three entries in the last row of p.params."""
    if p.settings[VARIANT] == POLE_FIXED:
        return FIXED_POLE
    row = p.params[task]
    pose = w.poses[int(row[BASE])] if row[BASE] >= 0.0 else w.pose
    side = 0.0
    for i in range(3):
        # The body's left in the world, times the way from the shoulder to the goal.
        left = row[AXES + 3 * i + 1]
        if row[BASE] >= 0.0:
            left = 0.0
            for k in range(3):
                left += pose[3 * i + k] * row[AXES + 3 * k + 1]
        side += left * (w.reference[i] - w.chain[S_ROW, i])
    side *= row[OUTWARD]
    margin = p.params[p.params.shape[0] - 1, MARGIN]
    near = -2.0 * row[HALF_WIDTH] - margin <= side <= margin
    return NEAR_POLE if near else FAR_POLE


@kernel
def _to_world_axes(p: Problem, w: Work, task: int, pole: int) -> tuple[float, float, float]:
    """Return a pole's offset from the shoulder, given in the body's axes, in the world."""
    row, poles = p.params[task], p.params[p.params.shape[0] - 1]
    x, y, z = poles[pole], row[OUTWARD] * poles[pole + 1], poles[pole + 2]
    if row[IS_KNEE] > 0.0:  # Knees point forward, whatever the elbows do.
        x, y, z = 1.0, 0.0, 0.0
    a = row[AXES] * x + row[AXES + 1] * y + row[AXES + 2] * z
    b = row[AXES + 3] * x + row[AXES + 4] * y + row[AXES + 5] * z
    c = row[AXES + 6] * x + row[AXES + 7] * y + row[AXES + 8] * z
    if row[BASE] < 0.0:
        return a, b, c
    pose = w.poses[int(row[BASE])]
    return (
        pose[0] * a + pose[1] * b + pose[2] * c,
        pose[3] * a + pose[4] * b + pose[5] * c,
        pose[6] * a + pose[7] * b + pose[8] * c,
    )
