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


"""Laws of the solvers with second derivatives, exact (`newton`) and estimated (`bfgs`)."""

import math

from hypothesis import given, settings, strategies as st
import numpy as np
import pytest
from robots import urdf_path

from vr_ik.kinematics.model import RobotModel
from vr_ik.math.rotations import exp_rotation
from vr_ik.solvers.base import make_solver, PostureSolver
from vr_ik.solvers.bfgs_kernel import update_inverse
from vr_ik.solvers.newton_model import definite_damping, project
from vr_ik.types import Status, Task

seeds = st.integers(0, 2**32 - 1)
LINK = 'panda_link8'
TALOS_TASKS = [
    Task(link) for link in ('left_sole_link', 'right_sole_link', 'gripper_left_base_link')
]
NEWTONS = [
    {'strategy': strategy, 'indefinite': indefinite}
    for strategy in ('trust_region', 'line_search')
    for indefinite in ('project', 'damp')
]
SOLVERS = [('newton', options) for options in NEWTONS] + [('bfgs', {})]
# Never satisfied: a solve goes on until it rests.
NONE = {'position_tolerance': 0.0, 'orientation_tolerance': 0.0, 'step_tolerance': 0.0}


@pytest.fixture(scope='module')
def panda():
    return RobotModel.from_urdf(urdf_path('panda'))


@pytest.fixture(scope='module')
def talos():
    return RobotModel.from_urdf(urdf_path('talos_reduced'), floating_base=True)


def ball_arm(limit=3.0):
    """Return an arm with a ball joint of three hinges, a slide and a hinge."""
    joints = (
        ('w', 'x', 'revolute', '0 0 0', '1 0 0'),
        ('x', 'y', 'revolute', '0 0 0', '0 1 0'),
        ('y', 'z', 'revolute', '0 0 0', '0 0 1'),
        ('z', 's', 'prismatic', '0.3 0.1 0', '1 0 0'),
        ('s', 'h', 'revolute', '0.2 0 0.1', '0 1 0'),
        ('h', 'tip', 'fixed', '0.25 0 0', '1 0 0'),
    )
    parts = ['<link name="w"/>']
    for parent, child, kind, xyz, axis in joints:
        bound = 0.1 if kind == 'prismatic' else limit
        parts.append(
            f'<link name="{child}"/><joint name="{child}" type="{kind}"><parent link="{parent}"/>'
            f'<child link="{child}"/><origin xyz="{xyz}"/><axis xyz="{axis}"/>'
            f'<limit lower="{-bound}" upper="{bound}" velocity="1" effort="1"/></joint>'
        )
    return RobotModel.from_urdf(f'<robot name="arm">{"".join(parts)}</robot>')


def targets_at(model, q, tasks):
    return np.array([model.link_pose(q, task.link) for task in tasks])


def numerical_newton_step(cost, n, h=1e-4):
    """Return -H^-1 g of a function of n coordinates at zero, and whether H is definite."""
    ways = h * np.eye(n)
    gradient = np.array([cost(way) - cost(-way) for way in ways]) / (2.0 * h)
    hessian = np.empty((n, n))
    for i, a in enumerate(ways):
        for j, b in enumerate(ways):
            hessian[i, j] = cost(a + b) - cost(a - b) - cost(b - a) + cost(-a - b)
    hessian /= 4.0 * h * h
    return -np.linalg.solve(hessian, gradient), np.linalg.eigvalsh(hessian)[0] > 1e-3


@settings(max_examples=10, deadline=None)
@given(seed=seeds)
def test_a_step_is_newtons_with_the_hessian_of_finite_differences(panda, talos, seed):
    rng = np.random.default_rng(seed)
    for model, tasks in ((panda, [Task(LINK, 1.0, 0.5)]), (talos, TALOS_TASKS)):
        q = model.random(rng)
        q[model.first_q :] *= 0.6
        q = model.clamp(q)
        targets = targets_at(model, model.integrate(q, 0.02 * rng.normal(size=model.nv)), tasks)
        # A pull to a posture makes the Hessian definite, and no step free.
        solver = make_solver('newton', model, tasks, max_iterations=1, posture_weight=0.2, **NONE)
        assert isinstance(solver, PostureSolver)
        solver.posture[:] = q[model.first_q :]

        def cost(v, model=model, tasks=tasks, q=q, targets=targets):
            away = v[model.first_v :]
            moved = model.integrate(q, v)
            return model.cost_derivatives(moved, tasks, targets)[0] + 0.1 * away @ away

        result = solver.solve(q, targets)
        step, definite = numerical_newton_step(cost, model.nv)
        expected = model.integrate(q, step)
        inside = (expected == model.clamp(expected)).all()
        if definite and inside and (np.abs(step) < 0.4).all():
            assert np.abs(model.difference(result.q, expected)).max() < 1e-4


