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

"""Solver, weights and body exchanged while a user moves: no joint leaps, whatever comes next."""

import numpy as np
import pytest

from vr_ik import registry
from vr_ik.config import replace, SolverConfig
from vr_ik.pipeline import Pipeline, Solution
from vr_ik.trackers.simulated import SIMULATED_ROLES
from vr_ik.trackers.simulated_user import SimulatedUser
from vr_ik.types import Status, TrackingFrame

PERIOD_NS = 8_333_333
USER = SimulatedUser(1.75)
BEFORE = 120
"""Frames until the exchange: a second in which the user has come into motion."""


def frame(tick: int, roles: tuple[str, ...]) -> TrackingFrame:
    poses = USER.device_poses(USER.q_at(2.0 + tick * PERIOD_NS * 1e-9), roles)
    return TrackingFrame(tick * PERIOD_NS, roles, poses)


def process(pipeline: Pipeline, tick: int) -> Solution:
    return pipeline.process(frame(tick, SIMULATED_ROLES))


def exchanged(pipeline: Pipeline, changes: dict[str, object]) -> Pipeline:
    """Return a pipeline with other parameters that goes on in the place of one."""
    following = Pipeline(replace(SolverConfig(), changes))
    following.take_over(pipeline)
    return following


def steps_across(changes: dict[str, object]) -> tuple[np.ndarray, np.ndarray, Pipeline]:
    """Return the joints' steps [rad] before and from an exchange on, and the new pipeline."""
    pipeline = Pipeline(SolverConfig())
    before = np.array([process(pipeline, tick).q[7:] for tick in range(1, BEFORE)])
    following = exchanged(pipeline, changes)
    after = []
    for tick in range(BEFORE, BEFORE + 60):
        solution = process(following, tick)
        assert solution.status is not Status.FAILED
        after.append(solution.q[7:])
    steps = np.diff(np.array([before[-1], *after]), axis=0)
    return np.abs(np.diff(before, axis=0)), np.abs(steps), following


@pytest.mark.parametrize('solver', registry.names(registry.SOLVERS))
def test_another_solver_goes_on_at_the_speed_of_a_body(solver):
    """Solvers differ in where they have an elbow: it goes there, and does not leap."""
    _, steps, pipeline = steps_across({'solver': solver})
    fastest = pipeline.model.velocity_limits * PERIOD_NS * 1e-9
    assert (steps <= fastest + 1e-9).all(), steps.max()


@pytest.mark.parametrize(
    'changes',
    [
        {'solver': 'body'},
        {'position_weight': 0.5},
        {'orientation_weight': 0.6},
        {'device_weights': 'waist=0.5, l_foot=2'},
        {'smoothing_hz': 0.0},
        {'vibration_hz': 0.0},
        {'publish_link_tf': True},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_other_weights_are_hardly_seen(changes):
    """The step across the exchange is one of those that the motion makes anyway."""
    usual, steps, _ = steps_across(changes)
    assert steps[0].max() < 2.0 * usual.max() + 0.01


THREE = ('hmd', 'l_controller', 'r_controller')
ALL_BUT_A_HAND = tuple(role for role in SIMULATED_ROLES if role != 'r_controller')


@pytest.mark.parametrize('seen_after', [THREE, ALL_BUT_A_HAND, SIMULATED_ROLES])
@pytest.mark.parametrize('seen_before', [THREE, ALL_BUT_A_HAND, SIMULATED_ROLES])
def test_an_exchange_that_changes_nothing_is_not_seen_at_all(seen_before, seen_after):
    """Neither where the body is guessed, nor while a lost device is bridged, or comes back."""
    pipelines = [Pipeline(SolverConfig()), Pipeline(SolverConfig())]
    for tick in range(1, BEFORE + 40):
        # Every device has been seen at first.
        seen = SIMULATED_ROLES if tick < BEFORE - 10 else seen_before
        seen = seen if tick < BEFORE else seen_after
        if tick == BEFORE:
            pipelines[1] = exchanged(pipelines[1], {})
        kept, new = (pipeline.process(frame(tick, seen)) for pipeline in pipelines)
        np.testing.assert_allclose(new.q, kept.q, atol=1e-9)


@pytest.mark.parametrize('way_m', [-1.2, 0.8])
def test_an_exchange_that_changes_nothing_is_not_seen_while_a_device_is_out_of_reach(way_m):
    """What has been tried, and when, goes along: nothing is looked for anew."""
    pipelines = [Pipeline(SolverConfig()), Pipeline(SolverConfig())]
    for tick in range(1, BEFORE + 40):
        given = frame(tick, SIMULATED_ROLES)
        given.poses[SIMULATED_ROLES.index('l_controller'), 0, 3] += way_m
        if tick == BEFORE:
            pipelines[1] = exchanged(pipelines[1], {})
        kept, new = (pipeline.process(given) for pipeline in pipelines)
        np.testing.assert_allclose(new.q, kept.q, atol=1e-9)
        if tick >= BEFORE - 5:
            assert kept.position_errors['l_controller'] > 0.03


def test_a_glitch_right_after_an_exchange_is_still_one():
    pipeline = Pipeline(SolverConfig())
    for tick in range(1, BEFORE):
        last = process(pipeline, tick)
    following = exchanged(pipeline, {'position_weight': 0.9})
    glitch = frame(BEFORE, SIMULATED_ROLES)
    glitch.poses[glitch.names.index('waist'), :3, 3] += 1.0
    glitches = pipeline.glitches
    solution = following.process(glitch)
    assert following.glitches == glitches + 1
    assert np.abs(solution.q[:3] - last.q[:3]).max() < 0.05


def test_without_taking_over_the_body_does_leap():
    """The law above can fail: a pipeline that knows nothing of the other starts elsewhere."""
    pipeline = Pipeline(SolverConfig())
    last = [process(pipeline, tick).q for tick in range(1, BEFORE)][-1]
    leap = np.abs(process(Pipeline(SolverConfig(solver='ccd')), BEFORE).q[7:] - last[7:])
    assert (leap > pipeline.model.velocity_limits * PERIOD_NS * 1e-9).any()
