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

"""The body solver leaves contorted poses; the trunk is guessed, and nothing moves too fast."""

import math

import numpy as np
import pytest
from solver_support import begun, SIX, solver, targets_at, THREE

from vr_ik.body.posture import joint_stiffness, PosturePull, rest_posture
from vr_ik.config import SolverConfig
from vr_ik.pipeline import Pipeline
from vr_ik.solvers.body import _arm, BodySolver
from vr_ik.solvers.lm import LevenbergMarquardt
from vr_ik.solvers.natural_start import NUMBERS, TRIED
from vr_ik.trackers.simulated_user import SimulatedUser
from vr_ik.types import Task, TrackingFrame


def contorted(model):
    """A pose with the right arm wound to its limits."""
    q = model.neutral()
    for name in ('flexion', 'abduction', 'rotation'):
        joint = model.joint_index(f'r_shoulder_{name}')
        q[7 + joint] = model.upper[joint] if name == 'rotation' else model.lower[joint]
    q[7 + model.joint_index('r_elbow_flexion')] = 1.8
    return q


def test_a_wound_up_arm_comes_free():
    body, mounts = solver(BodySolver)
    plain, _ = solver(LevenbergMarquardt)
    model = body.model
    wanted = model.neutral()
    for side in 'lr':
        wanted[7 + model.joint_index(f'{side}_elbow_flexion')] = 1.9
        wanted[7 + model.joint_index(f'{side}_shoulder_flexion')] = 0.6
    targets = targets_at(model, mounts, wanted)
    ends = []
    for each in (begun(body, mounts), plain):
        q = contorted(model)
        for _ in range(25):
            result = each.solve(q, targets)
            q = result.q
        ends.append(result)
    assert ends[0].position_errors.max() < 0.01
    assert ends[0].cost <= ends[1].cost + 1e-12


TWIST = {'shoulder_flexion': 2.6, 'shoulder_rotation': -2.2, 'wrist_flexion': 1.4}


def bent_arms(model, sides):
    q = model.neutral()
    for side in sides:
        q[7 + model.joint_index(f'{side}_elbow_flexion')] = 1.5
    return q


def led_from_a_twist(sides, calls, reach_m=0.0):
    """Solve for bent arms, of which these are twisted, with inertia; one hand may be out of reach.

    Returns the pose at the end, the right one, and in which calls a try was taken.
    """
    body, mounts = solver(BodySolver)
    model = body.model
    pull = PosturePull(begun(body, mounts), 2e-5, 'natural')
    natural = bent_arms(model, 'lr')
    targets = targets_at(model, mounts, natural)
    targets[SIX.index('l_controller'), 1, 3] += reach_m
    q = natural.copy()
    for side in sides:
        for joint, angle in TWIST.items():
            q[7 + model.joint_index(f'{side}_{joint}')] = angle
    leaps = []
    for call in range(calls):
        pull.from_pose(q, 1.0 / 90.0)
        q = body.solve(q, targets).q
        if body.has_leapt:
            leaps.append(call)
    return q, natural, leaps


def arm_columns(model, side):
    return [7 + i for i, name in enumerate(model.joint_names) if _arm(name) == 'lr'.index(side)]


@pytest.mark.parametrize('sides', ['l', 'r', 'lr'])
def test_arms_that_are_twisted_come_free_though_their_hands_are_met(sides):
    """Inertia holds joints where they are; a try must not be judged by how far away it is."""
    q, natural, leaps = led_from_a_twist(sides, 40)
    assert len(leaps) == len(sides)
    assert np.abs(q - natural)[7:].max() < 0.35


def test_a_hand_out_of_reach_does_not_keep_the_other_arm_twisted():
    body, _ = solver(BodySolver)
    q, natural, leaps = led_from_a_twist('r', 120, reach_m=0.8)
    assert leaps
    assert np.abs(q - natural)[arm_columns(body.model, 'r')].max() < 0.5


def test_guesses_that_come_before_devices_are_refused():
    made, _ = solver(BodySolver)
    with pytest.raises(ValueError, match='neck'):
        BodySolver(made.model, [Task('neck', is_guess=True), Task('l_wrist')])


def test_what_only_needs_more_steps_is_no_leap():
    """A try that is no better than going on from where the body is gives way to that."""
    made, mounts = solver(BodySolver)
    model = made.model
    tasks = [Task(m.link, 1.0, 0.3, m.pose_link_from_device) for m in mounts]
    body = BodySolver(model, tasks, max_iterations=5)
    pull = PosturePull(body, 2e-5, 'natural')
    middle = np.clip(0.0, model.lower, model.upper)
    leaps = 0
    for seed in range(60):
        body.reset()
        q = body.solve(model.neutral(), targets_at(model, mounts, model.neutral())).q
        elsewhere = model.neutral()
        anywhere = np.random.default_rng(seed).uniform(model.lower, model.upper)
        elsewhere[7:] = middle + 0.5 * (anywhere - middle)
        pull.from_pose(q, 1.0 / 90.0)
        body.solve(q, targets_at(model, mounts, elsewhere))
        leaps += body.has_leapt
    # Some do find what is much lower; three times as many look so before the other has gone on.
    assert 0 < leaps < 14


