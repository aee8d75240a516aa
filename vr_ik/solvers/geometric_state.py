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

"""What the compiled geometric solvers share: the problem and the buffers."""

from typing import NamedTuple

from vr_ik.kinematics.compiled import inlined_kernel, kernel
from vr_ik.kinematics.kernels import body_poses, compose
from vr_ik.kinematics.objective import RESIDUAL, write_residuals
from vr_ik.kinematics.tree import Ints, PARENT, Tree
from vr_ik.solvers.hinge_moves import to_world
from vr_ik.solvers.solve_values import take
from vr_ik.types import Array

# Entries of Problem.settings.
MAX_ITERATIONS, POSITION, ORIENTATION, STEP, METHOD, VARIANT = 0, 1, 2, 3, 4, 5
# Values of the method.
CCD, FABRIK, FTL, TRIANGULATION, TARGET_TRIANGLE, TWO_BONE = 0, 1, 2, 3, 4, 5
# Entries of Work.notes: of this round the largest joint step and whether limits held any joint; of
# the solve the least cost, whether limits held any joint then, rounds without gain, bends, and
# rounds of FABRIK.
LARGEST_STEP, HELD, BEST, BEST_HELD, IDLE, BENDS, ROUNDS = range(7)
NOTES = 7


class Problem(NamedTuple):
    """What is given; see `kinematics.tree`, `reach` and `joint_points` for the rows."""

    body_ints: Ints
    body_floats: Array
    task_bodies: Ints
    task_placements: Array
    weights: Array
    joints: Array
    """(n, 4): lower and upper limit first."""
    reach: Array
    points: Ints
    lists: Ints
    chains: Ints
    centres: Array
    params: Array
    """What only one method reads."""
    settings: Array
    """Iterations, position [m], orientation [rad] and step [rad] tolerance, method, variant."""
    targets: Array
    first_q: int


class Work(NamedTuple):
    """Buffers of one solver, reused by every solve."""

    poses: Array
    """(n_bodies, 12): where the bodies are."""
    wanted: Array
    """(n_bodies, 12): where the bodies should be."""
    task_poses: Array
    task_weights: Array
    """(n_tasks, 2): the weights that count at this stage of a round."""
    residuals: Array
    load: Array
    """(n_bodies,): sum of the weights of the tasks that a body moves; 0 where it moves none."""
    sources: Array
    """(n_bodies,): how many tasks and loaded children say where a body should be."""
    used: Array
    """(n_bodies,): 1 where a task has already moved a body's joint in this round; in FABRIK, where
    limits hold it in stage 1."""
    chain: Array
    """(n_bodies + 4, 4): points on the way to a task; see `chains`."""
    chain_out: Array
    followers: Array
    q: Array
    q_best: Array
    q_before: Array
    reference: Array
    pose: Array
    other: Array
    spread: Array
    moved: Array
    shifts: Array
    """(n_tasks, 4): how far from its target a task is led [m]; see `fabrik_shift`."""
    notes: Array


def work_size(tree: Tree, tasks: int, nq: int) -> int:
    """Return how many floats of work space a solve needs."""
    bodies = len(tree.body_ints)
    per_body = 12 + 12 + 1 + 1 + 1 + 3 * 4
    per_task = 12 + 2 + RESIDUAL + 4
    return bodies * per_body + tasks * per_task + 3 * 4 * 4 + 3 * nq + 3 + 3 * 12 + 9 + NOTES


@inlined_kernel
def carve(work: Array, bodies: int, tasks: int, nq: int) -> Work:
    """Cut the work space into its buffers."""
    b = bodies * 24
    c = b + tasks * 14
    d = c + tasks * RESIDUAL
    e = d + bodies
    f = e + bodies
    g = f + bodies
    rows = bodies + 4
    h = g + 3 * rows * 4
    i = h + 3 * nq
    j = i + 48 + 4 * tasks
    return Work(
        take(work, 0, bodies, 12),
        take(work, bodies * 12, bodies, 12),
        take(work, b, tasks, 12),
        take(work, b + tasks * 12, tasks, 2),
        take(work, c, tasks, RESIDUAL),
        work[d:e],
        work[e:f],
        work[f:g],
        take(work, g, rows, 4),
        take(work, g + rows * 4, rows, 4),
        take(work, g + 2 * rows * 4, rows, 4),
        work[h : h + nq],
        work[h + nq : h + 2 * nq],
        work[h + 2 * nq : i],
        work[i : i + 3],
        work[i + 3 : i + 15],
        work[i + 15 : i + 27],
        work[i + 27 : i + 36],
        work[i + 36 : i + 48],
        take(work, i + 48, tasks, 4),
        work[j : j + NOTES],
    )


@kernel
def evaluate(p: Problem, w: Work) -> float:
    """Write the bodies' poses and the tasks' residuals at w.q, and return the cost."""
    body_poses(p.body_ints, p.body_floats, w.q, w.poses)
    for i in range(3):
        w.reference[i] = 0.0
    return write_residuals(
        w.poses,
        p.task_bodies,
        p.task_placements,
        p.weights,
        p.targets,
        w.reference,
        w.pose,
        w.residuals,
    )


@kernel
def write_task_poses(p: Problem, w: Work) -> None:
    """Write where the tasks' frames are, from the bodies' poses."""
    for task in range(p.task_bodies.shape[0]):
        body = p.task_bodies[task]
        if body >= 0:
            compose(w.poses[body], p.task_placements[task], w.task_poses[task])


@kernel
def count_all_tasks(p: Problem, w: Work) -> None:
    """Let every task count with its weights, and every joint be free to move."""
    for task in range(p.task_bodies.shape[0]):
        for i in range(2):
            w.task_weights[task, i] = max(p.weights[task, i], 0.0)
    for body in range(p.body_ints.shape[0]):
        w.used[body] = 0.0


@kernel
def write_loads(p: Problem, w: Work) -> None:
    """Write what weight each body moves, and how many tasks and children it gets it from."""
    for body in range(w.load.shape[0]):
        w.load[body] = 0.0
        w.sources[body] = 0.0
    for task in range(p.task_bodies.shape[0]):
        body = p.task_bodies[task]
        weight = max(p.weights[task, 0], 0.0) + max(p.weights[task, 1], 0.0)
        if body >= 0 and weight > 0.0:
            w.load[body] += weight
            w.sources[body] += 1.0
    for body in range(w.load.shape[0] - 1, 0, -1):
        parent = p.body_ints[body, PARENT]
        if parent >= 0 and w.load[body] > 0.0:
            w.load[parent] += w.load[body]
            w.sources[parent] += 1.0


@kernel
def centre(p: Problem, pose: Array, body: int) -> tuple[float, float, float]:
    """Return the centre of a body's joint when the body is at `pose`."""
    return to_world(pose, 0.0, 0.0, p.centres[body])
