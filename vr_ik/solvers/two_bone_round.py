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

"""One round of the analytic solution of two-bone limbs on a tree.

A limb is a shoulder, an elbow that bends about one hinge, and a wrist, each a point (see `limbs`).
The elbow's angle follows from the distance of shoulder and wrist; the elbow then goes to the place
nearest to the pole, on a circle about the line from shoulder to wrist (E. Stolpe, "Inverse
kinematics for arm pose reconstruction in virtual reality", 2021, section 2.5, equations 15 to 17);
the hinges of the shoulder lead elbow and wrist there, and those of the wrist turn the hand.
The pole is kept where the elbow is, or fixed (Stolpe, section 4.2), or one of two, for a hand far
out or near the body (A. Gullickson and D. Shervheim, "Avatar modeling with inverse kinematics",
section 3.4). Tasks that no limb carries move the root and the joints of no limb by coordinate
descent.
"""

import math
from typing import Any

from vr_ik.kinematics.compiled import kernel
from vr_ik.kinematics.kernels import body_poses
from vr_ik.solvers.ccd_round import sweep, visit_joint
from vr_ik.solvers.chain_round import moves, point_at
from vr_ik.solvers.chains import distance
from vr_ik.solvers.geometric_kernel import run
from vr_ik.solvers.geometric_state import (
    centre,
    count_all_tasks,
    HELD,
    Problem,
    Work,
    write_task_poses,
)
from vr_ik.solvers.hinge_moves import to_local, turn_terms
from vr_ik.solvers.joint_steps import (
    is_own,
    joint_range,
    joint_value,
    place_body,
    set_joint_value,
    turn_joint,
)
from vr_ik.solvers.limb_poles import A_ROW, E_ROW, S_ROW, turn_triangle, W_ROW
from vr_ik.solvers.limbs import BEND, HAS_LIMB, SHOULDER, WRIST
from vr_ik.solvers.root_step import fit_root
from vr_ik.types import Array

_SWEEPS = 40
_SMALLEST_STEP = 1e-12
_FULL_TURN = 2.0 * math.pi
_TIE = 1e-6


@kernel
def two_bone_round(p: Problem, w: Work) -> None:
    """Move root and trunk for the tasks without a limb, then every limb for its own."""
    count_all_tasks(p, w)
    has_trunk_task = False
    for task in range(p.task_bodies.shape[0]):
        if _is_active(w, task) and p.params[task, HAS_LIMB] == 0.0:
            has_trunk_task = True
    for task in range(p.task_bodies.shape[0]):
        if _is_active(w, task) and p.params[task, HAS_LIMB] > 0.0:
            for body in range(int(p.params[task, SHOULDER]), p.body_ints.shape[0]):
                if moves(p, body, task):
                    w.used[body] = 1.0
            if has_trunk_task:
                w.task_weights[task, 0], w.task_weights[task, 1] = 0.0, 0.0
    fit_root(p, w)
    if has_trunk_task:
        sweep(p, w, False)
    for task in range(p.task_bodies.shape[0]):
        if leads_limb(p, task):
            solve_limb(p, w, task, 0.0, _SMALLEST_STEP)


@kernel
def _is_active(w: Work, task: int) -> bool:
    return max(w.task_weights[task, 0], w.task_weights[task, 1]) > 0.0


@kernel
def leads_limb(p: Problem, task: int) -> bool:
    """Tell whether a task has a limb, and a weight."""
    return p.params[task, HAS_LIMB] > 0.0 and max(p.weights[task, 0], p.weights[task, 1]) > 0.0


