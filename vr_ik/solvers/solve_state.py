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

"""What the compiled solvers on pose tasks share: the problem, and its model about q."""

from collections.abc import Callable
import math
from typing import Any, NamedTuple, TypeAlias

from vr_ik.kinematics.compiled import inlined_kernel, kernel
from vr_ik.kinematics.kernels import body_columns, body_poses
from vr_ik.kinematics.objective import write_composites, write_normal_equations, write_residuals
from vr_ik.kinematics.tree import Ints
from vr_ik.solvers.ball_joints import turn_balls, turn_columns
from vr_ik.solvers.joint_bounds import clamp, hold_pressed, retract
from vr_ik.solvers.reach import is_out_of_reach
from vr_ik.solvers.solve_values import (
    CONVERGED,
    errors_within,
    FAILED,
    LIMITED,
    poses_finite,
    shapes_fit,
    STALLED,
    UNREACHABLE,
    write_result,
    write_start,
)
from vr_ik.types import Array

Work: TypeAlias = Any
"""The buffers of one solver, a NamedTuple of its own; what is needed here is taken by name."""


class Problem(NamedTuple):
    """What is given; all rows as the kinematics kernels read them."""

    body_ints: Ints
    body_floats: Array
    column_ints: Ints
    paths: Ints
    task_bodies: Ints
    task_placements: Array
    weights: Array
    targets: Array
    joints: Array
    """(n, 6): lower and upper limit, rest position, pull to it, soft lower limit, pull to that
    from below."""
    settings: Array
    """Iterations, position [m], orientation [rad] and step [rad] tolerance, relative gain."""
    balls: Ints
    """(n, 4): the bodies of each ball joint, and whether it moves along the exponential map."""
    extra: Any
    more: Any
    """What the method alone reads: two arrays, or a tuple of them."""
    reach: Array
    first_q: int
    """Where the joints begin in q: 7 with a floating root, else 0."""


@inlined_kernel
def run(
    carve: Callable[[Array, Problem, int], Work],
    descend: Callable[[Problem, Work], tuple[float, int, float]],
    given: tuple[Any, ...],
) -> bool:
    """Solve by one method; `given` are the arguments of a `KernelSolver`'s kernel.

    Writes q, status, iterations, cost and errors; returns False, and does nothing, where the
    shapes of targets or q_start are wrong. Each method's kernel has its own copy of this function.
    """
    joints, settings, targets, q_start, values = (
        given[7],
        given[12],
        given[14],
        given[15],
        given[16],
    )
    fits = shapes_fit(given[4], targets, q_start, values)
    if fits:
        p = Problem(
            given[0],
            given[1],
            given[2],
            given[3],
            given[4],
            given[5],
            given[6],
            targets,
            joints,
            settings,
            given[9],
            given[10],
            given[11],
            given[8],
            7 if q_start.shape[0] - joints.shape[0] == 7 else 0,
        )
        w = carve(given[13], p, q_start.shape[0])
        status, iterations, cost = FAILED, 0, math.inf
        if write_start(q_start, p.first_q, joints, w.q) and poses_finite(targets):
            status, iterations, cost = descend(p, w)
        else:
            evaluate(p, w, w.q)
        if status in (STALLED, LIMITED) and is_out_of_reach(
            p.reach, p.task_placements, p.weights, targets, settings[1]
        ):
            status = UNREACHABLE
        write_result(w.q, status, iterations, cost, w.residuals, values)
    return fits


@inlined_kernel
def evaluate(p: Problem, w: Work, q: Array) -> float:
    """Write poses and residuals at q and return the cost, the pull to the posture included."""
    body_poses(p.body_ints, p.body_floats, q, w.poses)
    # Moments are taken about the root, lest they lose digits far from the world's origin.
    for i in range(3):
        w.reference[i] = w.poses[0, 9 + i] if w.poses.shape[0] > 0 else 0.0
    cost = write_residuals(
        w.poses,
        p.task_bodies,
        p.task_placements,
        p.weights,
        p.targets,
        w.reference,
        w.pose,
        w.residuals,
    )
    for j in range(p.joints.shape[0]):
        cost += joint_pull(p.joints[j], q[p.first_q + j])[0]
    return cost


