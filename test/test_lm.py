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

"""Laws of the solver `lm`: truth recovered, limits held and released, honest status."""

import math

from hypothesis import given, settings, strategies as st
import numpy as np
import pytest
from robots import urdf_path

from vr_ik.errors import ConfigError, UnknownNameError, VrIkError
from vr_ik.kinematics.model import RobotModel
from vr_ik.solvers.base import make_solver, PostureSolver
from vr_ik.solvers.box_step import bounded_step
from vr_ik.types import Status, Task

seeds = st.integers(0, 2**32 - 1)


@pytest.fixture(scope='module')
def panda():
    return RobotModel.from_urdf(urdf_path('panda'))


@pytest.fixture(scope='module')
def talos():
    return RobotModel.from_urdf(urdf_path('talos_reduced'), floating_base=True)


TALOS_LINKS = ('left_sole_link', 'right_sole_link', 'gripper_left_base_link', 'head_2_link')


def targets_at(model, q, links):
    return np.array([model.link_pose(q, link) for link in links])


def within_limits(model, q):
    joints = q[model.first_q :]
    return bool((joints >= model.lower).all() and (joints <= model.upper).all())


def inside(model, rng, share):
    """Return random joints in the middle share of their ranges."""
    q = model.random(rng)
    middle = 0.5 * (model.lower + model.upper)
    q[model.first_q :] = middle + share * (q[model.first_q :] - middle)
    return q


@settings(max_examples=40)
@given(seed=seeds)
def test_a_near_truth_is_found(panda, seed):
    rng = np.random.default_rng(seed)
    solver = make_solver('lm', panda, [Task('panda_link8')])
    truth = inside(panda, rng, 0.9)
    start = panda.clamp(truth + rng.normal(scale=0.02, size=panda.nq))
    target = targets_at(panda, truth, ['panda_link8'])
    result = solver.solve(start, target)
    reached = targets_at(panda, result.q, ['panda_link8'])
    assert within_limits(panda, result.q)
    assert result.status is Status.CONVERGED
    assert np.linalg.norm(reached[0, :3, 3] - target[0, :3, 3]) <= 1e-4


def chain_with_a_mimic_of_a_side_branch():
    """Return a model whose tip is moved by a mimic joint, and its master only by the mimic."""
    links = ''.join(f'<link name="{name}"/>' for name in 'wzabcs')
    joints = ''.join(
        f'<joint name="{child}" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="0.2 0.1 0.3"/><axis xyz="{axis}"/>{mimic}'
        '<limit lower="-2" upper="2" velocity="1" effort="1"/></joint>'
        for parent, child, axis, mimic in (
            ('w', 'z', '0 0 1', ''),
            ('z', 'a', '0 1 0', ''),
            ('z', 'b', '0 1 0', ''),
            ('b', 'c', '1 0 0', ''),
            ('c', 's', '0 1 0', '<mimic joint="a" multiplier="-0.5" offset="0.1"/>'),
        )
    )
    return RobotModel.from_urdf(f'<robot name="r">{links}{joints}</robot>')


def test_a_mimic_joint_whose_master_moves_nothing_else_is_solved():
    model = chain_with_a_mimic_of_a_side_branch()
    solver = make_solver('lm', model, [Task('s')])
    rng = np.random.default_rng(0)
    for _ in range(100):
        truth = inside(model, rng, 0.8)
        start = model.clamp(truth + rng.normal(scale=0.05, size=model.nq))
        result = solver.solve(start, targets_at(model, truth, ['s']))
        assert result.status is Status.CONVERGED
        assert result.iterations < 12


def test_the_last_step_counts(panda):
    rng = np.random.default_rng(0)
    solver = make_solver('lm', panda, [Task('panda_link8')], max_iterations=1)
    for _ in range(50):
        truth = inside(panda, rng, 0.8)
        result = solver.solve(truth + 1e-4, targets_at(panda, truth, ['panda_link8']))
        assert result.status is Status.CONVERGED


