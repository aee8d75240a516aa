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

"""Where a body goes in stage 1 of FABRIK when more than one thing says where it should be.

A. Aristidou and J. Lasenby, "FABRIK: a fast, iterative solver for the inverse kinematics problem",
2011, sections 4.1 and 4.2, for bodies instead of points: the best rigid fit to all that is wanted.
"""

from vr_ik.kinematics.compiled import kernel
from vr_ik.kinematics.tree import FREE, KIND, PARENT, REVOLUTE
from vr_ik.solvers.geometric_state import centre, Problem, Work
from vr_ik.solvers.hinge_moves import fit_rotation, to_local
from vr_ik.solvers.joint_points import PREVIOUS
from vr_ik.solvers.joint_steps import joint_value, move
from vr_ik.types import Array

# Pulls that settle what the targets leave open, as shares of theirs: of the joints before a body,
# of the orientation that a root has, and of those that the joints beyond a body give it.
_STAY_PULL = 1.0
_ROOT_PULL = 1.0
_TURN_PULL = 1.0
# Pull of each joint further on in the chain than the last, as a share of the one before it, and
# the least pull that counts.
DECAY = 0.3
LEAST = 0.02


@kernel
def is_fitted(p: Problem, w: Work, body: int) -> bool:
    """Tell whether a body's place is not simply that which its one loaded child leaves to it."""
    if w.sources[body] != 1.0:
        return True
    for task in range(p.task_bodies.shape[0]):
        if p.task_bodies[task] == body and (p.weights[task, 0] > 0.0 or p.weights[task, 1] > 0.0):
            return True
    return False


@kernel
def fit_body(p: Problem, w: Work, body: int) -> None:
    """Put a body where it fits its targets and its children best."""
    out = w.wanted[body]
    for i in range(12):
        out[i] = w.poses[body, i]
    for i in range(9):
        w.spread[i] = 0.0
    for i in range(7):
        w.other[i] = 0.0
    # First the centroids, then the spread about them: w.other holds both and the mass.
    for stage in range(2):
        _gather_children(p, w, body, stage)
        _gather_tasks(p, w, body, stage)
        if stage == 0:
            for i in range(6):
                w.other[i] = w.other[i] / w.other[6] if w.other[6] > 0.0 else 0.0
    _gather_turns(p, w, body)
    _gather_joints_before(p, w, body)
    fit_rotation(w.spread, out)
    if w.other[6] > 0.0:
        for i in range(3):
            out[9 + i] = w.other[3 + i]
            for k in range(3):
                out[9 + i] -= out[3 * i + k] * w.other[k]


@kernel
def _gather(
    w: Work,
    stage: int,
    weight: float,
    a: float,
    b: float,
    c: float,
    x: float,
    y: float,
    z: float,
) -> None:
    """Count in that point (a, b, c) of a body should be at (x, y, z) in the world."""
    m = w.other
    if stage == 0:
        m[0] += weight * a
        m[1] += weight * b
        m[2] += weight * c
        m[3] += weight * x
        m[4] += weight * y
        m[5] += weight * z
        m[6] += weight
        return
    a, b, c = weight * (a - m[0]), weight * (b - m[1]), weight * (c - m[2])
    x, y, z = x - m[3], y - m[4], z - m[5]
    s = w.spread
    s[0] += a * x
    s[1] += a * y
    s[2] += a * z
    s[3] += b * x
    s[4] += b * y
    s[5] += b * z
    s[6] += c * x
    s[7] += c * y
    s[8] += c * z


@kernel
def _moment(w: Work, body: int) -> float:
    """Return the trace of R S: how firmly what is gathered so far holds the body's turn."""
    moment = 0.0
    for i in range(3):
        for k in range(3):
            moment += w.spread[3 * i + k] * w.poses[body, 3 * k + i]
    return moment


