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


"""Laws of the geometric solvers alone, beside those in `test_solver_interface`."""

from typing import Any

from geometric_support import cases, true_errors
from hypothesis import example, given, settings, strategies as st
import numpy as np
import pytest
from robots import urdf_path

from vr_ik.body.anthropometry import Proportions
from vr_ik.body.human import human_urdf
from vr_ik.config_texts import option_map
from vr_ik.errors import ConfigError, UnknownNameError, VrIkError
from vr_ik.evaluation.chain_work import Chain, chain_urdf
from vr_ik.kinematics.model import RobotModel
from vr_ik.solvers.base import make_solver
from vr_ik.types import Status, Task

SOLVERS: tuple[tuple[str, dict[str, Any]], ...] = (
    ('ccd', {}),
    ('ccd', {'root_first': True, 'max_turn': 0.5}),
    ('fabrik', {}),
    ('fabrik', {'limits': 'cones'}),
    ('ftl', {}),
    ('triangulation', {}),
    ('target_triangle', {}),
    ('two_bone', {}),
    ('two_bone', {'pole': 'fixed'}),
    ('two_bone', {'pole': 'zones'}),
)
NAMES = ('ccd', 'fabrik', 'ftl', 'triangulation', 'target_triangle', 'two_bone')
# Those that find a pose within limits near any start; triangulation does not see limits.
ACCURATE = ('ccd', 'fabrik', 'target_triangle', 'two_bone')
seeds = st.integers(0, 2**32 - 1)


@pytest.fixture(scope='module')
def panda():
    return RobotModel.from_urdf(urdf_path('panda'))


@pytest.fixture(scope='module')
def human():
    return RobotModel.from_urdf(human_urdf(Proportions.from_height(1.75)), floating_base=True)


@pytest.mark.parametrize('name, options', SOLVERS)
@settings(max_examples=50)
@given(case=cases())
def test_no_solve_ends_worse_than_it_began(name, options, case):
    if not (np.isfinite(case.q_start).all() and np.abs(case.targets).max() < 1e150):
        return
    solver = make_solver(name, case.model, case.tasks, max_iterations=5, **options)
    start = case.model.clamp(case.q_start)
    positions, rotations = true_errors(case.model, case.tasks, start, case.targets)
    before = 0.5 * (solver.weights * np.column_stack((positions, rotations)) ** 2).sum()
    result = solver.solve(start, case.targets)
    assert result.cost <= before * (1.0 + 1e-9) + 1e-12


@pytest.mark.parametrize('name', NAMES)
@settings(max_examples=20)
@given(seed=seeds)
def test_a_met_target_moves_nothing(panda, name, seed):
    q = panda.random(np.random.default_rng(seed))
    solver = make_solver(name, panda, [Task('panda_link8')])
    result = solver.solve(q, panda.link_pose(q, 'panda_link8')[None].copy())
    assert result.status is Status.CONVERGED and result.iterations == 0
    assert (result.q == panda.clamp(q)).all()


@pytest.mark.parametrize('name', ACCURATE)
def test_an_arm_reaches_positions_near_its_start(panda, name):
    rng = np.random.default_rng(1)
    solver = make_solver(name, panda, [Task('panda_link8', 1.0, 0.0)])
    solved = 0
    for _ in range(50):
        truth = panda.random(rng)
        start = panda.clamp(truth + 0.1 * rng.normal(size=panda.nq))
        target = panda.link_pose(truth, 'panda_link8')[None].copy()
        solved += solver.solve(start, target).status is Status.CONVERGED
    assert solved >= 45


@pytest.mark.parametrize('name', ACCURATE)
def test_a_persons_arm_reaches_poses_near_its_start(human, name):
    rng = np.random.default_rng(2)
    arm = RobotModel.from_urdf(human_urdf(Proportions.from_height(1.75)))
    solver = make_solver(name, arm, [Task('l_gripper')])
    solved = 0
    for _ in range(50):
        truth = arm.random(rng)
        start = arm.clamp(truth + 0.1 * rng.normal(size=arm.nq))
        target = arm.link_pose(truth, 'l_gripper')[None].copy()
        solved += solver.solve(start, target).status is Status.CONVERGED
    assert solved >= 40


TRACKED = ('base_link', 'gaze', 'l_gripper', 'r_gripper', 'l_ankle', 'r_ankle')


@pytest.mark.parametrize('name, worst_m', [('ccd', 0.01), ('fabrik', 0.02), ('two_bone', 0.04)])
def test_a_whole_person_follows_six_trackers(human, name, worst_m):
    rng = np.random.default_rng(3)
    solver = make_solver(name, human, [Task(link) for link in TRACKED])
    errors = []
    for _ in range(20):
        truth = human.neutral()
        truth[7:] = np.clip(0.3 * rng.normal(size=human.nq - 7), human.lower, human.upper)
        start = human.clamp(human.integrate(truth, 0.05 * rng.normal(size=human.nv)))
        targets = np.array([human.link_pose(truth, link) for link in TRACKED])
        errors.append(solver.solve(start, targets).position_errors.max())
    assert np.median(errors) < worst_m


