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


"""Laws of the solver `two_bone` on arms and legs, and of its poles."""

from hypothesis import strategies as st
import numpy as np
import pytest
from robots import urdf_path

from vr_ik.body.anthropometry import Proportions
from vr_ik.body.human import human_urdf
from vr_ik.errors import ConfigError
from vr_ik.kinematics.model import RobotModel
from vr_ik.solvers.base import make_solver
from vr_ik.types import Status, Task

seeds = st.integers(0, 2**32 - 1)


@pytest.fixture(scope='module')
def human():
    return RobotModel.from_urdf(human_urdf(Proportions.from_height(1.75)))


def targets_at(model, q, links):
    return np.array([model.link_pose(q, link) for link in links])


LIMBS = ('l_gripper', 'r_gripper', 'l_ankle', 'r_ankle')


def bent(human, rng):
    """Return a pose with bent limbs, well within the limits."""
    q = human.neutral()
    for i, name in enumerate(human.joint_names):
        if name.startswith(('l_', 'r_')):
            q[i] = rng.uniform(-0.3, 0.3)
            if name.endswith(('elbow_flexion', 'knee_flexion')):
                q[i] = rng.uniform(0.4, 1.8)
    return human.clamp(q)


def test_arms_and_legs_take_their_places_at_once(human):
    rng = np.random.default_rng(2)
    solver = make_solver('two_bone', human, [Task(link, 1.0, 0.0) for link in LIMBS])
    results = []
    for _ in range(100):
        truth = bent(human, rng)
        start = human.clamp(truth + 0.1 * rng.normal(size=human.nq))
        results.append(solver.solve(start, targets_at(human, truth, LIMBS)))
    # With the elbow kept, a shoulder at its limits, or nearly there, can miss a few.
    missed = {result.status for result in results} - {Status.CONVERGED}
    assert missed <= {Status.LIMITED, Status.STALLED}
    assert sum(result.status is Status.CONVERGED for result in results) >= 95
    assert np.median([result.iterations for result in results]) == 1


def test_hands_and_feet_take_their_orientations(human):
    rng = np.random.default_rng(3)
    solver = make_solver('two_bone', human, [Task(link) for link in LIMBS], max_iterations=200)
    met = 0
    for _ in range(50):
        truth = bent(human, rng)
        start = human.clamp(truth + 0.05 * rng.normal(size=human.nq))
        result = solver.solve(start, targets_at(human, truth, LIMBS))
        met += result.position_errors.max() < 2e-3 and result.orientation_errors.max() < 0.02
    assert met >= 45


def elbow(human, q, side):
    return human.link_pose(q, f'{side}_forearm')[:3, 3]


def test_a_fixed_pole_draws_the_elbow_and_the_sides_are_mirrored(human):
    tasks = [Task('l_wrist', 1.0, 0.0), Task('r_wrist', 1.0, 0.0)]
    targets = targets_at(human, human.neutral(), ('l_wrist', 'r_wrist'))
    shoulder = human.link_pose(human.neutral(), 'l_upper_arm')[:3, 3]
    targets[0, :3, 3] = shoulder + (0.35, 0.0, 0.0)
    targets[1, :3, 3] = targets[0, :3, 3] * (1.0, -1.0, 1.0)
    q_start = human.neutral()
    for name in ('l_elbow_flexion', 'r_elbow_flexion'):
        q_start[human.joint_index(name)] = 1.0
    for pole in ((0.0, 0.6, 0.0), (0.0, 0.1, -0.6)):
        solver = make_solver('two_bone', human, tasks, pole='fixed', fixed_pole=pole)
        result = solver.solve(q_start, targets)
        assert result.position_errors.max() < 1e-3
        left, right = elbow(human, result.q, 'l'), elbow(human, result.q, 'r')
        assert np.abs(left - right * (1.0, -1.0, 1.0)).max() < 1e-3
        across = (left - shoulder)[1:]
        assert across @ np.array(pole[1:]) / np.linalg.norm(pole[1:]) == pytest.approx(
            np.linalg.norm(across), rel=1e-2
        )


