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

"""One round of FABRIK on the bodies of a tree, with its hinges, slides and limits in both stages.

A. Aristidou and J. Lasenby, "FABRIK: a fast, iterative solver for the inverse kinematics problem",
2011. Bodies stand for the paper's bones. Stage 1 goes from the targets to the root: a body with a
target is put there (with its orientation where that has a weight, section 4.3), and each parent is
hung on its child by their joint, at the angle within limits that leaves the end of its bone
nearest to where it was. For a ball joint that is the point on the line of algorithm 1, line 1.27;
for a hinge it is the projection on the plane of figure 7. A body with several loaded children, or
with a target of its own (sections 4.1 and 4.2), goes where it fits all of them best: with one
common joint that is the centroid of section 4.1. Stage 2 starts from the root, back in its place
unless it is free to move, and gives each joint the value within limits that leads its bone to
where stage 1 wants the end of it.

A ball joint of a URDF is three hinges, each with limits of its own: stage 2 goes
over them again, so that its bone comes as near as the limits let it: the paper's projection
on the cone, for limits that are no cone. With the option `limits: cones` stage 2 limits the bone
to a cone and a twist first, and its hinges follow (`fabrik_cones`). Lest the stages stand still
between limits and targets, these are shifted (`fabrik_shift`).
"""

import math
from typing import Any

from vr_ik.kinematics.compiled import kernel
from vr_ik.kinematics.kernels import body_poses
from vr_ik.kinematics.tree import FREE, KIND, PARENT, REVOLUTE
from vr_ik.solvers.fabrik_cones import LAST, lead_cone, LED, NONE
from vr_ik.solvers.fabrik_fit import DECAY, fit_body, is_fitted, LEAST, write_parent
from vr_ik.solvers.fabrik_shift import shift_targets
from vr_ik.solvers.geometric_kernel import run
from vr_ik.solvers.geometric_state import (
    centre,
    count_all_tasks,
    LARGEST_STEP,
    Problem,
    ROUNDS,
    Work,
)
from vr_ik.solvers.hinge_moves import best_turn, to_local, to_world, turn_terms
from vr_ik.solvers.joint_points import NEXT, PREVIOUS
from vr_ik.solvers.joint_steps import (
    is_own,
    joint_range,
    joint_value,
    place_body,
    set_joint_value,
    slide_joint,
    turn_joint,
)
from vr_ik.solvers.root_step import fit_root, write_root
from vr_ik.solvers.solve_values import copy
from vr_ik.types import Array

# Share of a point's pull that a body's orientation has: it settles what the point leaves open.
_ORIENTATION_PULL = 1e-2
# Passes over the hinges of a ball joint with limits.
_BALL_PASSES = 2


@kernel
def fabrik_round(p: Problem, w: Work) -> None:
    """Reach from the targets to the root and back; w.poses are those at w.q."""
    if w.notes[ROUNDS] == 0.0:
        # A root that moves takes along all that hangs on it.
        count_all_tasks(p, w)
        fit_root(p, w)
        body_poses(p.body_ints, p.body_floats, w.q, w.poses)
    shift_targets(p, w)
    w.notes[ROUNDS] += 1.0
    copy(w.q, w.q_before)
    count_all_tasks(p, w)
    _reach_inward(p, w)
    _reach_outward(p, w)
    # Steps count from the start of the round.
    w.notes[LARGEST_STEP] = 0.0
    for i in range(w.q.shape[0]):
        step = abs(w.q[i] - w.q_before[i])
        w.notes[LARGEST_STEP] = max(w.notes[LARGEST_STEP], step)


@kernel
def _reach_inward(p: Problem, w: Work) -> None:
    """Stage 1: write where the bodies should be, from the targets to the root."""
    for body in range(p.body_ints.shape[0] - 1, -1, -1):
        if w.load[body] <= 0.0:
            continue
        if is_fitted(p, w, body):
            fit_body(p, w, body)
        parent = p.body_ints[body, PARENT]
        if parent >= 0 and p.body_ints[body, KIND] != FREE:
            _hang_parent(p, w, body, parent)