def test_every_frame_of_a_path_inside_the_limits_is_solved(panda):
    rng = np.random.default_rng(3)
    middle = 0.5 * (panda.lower + panda.upper)
    reach = 0.25 * (panda.upper - panda.lower)
    knots = [middle + reach * rng.uniform(-1, 1, panda.nq) for _ in range(10)]
    solver = make_solver('lm', panda, [Task('panda_link8')])
    q = knots[0]
    for a, b in zip(knots, knots[1:], strict=False):
        for u in np.linspace(0.0, 1.0, 60):
            result = solver.solve(q, targets_at(panda, a + u * (b - a), ['panda_link8']))
            assert result.status is Status.CONVERGED
            q = result.q


@settings(max_examples=30)
@given(seed=seeds)
def test_a_tree_with_a_floating_root_reaches_all_its_targets(talos, seed):
    rng = np.random.default_rng(seed)
    solver = make_solver('lm', talos, [Task(link) for link in TALOS_LINKS], max_iterations=100)
    truth = inside(talos, rng, 0.7)
    start = talos.clamp(talos.integrate(truth, rng.normal(scale=0.05, size=talos.nv)))
    result = solver.solve(start, targets_at(talos, truth, TALOS_LINKS))
    assert within_limits(talos, result.q)
    assert np.linalg.norm(result.q[3:7]) == pytest.approx(1.0)
    assert result.status is Status.CONVERGED
    reached = targets_at(talos, result.q, TALOS_LINKS)
    wanted = targets_at(talos, truth, TALOS_LINKS)
    assert np.linalg.norm((reached - wanted)[:, :3, 3], axis=1).max() <= 1e-4


def test_restarts_find_what_one_descent_does_not(panda):
    rng = np.random.default_rng(7)
    once = make_solver('lm', panda, [Task('panda_link8')], max_iterations=100)
    often = make_solver('lm', panda, [Task('panda_link8')], max_iterations=100, restarts=30)
    solved = [0, 0]
    for _ in range(100):
        target = targets_at(panda, inside(panda, rng, 0.95), ['panda_link8'])
        start = panda.random(rng)
        results = once.solve(start, target), often.solve(start, target)
        assert all(within_limits(panda, result.q) for result in results)
        assert results[1].cost <= results[0].cost
        if results[0].status is Status.CONVERGED:
            assert (results[0].q == results[1].q).all()
        for i, result in enumerate(results):
            solved[i] += result.status is Status.CONVERGED
    assert solved[0] < 80 < 98 <= solved[1]


@settings(max_examples=20)
@given(seed=seeds)
def test_moving_the_world_moves_the_solution_with_it(talos, seed):
    rng = np.random.default_rng(seed)
    solver = make_solver('lm', talos, [Task(link) for link in TALOS_LINKS], max_iterations=5)
    truth = talos.random(rng)
    start = talos.integrate(truth, rng.normal(scale=0.05, size=talos.nv))
    start = talos.clamp(start)
    targets = targets_at(talos, truth, TALOS_LINKS)
    moved_start = start.copy()
    moved_start[:7] = talos.random(rng)[:7]
    moved_start[:3] += (100.0, -50.0, 20.0)
    pose_new_from_old = talos.link_pose(moved_start, talos.root_link) @ np.linalg.inv(
        talos.link_pose(start, talos.root_link)
    )
    here = solver.solve(start, targets)
    there = solver.solve(moved_start, np.ascontiguousarray(pose_new_from_old @ targets))
    assert here.status is there.status
    assert np.abs(here.q[7:] - there.q[7:]).max() < 1e-6


def test_the_end_of_a_solve_is_a_minimum_within_the_limits(panda):
    rng = np.random.default_rng(5)
    task = Task('panda_link8')
    solver = make_solver('lm', panda, [task], max_iterations=500)
    seen = set()
    for _ in range(100):
        target = targets_at(panda, panda.random(rng), ['panda_link8'])
        result = solver.solve(panda.random(rng), target)
        seen.add(result.status)
        if result.status is not Status.LIMITED:
            continue
        gradient = panda.cost_derivatives(result.q, [task], target)[1]
        low, high = result.q <= panda.lower, result.q >= panda.upper
        # At a bound the cost may only fall outwards; elsewhere it does not fall at all.
        assert (low | high).any()
        assert (gradient[low] >= -1e-5).all()
        assert (gradient[high] <= 1e-5).all()
        assert np.abs(gradient[~low & ~high]).max() < 1e-5
    assert seen >= {Status.CONVERGED, Status.LIMITED}