@kernel
def solve_limb(p: Problem, w: Work, task: int, swivel: float, least_step: float) -> None:
    """Bring a task to its target by its limb alone, until hinges turn by less than that [rad].

    The elbow is turned from its pole by the swivel [rad], about the line from shoulder to wrist.
    """
    body_poses(p.body_ints, p.body_floats, w.q, w.poses)
    oriented = p.weights[task, 1] > 0.0
    if oriented:
        _turn_hand(p, w, task, least_step)
    if p.weights[task, 0] > 0.0:
        _write_goal(p, w, task, oriented)
        _write_limb(p, w, task, oriented)
        bend = int(p.params[task, BEND])
        if is_own(p, bend):
            _bend_elbow(p, w, bend)
        body_poses(p.body_ints, p.body_floats, w.q, w.poses)
        _write_limb(p, w, task, oriented)
        turn_triangle(p, w, task, swivel)
        _turn_shoulder(p, w, task, least_step)
    if oriented:
        _turn_hand(p, w, task, least_step)


@kernel
def _write_goal(p: Problem, w: Work, task: int, oriented: bool) -> None:
    """Write where the wrist (or, without orientation, the task's point) should be: w.reference."""
    target = p.targets[task]
    for i in range(3):
        w.reference[i] = target[i, 3]
    if oriented:
        write_task_poses(p, w)
        wrist = int(p.params[task, WRIST])
        x, y, z = centre(p, w.poses[wrist], wrist)
        x, y, z = to_local(w.task_poses[task], x, y, z)
        for i in range(3):
            w.reference[i] += target[i, 0] * x + target[i, 1] * y + target[i, 2] * z


@kernel
def _write_limb(p: Problem, w: Work, task: int, oriented: bool) -> None:
    """Write where shoulder, elbow and wrist (or the task's point) are."""
    wrist = int(p.params[task, WRIST]) if oriented else p.body_ints.shape[0] + task
    for row in range(3):
        point = int(p.params[task, SHOULDER + row]) if row < 2 else wrist
        x, y, z = point_at(p, w.poses, point)
        w.chain[row, 0], w.chain[row, 1], w.chain[row, 2] = x, y, z
    upper = distance(w.chain[S_ROW], w.chain[E_ROW])
    bend = w.poses[int(p.params[task, BEND])]
    for i in range(3):
        w.chain[A_ROW, i] = w.chain[S_ROW, i] + upper * bend[3 * i + 2]


@kernel
def _bend_elbow(p: Problem, w: Work, body: int) -> None:
    """Bend the elbow so that the wrist is as far from the shoulder as its goal is.

    With s and v from the elbow to shoulder and wrist, |s - R(d) v| = c holds where
    A sin d + B cos d = ((s.s + v.v - c c) / 2 - (s.z)(v.z)), the sums of `hinge_moves`: the cosine
    rule for any hinge, also one that is not across the bones.
    """
    pose, chain = w.poses[body], w.chain
    vx, vy, vz = (
        chain[W_ROW, 0] - chain[E_ROW, 0],
        chain[W_ROW, 1] - chain[E_ROW, 1],
        chain[W_ROW, 2] - chain[E_ROW, 2],
    )
    sx, sy, sz = (
        chain[S_ROW, 0] - chain[E_ROW, 0],
        chain[S_ROW, 1] - chain[E_ROW, 1],
        chain[S_ROW, 2] - chain[E_ROW, 2],
    )
    sine, cosine = turn_terms(pose, vx, vy, vz, sx, sy, sz)
    size = math.sqrt(sine * sine + cosine * cosine)
    if not size > 0.0:
        return
    c = distance(chain[S_ROW], w.reference)
    along = (vx * pose[2] + vy * pose[5] + vz * pose[8]) * (
        sx * pose[2] + sy * pose[5] + sz * pose[8]
    )
    squares = sx * sx + sy * sy + sz * sz + vx * vx + vy * vy + vz * vz
    ratio = (0.5 * (squares - c * c) - along) / size
    middle = math.atan2(sine, cosine)
    spread = math.acos(min(max(ratio, -1.0), 1.0))
    value = joint_value(p, w.q, body)
    lower, upper = joint_range(p, body)
    best = _nearest_bend(value, middle, spread, lower, upper)
    if best < lower or best > upper:
        w.notes[HELD] = 1.0
    set_joint_value(p, w, body, best)