@pytest.mark.parametrize('name', NAMES)
def test_out_of_reach_is_said_and_the_arm_stretches_there(human, name):
    arm = RobotModel.from_urdf(human_urdf(Proportions.from_height(1.75)))
    solver = make_solver(name, arm, [Task('l_wrist', 1.0, 0.0)], max_iterations=300)
    q = arm.neutral()
    q[arm.joint_index('l_elbow_flexion')] = 1.0
    shoulder = arm.link_pose(q, 'l_upper_arm')[:3, 3]
    target = np.eye(4)[None].copy()
    target[0, :3, 3] = shoulder + (4.0, 1.0, 0.0)
    result = solver.solve(q, target)
    assert result.status is Status.UNREACHABLE
    poses = [arm.link_pose(result.q, link)[:3, 3] for link in ('l_upper_arm', 'l_wrist')]
    reach = np.linalg.norm(arm.link_pose(arm.neutral(), 'l_wrist')[:3, 3] - shoulder)
    # Straight, and towards the target.
    assert np.linalg.norm(poses[1] - poses[0]) > 0.97 * reach
    way = target[0, :3, 3] - poses[0]
    assert (poses[1] - poses[0]) @ way > 0.95 * np.linalg.norm(way) * reach


@pytest.mark.parametrize('name', ('fabrik', 'ftl', 'triangulation', 'target_triangle'))
def test_a_chain_of_balls_points_at_what_is_out_of_reach_and_fabrik_in_one_round(name):
    chain = Chain(joints=6, length=1.0, tolerance=1e-4, max_iterations=100)
    model = RobotModel.from_urdf(chain_urdf(chain))
    solver = make_solver(name, model, [Task('joint6', 1.0, 0.0)])
    rng = np.random.default_rng(0)
    target = np.eye(4)[None].copy()
    for _ in range(50):
        direction = rng.normal(size=3)
        away = rng.uniform(1.001, 10.0)
        target[0, :3, 3] = away * direction / np.linalg.norm(direction)
        result = solver.solve(model.random(rng), target)
        assert result.status is Status.UNREACHABLE
        assert result.position_errors[0] == pytest.approx(away - 1.0, abs=1e-4)
        assert result.iterations == 1 or name != 'fabrik'


def ball(name: str, parent: str, xyz: str, limit: str) -> str:
    """Return links and joints of a ball joint: three hinges."""
    parts = []
    for link, axis in ((f'{name}_z', '0 0 1'), (f'{name}_x', '1 0 0'), (name, '0 1 0')):
        kind = 'revolute' if limit else 'continuous'
        parts.append(
            f'<link name="{link}"/><joint name="to_{link}" type="{kind}">'
            f'<parent link="{parent}"/><child link="{link}"/><origin xyz="{xyz}"/>'
            f'<axis xyz="{axis}"/>{limit}</joint>'
        )
        parent, xyz = link, '0 0 0'
    return ''.join(parts)


def test_fabrik_turns_a_body_whose_joints_are_at_their_limits():
    # Pelvis and chest with free limbs of two bones, and a stiff spine between them.
    limit = '<limit lower="-0.1" upper="0.1" velocity="1" effort="1"/>'
    parts = ['<link name="pelvis"/>', ball('chest', 'pelvis', '0 0 0.25', limit)]
    ends = []
    for parent, z in (('pelvis', 0.0), ('chest', 0.25)):
        for y in (-0.2, 0.2):
            limb = f'{parent}_{"left" if y > 0.0 else "right"}'
            parts.append(ball(limb, parent, f'0 {y} {z}', ''))
            parts.append(ball(f'{limb}_end', limb, '0 0 -0.3', ''))
            ends.append(f'{limb}_end')
    model = RobotModel.from_urdf(f'<robot name="h">{"".join(parts)}</robot>', floating_base=True)
    tip = np.eye(4)
    tip[2, 3] = -0.3
    solver = make_solver('fabrik', model, [Task(end, 1.0, 0.05, tip) for end in ends])
    worst = []
    for seed in range(60):
        truth = model.random(np.random.default_rng(seed))
        targets = np.array([model.link_pose(truth, end) @ tip for end in ends])
        worst.append(solver.solve(model.neutral(), targets).position_errors.max())
    # Without that pelvis and chest pull against each other, and the mean is 8 mm.
    assert np.mean(worst) < 4e-3


@pytest.mark.parametrize('name', NAMES)
def test_a_straight_arm_bends_to_a_target_on_its_own_line(human, name):
    arm = RobotModel.from_urdf(human_urdf(Proportions.from_height(1.75)))
    solver = make_solver(name, arm, [Task('l_wrist', 1.0, 0.0)], max_iterations=300)
    q = arm.neutral()
    target = arm.link_pose(q, 'l_wrist')[None].copy()
    shoulder = arm.link_pose(q, 'l_upper_arm')[:3, 3]
    target[0, :3, 3] = shoulder + 0.6 * (target[0, :3, 3] - shoulder)
    # Triangulation knows no limits: what its straight last bones leave is a few centimetres.
    assert solver.solve(q, target).position_errors[0] < (0.1 if name == 'triangulation' else 0.02)