def test_joints_leave_their_limits_when_that_helps(panda):
    solver = make_solver('lm', panda, [Task('panda_link8')], max_iterations=200)
    for joint in range(7):
        for bound, inwards in ((panda.lower, 0.3), (panda.upper, -0.3)):
            start = 0.5 * (panda.lower + panda.upper)
            start[joint] = bound[joint]
            truth = start.copy()
            truth[joint] += inwards
            result = solver.solve(start, targets_at(panda, truth, ['panda_link8']))
            assert result.status is Status.CONVERGED


def test_out_of_reach_is_said_and_the_arm_points_there(panda):
    solver = make_solver('lm', panda, [Task('panda_link8', 1.0, 0.0)], max_iterations=300)
    target = np.eye(4)[None].copy()
    target[0, :3, 3] = (3.0, 0.0, 1.0)
    q = panda.neutral()
    q[3] = -1.0
    result = solver.solve(q, target)
    assert result.status in (Status.LIMITED, Status.UNREACHABLE)
    hand = panda.link_pose(result.q, 'panda_link8')[:3, 3]
    assert hand[0] > 0.7
    assert result.position_errors[0] == pytest.approx(np.linalg.norm(target[0, :3, 3] - hand))


@pytest.mark.parametrize('bad', [math.nan, math.inf, -math.inf])
def test_bad_values_give_a_finite_pose_and_say_so(panda, talos, bad):
    for model, links in ((panda, ('panda_link8',)), (talos, TALOS_LINKS)):
        solver = make_solver('lm', model, [Task(link) for link in links])
        q = model.neutral()
        targets = targets_at(model, q, links)
        targets[0, 1, 3] = bad
        result = solver.solve(q, targets)
        assert result.status is Status.FAILED
        assert (result.q == model.clamp(q)).all()
        q[-1] = bad
        result = solver.solve(q, targets_at(model, model.neutral(), links))
        assert result.status is Status.FAILED
        assert np.isfinite(result.q).all() and within_limits(model, result.q)


def test_a_start_outside_the_limits_is_brought_inside(panda):
    solver = make_solver('lm', panda, [Task('panda_link8')])
    result = solver.solve(np.full(panda.nq, 50.0), np.eye(4)[None].copy())
    assert within_limits(panda, result.q)


def test_zero_weight_switches_a_task_off(talos):
    solver = make_solver('lm', talos, [Task(link) for link in TALOS_LINKS])
    q = talos.neutral()
    targets = targets_at(talos, q, TALOS_LINKS)
    targets[2, :3, 3] += 5.0
    solver.weights[2] = 0.0
    result = solver.solve(q, targets)
    assert result.status is Status.CONVERGED
    assert np.abs(result.q - q).max() < 1e-9


def test_joints_of_more_than_a_turn_go_round(tmp_path):
    urdf = (
        '<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="revolute">'
        '<parent link="a"/><child link="b"/><axis xyz="0 0 1"/>'
        '<limit lower="-3.14" upper="3.14" velocity="1" effort="1"/></joint></robot>'
    )
    model = RobotModel.from_urdf(urdf)
    solver = make_solver('lm', model, [Task('b', 0.0, 1.0)], max_iterations=100)
    # The short way leads out of the limits; the same pose lies on the other side.
    target = targets_at(model, np.array([-2.9]), ['b'])
    result = solver.solve(np.array([3.0]), target)
    assert result.status is Status.CONVERGED
    assert result.q[0] == pytest.approx(-2.9, abs=2e-3)


