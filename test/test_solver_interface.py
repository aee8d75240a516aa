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


"""Laws of every registered solver on any tree: finite, within limits, honest, deterministic."""

from typing import Any

from geometric_support import Case, cases, true_errors, within_limits
from hypothesis import given, settings
import numpy as np
import pytest

from vr_ik import registry
from vr_ik.solvers.base import make_solver, Solver, SolveResult
from vr_ik.types import Status

VARIANTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ('ccd', {'root_first': True, 'max_turn': 0.5}),
    ('dls', {'ball_joints': 'exponential'}),
    ('fabrik', {'limits': 'cones'}),
    ('lm', {'restarts': 3}),
    ('newton', {'ball_joints': 'exponential', 'strategy': 'line_search'}),
    ('newton', {'indefinite': 'project', 'posture_weight': 1e-3}),
    ('two_bone', {'pole': 'fixed'}),
    ('two_bone', {'pole': 'zones'}),
)
SOLVERS = [*((name, {}) for name in registry.names(registry.SOLVERS)), *VARIANTS]
# It tries other starts on some calls and not on others.
REMEMBERS = 'body'
# The square of more is no number, and neither is an error then.
LARGEST = 1e150

every_solver = pytest.mark.parametrize(
    'name, options', SOLVERS, ids=[f'{name}{"+" * bool(options)}' for name, options in SOLVERS]
)


def solver_for(case: Case, name: str, options: dict[str, Any]) -> Solver:
    return make_solver(name, case.model, case.tasks, max_iterations=15, **options)


def assert_same(a: SolveResult, b: SolveResult) -> None:
    np.testing.assert_array_equal(a.q, b.q)
    assert (a.status, a.iterations) == (b.status, b.iterations)
    np.testing.assert_array_equal(a.position_errors, b.position_errors)
    np.testing.assert_array_equal(a.orientation_errors, b.orientation_errors)


@every_solver
@settings(max_examples=40)
@given(case=cases())
def test_any_case_gives_a_pose_within_limits_and_the_truth_about_it(
    name: str, options: dict[str, Any], case: Case
) -> None:
    solver = solver_for(case, name, options)
    result = solver.solve(case.q_start, case.targets)
    assert np.isfinite(result.q).all() and within_limits(case.model, result.q)
    if case.model.floating_base:
        assert np.linalg.norm(result.q[3:7]) == pytest.approx(1.0)
    if not (np.isfinite(case.q_start).all() and np.isfinite(case.targets).all()):
        assert result.status is Status.FAILED
        if np.isfinite(case.q_start).all():
            np.testing.assert_allclose(result.q, case.model.clamp(case.q_start), atol=1e-12)
        return
    if np.abs(case.targets).max() > LARGEST:
        return
    assert result.status is not Status.FAILED
    positions, rotations = true_errors(case.model, case.tasks, result.q, case.targets)
    used = solver.weights.max(axis=1) > 0.0
    scale = 1.0 + np.abs(case.targets).max() + np.abs(result.q).max(initial=0.0)
    assert np.abs(result.position_errors - positions)[used].max(initial=0.0) < 1e-9 * scale
    assert np.abs(result.orientation_errors - rotations)[used].max(initial=0.0) < 1e-6
    if result.status is Status.CONVERGED:
        limits = solver.options  # type: ignore[attr-defined]
        by_position, by_rotation = (solver.weights > 0.0).T
        assert (positions[by_position] <= limits.position_tolerance + 1e-9 * scale).all()
        assert (rotations[by_rotation] <= limits.orientation_tolerance + 1e-6).all()


@every_solver
@settings(max_examples=15)
@given(case=cases())
def test_the_same_call_gives_the_same_bits(name: str, options: dict[str, Any], case: Case) -> None:
    solver, other = solver_for(case, name, options), solver_for(case, name, options)
    first = solver.solve(case.q_start, case.targets)
    assert_same(first, other.solve(case.q_start, case.targets))
    if name != REMEMBERS:
        solver.solve(case.model.neutral(), case.targets[::-1].copy())
        assert_same(first, solver.solve(case.q_start, case.targets))
