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


"""Elbows stay out of the trunk and feet out of the ground: exact derivatives, no cost outside."""

import numpy as np
import pytest

from vr_ik.body.anthropometry import Proportions
from vr_ik.body.ground import ground_clearances, set_ground
from vr_ik.body.human import human_urdf, T_POSE
from vr_ik.body.joints import JOINTS
from vr_ik.body.mounts import device_mounts
from vr_ik.body.posture import joint_stiffness, rest_posture
from vr_ik.body.shoulder import shoulder_angles
from vr_ik.body.trunk import trunk_clearances
from vr_ik.kinematics import kernels
from vr_ik.kinematics.model import RobotModel
from vr_ik.solvers.body import BodySolver
from vr_ik.solvers.clearance import add_clearances, clearance_cost
from vr_ik.solvers.lm import LevenbergMarquardt
from vr_ik.types import Task

SHOULDER = [spec.name for spec in JOINTS['upper_arm']]
ARM_ACROSS = {
    **dict(zip(SHOULDER, shoulder_angles((0.15, -0.5, -0.85), (1.0, 0.0, 0.0)), strict=True)),
    'elbow_flexion': 1.6,
}
"""An elbow at the breastbone's inside, the forearm forward."""
ROLES = ('hmd', 'waist', 'l_controller', 'r_controller')


@pytest.fixture(scope='module')
def model():
    urdf = human_urdf(Proportions.from_height(1.75))
    return RobotModel.from_urdf(urdf, floating_base=True)


def poses(model, q):
    tree = model.tree
    out = np.empty((len(tree.body_ints), 12))
    kernels.body_poses(tree.body_ints, tree.body_floats, q, out)
    return out


def feet_clearances(model, height_m=0.0, sides='lr'):
    feet = [ground_clearances(model, side) for side in 'lr']
    for side, rows in zip('lr', feet, strict=True):
        set_ground(rows, height_m, side in sides)
    return np.concatenate(feet)


def cost(model, q, clearances=trunk_clearances):
    return clearance_cost(clearances(model), poses(model, q), np.empty(3), np.empty(3))


def poses_inside(model, count, clearances=trunk_clearances):
    rng = np.random.default_rng(1)
    found: list[np.ndarray] = []
    while len(found) < count:
        q = model.random(rng)
        if cost(model, q, clearances) > 1e-5:
            found.append(q)
    return found


def normal_equations(model, q, clearances):
    """Return the matrix as a full one, and the right-hand side."""
    tree, reference = model.tree, np.array([0.3, -0.2, 0.1])
    at = poses(model, q)
    columns = np.zeros((len(tree.column_ints), 6))
    kernels.body_columns(tree.body_ints, tree.body_floats, at, reference, columns)
    rows, rhs = np.zeros(tree.paths.shape), np.zeros(model.nv)
    add_clearances(
        clearances(model),
        tree.body_ints,
        tree.column_ints,
        tree.paths,
        at,
        reference,
        columns,
        np.empty(3),
        np.empty(3),
        rows,
        rhs,
    )
    full = np.zeros((model.nv, model.nv))
    for dof, path in enumerate(tree.paths):
        for place, other in enumerate([*path[1 : 1 + path[0]], dof]):
            full[dof, other] = full[other, dof] = rows[dof, place]
    return full, rhs


@pytest.mark.parametrize('clearances', [trunk_clearances, feet_clearances])
def test_the_gradient_is_that_of_the_cost(model, clearances):
    for q in poses_inside(model, 5, clearances):
        _, rhs = normal_equations(model, q, clearances)
        slopes = [
            (
                cost(model, model.integrate(q, step), clearances)
                - cost(model, model.integrate(q, -step), clearances)
            )
            / 2e-6
            for step in 1e-6 * np.eye(model.nv)
        ]
        assert np.allclose(rhs, -np.array(slopes), atol=1e-9)
        assert np.abs(rhs).max() > 1e-4


@pytest.mark.parametrize('clearances', [trunk_clearances, feet_clearances])
def test_the_matrix_is_a_sum_of_squares(model, clearances):
    for q in poses_inside(model, 5, clearances):
        matrix, _ = normal_equations(model, q, clearances)
        values = np.linalg.eigvalsh(matrix)
        assert values.min() > -1e-12 and values.max() > 1e-6
        # A point has one way out: each one adds one direction at most.
        assert np.linalg.matrix_rank(matrix, tol=1e-9) <= len(clearances(model))


@pytest.mark.parametrize('joints', [{}, T_POSE], ids=['hanging', 'level'])
def test_arms_beside_the_body_cost_nothing(model, joints):
    assert cost(model, model.configuration(joints)) == 0.0
    assert cost(model, np.concatenate((model.neutral()[:7], rest_posture(model)))) == 0.0


def test_feet_on_the_ground_cost_nothing_and_those_that_are_tracked_never_do(model):
    q = model.neutral()
    ground_m = model.link_pose(q, 'l_sole')[2, 3]
    assert cost(model, q, lambda m: feet_clearances(m, ground_m)) == 0.0
    deep = [
        cost(model, q, lambda m, s=s: feet_clearances(m, ground_m + 0.1, s))
        for s in ('l', 'lr', '')
    ]
    assert deep[1] == pytest.approx(2.0 * deep[0]) and deep[0] > 0.0
    assert deep[2] == 0.0


def test_the_cost_does_not_depend_on_where_the_body_is_nor_on_the_side(model):
    (q,) = poses_inside(model, 1)
    moved = q.copy()
    moved[:7] = (5.0, -3.0, 1.0, 0.5, 0.5, 0.5, 0.5)
    assert cost(model, moved) == pytest.approx(cost(model, q), rel=1e-9)
    left = {f'l_{name}': angle for name, angle in ARM_ACROSS.items()}
    right = {f'r_{name}': angle for name, angle in ARM_ACROSS.items()}
    both = [cost(model, model.configuration(arm)) for arm in (left, right)]
    assert both[0] == pytest.approx(both[1], rel=1e-9) and both[0] > 0.0


def test_the_solver_takes_elbows_out_of_the_trunk(model):
    """The same hands, solved by `lm` and by `body`: inside by one, outside by the other."""
    mounts = [device_mounts(Proportions.from_height(1.75))[role] for role in ROLES]
    wanted = model.configuration({f'{s}_{n}': a for s in 'lr' for n, a in ARM_ACROSS.items()})
    targets = np.array([model.link_pose(wanted, m.link) @ m.pose_link_from_device for m in mounts])
    costs = []
    for kind in (LevenbergMarquardt, BodySolver):
        tasks = [Task(m.link, 1.0, 0.3, m.pose_link_from_device) for m in mounts]
        solver = kind(model, tasks, max_iterations=100)
        solver.posture[:] = rest_posture(model)
        solver.posture_weights[:] = 2e-5 * joint_stiffness(model)
        q = wanted
        for _ in range(5):
            q = solver.solve(q, targets).q
        costs.append(cost(model, q))
    assert costs[0] > 1e-5
    assert costs[1] < 0.1 * costs[0]