@kernel
def _nearest_bend(value: float, middle: float, spread: float, lower: float, upper: float) -> float:
    """Return the one of two angles that is within limits, or the nearer to them, or to `value`.

    A straight limb may bend either way: then it is the one with more room to its limits, and not
    what the rounding of the last digit says.
    """
    best, least = value, math.inf
    inside = 0.5 * (lower + upper)
    if not math.isfinite(inside):
        inside = value
    for sign in (-1.0, 1.0):
        for turn in (-_FULL_TURN, 0.0, _FULL_TURN):
            angle = value + middle + sign * spread + turn
            outside = max(lower - angle, angle - upper, 0.0)
            cost = abs(angle - value) + 1e3 * outside + _TIE * abs(angle - inside)
            if cost < least:
                best, least = angle, cost
    return best


@kernel
def _turn_shoulder(p: Problem, w: Work, task: int, least_step: float) -> None:
    """Turn the shoulder's hinges so that elbow and wrist come to their places."""
    first, last = int(p.params[task, SHOULDER]), int(p.params[task, BEND])
    for _ in range(_SWEEPS):
        largest = 0.0
        for body in range(first, last):
            if not moves(p, body, task):
                continue
            place_body(p, w, body)
            if not is_own(p, body):
                continue
            pose = w.poses[body]
            sine, cosine = 0.0, 0.0
            for row in range(3):
                a, b = w.chain[E_ROW + row], w.chain_out[row]
                s, c = turn_terms(
                    pose,
                    a[0] - pose[9],
                    a[1] - pose[10],
                    a[2] - pose[11],
                    b[0] - pose[9],
                    b[1] - pose[10],
                    b[2] - pose[11],
                )
                sine, cosine = sine + s, cosine + c
            step = turn_joint(p, w, body, sine, cosine, math.inf)
            _carry_points(w, pose, step)
            largest = max(largest, abs(step))
        if largest < least_step:
            break
    body_poses(p.body_ints, p.body_floats, w.q, w.poses)


@kernel
def _carry_points(w: Work, pose: Array, step: float) -> None:
    """Turn elbow, wrist and axis about the z axis of a pose."""
    sine, cosine = math.sin(step), math.cos(step)
    x, y, z = pose[2], pose[5], pose[8]
    for row in range(E_ROW, A_ROW + 1):
        point = w.chain[row]
        a, b, c = point[0] - pose[9], point[1] - pose[10], point[2] - pose[11]
        along = (1.0 - cosine) * (a * x + b * y + c * z)
        point[0] = pose[9] + cosine * a + sine * (y * c - z * b) + along * x
        point[1] = pose[10] + cosine * b + sine * (z * a - x * c) + along * y
        point[2] = pose[11] + cosine * c + sine * (x * b - y * a) + along * z


@kernel
def _turn_hand(p: Problem, w: Work, task: int, least_step: float) -> None:
    """Turn the hinges beyond the elbow's so that the hand takes its orientation."""
    for other in range(p.task_bodies.shape[0]):
        for i in range(2):
            w.task_weights[other, i] = p.weights[task, i] if other == task else 0.0
    body_poses(p.body_ints, p.body_floats, w.q, w.poses)
    write_task_poses(p, w)
    first = int(p.params[task, BEND]) + 1
    for _ in range(_SWEEPS):
        largest = 0.0
        for body in range(first, p.body_ints.shape[0]):
            if moves(p, body, task):
                place_body(p, w, body)
                if is_own(p, body):
                    largest = max(largest, abs(visit_joint(p, w, body, math.inf)))
        if largest < least_step:
            break


@kernel
def solve_two_bone(*given: Any) -> bool:
    """Solve by such rounds; see `geometric_kernel.run`."""
    return run(two_bone_round, given)