@pytest.mark.parametrize('reach_m', [0.8, 1.5])
def test_tries_for_what_is_out_of_reach_are_given_up_soon(reach_m):
    body, mounts = solver(BodySolver)
    pull = PosturePull(begun(body, mounts), 2e-5, 'natural')
    q = bent_arms(body.model, 'lr')
    targets = targets_at(body.model, mounts, q)
    targets[SIX.index('l_controller'), 1, 3] += reach_m
    iterations = []
    for _ in range(120):
        pull.from_pose(q, 1.0 / 90.0)
        result = body.solve(q, targets)
        q = result.q
        iterations.append(result.iterations)
    assert body._retry[TRIED : TRIED + 3].sum() > 3
    assert max(iterations[40:]) < 25


def test_an_arm_is_tried_alone_and_seldom_where_it_is_strained_with_reason():
    """Tries cost as much as the solve itself; they end where they began, and leave no trace."""
    body, mounts = solver(BodySolver)
    model = body.model
    pull = PosturePull(body, 2e-5, 'natural')
    q = model.neutral()
    for joint, angle in TWIST.items():
        q[7 + model.joint_index(f'r_{joint}')] = angle
    # What is natural is next to it: the arm is strained, and no other pose is better.
    natural = q[7:].copy()
    natural[model.joint_index('r_wrist_flexion')] -= 0.2
    body.set_natural(natural, np.full(len(natural), 1e-3), 1e-5)
    targets = targets_at(model, mounts, q)
    pull.from_pose(q, 1.0 / 90.0)
    before = body.posture.copy(), body.posture_weights.copy(), body._retry[NUMBERS:].copy()
    for _ in range(200):
        body.solve(q, targets)
        assert not body.has_leapt
    np.testing.assert_array_equal(body.posture, before[0])
    np.testing.assert_array_equal(body.posture_weights, before[1])
    np.testing.assert_array_equal(body._retry[NUMBERS:], before[2])
    # At once, after 10 calls, then every 20 calls.
    assert body._retry[TRIED : TRIED + 3].tolist() == [0.0, 0.0, 11.0]


@pytest.mark.parametrize(('is_guess', 'weight'), [(True, 0.1), (True, 0.15), (False, 0.1)])
def test_only_what_was_measured_and_is_missed_is_reason_to_try_again(is_guess, weight):
    model, mounts = (made := solver(BodySolver))[0].model, made[1]
    tasks = [Task(m.link, 1.0, 0.3, m.pose_link_from_device) for m in mounts]
    body = BodySolver(model, [*tasks, Task('neck', weight, 0.0, is_guess=is_guess)])
    q = model.neutral()
    missed = model.link_pose(q, 'neck')
    missed[1, 3] += 0.2
    targets = np.array([*targets_at(model, mounts, q), missed])
    for _ in range(30):
        q = body.solve(q, targets).q
    tries = body._retry[TRIED : TRIED + 3].sum()
    assert np.linalg.norm(model.link_pose(q, 'neck')[:3, 3] - missed[:3, 3]) > 0.1
    assert tries == 0 if is_guess else tries > 1


def test_a_collar_bone_that_is_raised_twists_no_arm():
    model = solver(BodySolver)[0].model
    arms = [name for name in model.joint_names if _arm(name) >= 0]
    assert len(arms) == 16
    assert not any('clavicle' in name or 'hip' in name for name in arms)


def test_a_good_pose_is_what_lm_finds():
    body, mounts = solver(BodySolver)
    plain, _ = solver(LevenbergMarquardt)
    plain.soft_limits[:] = body.soft_limits
    q = plain.model.neutral()
    targets = targets_at(plain.model, mounts, q)
    assert (body.solve(q, targets).q == plain.solve(q, targets).q).all()


def frame(user, seconds, roles):
    poses = user.device_poses(user.q_at(seconds), roles)
    return TrackingFrame(1 + int(seconds * 1e9), roles, poses)


def test_no_joint_is_faster_than_a_body_when_devices_come_and_go():
    user = SimulatedUser(1.75)
    pipeline = Pipeline(SolverConfig())
    fastest = 0.0
    for i in range(240):
        roles = SIX if i % 80 < 40 else THREE
        solution = pipeline.process(frame(user, 5.0 + i / 60.0, roles))
        speed = np.abs(solution.velocity[6:]) / pipeline.model.velocity_limits
        fastest = max(fastest, float(speed.max()))
    assert fastest <= 1.0 + 1e-6