@kernel
def joint_pull(joint: Array, angle: float) -> tuple[float, float, float]:
    """Return what the pulls on a joint cost at an angle, their force and their stiffness."""
    away = joint[2] - angle
    cost, force, stiffness = 0.5 * joint[3] * away * away, joint[3] * away, joint[3]
    short = joint[4] - angle
    if short > 0.0:
        cost += 0.5 * joint[5] * short * short
        force += joint[5] * short
        stiffness += joint[5]
    return cost, force, stiffness


@inlined_kernel
def write_columns(p: Problem, w: Work) -> None:
    """Write the columns of the Jacobian about w.q, whose poses are in w."""
    body_columns(p.body_ints, p.body_floats, w.poses, w.reference, w.columns)
    turn_columns(p.body_ints, w.poses, w.reference, p.balls, w.columns)


@inlined_kernel
def advance(p: Problem, q: Array, step: Array, out: Array) -> None:
    """Write q moved by a tangent step, within the limits; `out` must not be q."""
    retract(q, step, p.first_q, out)
    turn_balls(
        p.body_ints,
        p.body_floats,
        p.column_ints,
        p.balls,
        p.joints,
        p.first_q,
        q,
        step,
        out,
    )
    clamp(out, p.first_q, p.joints)


@inlined_kernel
def linearize(p: Problem, w: Work) -> None:
    """Write the quadratic model of the cost about w.q, whose poses are in w."""
    write_columns(p, w)
    write_composites(p.body_ints, p.task_bodies, p.weights, w.residuals, w.composites)
    write_normal_equations(p.column_ints, p.paths, w.columns, w.composites, w.matrix, w.rhs)
    first_v = w.rhs.shape[0] - p.joints.shape[0]
    for j in range(p.joints.shape[0]):
        dof = first_v + j
        _, force, stiffness = joint_pull(p.joints[j], w.q[p.first_q + j])
        w.matrix[dof, p.paths[dof, 0]] += stiffness
        w.rhs[dof] += force


@inlined_kernel
def write_bounds(p: Problem, w: Work) -> None:
    """Write how far each dof may move; a root is free."""
    first_v = w.rhs.shape[0] - p.joints.shape[0]
    for dof in range(first_v):
        w.lower[dof] = -math.inf
        w.upper[dof] = math.inf
    for j in range(p.joints.shape[0]):
        value = w.q[p.first_q + j]
        w.lower[first_v + j] = p.joints[j, 0] - value
        w.upper[first_v + j] = p.joints[j, 1] - value


@inlined_kernel
def final_status(p: Problem, w: Work, resting: bool) -> float:
    """Tell success from a minimum at the joint limits, and that from any other end."""
    status = STALLED
    if errors_within(w.residuals, p.weights, p.settings[1], p.settings[2]):
        status = CONVERGED
    elif resting:
        write_bounds(p, w)
        status = LIMITED if hold_pressed(w.rhs, w.lower, w.upper, w.held) else STALLED
    return status


@kernel
def predicted_gain(paths: Ints, matrix: Array, rhs: Array, step: Array) -> float:
    """Return by how much a step lowers the cost, by the quadratic model without damping."""
    gain = 0.0
    for k in range(step.shape[0]):
        depth = paths[k, 0]
        total = 0.5 * matrix[k, depth] * step[k] - rhs[k]
        for a in range(depth):
            total += matrix[k, a] * step[paths[k, a + 1]]
        gain -= total * step[k]
    return gain


@kernel
def has_posture(p: Problem) -> bool:
    """Tell whether any joint is pulled, so that met targets are not all."""
    for j in range(p.joints.shape[0]):
        if p.joints[j, 3] > 0.0 or p.joints[j, 5] > 0.0:
            return True
    return False
