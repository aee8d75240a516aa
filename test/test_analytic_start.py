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

"""The solver `body` begins analytically: limbs are found wherever they are, in its first solve."""

import math

import numpy as np
import pytest
from robots import urdf_path

from vr_ik.body.human import human_urdf
from vr_ik.body.joints import mirror_joint
from vr_ik.body.posture import joint_stiffness, PosturePull, rest_posture
from vr_ik.calibration.calibration import Calibration
from vr_ik.config import SolverConfig
from vr_ik.kinematics.model import RobotModel
from vr_ik.pipeline import Pipeline
from vr_ik.solvers.body import _arm, BodySolver
from vr_ik.solvers.lm import LevenbergMarquardt
from vr_ik.types import Status, Task, TrackingFrame

SIX = ('hmd', 'waist', 'l_controller', 'r_controller', 'l_foot', 'r_foot')
CALIBRATION = Calibration.nominal(1.75)
MOUNTS = [CALIBRATION.mounts[role] for role in SIX]
TALOS_LINKS = (
    'head_2_link',
    'torso_2_link',
    'gripper_left_base_link',
    'gripper_right_base_link',
    'left_sole_link',
    'right_sole_link',
)


@pytest.fixture(scope='module')
def model():
    return RobotModel.from_urdf(human_urdf(CALIBRATION.proportions), floating_base=True)


def solver(model, posture_weight=2e-5, max_iterations=50):
    tasks = [Task(mount.link, 1.0, 0.3, mount.pose_link_from_device) for mount in MOUNTS]
    made = BodySolver(model, tasks, max_iterations=max_iterations)
    made.posture[:] = rest_posture(model)
    made.posture_weights[:] = posture_weight * joint_stiffness(model)
    return made


def device_poses(model, q):
    return np.array([model.link_pose(q, m.link) @ m.pose_link_from_device for m in MOUNTS])


def standing(model):
    q = model.neutral()
    q[7:] = rest_posture(model)
    return q


def anywhere(model, rng):
    """Return a pose with arms and legs anywhere, the trunk a little bent, up to metres away."""
    q = standing(model)
    for joint, name in enumerate(model.joint_names):
        lower, upper = model.lower[joint], model.upper[joint]
        middle, half = 0.5 * (lower + upper), 0.5 * (upper - lower)
        if name[:2] not in ('l_', 'r_'):
            q[7 + joint] = np.clip(rng.uniform(-0.3, 0.3), lower, upper)
        elif 'clavicle' not in name:
            share = 0.4 if 'wrist' in name or 'ankle' in name else 0.7
            q[7 + joint] = middle + share * rng.uniform(-half, half)
    q[:2] = rng.normal(size=2)
    return turned(q, rng.uniform(-3.0, 3.0))


def turned(q, yaw, shift=(0.0, 0.0, 0.0)):
    """Return a pose turned about the world's vertical axis, then shifted."""
    out = q.copy()
    sine, cosine = math.sin(yaw), math.cos(yaw)
    out[:2] = cosine * q[0] - sine * q[1], sine * q[0] + cosine * q[1]
    out[:3] += shift
    a, b = math.sin(0.5 * yaw), math.cos(0.5 * yaw)
    x, y, z, w = q[3:7]
    out[3:7] = b * x - a * y, b * y + a * x, b * z + a * w, b * w - a * z
    return out


def mirrored(model, q):
    """Return a pose as seen in a mirror that stands on the world's x and z axes."""
    out = q * np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0] + [1.0] * len(model.joint_names))
    for joint, name in enumerate(model.joint_names):
        other, sign = mirror_joint(name)
        out[7 + joint] = sign * q[7 + model.joint_index(other)]
    return out


def same_bits(a, b):
    return np.array_equal(a._values, b._values)


def begun(made):
    """Return the solver after its first solve, which alone looks for limbs."""
    q = standing(made.model)
    made.solve(q, device_poses(made.model, q))
    return made


def test_limbs_that_are_anywhere_are_found_in_the_first_solve(model):
    """From a neutral start; later solves start where they are told to, and may miss them."""
    made, start = solver(model), standing(model)
    met, iterations = [], []
    for is_first in (True, False):
        results = []
        for seed in range(60):
            targets = device_poses(model, anywhere(model, np.random.default_rng(seed)))
            made.reset()
            results.append((made if is_first else begun(made)).solve(start, targets))
        for result in results:
            assert (result.q[7:] >= model.lower).all() and (result.q[7:] <= model.upper).all()
        met.append(sum(result.position_errors.max() < 0.01 for result in results))
        iterations.append(sum(result.iterations for result in results))
    assert met[0] == 60 > met[1]
    assert iterations[0] < 0.8 * iterations[1]


def test_limbs_of_a_robot_are_found_too():
    """Which limbs there are, the tree tells: no name of a joint is known here."""
    model = RobotModel.from_urdf(urdf_path('talos_reduced'), floating_base=True)
    tasks = [Task(link, 1.0, 0.3) for link in TALOS_LINKS]
    body = BodySolver(model, tasks, max_iterations=50)
    plain = LevenbergMarquardt(model, tasks, max_iterations=50)
    rng = np.random.default_rng(0)
    middle = 0.5 * (model.lower + model.upper)
    met = np.zeros(2, int)
    for _ in range(40):
        truth = model.random(rng)
        truth[7:] = middle + 0.8 * (truth[7:] - middle)
        targets = np.array([model.link_pose(truth, link) for link in TALOS_LINKS])
        body.reset()
        for i, made in enumerate((body, plain)):
            met[i] += made.solve(model.neutral(), targets).position_errors.max() < 0.01
    assert met[0] >= 33 and met[0] > met[1] + 5