@pytest.mark.parametrize('name', NAMES)
@settings(max_examples=10)
@example(seed=186)  # the left knee gets straight
@given(seed=seeds)
def test_moving_the_world_moves_the_solution_with_it(human, name, seed):
    rng = np.random.default_rng(seed)
    solver = make_solver(name, human, [Task(link) for link in TRACKED], max_iterations=3)
    truth = human.neutral()
    truth[7:] = np.clip(0.3 * rng.normal(size=human.nq - 7), human.lower, human.upper)
    start = human.clamp(human.integrate(truth, 0.05 * rng.normal(size=human.nv)))
    targets = np.array([human.link_pose(truth, link) for link in TRACKED])
    moved = start.copy()
    moved[:7] = human.random(rng)[:7]
    pose_new_from_old = human.link_pose(moved, 'base_link') @ np.linalg.inv(
        human.link_pose(start, 'base_link')
    )
    here = solver.solve(start, targets)
    there = solver.solve(moved, np.ascontiguousarray(pose_new_from_old @ targets))
    assert np.abs(here.q[7:] - there.q[7:]).max() < 1e-5


@pytest.mark.parametrize('name', NAMES)
def test_zero_weight_switches_a_task_off(human, name):
    solver = make_solver(name, human, [Task(link) for link in TRACKED])
    q = human.neutral()
    targets = np.array([human.link_pose(q, link) for link in TRACKED])
    targets[2, :3, 3] += 5.0
    solver.weights[2] = 0.0
    result = solver.solve(q, targets)
    assert result.status is Status.CONVERGED
    assert np.abs(result.q - q).max() < 1e-9


def test_no_visit_of_ccd_makes_the_cost_larger(human):
    rng = np.random.default_rng(5)
    tasks = [Task(link) for link in TRACKED]
    for _ in range(10):
        targets = np.array([human.link_pose(human.random(rng), link) for link in TRACKED])
        q, costs = human.random(rng), []
        one = make_solver('ccd', human, tasks, max_iterations=1)
        for _ in range(10):
            result = one.solve(q, targets)
            q = result.q
            costs.append(result.cost)
        assert (np.diff(costs) <= 1e-9).all()


def test_damping_of_ccd_is_by_joint(panda):
    turns = np.linspace(0.01, 0.09, panda.nq)
    text = 'max_iterations=1, max_turn=' + ' '.join(map(str, turns))
    options = option_map('solver_options', text)
    solver = make_solver('ccd', panda, [Task('panda_link8')], **options)
    rng = np.random.default_rng(6)
    q = panda.random(rng)
    targets = panda.link_pose(panda.random(rng), 'panda_link8')[None].copy()
    moves = np.abs(solver.solve(q, targets).q - q)
    assert (moves <= turns + 1e-9).all()
    # Most go as far as they may, and that is not the same for all.
    assert np.count_nonzero(moves >= turns - 1e-9) >= 4
    one = make_solver('ccd', panda, [Task('panda_link8')], max_iterations=1, max_turn=0.05)
    assert np.abs(one.solve(q, targets).q - q).max() == pytest.approx(0.05)


@pytest.mark.parametrize(
    'turn, text', [((0.1, 0.2), 'of the 8 joints'), ((), 'list'), ('a', 'number'), (4.0, '3.14')]
)
def test_damping_of_ccd_that_fits_no_model_is_refused(panda, turn, text):
    with pytest.raises(ConfigError, match=text):
        make_solver('ccd', panda, [Task('panda_link8')], max_turn=turn)


def test_a_joint_of_more_than_a_turn_goes_round():
    urdf = (
        '<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="revolute">'
        '<parent link="a"/><child link="b"/><axis xyz="0 0 1"/>'
        '<limit lower="-3.2" upper="3.2" velocity="1" effort="1"/></joint></robot>'
    )
    model = RobotModel.from_urdf(urdf)
    target = model.link_pose(np.array([-2.9]), 'b')[None].copy()
    for name in ('ccd', 'fabrik'):
        solver = make_solver(name, model, [Task('b', 0.0, 1.0)])
        result = solver.solve(np.array([3.0]), target)
        assert result.status is Status.CONVERGED
        assert result.q[0] == pytest.approx(-2.9, abs=2e-3)


@pytest.mark.parametrize('name', NAMES)
def test_options_names_and_shapes_are_checked(panda, name):
    with pytest.raises(UnknownNameError, match='max_iterations'):
        make_solver(name, panda, [Task('panda_link8')], max_iteration=3)
    with pytest.raises(ConfigError, match='max_iterations'):
        make_solver(name, panda, [Task('panda_link8')], max_iterations=0)
    solver = make_solver(name, panda, [Task('panda_link8')])
    q = panda.neutral()
    target = panda.link_pose(q, 'panda_link8')[None].copy()
    with pytest.raises(VrIkError, match='Expected q_start'):
        solver.solve(q[:-1], target)
    with pytest.raises(VrIkError, match='Expected q_start'):
        solver.solve(q, np.tile(target, (2, 1, 1)))
    expected = solver.solve(q, target).q
    assert (solver.solve(q, np.asfortranarray(target)).q == expected).all()
