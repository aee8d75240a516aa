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

"""Laws of the kinematics: equal to Pinocchio on real robots, and to finite differences."""

from hypothesis import given, settings, strategies as st
import numpy as np
import pytest
from robots import Oracle, urdf_path

from vr_ik.errors import UnknownNameError, VrIkError
from vr_ik.kinematics.model import RobotModel
from vr_ik.kinematics.tree import prune_tree
from vr_ik.types import Task

# Together: fixed and floating bases, continuous, prismatic and mimic joints, trees.
ROBOTS = ('panda', 'ur5_robot', 'kinova', 'talos_full_v2', 'tiago', 'pr2', 'baxter')
seeds = st.integers(0, 2**32 - 1)


@pytest.fixture(scope='module', params=[(r, f) for r in ROBOTS for f in (False, True)], ids=str)
def oracle(request):
    return Oracle(*request.param)


def test_links_and_jacobians_equal_pinocchio(oracle):
    model = oracle.model
    for seed in range(3):
        q = model.random(np.random.default_rng(seed))
        oracle.update(q)
        poses = model.link_poses(q)
        for link in model.link_names:
            expected = oracle.pose(link)
            assert np.abs(poses[model.link_index(link)] - expected).max() < 1e-9
            assert np.abs(model.link_pose(q, link) - expected).max() < 1e-9
            for frame in ('world', 'local'):
                ours = model.jacobian(q, link, frame)
                assert np.abs(ours - oracle.jacobian(link, frame)).max() < 1e-9


def _tasks_and_targets(model, rng):
    links = [model.link_names[i] for i in rng.integers(len(model.link_names), size=4)]
    tasks = [
        Task(
            link,
            rng.uniform(0.1, 2.0),
            rng.uniform(0.0, 1.0),
            RobotModel.link_pose(model, model.random(rng), link),
        )
        for link in links
    ]
    q = model.random(rng)
    targets = np.array([model.link_pose(q, link) @ t.offset for link, t in zip(links, tasks)])
    return tasks, targets


@settings(max_examples=10, deadline=None)
@given(seed=seeds, robot=st.sampled_from(ROBOTS), floating=st.booleans())
def test_gradient_and_hessian_are_the_derivatives_of_the_cost(seed, robot, floating):
    rng = np.random.default_rng(seed)
    model = RobotModel.from_urdf(urdf_path(robot), floating)
    tasks, targets = _tasks_and_targets(model, rng)
    q = model.random(rng)
    _, gradient, hessian = model.cost_derivatives(q, tasks, targets)

    def cost(v):
        return model.cost_derivatives(model.integrate(q, v), tasks, targets)[0]

    # Along random directions: every entry takes part, at a few evaluations of the cost.
    for _ in range(4):
        direction = rng.normal(size=model.nv) / np.sqrt(model.nv)
        h = 1e-4
        slope = (cost(h * direction) - cost(-h * direction)) / (2 * h)
        curve = (cost(h * direction) - 2 * cost(0 * direction) + cost(-h * direction)) / h**2
        scale = 1.0 + np.abs(hessian).sum()
        assert slope == pytest.approx(gradient @ direction, abs=1e-7 * scale)
        assert curve == pytest.approx(direction @ hessian @ direction, abs=2e-6 * scale)
    assert np.abs(hessian - hessian.T).max() < 1e-12 * scale


@settings(max_examples=20, deadline=None)
@given(seed=seeds)
def test_integrate_and_difference_are_inverse(seed):
    rng = np.random.default_rng(seed)
    model = RobotModel.from_urdf(urdf_path('talos_reduced'), floating_base=True)
    a, b = model.random(rng), model.random(rng)
    there = model.integrate(a, model.difference(a, b))
    # A quaternion and its negative are the same rotation.
    there[3:7] *= np.sign(there[3:7] @ b[3:7])
    assert np.abs(there - b).max() < 1e-9


def test_jacobian_is_the_derivative_of_the_pose():
    rng = np.random.default_rng(0)
    model = RobotModel.from_urdf(urdf_path('tiago'), floating_base=True)
    q, link, h = model.random(rng), 'hand_grasping_frame', 1e-6
    for column, v in enumerate(np.eye(model.nv)):
        before = model.link_pose(model.integrate(q, -h * v), link)
        after = model.link_pose(model.integrate(q, h * v), link)
        turn = (after[:3, :3] - before[:3, :3]) @ before[:3, :3].T / (2 * h)
        expected = [*(after[:3, 3] - before[:3, 3]) / (2 * h), turn[2, 1], turn[0, 2], turn[1, 0]]
        assert np.allclose(model.jacobian(q, link)[:, column], expected, atol=1e-5)


@settings(max_examples=10, deadline=None)
@given(seed=seeds)
def test_moving_the_world_moves_every_link_with_it(seed):
    rng = np.random.default_rng(seed)
    model = RobotModel.from_urdf(urdf_path('talos_reduced'), floating_base=True)
    q, other = model.random(rng), model.random(rng)
    moved = q.copy()
    pose_world_from_root = model.link_pose(q, model.root_link)
    moved[:7] = other[:7]
    pose_new_from_old = model.link_pose(moved, model.root_link) @ np.linalg.inv(
        pose_world_from_root
    )
    expected = pose_new_from_old @ model.link_poses(q)
    assert np.abs(model.link_poses(moved) - expected).max() < 1e-9


def test_random_configurations_are_within_limits_and_clamp_keeps_them():
    rng = np.random.default_rng(1)
    for robot in ROBOTS:
        model = RobotModel.from_urdf(urdf_path(robot))
        for _ in range(20):
            q = model.random(rng)
            assert (q >= model.lower).all() and (q <= model.upper).all()
            assert (model.clamp(q) == q).all()
        far = model.clamp(np.full(model.nq, 1e6))
        assert (far <= model.upper).all()


def test_a_pruned_tree_keeps_the_bodies_that_matter():
    model = RobotModel.from_urdf(urdf_path('panda'))
    arm = model.placement('panda_link8').body
    tree, bodies = prune_tree(model.tree, np.array([arm, -1]))
    assert len(tree.body_ints) == 7 < len(model.tree.body_ints)
    assert bodies.tolist() == [6, -1]
    assert tree.paths[:, 0].tolist() == [0, 1, 2, 3, 4, 5, 6, 0]


def test_errors_name_the_thing_and_the_choices():
    model = RobotModel.from_urdf(urdf_path('panda'))
    with pytest.raises(UnknownNameError, match="'panda_link88'.*Did you mean 'panda_link8'"):
        model.link_pose(model.neutral(), 'panda_link88')
    with pytest.raises(UnknownNameError, match='Known: local, world'):
        model.jacobian(model.neutral(), 'panda_link8', 'body')
    with pytest.raises(VrIkError, match='has 8 coordinates; got shape \\(3,\\)'):
        model.link_poses(np.zeros(3))
    with pytest.raises(UnknownNameError, match='panda_joint1'):
        model.joint_index('joint1')


def test_a_velocity_of_another_length_is_refused():
    model = RobotModel.from_urdf(urdf_path('panda'), floating_base=True)
    for size in (model.nv - 1, model.nq):
        with pytest.raises(VrIkError, match=f'{model.nv} velocities'):
            model.integrate(model.neutral(), np.zeros(size))