@settings(max_examples=20, deadline=None)
@given(seed=seeds)
def test_a_step_of_a_ball_joint_is_newtons_along_the_exponential_map(seed):
    rng = np.random.default_rng(seed)
    model = ball_arm()
    task = Task('tip', 1.0, 0.5)
    q = model.clamp(0.4 * rng.normal(size=model.nq))
    near = q + 0.05 * rng.normal(size=model.nq)
    target = targets_at(model, model.clamp(near), [task])
    options = {'ball_joints': 'exponential', 'max_iterations': 1, **NONE}
    result = make_solver('newton', model, [task], **options).solve(q, target)
    turned = model.link_pose(q, 'z')[:3, :3]

    def pose_after(v):
        """Return the tip where the ball has turned by exp(v[:3]) about its own axes."""
        pose = np.eye(4)
        pose[:3, :3] = turned @ exp_rotation(v[:3])
        rest = q.copy()
        rest[:3] = 0.0
        rest[3:] += v[3:]
        return pose @ model.link_pose(rest, 'tip')

    def cost(v):
        pose = pose_after(v)
        away = target[0, :3, 3] - pose[:3, 3]
        cosine = 0.5 * (np.trace(target[0, :3, :3] @ pose[:3, :3].T) - 1.0)
        return 0.5 * (away @ away + 0.5 * math.acos(min(1.0, cosine)) ** 2)

    step, definite = numerical_newton_step(cost, model.nv)
    inside = (np.abs(q[3:] + step[3:]) < model.upper[3:]).all()
    if definite and inside and np.abs(step).max() < 0.4:
        reached = model.link_pose(result.q, 'tip')
        assert np.abs(reached - pose_after(step)).max() < 1e-4


@settings(max_examples=50)
@given(seed=seeds, n=st.integers(1, 12))
def test_the_projection_is_the_nearest_semi_definite_matrix(seed, n):
    rng = np.random.default_rng(seed)
    b = rng.normal(size=(n, n))
    b = b + b.T
    values, vectors = np.linalg.eigh(b)
    expected = (vectors * np.maximum(values, 0.0)) @ vectors.T
    dense = b.copy()
    away = project(dense, np.empty((n, n)))
    assert np.abs(dense - expected).max() < 1e-8
    assert away == pytest.approx(np.linalg.norm(np.minimum(values, 0.0)), abs=1e-6)


@settings(max_examples=50)
@given(seed=seeds, n=st.integers(1, 8))
def test_a_damping_makes_the_matrix_definite_and_is_little_more_than_needed(seed, n):
    rng = np.random.default_rng(seed)
    b = rng.normal(size=(n, n))
    b = b + b.T
    paths = np.array([[k, *range(n)] for k in range(n)])
    held, scratch, factor = np.zeros(n), np.empty(n), np.empty((n, n))
    damping = definite_damping(paths, np.tril(b), 1e-9, 1e6, held, scratch, factor)
    least = np.linalg.eigvalsh(b)[0]
    assert damping + least > 0.0
    assert damping <= max(1.5e-6, 3.0 * -least * 1.001)


@pytest.mark.parametrize(('name', 'options'), SOLVERS)
def test_the_cost_never_rises(panda, talos, name, options):
    rng = np.random.default_rng(1)
    for model, tasks in ((panda, [Task(LINK)]), (talos, TALOS_TASKS)):
        start, targets = model.random(rng), targets_at(model, model.random(rng), tasks)
        costs = []
        for steps in range(1, 16):
            solver = make_solver(name, model, tasks, max_iterations=steps, **NONE, **options)
            result = solver.solve(start, targets)
            joints = result.q[model.first_q :]
            assert (joints >= model.lower).all() and (joints <= model.upper).all()
            costs.append(result.cost)
        assert costs[0] < model.cost_derivatives(start, tasks, targets)[0]
        assert (np.diff(costs) <= 0.0).all()
        assert costs[-1] < 0.5 * costs[0]


