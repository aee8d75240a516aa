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

"""Limbs resist being straightened, lest they stay so; joints are pulled as their cost says."""

import math

from hypothesis import given, strategies as st
import numpy as np
import pytest
from solver_support import begun, SIX, solver, targets_at

from vr_ik import registry
from vr_ik.solvers.body import BodySolver
from vr_ik.solvers.lm import LevenbergMarquardt
from vr_ik.solvers.solve_state import joint_pull

STEP = 1e-4
PULL = st.floats(0.0, 10.0)
ANGLE = st.floats(-3.0, 3.0)


@given(ANGLE, PULL, ANGLE, PULL, ANGLE)
def test_force_and_stiffness_are_the_derivatives_of_the_cost(rest, pull, soft, back, angle):
    joint = np.array([-math.pi, math.pi, rest, pull, soft, back])
    if abs(angle - soft) < 2.0 * STEP:
        angle = soft + 3.0 * STEP  # there the stiffness leaps
    (below, force_below, _), (above, force_above, _) = (
        joint_pull(joint, angle + step) for step in (-STEP, STEP)
    )
    cost, force, stiffness = joint_pull(joint, angle)
    assert cost >= 0.0
    assert (below - above) / (2.0 * STEP) == pytest.approx(force, abs=1e-6)
    assert (force_below - force_above) / (2.0 * STEP) == pytest.approx(stiffness, abs=1e-6)


@pytest.mark.parametrize('name', ['body', 'lm', 'newton', 'bfgs'])
def test_a_joint_that_nothing_holds_goes_to_its_soft_limit_and_no_farther(name):
    each, mounts = solver(registry.load(registry.SOLVERS, name))
    model = each.model
    joint = model.joint_index('l_shoulder_rotation')
    each.posture_weights[:] = 0.0
    each.soft_limits[:] = 0.0
    each.soft_limits[joint] = 0.4, 1e-2
    q = model.neutral()
    targets = targets_at(model, mounts, q)
    each.weights[1] = 0.0, 0.0  # the left hand may go anywhere
    for _ in range(20):
        q = each.solve(q, targets).q
    assert q[7 + joint] == pytest.approx(0.4, abs=0.01)


@pytest.mark.parametrize('hinge, device', [('elbow', 'controller'), ('knee', 'foot')])
@pytest.mark.parametrize('side', ['l', 'r'])
def test_a_straight_limb_bends_when_its_device_comes_nearer(hinge, device, side):
    """One whose posture was straight just now, as it is frame after frame."""
    bends = []
    for kind in (BodySolver, LevenbergMarquardt):
        each, mounts = solver(kind)
        straight = each.model.neutral()
        targets = targets_at(each.model, mounts, straight)
        targets[SIX.index(f'{side}_{device}'), 2, 3] += 0.04  # up, along the limb
        begun(each, mounts)
        each.posture[:] = straight[7:]
        q = each.solve(straight, targets).q
        bends.append(q[7 + each.model.joint_index(f'{side}_{hinge}_flexion')])
    assert bends[0] > 0.3
    assert bends[1] < 0.05  # as it was without resistance


def test_whoever_stands_straight_is_shown_so():
    """Devices that are met with straight limbs are hardly left for the sake of a bend."""
    body, mounts = solver(BodySolver)
    model = body.model
    targets = targets_at(model, mounts, model.neutral())
    result = begun(body, mounts).solve(model.neutral(), targets)
    assert result.position_errors.max() < 1e-3
    for joint in ('l_elbow_flexion', 'r_elbow_flexion', 'l_knee_flexion', 'r_knee_flexion'):
        assert 0.0 <= result.q[7 + model.joint_index(joint)] < math.radians(4.0), joint