def test_poles_of_zones_change_where_the_hand_leaves_the_body(human):
    tasks = [Task('l_wrist', 1.0, 0.0)]
    poles = {'far_pole': (0.0, 0.0, 0.6), 'near_pole': (0.0, 0.0, -0.6)}
    solver = make_solver('two_bone', human, tasks, pole='zones', zone_margin=0.05, **poles)
    shoulder = human.link_pose(human.neutral(), 'l_upper_arm')[:3, 3]
    q_start = human.neutral()
    q_start[human.joint_index('l_elbow_flexion')] = 1.0
    heights = []
    for out in (0.0, 0.3):
        target = targets_at(human, q_start, ('l_wrist',))
        target[0, :3, 3] = shoulder + (0.25, out, 0.0)
        result = solver.solve(q_start, target)
        heights.append(elbow(human, result.q, 'l')[2] - shoulder[2])
    assert heights[0] < -0.05 and heights[1] > 0.05


def test_knees_point_forward_whatever_the_pole_of_the_elbows(human):
    solver = make_solver('two_bone', human, [Task('l_ankle', 1.0, 0.0)], pole='fixed')
    target = targets_at(human, human.neutral(), ('l_ankle',))
    target[0, 2, 3] += 0.2
    result = solver.solve(human.neutral(), target)
    hip = human.link_pose(result.q, 'l_thigh')[:3, 3]
    knee = human.link_pose(result.q, 'l_shin')[:3, 3]
    assert result.status is Status.CONVERGED
    assert (knee - hip)[0] > 0.1


def test_a_kept_elbow_turns_as_little_as_it_can(human):
    solver = make_solver('two_bone', human, [Task('l_wrist', 1.0, 0.0)])
    rng = np.random.default_rng(3)
    q = bent(human, rng)
    result = solver.solve(q, targets_at(human, q, ('l_wrist',)))
    assert np.abs(result.q - q).max() < 1e-9
    target = targets_at(human, q, ('l_wrist',))
    target[0, :3, 3] += 0.01
    moved = solver.solve(q, target)
    assert np.linalg.norm(elbow(human, moved.q, 'l') - elbow(human, q, 'l')) < 0.03


def test_what_no_limb_carries_moves_the_trunk(human):
    floating = RobotModel.from_urdf(human_urdf(Proportions.from_height(1.75)), floating_base=True)
    links = ('base_link', 'gaze', *LIMBS)
    solver = make_solver('two_bone', floating, [Task(link) for link in links], max_iterations=200)
    rng = np.random.default_rng(4)
    truth = floating.neutral()
    truth[7:] = bent(human, rng)
    truth[:3] = (3.0, -2.0, 1.0)
    result = solver.solve(floating.neutral(), targets_at(floating, truth, links))
    assert result.position_errors.max() < 0.02


def test_any_arm_with_shoulder_elbow_and_wrist_is_a_limb():
    panda = RobotModel.from_urdf(urdf_path('panda'))
    solver = make_solver('two_bone', panda, [Task('panda_link8')])
    rng = np.random.default_rng(5)
    solved_poses = 0
    for _ in range(40):
        truth = 0.5 * (panda.lower + panda.upper) + 0.3 * rng.normal(size=panda.nq)
        truth = panda.clamp(truth)
        start = panda.clamp(truth + 0.05 * rng.normal(size=panda.nq))
        result = solver.solve(start, targets_at(panda, truth, ('panda_link8',)))
        solved_poses += result.status is Status.CONVERGED
    assert solved_poses >= 36


def test_poles_have_three_numbers(human):
    with pytest.raises(ConfigError, match='three numbers'):
        make_solver('two_bone', human, [Task('l_wrist')], fixed_pole=(1.0, 2.0))
