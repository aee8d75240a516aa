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

"""What the compiled solvers on pose tasks share: problem, model about q, start and result."""

from collections.abc import Callable
import math
from typing import Any, NamedTuple, TypeAlias

from vr_ik.kinematics.compiled import inlined_kernel, kernel
from vr_ik.kinematics.kernels import body_columns, body_poses
from vr_ik.kinematics.objective import write_composites, write_normal_equations, write_residuals
from vr_ik.kinematics.tree import Ints
from vr_ik.solvers.ball_joints import turn_balls, turn_columns
from vr_ik.solvers.box_step import AT_LOWER, AT_UPPER, FREE
from vr_ik.solvers.reach import is_out_of_reach
from vr_ik.types import Array, Status

CONVERGED = float(Status.CONVERGED)
LIMITED = float(Status.LIMITED)
STALLED = float(Status.STALLED)
UNREACHABLE = float(Status.UNREACHABLE)
FAILED = float(Status.FAILED)

_FULL_TURN = 2.0 * math.pi
# A joint of this range can take any angle; URDFs say 3.14 where they mean pi.
_WHOLE_RANGE = _FULL_TURN - 0.01
# A joint this near to its limit is at it [rad or m].
_AT_BOUND = 1e-9

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
    """(n, 4): lower and upper limit, rest position, pull to it."""
    settings: Array
    """Iterations, position [m], orientation [rad] and step [rad] tolerance, relative gain."""
    balls: Ints
    """(n, 4): the bodies of each ball joint, and whether it moves along the exponential map."""
    extra: Any
    more: Any
    """Two arrays that the method alone reads."""
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
def take(work: Array, start: int, rows: int, width: int) -> Array:
    """Return a matrix in the work space."""
    return work[start : start + rows * width].reshape((rows, width))


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
    pull = 0.0
    for j in range(p.joints.shape[0]):
        away = q[p.first_q + j] - p.joints[j, 2]
        pull += p.joints[j, 3] * away * away
    return cost + 0.5 * pull


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
        w.matrix[dof, p.paths[dof, 0]] += p.joints[j, 3]
        w.rhs[dof] += p.joints[j, 3] * (p.joints[j, 2] - w.q[p.first_q + j])


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


@kernel
def wrap_blocked(joints: Array, first_q: int, rhs: Array, q: Array) -> bool:
    """Take joints pushed against a limit a full turn back, where their range holds that pose."""
    first_v = rhs.shape[0] - joints.shape[0]
    wrapped = False
    for j in range(joints.shape[0]):
        lower, upper = joints[j, 0], joints[j, 1]
        if upper - lower < _WHOLE_RANGE:
            continue
        value, push = q[first_q + j], rhs[first_v + j]
        if value >= upper and push > 0.0:
            q[first_q + j] = max(value - _FULL_TURN, lower)
            wrapped = True
        elif value <= lower and push < 0.0:
            q[first_q + j] = min(value + _FULL_TURN, upper)
            wrapped = True
    return wrapped


@kernel
def hold_pressed(rhs: Array, lower: Array, upper: Array, held: Array) -> bool:
    """Mark the dofs that the gradient presses against a bound, and tell whether there are any."""
    any_held = False
    for dof in range(rhs.shape[0]):
        held[dof] = FREE
        if lower[dof] >= -_AT_BOUND and rhs[dof] < 0.0:
            held[dof] = AT_LOWER
            any_held = True
        elif upper[dof] <= _AT_BOUND and rhs[dof] > 0.0:
            held[dof] = AT_UPPER
            any_held = True
    return any_held


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
    """Tell whether any joint is pulled to its rest position, so that met targets are not all."""
    for j in range(p.joints.shape[0]):
        if p.joints[j, 3] > 0.0:
            return True
    return False


@kernel
def copy(source: Array, out: Array) -> None:
    """Write the values of `source`."""
    for i in range(source.shape[0]):
        out[i] = source[i]


@kernel
def errors_within(residuals: Array, weights: Array, position: float, orientation: float) -> bool:
    """Tell whether every task with a weight is within tolerance."""
    for task in range(residuals.shape[0]):
        r = residuals[task]
        if weights[task, 0] > 0.0 and r[3] ** 2 + r[4] ** 2 + r[5] ** 2 > position * position:
            return False
        if weights[task, 1] > 0.0 and r[6] ** 2 + r[7] ** 2 + r[8] ** 2 > orientation**2:
            return False
    return True