@kernel
def _reach_outward(p: Problem, w: Work) -> None:
    """Stage 2: lead the joints there, from the root on."""
    for body in range(p.body_ints.shape[0]):
        if p.body_ints[body, KIND] == FREE:
            if w.load[body] > 0.0:
                write_root(w, w.wanted[body])
                for i in range(12):
                    w.poses[body, i] = w.wanted[body, i]
            continue
        cone = p.params[body, LAST] if p.params.shape[0] > 0 else NONE
        if cone == LED:
            continue
        if cone >= 0.0 and w.load[body] > 0.0:
            lead_cone(p, w, body)
            continue
        place_body(p, w, body)
        if w.load[body] > 0.0 and is_own(p, body):
            _lead_bone(p, w, body)
            _lead_ball(p, w, body)


@kernel
def _hang_parent(p: Problem, w: Work, body: int, parent: int) -> None:
    """Place the parent by its joint to a body, nearest to where the parent was; stage 1."""
    child = w.wanted[body]
    value = joint_value(p, w.q, body)
    kind = p.body_ints[body, KIND]
    held = 0.0
    write_parent(p, body, child, value, w.pose, w.other)
    if is_own(p, body):
        lower, upper = joint_range(p, body)
        before = p.points[body, PREVIOUS]
        if kind == REVOLUTE:
            sine, cosine = _parent_sums(p, w, body, parent, before)
            # The parent turns against the joint's angle.
            value = best_turn(value, -sine, cosine, lower, upper)
        elif before >= 0:
            x, y, z = centre(p, w.poses[before], before)
            a, b, c = to_local(w.poses[parent], x, y, z)
            a, b, c = to_world(w.pose, a, b, c)
            slide = (a - x) * child[2] + (b - y) * child[5] + (c - z) * child[8]
            value = min(max(value + slide, lower), upper)
        held = 1.0 if value <= lower or value >= upper else 0.0
        set_joint_value(p, w, body, value)
        value = joint_value(p, w.q, body)
        write_parent(p, body, child, value, w.pose, w.other)
    # Of the hinges of a ball joint the first tells for all.
    w.used[body] = max(w.used[body], held)
    if p.points[body, PREVIOUS] != parent:
        w.used[parent] = w.used[body]
    if not is_fitted(p, w, parent):
        for i in range(12):
            w.wanted[parent, i] = w.pose[i]


@kernel
def _parent_sums(p: Problem, w: Work, body: int, parent: int, before: int) -> tuple[float, float]:
    """Return the sums of `hinge_moves` for the parent, at w.pose, to be where it was."""
    axis = w.wanted[body]
    old = w.poses[parent]
    sine, cosine, pull = 0.0, 0.0, 1e-9
    weight = 1.0
    while before >= 0 and weight > LEAST:
        x, y, z = centre(p, w.poses[before], before)
        a, b, c = to_local(old, x, y, z)
        a, b, c = to_world(w.pose, a, b, c)
        a, b, c = a - axis[9], b - axis[10], c - axis[11]
        x, y, z = x - axis[9], y - axis[10], z - axis[11]
        s, t = turn_terms(axis, a, b, c, x, y, z)
        sine, cosine = sine + weight * s, cosine + weight * t
        pull += _ORIENTATION_PULL * weight * (a * a + b * b + c * c)
        before, weight = p.points[before, PREVIOUS], DECAY * weight
    for i in range(3):
        s, t = turn_terms(
            axis, w.pose[i], w.pose[3 + i], w.pose[6 + i], old[i], old[3 + i], old[6 + i]
        )
        sine, cosine = sine + pull * s, cosine + pull * t
    return sine, cosine


@kernel
def _lead_ball(p: Problem, w: Work, last: int) -> None:
    """Bring the hinges that meet in a body's centre nearest to what stage 1 wants; stage 2.

    One hinge after the other they do so where they are free; with limits, what one cannot do the
    others may.
    """
    body, count, limited = last, 0, False
    while p.body_ints[body, KIND] == REVOLUTE:
        count += 1
        lower, upper = joint_range(p, body)
        limited = limited or upper - lower < 2.0 * math.pi
        if p.points[body, PREVIOUS] == p.body_ints[body, PARENT]:
            break
        body = p.body_ints[body, PARENT]
    if not limited or count == 1:
        return
    for _ in range(_BALL_PASSES):
        for above in range(count - 1, -1, -1):
            for k in range(above, -1, -1):
                place_body(p, w, _ancestor(p, last, k))
            body = _ancestor(p, last, above)
            if is_own(p, body):
                sine, cosine = _bone_sums(p, w, last, w.poses[body])
                turn_joint(p, w, body, sine, cosine, math.inf)