def test_with_head_and_hands_alone_the_body_stands_under_the_head():
    user = SimulatedUser(1.75)
    pipeline = Pipeline(SolverConfig(trackers=THREE))
    for i in range(120):
        solution = pipeline.process(frame(user, i / 60.0, THREE))
    links = pipeline.model.link_poses(solution.q)
    up = links[pipeline.model.link_index('base_link')][2, 2]
    assert up > math.cos(math.radians(25.0))
    assert 'waist' not in solution.position_errors


@pytest.mark.parametrize('lower_m', [0.0, 0.2, 0.4])
def test_with_head_and_hands_alone_the_feet_stay_on_the_floor(lower_m):
    user = SimulatedUser(1.75)
    pipeline = Pipeline(SolverConfig(trackers=THREE))
    poses = user.device_poses(user.q_at(0.0), THREE)
    for i in range(120):
        poses[:, 2, 3] -= lower_m / 120.0
        solution = pipeline.process(TrackingFrame(1 + int(i * 1e9 / 60), THREE, poses.copy()))
    links = pipeline.model.link_poses(solution.q)
    for side in 'lr':
        assert abs(links[pipeline.model.link_index(f'{side}_sole')][2, 3]) < 0.06
    assert max(solution.position_errors.values()) < 0.02


def test_a_limb_that_is_too_slow_does_not_keep_other_devices_from_their_targets():
    user = SimulatedUser(1.75)
    pipeline = Pipeline(SolverConfig())
    poses = user.device_poses(user.q_at(0.0), SIX)
    for i in range(20):
        pipeline.process(TrackingFrame(1 + i * 10_000_000, SIX, poses))
    far = poses.copy()
    far[SIX.index('l_controller'), :3, 3] += (0.4, -0.3, 0.2)
    errors = []
    for i in range(20, 90):
        solution = pipeline.process(TrackingFrame(1 + i * 10_000_000, SIX, far))
        errors.append([solution.position_errors[role] for role in SIX])
        assert (np.abs(solution.velocity[6:]) <= pipeline.model.velocity_limits + 1e-6).all()
    others = [row for row, role in enumerate(SIX) if role != 'l_controller']
    assert np.max(np.array(errors)[:, others]) < 0.04
    assert errors[-1][SIX.index('l_controller')] < 0.02


def test_an_arm_goes_to_rest_without_haste_when_its_device_is_lost():
    user = SimulatedUser(1.75)
    pipeline = Pipeline(SolverConfig())
    poses = user.device_poses(user.q_at(0.0), SIX)
    kept = tuple(role for role in SIX if role != 'l_controller')
    rows = [SIX.index(role) for role in kept]
    for i in range(20):
        pipeline.process(TrackingFrame(1 + i * 10_000_000, SIX, poses))
    names = pipeline.model.joint_names
    arm = [names.index(f'l_{name}') for name in ('shoulder_abduction', 'elbow_flexion')]
    for i in range(20, 400):
        solution = pipeline.process(TrackingFrame(1 + i * 10_000_000, kept, poses[rows]))
        assert np.abs(solution.velocity[6:][arm]).max() <= 1.5 + 1e-6
    hand = pipeline.model.link_pose(solution.q, 'l_gripper')
    hip = pipeline.model.link_pose(solution.q, 'base_link')
    assert hand[2, 3] < hip[2, 3] + 0.1
    assert max(solution.position_errors.values()) < 0.01


def share_left(made, seconds, rate_hz):
    """Return how much of a joint's way to rest is left after so long, if no device has a say."""
    pull = PosturePull(made, 2e-5, 'natural')
    rest = rest_posture(made.model)
    q = np.concatenate((made.model.neutral()[:7], rest + 0.5))
    for _ in range(round(seconds * rate_hz)):
        pull.from_pose(q, 1.0 / rate_hz)
        # Then the solver ends where the pull is zero.
        q[7:] = made.posture
    return dict(zip(made.model.joint_names, (q[7:] - rest) / 0.5, strict=True))


def test_what_is_free_comes_to_rest_in_the_same_time_at_any_rate():
    made, _ = solver(BodySolver)
    at_90, at_250 = (share_left(made, 0.1, rate_hz) for rate_hz in (90.0, 250.0))
    assert max(abs(at_90[joint] - at_250[joint]) for joint in at_90) < 0.05
    # An arm is slow, a hand is quick; the trunk, slow and stiff, is in between.
    assert at_90['l_wrist_flexion'] < 0.2 < at_90['lumbar_flexion'] < 0.5
    assert at_90['l_shoulder_flexion'] > 0.8


def test_the_pull_to_rest_knows_no_past():
    made, _ = solver(BodySolver)
    pull = PosturePull(made, 2e-5, 'natural')
    pull.from_pose(made.model.neutral() + 0.1, 0.01)
    pull.to_rest()
    assert np.array_equal(made.posture, rest_posture(made.model))
    assert np.allclose(made.posture_weights, 2e-5 * joint_stiffness(made.model))