def test_posture_decides_what_the_tasks_leave_open(panda):
    solver = make_solver('lm', panda, [Task('panda_link8')], posture_weight=1e-4)
    assert isinstance(solver, PostureSolver)
    q = 0.5 * (panda.lower + panda.upper)
    target = targets_at(panda, q, ['panda_link8'])
    for side in (-0.6, 0.6):
        solver.posture[:] = q
        solver.posture[2] += side
        result = solver.solve(q, target)
        assert np.sign(result.q[2] - q[2]) == np.sign(side)
        assert result.position_errors[0] < 2e-3


def test_the_same_input_gives_the_same_bits(talos):
    rng = np.random.default_rng(0)
    tasks = [Task(link) for link in TALOS_LINKS]
    cases = [(talos.random(rng), targets_at(talos, talos.random(rng), TALOS_LINKS)) for _ in '123']
    first = [make_solver('lm', talos, tasks).solve(*case).q for case in cases]
    solver = make_solver('lm', talos, tasks)
    again = [solver.solve(*case).q for case in cases for _ in range(2)][::2]
    assert all((a == b).all() for a, b in zip(first, again, strict=True))


def test_other_array_types_are_taken_and_wrong_shapes_refused(panda):
    solver = make_solver('lm', panda, [Task('panda_link8')])
    q = panda.neutral()
    target = targets_at(panda, q, ['panda_link8'])
    expected = solver.solve(q, target).q
    for other in (np.asfortranarray(target), target.astype(np.float32).astype(np.float64)[::1]):
        assert np.abs(solver.solve(q, other).q - expected).max() < 1e-6
    readonly = target.copy()
    readonly.flags.writeable = False
    assert (solver.solve(q, readonly).q == expected).all()
    assert np.abs(solver.solve(q.astype(np.float32), target).q - expected).max() < 1e-6
    with pytest.raises(VrIkError, match='Expected q_start'):
        solver.solve(q[:-1], target)
    with pytest.raises(VrIkError, match='Expected q_start'):
        solver.solve(q, np.tile(target, (2, 1, 1)))
    with pytest.raises(VrIkError, match='array of 4x4 poses'):
        solver.solve(q, target[0])


def test_options_and_names_are_checked(panda):
    with pytest.raises(UnknownNameError, match='max_iterations'):
        make_solver('lm', panda, [Task('panda_link8')], max_iteration=3)
    with pytest.raises(ConfigError, match='max_iterations'):
        make_solver('lm', panda, [Task('panda_link8')], max_iterations=0)
    with pytest.raises(UnknownNameError, match='lm'):
        make_solver('ml', panda, [Task('panda_link8')])
    with pytest.raises(VrIkError, match='position_weight is -1'):
        make_solver('lm', panda, [Task('panda_link8', -1.0)])


@settings(max_examples=60)
@given(seed=seeds)
def test_a_bounded_step_is_the_minimum_of_its_quadratic_model(seed):
    rng = np.random.default_rng(seed)
    n = 6
    jacobian = rng.normal(size=(8, n))
    dense = jacobian.T @ jacobian
    rhs = rng.normal(size=n)
    lower, upper = -rng.uniform(0.0, 0.4, n), rng.uniform(0.0, 0.4, n)
    # A chain: dof k is coupled with all before it.
    paths = np.array([[k, *range(k), *[0] * (n - 1 - k)] for k in range(n)])
    step, held = np.zeros(n), np.zeros(n)
    assert bounded_step(
        paths,
        np.tril(dense),
        np.full(n, 1e-9),
        rhs,
        lower,
        upper,
        held,
        np.zeros((n, n)),
        step,
        np.zeros(n),
    )
    pull = rhs - dense @ step
    assert (step >= lower).all() and (step <= upper).all()
    inside = (step > lower + 1e-12) & (step < upper - 1e-12)
    assert np.abs(pull[inside]).max(initial=0.0) < 1e-6
    assert (pull[step <= lower + 1e-12] <= 1e-6).all()
    assert (pull[step >= upper - 1e-12] >= -1e-6).all()
