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

"""The buffers of the compiled `lm`."""

from typing import NamedTuple

from vr_ik.kinematics.compiled import inlined_kernel
from vr_ik.kinematics.objective import COMPOSITE, RESIDUAL
from vr_ik.kinematics.tree import Tree
from vr_ik.solvers.solve_state import Problem
from vr_ik.solvers.solve_values import take
from vr_ik.types import Array


class Work(NamedTuple):
    """Buffers of one solver, reused by every solve."""

    poses: Array
    columns: Array
    composites: Array
    residuals: Array
    matrix: Array
    factor: Array
    rhs: Array
    damping: Array
    lower: Array
    upper: Array
    held: Array
    step: Array
    scratch: Array
    q: Array
    q_try: Array
    q_best: Array
    reference: Array
    pose: Array
    point: Array
    outward: Array
    clearances: Array
    """(n, CLEARANCE), not scratch: points that are to stay out of another body."""


def work_size(tree: Tree, tasks: int, nq: int, nv: int) -> int:
    """Return how many floats of work space a solve needs."""
    bodies, columns, width = len(tree.body_ints), len(tree.column_ints), tree.paths.shape[1]
    return (
        bodies * (12 + COMPOSITE)
        + columns * 6
        + tasks * RESIDUAL
        + 2 * nv * width
        + 7 * nv
        + 3 * nq
        + 21
    )


@inlined_kernel
def carve(work: Array, p: Problem, nq: int) -> Work:
    """Cut the work space into its buffers."""
    bodies, columns, tasks = p.body_ints.shape[0], p.column_ints.shape[0], p.task_bodies.shape[0]
    nv, width = p.paths.shape
    a = bodies * 12
    b = a + columns * 6
    c = b + bodies * COMPOSITE
    d = c + tasks * RESIDUAL
    e = d + nv * width
    f = e + nv * width
    g = f + 7 * nv
    return Work(
        take(work, 0, bodies, 12),
        take(work, a, columns, 6),
        take(work, b, bodies, COMPOSITE),
        take(work, c, tasks, RESIDUAL),
        take(work, d, nv, width),
        take(work, e, nv, width),
        work[f : f + nv],
        work[f + nv : f + 2 * nv],
        work[f + 2 * nv : f + 3 * nv],
        work[f + 3 * nv : f + 4 * nv],
        work[f + 4 * nv : f + 5 * nv],
        work[f + 5 * nv : f + 6 * nv],
        work[f + 6 * nv : f + 7 * nv],
        work[g : g + nq],
        work[g + nq : g + 2 * nq],
        work[g + 2 * nq : g + 3 * nq],
        work[g + 3 * nq : g + 3 * nq + 3],
        work[g + 3 * nq + 3 : g + 3 * nq + 15],
        work[g + 3 * nq + 15 : g + 3 * nq + 18],
        work[g + 3 * nq + 18 : g + 3 * nq + 21],
        p.extra,
    )