def test_only_the_first_solve_looks_for_limbs(model):
    """Nothing of it is left in the next one, and `reset` has it done again."""
    start = standing(model)
    targets = device_poses(model, anywhere(model, np.random.default_rng(3)))
    made, other = solver(model), begun(solver(model))
    first, second = made.solve(start, targets), made.solve(start, targets)
    assert not same_bits(first, second)
    assert same_bits(second, other.solve(start, targets))
    made.reset()
    assert same_bits(first, made.solve(start, targets))


@pytest.mark.parametrize('bad', [np.nan, np.inf, 1e200])
def test_a_solve_that_fails_leaves_the_start_to_the_next(model, bad):
    start = standing(model)
    targets = device_poses(model, anywhere(model, np.random.default_rng(3)))
    made, other = solver(model), solver(model)
    assert made.solve(start, np.full_like(targets, bad)).status is Status.FAILED
    assert same_bits(made.solve(start, targets), other.solve(start, targets))


def test_weights_are_as_they_were_after_the_first_solve(model):
    made = solver(model)
    made.weights[:] = np.linspace(0.1, 1.2, made.weights.size).reshape(made.weights.shape)
    before = made.weights.copy()
    made.solve(standing(model), device_poses(model, anywhere(model, np.random.default_rng(3))))
    np.testing.assert_array_equal(made.weights, before)


def led(model, start, truth):
    """Return where limbs are led to; what is done after that is cut short."""
    return solver(model, max_iterations=1).solve(start, device_poses(model, truth)).q


def limbs_anywhere(model, seed):
    """Return a pose whose trunk is where it is at the start."""
    q, start = anywhere(model, np.random.default_rng(seed)), standing(model)
    is_limb = np.array([name[:2] in ('l_', 'r_') for name in model.joint_names])
    return np.concatenate((start[:7], np.where(is_limb, q[7:], start[7:])))


def largest_difference(a, b):
    """Return by how much poses differ; a quaternion may have either sign."""
    return np.abs(np.delete(a - b, [3, 4, 5, 6])).max()


@pytest.mark.parametrize('seed', range(10))
def test_the_mirrored_start_is_the_start_mirrored(model, seed):
    start, truth = standing(model), limbs_anywhere(model, seed)
    found = led(model, start, truth)
    other = led(model, mirrored(model, start), mirrored(model, truth))
    assert largest_difference(mirrored(model, found), other) < 1e-9


@pytest.mark.parametrize('seed', range(10))
def test_where_the_world_begins_does_not_matter(model, seed):
    start, truth = standing(model), limbs_anywhere(model, seed)
    motion = 2.0, (4.0, -3.0, 0.5)
    found = led(model, start, truth)
    other = led(model, turned(start, *motion), turned(truth, *motion))
    assert largest_difference(turned(found, *motion), other) < 1e-9


def test_a_limb_that_no_device_leads_stays(model):
    """Without a pull to the posture nothing else moves it, either."""
    made = solver(model, posture_weight=0.0)
    made.weights[SIX.index('l_controller')] = 0.0
    start = standing(model)
    targets = device_poses(model, anywhere(model, np.random.default_rng(3)))
    result = made.solve(start, targets)
    arms = np.array([_arm(name) for name in model.joint_names])
    np.testing.assert_allclose(result.q[7:][arms == 0], start[7:][arms == 0], atol=1e-12)
    assert np.abs(result.q - start)[7:][arms == 1].max() > 0.5


def test_a_tree_without_limbs_is_solved_as_ever():
    urdf = """<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="revolute">
    <parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
    <limit lower="-2" upper="2" velocity="1" effort="1"/></joint></robot>"""
    model = RobotModel.from_urdf(urdf)
    tip = np.eye(4)
    tip[0, 3] = 1.0
    made = BodySolver(model, [Task('b', 1.0, 0.0, tip)])
    target = model.link_pose(np.array([1.5]), 'b') @ tip
    assert made.solve(model.neutral(), target[None]).q == pytest.approx([1.5], abs=1e-3)


@pytest.mark.parametrize('seed', [166, 230, 231])
def test_the_first_frame_is_met_where_descent_from_three_postures_was_not(model, seed):
    pipeline = Pipeline(SolverConfig(), CALIBRATION)
    poses = device_poses(model, anywhere(model, np.random.default_rng(seed)))
    solution = pipeline.process(TrackingFrame(1, SIX, poses))
    assert max(solution.position_errors.values()) < 0.01


@pytest.mark.parametrize('seed', [0, 75, 79])
def test_limbs_that_are_lost_are_found_by_a_second_try(model, seed):
    """From the natural posture alone, these were not."""
    rng = np.random.default_rng(seed)
    targets, q = device_poses(model, anywhere(model, rng)), anywhere(model, rng)
    made = begun(solver(model))
    pull = PosturePull(made, 2e-5, 'natural')
    for _ in range(40):
        pull.from_pose(q, 1.0 / 90.0)
        result = made.solve(q, targets)
        q = result.q
    assert result.position_errors.max() < 0.01


@pytest.mark.parametrize(
    'roles', [('l_controller', 'r_controller'), ('l_foot', 'r_foot'), ('r_controller',)]
)
def test_where_limbs_alone_have_tasks_they_bring_the_body_along(model, roles):
    """From metres away: limbs that are led first would stretch, and pull the body crooked."""
    made, start = solver(model), standing(model)
    made.weights[[role not in roles for role in SIX]] = 0.0
    costs = np.zeros((40, 2))
    for seed in range(40):
        targets = device_poses(model, anywhere(model, np.random.default_rng(seed)))
        for i in range(2):
            made.reset()
            costs[seed, i] = (made if i == 0 else begun(made)).solve(start, targets).cost
    assert (costs[:, 0] < 1.05 * costs[:, 1] + 1e-6).all()
