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


"""Laws of the chains of bones of Caserman et al.: where a URDF can say the same, it does."""

import math

from hypothesis import given, settings, strategies as st
import numpy as np
import pytest

from vr_ik.evaluation.bench_papers import paper_arm
from vr_ik.solvers.base import make_solver
from vr_ik.solvers.bone_chain import AXES, LOWER, solve_bones, UPPER
from vr_ik.solvers.jacobian import JacobianSolver
from vr_ik.types import Task

seeds = st.integers(0, 2**32 - 1)
METHODS = ('jt', 'jpi', 'dls', 'svd', 'svd_dls', 'sdls')
ROOT = np.concatenate((np.eye(3).ravel(), np.zeros(3)))


@pytest.fixture(scope='module')
def arm():
    return paper_arm()


def bind_pose(limb):
    return np.tile(np.eye(3).ravel(), (len(limb.bones), 1))


def solver_of(method, limb, **options):
    solver = make_solver(method, limb.model, [Task(limb.link, 1.0, 1.0)], **options)
    assert isinstance(solver, JacobianSolver)
    return solver


def end_of(limb, rotations):
    """Return the pose of the last bone."""
    found = np.eye(4)
    for bone, rotation in zip(limb.bones, rotations, strict=True):
        local = np.eye(4)
        local[:3, :3] = bone[:9].reshape(3, 3) @ rotation.reshape(3, 3)
        local[:3, 3] = bone[9:AXES]
        found = found @ local
    return found


# Not sdls, which in the papers' code leaves errors as small as these out.
@pytest.mark.parametrize('method', [name for name in METHODS if name != 'sdls'])
def test_a_small_step_from_the_bind_pose_is_that_of_the_urdf(arm, method):
    # There the axes of both are the same, and angles as small as these add up in any order.
    rng = np.random.default_rng(1)
    none = {'position_tolerance': 0.0, 'orientation_tolerance': 0.0, 'max_iterations': 1}
    solver = solver_of(method, arm, **none)
    start = arm.model.neutral()
    moved = 0
    for _ in range(20):
        near = arm.model.clamp(1e-4 * np.abs(rng.normal(size=arm.model.nq)))
        target = arm.model.link_pose(near, arm.link)
        rotations, errors = bind_pose(arm), np.empty(2)
        assert solve_bones(arm.bones, solver.settings, ROOT, target, rotations, errors) == 1
        result = solver.solve(start, target[None])
        if result.cost < 0.999 * 0.5 * (errors @ errors):
            expected = arm.model.link_pose(result.q, arm.link)
            assert np.abs(end_of(arm, rotations) - expected).max() < 1e-6
            moved += 1
    assert moved > 5


@pytest.mark.parametrize('method', METHODS)
@settings(max_examples=20, deadline=None)
@given(seed=seeds)
def test_angles_stay_within_the_limits_and_errors_are_those_before_the_last_step(
    arm, method, seed
):
    rng = np.random.default_rng(seed)
    solver = solver_of(method, arm)
    target = arm.model.link_pose(arm.model.random(rng), arm.link)
    rotations, errors = bind_pose(arm), np.empty(2)
    steps = solve_bones(arm.bones, solver.settings, ROOT, target, rotations, errors)
    assert 1 <= steps <= solver.settings[0]
    for bone, rotation in zip(arm.bones, rotations, strict=True):
        r = rotation.reshape(3, 3)
        assert np.abs(r @ r.T - np.eye(3)).max() < 1e-9
        x, y, z = math.atan2(r[2, 1], r[2, 2]), math.asin(-r[2, 0]), math.atan2(r[1, 0], r[0, 0])
        turns = bone[AXES:LOWER] > 0.0
        for angle, low, high in np.transpose([(x, y, z), bone[LOWER:UPPER], bone[UPPER:]])[turns]:
            assert low - 1e-9 <= angle <= high + 1e-9
    before = solver.settings.copy()
    before[0] = steps - 1
    earlier = bind_pose(arm)
    if steps > 1:
        solve_bones(arm.bones, before, ROOT, target, earlier, np.empty(2))
    away = np.linalg.norm(end_of(arm, earlier)[:3, 3] - target[:3, 3])
    assert errors[0] == pytest.approx(away, abs=1e-9)


def test_the_arm_has_the_axes_and_limits_of_the_paper(arm):
    assert arm.model.nq == 6
    degrees = np.degrees(np.column_stack((arm.model.lower, arm.model.upper))).round(6)
    assert [0.0, 155.0] in degrees.tolist() and [-65.0, 195.0] in degrees.tolist()
