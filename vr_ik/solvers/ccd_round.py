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

"""One sweep of cyclic coordinate descent over the joints of a tree.

Each joint in turn takes the value, within its limits, at which the tasks that it moves are nearest
to their targets, while all other joints stay (L.-C. T. Wang and C. C. Chen, "A combined
optimization method for solving the inverse kinematics problems of mechanical manipulators", 1991;
for ball joints E. Stolpe, "Inverse kinematics for arm pose reconstruction in virtual reality",
2021, equations 12 to 14). Hinges and slides have that value in closed form, with orientations too
and for any number of tasks, so no visit makes the cost larger.
"""

import math
from typing import Any

from vr_ik.kinematics.compiled import kernel
from vr_ik.kinematics.kernels import body_poses
from vr_ik.kinematics.tree import FREE, KIND, Q_INDEX, REVOLUTE
from vr_ik.solvers.geometric_kernel import run
from vr_ik.solvers.geometric_state import (
    CCD,
    count_all_tasks,
    METHOD,
    Problem,
    VARIANT,
    Work,
    write_task_poses,
)
from vr_ik.solvers.hinge_moves import frame_turn_terms, turn_pose, turn_terms
from vr_ik.solvers.joint_points import TASKS
from vr_ik.solvers.joint_steps import is_own, place_body, slide_joint, turn_joint
from vr_ik.solvers.root_step import fit_root


@kernel
def ccd_round(p: Problem, w: Work) -> None:
    """Move the root as a rigid body, then visit every joint once; w.poses are those at w.q."""
    count_all_tasks(p, w)
    fit_root(p, w)
    sweep(p, w, p.settings[VARIANT] != 0.0)


@kernel
def sweep(p: Problem, w: Work, root_first: bool) -> None:
    """Visit every joint that moves a task, and that no method has used yet in this round."""
    body_poses(p.body_ints, p.body_floats, w.q, w.poses)
    write_task_poses(p, w)
    n = p.body_ints.shape[0]
    for visit in range(n):
        body = visit if root_first else n - 1 - visit
        if p.body_ints[body, KIND] == FREE:
            continue
        if root_first:
            place_body(p, w, body)
        if w.load[body] > 0.0 and w.used[body] == 0.0 and is_own(p, body):
            visit_joint(p, w, body, _max_turn(p, body))


@kernel
def _max_turn(p: Problem, body: int) -> float:
    """Return how far a joint may move in one visit [rad or m]."""
    if p.settings[METHOD] != CCD:
        return math.inf
    return float(p.params[p.body_ints[body, Q_INDEX] - p.first_q, 0])


@kernel
def visit_joint(p: Problem, w: Work, body: int, limit: float) -> float:
    """Give one joint its best value, carry the tasks beyond it along, and return the step."""
    if p.body_ints[body, KIND] == REVOLUTE:
        sine, cosine = _turn_sums(p, w, body)
        step = turn_joint(p, w, body, sine, cosine, limit)
    else:
        step = slide_joint(p, w, body, _mean_slide(p, w, body), limit)
    _carry_tasks(p, w, body, step)
    return step


@kernel
def _turn_sums(p: Problem, w: Work, body: int) -> tuple[float, float]:
    """Return the sums of `hinge_moves` over the tasks that a hinge moves."""
    pose = w.poses[body]
    sine, cosine = 0.0, 0.0
    for k in range(p.points[body, TASKS], p.points[body + 1, TASKS]):
        task = p.lists[k]
        frame, target = w.task_poses[task], p.targets[task]
        weight = w.task_weights[task, 0]
        if weight > 0.0:
            s, c = turn_terms(
                pose,
                frame[9] - pose[9],
                frame[10] - pose[10],
                frame[11] - pose[11],
                target[0, 3] - pose[9],
                target[1, 3] - pose[10],
                target[2, 3] - pose[11],
            )
            sine, cosine = sine + weight * s, cosine + weight * c
        weight = w.task_weights[task, 1]
        if weight > 0.0:
            s, c = frame_turn_terms(pose, frame, target)
            sine, cosine = sine + weight * s, cosine + weight * c
    return sine, cosine


@kernel
def _mean_slide(p: Problem, w: Work, body: int) -> float:
    """Return how far along its axis a slide should go for the tasks that it moves [m]."""
    pose = w.poses[body]
    mass, way = 0.0, 0.0
    for k in range(p.points[body, TASKS], p.points[body + 1, TASKS]):
        task = p.lists[k]
        weight = w.task_weights[task, 0]
        if weight > 0.0:
            mass += weight
            for i in range(3):
                gap = p.targets[task, i, 3] - w.task_poses[task, 9 + i]
                way += weight * gap * pose[3 * i + 2]
    return way / mass if mass > 0.0 else 0.0


@kernel
def _carry_tasks(p: Problem, w: Work, body: int, step: float) -> None:
    """Move the tasks beyond a body by a step of the body's joint."""
    pose = w.poses[body]
    x, y, z = pose[2], pose[5], pose[8]
    sine, cosine = math.sin(step), math.cos(step)
    for k in range(p.points[body, TASKS], p.points[body + 1, TASKS]):
        frame = w.task_poses[p.lists[k]]
        if p.body_ints[body, KIND] == REVOLUTE:
            turn_pose(frame, pose, x, y, z, sine, cosine)
        else:
            frame[9] += step * x
            frame[10] += step * y
            frame[11] += step * z


@kernel
def solve_ccd(*given: Any) -> bool:
    """Solve by such rounds; see `geometric_kernel.run`."""
    return run(ccd_round, given)
