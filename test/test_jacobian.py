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

"""Laws of the Jacobian methods: their parts against numpy, their steps against the formulas."""

from hypothesis import given, settings, strategies as st
import numpy as np
import pytest
from robots import urdf_path

from vr_ik.kinematics.kernels import body_columns, body_poses
from vr_ik.kinematics.model import RobotModel
from vr_ik.kinematics.objective import RESIDUAL, write_residuals
from vr_ik.kinematics.tasks import PackedTasks
from vr_ik.solvers.base import make_solver
from vr_ik.solvers.jacobian_steps import transpose_step
from vr_ik.solvers.task_jacobian import decompose, TASK_ROWS, write_task_jacobian
from vr_ik.types import Status, Task

seeds = st.integers(0, 2**32 - 1)
METHODS = ('jt', 'jpi', 'dls', 'svd', 'svd_dls', 'sdls')
PANDA_TASKS = [Task('panda_link8', 1.0, 0.3), Task('panda_link4', 0.5, 0.0)]
TALOS_TASKS = [
    Task('left_sole_link', 1.0, 1.0),
    Task('gripper_left_base_link', 2.0, 0.5),
    Task('head_2_link', 0.0, 1.0),
]


@pytest.fixture(scope='module')
def panda():
    return RobotModel.from_urdf(urdf_path('panda'))


@pytest.fixture(scope='module')
def talos():
    return RobotModel.from_urdf(urdf_path('talos_reduced'), floating_base=True)


def targets_at(model, q, tasks):
    return np.array([model.link_pose(q, task.link) for task in tasks])


def rotation_vector(rotation):
    """Return the logarithm of a rotation by less than a half turn, from its quaternion."""
    w = 0.5 * np.sqrt(max(0.0, 1.0 + np.trace(rotation)))
    skew = rotation - rotation.T
    sine = np.array([skew[2, 1], skew[0, 2], skew[1, 0]]) / (4.0 * w)
    length = np.linalg.norm(sine)
    return 2.0 * np.arctan2(length, w) * sine / length if length > 0.0 else sine


def weighted_error(model, q, tasks, targets):
    """Return e (6 m,): target minus position, and the turn that is left, in world axes."""
    rows = []
    for task, target in zip(tasks, targets, strict=True):
        pose = model.link_pose(q, task.link)
        rows.append(np.sqrt(task.position_weight) * (target[:3, 3] - pose[:3, 3]))
        turn = rotation_vector(target[:3, :3] @ pose[:3, :3].T)
        rows.append(np.sqrt(task.orientation_weight) * turn)
    return np.concatenate(rows)


def weighted_jacobian(model, q, tasks):
    rows = []
    for task in tasks:
        jacobian = model.jacobian(q, task.link)
        rows += [np.sqrt(task.position_weight) * jacobian[:3]]
        rows += [np.sqrt(task.orientation_weight) * jacobian[3:]]
    return np.vstack(rows)


def our_jacobian(model, q, tasks, targets):
    """Return J and e as the solvers compute them."""
    packed = PackedTasks.of(tasks, model.placement)
    tree = model.tree
    poses = np.empty((len(tree.body_ints), 12))
    columns = np.empty((len(tree.column_ints), 6))
    residuals = np.empty((len(tasks), RESIDUAL))
    body_poses(tree.body_ints, tree.body_floats, q, poses)
    reference = poses[0, 9:].copy()
    body_columns(tree.body_ints, tree.body_floats, poses, reference, columns)
    write_residuals(
        poses,
        packed.bodies,
        packed.placements,
        packed.weights,
        targets,
        reference,
        np.empty(12),
        residuals,
    )
    jacobian, error = np.empty((TASK_ROWS * len(tasks), model.nv)), np.empty(6 * len(tasks))
    write_task_jacobian(
        tree.body_ints,
        tree.column_ints,
        columns,
        packed.bodies,
        packed.weights,
        residuals,
        jacobian,
        error,
    )
    return jacobian, error