@pytest.mark.parametrize(('name', 'options'), SOLVERS)
def test_the_end_is_a_minimum_within_the_limits(panda, name, options):
    rng = np.random.default_rng(5)
    task = Task(LINK)
    solver = make_solver(name, panda, [task], max_iterations=2000, **options)
    seen = set()
    for _ in range(40):
        target = targets_at(panda, panda.random(rng), [task])
        result = solver.solve(panda.random(rng), target)
        seen.add(result.status)
        if result.status is not Status.LIMITED:
            continue
        gradient = panda.cost_derivatives(result.q, [task], target)[1]
        low, high = result.q <= panda.lower + 1e-9, result.q >= panda.upper - 1e-9
        assert (low | high).any()
        assert (gradient[low] >= -1e-4).all()
        assert (gradient[high] <= 1e-4).all()
        assert np.abs(gradient[~low & ~high]).max() < 1e-4
    assert seen >= {Status.CONVERGED, Status.LIMITED}


@pytest.mark.parametrize('name', ['newton', 'bfgs'])
def test_a_moving_root_reaches_all_its_targets(talos, name):
    rng = np.random.default_rng(2)
    solver = make_solver(name, talos, TALOS_TASKS, max_iterations=300)
    for _ in range(15):
        truth = talos.random(rng)
        truth[7:] *= 0.6
        truth = talos.clamp(truth)
        start = talos.clamp(talos.integrate(truth, 0.05 * rng.normal(size=talos.nv)))
        result = solver.solve(start, targets_at(talos, truth, TALOS_TASKS))
        assert result.status is Status.CONVERGED
        reached = targets_at(talos, result.q, TALOS_TASKS)
        wanted = targets_at(talos, truth, TALOS_TASKS)
        assert np.linalg.norm((reached - wanted)[:, :3, 3], axis=1).max() <= 1e-4


def test_ball_joints_find_the_same_optimum_along_the_exponential_map():
    rng = np.random.default_rng(8)
    model = ball_arm()
    task = Task('tip', 1.0, 0.1)
    ways = [
        make_solver('newton', model, [task], max_iterations=300, ball_joints=way)
        for way in ('euler', 'exponential')
    ]
    for _ in range(60):
        target = targets_at(model, model.clamp(0.8 * rng.normal(size=model.nq)), [task])
        target[0, :3, 3] *= rng.choice((1.0, 1.5))  # Out of reach, half of the time.
        start = model.clamp(0.3 * rng.normal(size=model.nq))
        euler, exponential = (solver.solve(start, target) for solver in ways)
        if Status.LIMITED in (euler.status, exponential.status):
            continue
        # Within tolerance is good enough, so costs may differ by what that allows.
        assert exponential.cost == pytest.approx(euler.cost, rel=1e-3, abs=1e-7)


def test_a_ball_joint_leaves_the_lock_of_its_hinges():
    model = ball_arm()
    task = Task('z', 0.0, 1.0)
    start = np.array([0.2, 0.5 * math.pi, 0.1, 0.0, 0.0])
    locked = model.link_pose(start, 'z')
    # About the axis that no hinge turns about now.
    lost = np.cross(model.link_pose(start, 'x')[:3, 0], locked[:3, 1])
    target = locked[None].copy()
    target[0, :3, :3] = exp_rotation(0.3 * lost) @ locked[:3, :3]
    solver = make_solver('newton', model, [task], ball_joints='exponential')
    result = solver.solve(start, target)
    assert result.status is Status.CONVERGED
    assert result.iterations < 12


@settings(max_examples=40)
@given(seed=seeds, n=st.integers(1, 8), fresh=st.booleans())
def test_an_update_learns_the_curvature_of_the_step(seed, n, fresh):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n))
    hessian = root @ root.T + 0.1 * np.eye(n)
    step, before = rng.normal(size=n), rng.normal(size=n)
    rhs = before - hessian @ step
    inverse = np.eye(n)
    update_inverse(inverse, step, before, rhs, np.empty(n), fresh)
    assert np.abs(inverse @ (before - rhs) - step).max() < 1e-8
    assert np.abs(inverse - inverse.T).max() < 1e-9
    assert np.linalg.eigvalsh(inverse)[0] > 0.0


@pytest.mark.parametrize(('name', 'options'), SOLVERS)
def test_the_same_input_gives_the_same_bits(talos, name, options):
    rng = np.random.default_rng(0)
    start, targets = talos.random(rng), targets_at(talos, talos.random(rng), TALOS_TASKS)
    first = make_solver(name, talos, TALOS_TASKS, **options).solve(start, targets)
    solver = make_solver(name, talos, TALOS_TASKS, **options)
    solver.solve(talos.neutral(), targets)
    assert (solver.solve(start, targets).q == first.q).all()