@kernel
def _ancestor(p: Problem, body: int, steps: int) -> int:
    for _ in range(steps):
        body = p.body_ints[body, PARENT]
    return body


@kernel
def _lead_bone(p: Problem, w: Work, body: int) -> None:
    """Give a joint the value that leads what hangs on it to where stage 1 wants it; stage 2."""
    if p.body_ints[body, KIND] == REVOLUTE:
        sine, cosine = _bone_sums(p, w, body, w.poses[body])
        turn_joint(p, w, body, sine, cosine, math.inf)
    else:
        pose, wanted = w.poses[body], w.wanted[body]
        way = 0.0
        for i in range(3):
            way += (wanted[9 + i] - pose[9 + i]) * pose[3 * i + 2]
        slide_joint(p, w, body, way, math.inf)


@kernel
def _bone_sums(p: Problem, w: Work, body: int, axis: Array) -> tuple[float, float]:
    """Return the sums of `hinge_moves` over the next points and the orientation of a body."""
    pose, wanted = w.poses[body], w.wanted[body]
    sine, cosine, pull = 0.0, 0.0, 1e-9
    for k in range(p.points[body, NEXT], p.points[body + 1, NEXT]):
        s, c, moment = _point_terms(p, w, body, axis, p.lists[k])
        sine, cosine, pull = sine + s, cosine + c, pull + _ORIENTATION_PULL * moment
    pull = max(pull, _task_turn_weight(p, body))
    for i in range(3):
        s, c = turn_terms(
            axis, pose[i], pose[3 + i], pose[6 + i], wanted[i], wanted[3 + i], wanted[6 + i]
        )
        sine, cosine = sine + pull * s, cosine + pull * c
    return sine, cosine


@kernel
def _point_terms(
    p: Problem, w: Work, body: int, axis: Array, point: int
) -> tuple[float, float, float]:
    """Return the terms of one next point, and its weight times its squared distance."""
    n = p.body_ints.shape[0]
    if point < n:
        weight = w.load[point]
        x, y, z = centre(p, w.wanted[point], point)
        a, b, c = x, y, z
    else:
        task = point - n
        weight = p.weights[task, 0]
        x, y, z = p.targets[task, 0, 3], p.targets[task, 1, 3], p.targets[task, 2, 3]
        x, y, z = x + w.shifts[task, 0], y + w.shifts[task, 1], z + w.shifts[task, 2]
        place = p.task_placements[task]
        a, b, c = to_world(w.wanted[p.task_bodies[task]], place[9], place[10], place[11])
    if weight <= 0.0:
        return 0.0, 0.0, 0.0
    # Stage 1 has the point rigid on the body; here is where the body now carries it.
    a, b, c = to_local(w.wanted[body], a, b, c)
    a, b, c = to_world(w.poses[body], a, b, c)
    a, b, c = a - axis[9], b - axis[10], c - axis[11]
    sine, cosine = turn_terms(axis, a, b, c, x - axis[9], y - axis[10], z - axis[11])
    return weight * sine, weight * cosine, weight * (a * a + b * b + c * c)


@kernel
def _task_turn_weight(p: Problem, body: int) -> float:
    """Return the weight of a body's orientation where targets next to it ask for one."""
    n = p.body_ints.shape[0]
    weight = 0.0
    for k in range(p.points[body, NEXT], p.points[body + 1, NEXT]):
        if p.lists[k] >= n:
            weight += 0.5 * max(p.weights[p.lists[k] - n, 1], 0.0)
    return weight


@kernel
def solve_fabrik(*given: Any) -> bool:
    """Solve by such rounds; see `geometric_kernel.run`."""
    return run(fabrik_round, given)