@settings(max_examples=15)
@given(seed=seeds)
def test_the_jacobian_is_the_derivative_of_the_errors(panda, talos, seed):
    rng = np.random.default_rng(seed)
    for model, tasks in ((panda, PANDA_TASKS), (talos, TALOS_TASKS)):
        q = model.random(rng)
        # Where the errors are zero, the turn that is left changes by minus what a link turns.
        targets = targets_at(model, q, tasks)
        jacobian, error = our_jacobian(model, q, tasks, targets)
        assert np.abs(error).max() < 1e-7
        h = 1e-6
        for dof, way in enumerate(np.eye(model.nv)):
            ahead = weighted_error(model, model.integrate(q, h * way), tasks, targets)
            behind = weighted_error(model, model.integrate(q, -h * way), tasks, targets)
            assert np.abs((behind - ahead) / (2.0 * h) - jacobian[:, dof]).max() < 1e-6
        other = targets_at(model, model.integrate(q, 0.1 * rng.normal(size=model.nv)), tasks)
        expected = weighted_error(model, q, tasks, other)
        assert np.abs(our_jacobian(model, q, tasks, other)[1] - expected).max() < 1e-9


@settings(max_examples=60)
@given(seed=seeds, rows=st.integers(1, 9), columns=st.integers(1, 9), lost=st.integers(0, 3))
def test_the_decomposition_is_that_of_numpy(seed, rows, columns, lost):
    rng = np.random.default_rng(seed)
    rank = min(rows, columns)
    u, s, vt = np.linalg.svd(rng.normal(size=(rows, columns)), full_matrices=False)
    s[max(1, rank - lost) :] = 0.0
    jacobian = np.ascontiguousarray(u * s @ vt)
    # Any rotation will do to begin with: the one of the step before.
    rotation = np.ascontiguousarray(np.linalg.qr(rng.normal(size=(rank, rank)))[0])
    x, values = np.empty((rank, max(rows, columns))), np.empty(rank)
    decompose(jacobian, rotation, x, values)
    assert np.sort(values)[::-1] == pytest.approx(s, abs=1e-9)
    left, right = (rotation, x) if rows <= columns else (x, rotation)
    assert np.abs((left.T * values) @ right - jacobian).max() < 1e-9
    assert np.abs(rotation @ rotation.T - np.eye(rank)).max() < 1e-9
    found = x[values > 1e-6]
    assert np.abs(found @ found.T - np.eye(len(found))).max() < 1e-7


def transpose(jacobian, error, gain):
    pulled = jacobian.T @ error
    moved = jacobian @ pulled
    return min(gain, (error @ moved) / (moved @ moved)) * pulled


def damped(jacobian, error, damping):
    rows = len(jacobian)
    return jacobian.T @ np.linalg.solve(jacobian @ jacobian.T + damping**2 * np.eye(rows), error)


def truncated(jacobian, error, threshold):
    return np.linalg.pinv(jacobian, rcond=threshold) @ error


def clamped(vector, bound):
    """Return ClampMaxAbs of Buss and Kim."""
    largest = np.abs(vector).max()
    return vector * bound / largest if largest > bound else vector


def selective(jacobian, error, max_step):
    """Return the step of Buss and Kim 2005, with each pose as one end effector."""
    u, s, vt = np.linalg.svd(jacobian, full_matrices=False)
    blocks = range(0, len(error), 6)
    total = np.zeros(jacobian.shape[1])
    for i, sigma in enumerate(s):
        along = u[:, i] @ error
        if sigma <= 1e-9 * np.linalg.norm(jacobian, 2):
            continue
        share = sum(np.linalg.norm(u[b : b + 6, i]) for b in blocks)
        speeds = sum(np.linalg.norm(jacobian[b : b + 6], axis=0) for b in blocks)
        moved = np.abs(vt[i]) @ speeds / sigma
        total += clamped(along / sigma * vt[i], max_step * min(1.0, share / moved))
    return clamped(total, max_step)


FORMULAS = {
    'jt': (transpose, {'gain': 0.35}),
    'jpi': (lambda j, e, gain: gain * np.linalg.pinv(j, rcond=1e-9) @ e, {'gain': 0.5}),
    'dls': (damped, {'damping': 0.2}),
    'svd': (truncated, {'threshold': 0.03}),
    'svd_dls': (damped, {'damping': 0.2}),
    'sdls': (selective, {'max_step': 0.018}),
}


