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

"""One round of a method for single chains on a tree: solve the points, then lead the joints there.

The methods know points only, and one end effector (A. Aristidou and J. Lasenby, "FABRIK: a fast,
iterative solver for the inverse kinematics problem", 2011, sections 2 and 5.1, on triangulation
and follow the leader). So each task in turn moves the joints on its way that no task before it has
moved; then each of these joints, from the root on and within its limits, takes the value that
brings the next points nearest to where the method wants them. What the joints cannot do shows in
the errors, and the next round starts from where they are.
"""

import math
from typing import Any

from vr_ik.kinematics.compiled import kernel
from vr_ik.kinematics.kernels import body_poses, compose
from vr_ik.kinematics.tree import FREE, KIND, REVOLUTE
from vr_ik.solvers.chains import distance, LENGTH
from vr_ik.solvers.ftl_chain import ftl_chain
from vr_ik.solvers.geometric_kernel import run
from vr_ik.solvers.geometric_state import (
    centre,
    count_all_tasks,
    FTL,
    METHOD,
    POSITION,
    Problem,
    TRIANGULATION,
    Work,
)
from vr_ik.solvers.hinge_moves import (
    carry_pose,
    frame_turn_terms,
    to_local,
    to_world,
    turn_terms,
)
from vr_ik.solvers.joint_points import TASKS
from vr_ik.solvers.joint_steps import is_own, place_body, slide_joint, turn_joint
from vr_ik.solvers.root_step import fit_root
from vr_ik.solvers.target_triangle_chain import target_triangle_chain
from vr_ik.solvers.triangulation_chain import triangulation_chain
from vr_ik.types import Array

_CHAIN_ITERATIONS = 50
# Pull of each point further on in the chain than the next, as a share of the one before it, and
# the least pull that counts.
_DECAY = 0.1
_LEAST = 0.005


@kernel
def chain_round(p: Problem, w: Work) -> None:
    """Move the root as a rigid body, then solve one task after the other."""
    count_all_tasks(p, w)
    fit_root(p, w)
    body_poses(p.body_ints, p.body_floats, w.q, w.poses)
    for task in range(p.task_bodies.shape[0]):
        if p.task_bodies[task] < 0 or max(p.weights[task, 0], p.weights[task, 1]) <= 0.0:
            continue
        # Where the bodies are before this task moves them.
        body_poses(p.body_ints, p.body_floats, w.q, w.wanted)
        rows, first = _write_chain(p, w, task)
        if rows > 0 and p.weights[task, 0] > 0.0:
            _solve_chain(p, w, rows)
        _lead_joints(p, w, task, rows, first)
        for body in range(p.body_ints.shape[0]):
            if moves(p, body, task):
                w.used[body] = 1.0


@kernel
def moves(p: Problem, body: int, task: int) -> bool:
    """Tell whether a body's joint moves a task."""
    for k in range(p.points[body, TASKS], p.points[body + 1, TASKS]):
        if p.lists[k] == task:
            return True
    return False


@kernel
def _write_chain(p: Problem, w: Work, task: int) -> tuple[int, int]:
    """Write the chain of points that this task may move; return its rows and where they begin.

    The rows are those of p.lists from the second number on. Where the task has an orientation, the
    chain ends at the last joint, whose place the target's pose tells; else at the task's point.
    """
    n = p.body_ints.shape[0]
    first, end = p.chains[task], p.chains[task + 1]
    while p.lists[first] < n and (
        w.used[p.lists[first]] > 0.0 or p.body_ints[p.lists[first], KIND] == FREE
    ):
        first += 1
    if p.weights[task, 1] > 0.0 and end - first > 2:
        end -= 1
    rows = end - first
    for row in range(rows):
        x, y, z = point_at(p, w.wanted, p.lists[first + row])
        w.chain[row, 0], w.chain[row, 1], w.chain[row, 2] = x, y, z
    for row in range(rows - 1):
        w.chain[row, LENGTH] = distance(w.chain[row], w.chain[row + 1])
    if rows > 0:
        w.chain[rows - 1, LENGTH] = 0.0
    _write_goal(p, w, task, p.lists[end - 1])
    return rows, first


@kernel
def point_at(p: Problem, poses: Array, point: int) -> tuple[float, float, float]:
    """Return where a point is when the bodies are at `poses`."""
    n = p.body_ints.shape[0]
    if point < n:
        return centre(p, poses[point], point)
    place = p.task_placements[point - n]
    return to_world(poses[p.task_bodies[point - n]], place[9], place[10], place[11])


@kernel
def _write_goal(p: Problem, w: Work, task: int, point: int) -> None:
    """Write where the chain's last point should be to w.reference."""
    target = p.targets[task]
    for i in range(3):
        w.reference[i] = target[i, 3]
    if point < p.body_ints.shape[0]:
        # The last joint's centre, seen from the task's frame, at the target.
        body = p.task_bodies[task]
        compose(w.wanted[body], p.task_placements[task], w.pose)
        x, y, z = centre(p, w.wanted[point], point)
        x, y, z = to_local(w.pose, x, y, z)
        for i in range(3):
            w.reference[i] += target[i, 0] * x + target[i, 1] * y + target[i, 2] * z