@kernel
def _gather_turns(p: Problem, w: Work, body: int) -> None:
    """Count in how children whose joints are at a limit would have the body turned, by load.

    Without that, a spine would end up at all its limits, with the body never following.
    """
    pose, moment = w.pose, abs(_moment(w, body))
    for child in range(body + 1, p.body_ints.shape[0]):
        if p.body_ints[child, PARENT] != body or w.load[child] <= 0.0 or w.used[child] == 0.0:
            continue
        write_parent(p, child, w.wanted[child], joint_value(p, w.q, child), pose, w.moved)
        share = _TURN_PULL * moment * w.load[child] / w.load[body]
        for i in range(3):
            for k in range(3):
                w.spread[3 * i + k] += share * pose[3 * k + i]


@kernel
def _gather_joints_before(p: Problem, w: Work, body: int) -> None:
    """Count in that the joints before a body should stay where they are."""
    pull = _STAY_PULL * w.load[body]
    for task in range(p.task_bodies.shape[0]):
        if p.task_bodies[task] == body and p.weights[task, 1] > 0.0:
            pull = 1e-6 * w.load[body]
    if p.body_ints[body, KIND] == FREE and pull > 1e-5 * w.load[body]:
        share = _ROOT_PULL * abs(_moment(w, body))
        for i in range(3):
            for k in range(3):
                w.spread[3 * i + k] += share * w.poses[body, 3 * k + i]
    before, weight = p.points[body, PREVIOUS], 1.0
    while before >= 0 and weight > LEAST:
        x, y, z = centre(p, w.poses[before], before)
        a, b, c = to_local(w.poses[body], x, y, z)
        _gather(w, 1, weight * pull, a, b, c, x, y, z)
        before, weight = p.points[before, PREVIOUS], DECAY * weight


@kernel
def _gather_children(p: Problem, w: Work, body: int, stage: int) -> None:
    for child in range(body + 1, p.body_ints.shape[0]):
        if p.body_ints[child, PARENT] != body or w.load[child] <= 0.0:
            continue
        row = p.body_floats[child]
        shift = p.centres[child]
        if p.body_ints[child, KIND] != REVOLUTE:
            shift = joint_value(p, w.q, child)
        a, b, c = row[9] + shift * row[2], row[10] + shift * row[5], row[11] + shift * row[8]
        x, y, z = centre(p, w.wanted[child], child)
        _gather(w, stage, w.load[child], a, b, c, x, y, z)


@kernel
def _gather_tasks(p: Problem, w: Work, body: int, stage: int) -> None:
    for task in range(p.task_bodies.shape[0]):
        if p.task_bodies[task] != body:
            continue
        place, target = p.task_placements[task], p.targets[task]
        if p.weights[task, 0] > 0.0:
            _gather(
                w,
                stage,
                p.weights[task, 0],
                place[9],
                place[10],
                place[11],
                target[0, 3] + w.shifts[task, 0],
                target[1, 3] + w.shifts[task, 1],
                target[2, 3] + w.shifts[task, 2],
            )
        if p.weights[task, 1] > 0.0 and stage == 1:
            for i in range(3):
                for j in range(3):
                    for k in range(3):
                        w.spread[3 * i + j] += (
                            0.5 * p.weights[task, 1] * place[3 * i + k] * target[j, k]
                        )


@kernel
def write_parent(
    p: Problem, body: int, child: Array, value: float, out: Array, scratch: Array
) -> None:
    """Write where the parent is when a body is at `child` and its joint at `value`."""
    for i in range(12):
        scratch[i] = child[i]
    move(scratch, p.body_ints[body, KIND], -value)
    row = p.body_floats[body]
    for i in range(3):
        for k in range(3):
            out[3 * i + k] = (
                scratch[3 * i] * row[3 * k]
                + scratch[3 * i + 1] * row[3 * k + 1]
                + scratch[3 * i + 2] * row[3 * k + 2]
            )
    for i in range(3):
        out[9 + i] = scratch[9 + i] - (
            out[3 * i] * row[9] + out[3 * i + 1] * row[10] + out[3 * i + 2] * row[11]
        )