@kernel
def _all_finite(values: Array) -> bool:
    for value in values:
        if not math.isfinite(value):
            return False
    return True


@kernel
def poses_finite(poses: Array) -> bool:
    """Tell whether all entries of poses (m, 4, 4) that matter are numbers."""
    for i in range(poses.shape[0]):
        for row in range(3):
            if not _all_finite(poses[i, row]):
                return False
    return True


@kernel
def retract(q: Array, step: Array, first_q: int, out: Array) -> None:
    """Write q moved by a tangent step; a floating root turns along the exponential map."""
    n_joints = q.shape[0] - first_q
    first_v = step.shape[0] - n_joints
    for j in range(n_joints):
        out[first_q + j] = q[first_q + j] + step[first_v + j]
    if first_q == 0:
        return
    x, y, z, w = q[3], q[4], q[5], q[6]
    vx, vy, vz = step[0], step[1], step[2]
    # v + 2 u x (u x v + w v) turns v by the quaternion (u, w).
    tx = y * vz - z * vy + w * vx
    ty = z * vx - x * vz + w * vy
    tz = x * vy - y * vx + w * vz
    out[0] = q[0] + vx + 2.0 * (y * tz - z * ty)
    out[1] = q[1] + vy + 2.0 * (z * tx - x * tz)
    out[2] = q[2] + vz + 2.0 * (x * ty - y * tx)
    angle = math.sqrt(step[3] ** 2 + step[4] ** 2 + step[5] ** 2)
    scale = math.sin(0.5 * angle) / angle if angle > 1e-9 else 0.5
    a, b, c, d = scale * step[3], scale * step[4], scale * step[5], math.cos(0.5 * angle)
    qx = w * a + x * d + y * c - z * b
    qy = w * b - x * c + y * d + z * a
    qz = w * c + x * b - y * a + z * d
    qw = w * d - x * a - y * b - z * c
    inverse = 1.0 / math.sqrt(qx * qx + qy * qy + qz * qz + qw * qw)
    out[3] = qx * inverse
    out[4] = qy * inverse
    out[5] = qz * inverse
    out[6] = qw * inverse


@kernel
def shapes_fit(task_bodies: Ints, targets: Array, q_start: Array, values: Array) -> bool:
    """Tell whether targets and q_start have the shapes that the solver was made for."""
    tasks = task_bodies.shape[0]
    return targets.shape == (tasks, 4, 4) and q_start.shape[0] == values.shape[0] - 3 - 2 * tasks


@kernel
def clamp(q: Array, first_q: int, joints: Array) -> None:
    """Bring every joint within its limits; one of more than a full turn goes round."""
    for j in range(joints.shape[0]):
        lower, upper = joints[j, 0], joints[j, 1]
        value = q[first_q + j]
        if upper - lower >= _WHOLE_RANGE:
            if value > upper + _AT_BOUND:
                value -= _FULL_TURN
            elif value < lower - _AT_BOUND:
                value += _FULL_TURN
        q[first_q + j] = min(max(value, lower), upper)


@kernel
def write_start(q_start: Array, first_q: int, joints: Array, q: Array) -> bool:
    """Write a valid start: within limits, unit quaternion; False where q_start is not finite."""
    finite = _all_finite(q_start)
    for i in range(q.shape[0]):
        q[i] = q_start[i] if finite else 0.0
    if first_q == 7:
        norm = math.sqrt(q[3] ** 2 + q[4] ** 2 + q[5] ** 2 + q[6] ** 2)
        if norm < 1e-9:
            q[6] = 1.0
            norm = 1.0
        for i in range(3, 7):
            q[i] /= norm
    for j in range(joints.shape[0]):
        q[first_q + j] = min(max(q[first_q + j], joints[j, 0]), joints[j, 1])
    return finite


@kernel
def write_result(
    q: Array, status: float, iterations: int, cost: float, residuals: Array, values: Array
) -> None:
    """Write q, status, iterations, cost and errors, as `SolveResult` reads them."""
    nq = q.shape[0]
    copy(q, values)
    values[nq] = status
    values[nq + 1] = iterations
    values[nq + 2] = cost
    for task in range(residuals.shape[0]):
        r = residuals[task]
        values[nq + 3 + 2 * task] = math.sqrt(r[3] ** 2 + r[4] ** 2 + r[5] ** 2)
        values[nq + 4 + 2 * task] = math.sqrt(r[6] ** 2 + r[7] ** 2 + r[8] ** 2)