@kernel
def _solve_chain(p: Problem, w: Work, rows: int) -> None:
    """Write where the method wants the points; one alone, whose joints meet there, at its goal."""
    if rows == 1:
        for i in range(3):
            w.chain_out[0, i] = w.reference[i]
        return
    chain, out = w.chain[:rows], w.chain_out[:rows]
    method = int(p.settings[METHOD])
    tolerance = 0.1 * p.settings[POSITION]
    if method == FTL:
        ftl_chain(chain, w.reference, tolerance, _CHAIN_ITERATIONS, w.followers[:rows], out)
    elif method == TRIANGULATION:
        triangulation_chain(chain, w.reference, out)
    else:
        target_triangle_chain(chain, w.reference, tolerance, _CHAIN_ITERATIONS, out)


@kernel
def _lead_joints(p: Problem, w: Work, task: int, rows: int, first: int) -> None:
    """Lead the joints on the way to a task, from the root on, to the chain's points."""
    row = 0
    for body in range(p.body_ints.shape[0]):
        if p.body_ints[body, KIND] == FREE:
            continue
        place_body(p, w, body)
        if w.used[body] > 0.0 or not moves(p, body, task) or not is_own(p, body):
            continue
        while row < rows and p.lists[first + row] <= body:
            row += 1
        if p.body_ints[body, KIND] == REVOLUTE:
            sine, cosine = _turn_sums(p, w, task, body, row, rows, first)
            turn_joint(p, w, body, sine, cosine, math.inf)
        elif row < rows and p.weights[task, 0] > 0.0:
            slide_joint(p, w, body, _slide(p, w, body, row, p.lists[first + row]), math.inf)


@kernel
def _carried(p: Problem, w: Work, body: int, point: int) -> tuple[float, float, float]:
    """Return where a point is now that `body` has moved, and nothing beyond it."""
    x, y, z = point_at(p, w.wanted, point)
    x, y, z = to_local(w.wanted[body], x, y, z)
    return to_world(w.poses[body], x, y, z)


@kernel
def _slide(p: Problem, w: Work, body: int, row: int, point: int) -> float:
    """Return how far along its axis a slide should go for the next point [m]."""
    x, y, z = _carried(p, w, body, point)
    goal, pose = w.chain_out[row], w.poses[body]
    return (goal[0] - x) * pose[2] + (goal[1] - y) * pose[5] + (goal[2] - z) * pose[8]


@kernel
def _turn_sums(
    p: Problem, w: Work, task: int, body: int, row: int, rows: int, first: int
) -> tuple[float, float]:
    """Return the sums of `hinge_moves` over the next points, and the task's frame at the end."""
    pose = w.poses[body]
    sine, cosine, weight = 0.0, 0.0, 1.0
    if p.weights[task, 0] > 0.0:
        while row < rows and weight > _LEAST:
            x, y, z = _carried(p, w, body, p.lists[first + row])
            goal = w.chain_out[row]
            s, c = turn_terms(
                pose,
                x - pose[9],
                y - pose[10],
                z - pose[11],
                goal[0] - pose[9],
                goal[1] - pose[10],
                goal[2] - pose[11],
            )
            sine, cosine = sine + weight * s, cosine + weight * c
            row, weight = row + 1, _DECAY * weight
    if weight > _LEAST and p.weights[task, 1] > 0.0:
        s, c = _frame_sums(p, w, task, body)
        sine, cosine = sine + weight * s, cosine + weight * c
    return sine, cosine


@kernel
def _frame_sums(p: Problem, w: Work, task: int, body: int) -> tuple[float, float]:
    """Return the sums for a task's frame, carried along with a body, to be at its target."""
    target, pose, frame = p.targets[task], w.poses[body], w.other
    compose(w.wanted[p.task_bodies[task]], p.task_placements[task], w.pose)
    carry_pose(w.wanted[body], pose, w.pose, frame)
    sine, cosine, ratio = 0.0, 0.0, 1.0
    if p.weights[task, 0] > 0.0:
        ratio = p.weights[task, 1] / p.weights[task, 0]
        sine, cosine = turn_terms(
            pose,
            frame[9] - pose[9],
            frame[10] - pose[10],
            frame[11] - pose[11],
            target[0, 3] - pose[9],
            target[1, 3] - pose[10],
            target[2, 3] - pose[11],
        )
    s, c = frame_turn_terms(pose, frame, target)
    return sine + ratio * s, cosine + ratio * c


@kernel
def solve_chain(*given: Any) -> bool:
    """Solve by such rounds; see `geometric_kernel.run`."""
    return run(chain_round, given)