@pytest.mark.parametrize('method', METHODS)
@settings(max_examples=15, deadline=None)
@given(seed=seeds)
def test_a_step_is_that_of_the_formula(panda, talos, method, seed):
    rng = np.random.default_rng(seed)
    formula, options = FORMULAS[method]
    for model, tasks in ((panda, PANDA_TASKS), (talos, TALOS_TASKS)):
        q = model.random(rng)
        q[model.first_q :] *= 0.7
        q = model.clamp(q)
        near = model.clamp(model.integrate(q, 0.02 * rng.normal(size=model.nv)))
        targets = targets_at(model, near, tasks)
        none = {'position_tolerance': 0.0, 'orientation_tolerance': 0.0, 'max_iterations': 1}
        result = make_solver(method, model, tasks, **none, **options).solve(q, targets)
        error, jacobian = (
            weighted_error(model, q, tasks, targets),
            weighted_jacobian(model, q, tasks),
        )
        values = np.linalg.svd(jacobian, compute_uv=False)
        if method == 'jpi' and values[values > 1e-9 * values[0]].min() < 0.05:
            continue  # So near to a singularity, the limit of the damped inverse is far away.
        step = formula(jacobian, error, *options.values())
        expected = model.clamp(model.integrate(q, step))
        if np.linalg.norm(weighted_error(model, expected, tasks, targets)) < np.linalg.norm(error):
            size = np.abs(step).max()
            # The damping that vanishes leaves few digits of what moves nothing.
            exact = 1e-3 if method == 'jpi' else 1e-5
            assert np.abs(model.difference(result.q, expected)).max() < exact * max(size, 1.0)
        else:
            assert np.abs(model.difference(result.q, q)).max() < 1e-12


@settings(max_examples=30)
@given(seed=seeds)
def test_the_transpose_never_steps_beyond_the_linear_optimum(seed):
    rng = np.random.default_rng(seed)
    jacobian, error = rng.normal(size=(5, 4)), rng.normal(size=5)
    paths = np.array([[k, *range(4)] for k in range(4)])
    step = np.empty(4)
    transpose_step(paths, np.tril(jacobian.T @ jacobian), jacobian.T @ error, 1e9, step)
    along = jacobian @ step
    assert abs(along @ (error - along)) < 1e-9 * (error @ error)


@pytest.mark.parametrize('method', METHODS)
def test_answers_are_within_limits_and_no_worse_than_the_start(panda, method):
    rng = np.random.default_rng(3)
    solver = make_solver(method, panda, PANDA_TASKS)
    for _ in range(40):
        start, targets = panda.random(rng), targets_at(panda, panda.random(rng), PANDA_TASKS)
        result = solver.solve(start, targets)
        assert (result.q >= panda.lower).all() and (result.q <= panda.upper).all()
        cost = 0.5 * np.sum(weighted_error(panda, result.q, PANDA_TASKS, targets) ** 2)
        assert result.cost == pytest.approx(cost, rel=1e-6)
        before = 0.5 * np.sum(weighted_error(panda, start, PANDA_TASKS, targets) ** 2)
        assert result.cost <= before * (1.0 + 1e-9)
        assert (solver.solve(start, targets).q == result.q).all()


@pytest.mark.parametrize('method', METHODS)
@pytest.mark.parametrize('ball_joints', ['euler', 'exponential'])
def test_near_targets_are_met(talos, method, ball_joints):
    rng = np.random.default_rng(5)
    tolerances = {'position_tolerance': 1e-3, 'orientation_tolerance': 1e-2}
    solver = make_solver(
        method, talos, TALOS_TASKS[:2], max_iterations=3000, ball_joints=ball_joints, **tolerances
    )
    met = 0
    for _ in range(20):
        q = talos.neutral()
        q[7:] = 0.3 * talos.random(rng)[7:]
        q = talos.clamp(q)
        truth = talos.clamp(talos.integrate(q, 0.03 * rng.normal(size=talos.nv)))
        result = solver.solve(q, targets_at(talos, truth, TALOS_TASKS[:2]))
        met += result.status is Status.CONVERGED
        if result.status is Status.CONVERGED:
            assert result.position_errors.max() <= 1e-3
            assert result.orientation_errors.max() <= 1e-2
    assert met >= 18
