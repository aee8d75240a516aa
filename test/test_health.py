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

"""Levels of health do not flicker, and the solver's judgement of its frames."""

from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from hypothesis import given, strategies as st
import numpy as np
import pytest

from vr_ik.body.reach import Reach
from vr_ik.config import SolverConfig
from vr_ik.health import figure, Health, Hysteresis, Level
from vr_ik.io.bag_topics import DIAGNOSTICS_TYPE, typestore
from vr_ik.nodes.solver_report import LiveReport, SolverDiagnostics
from vr_ik.offline.report import MotionReport
from vr_ik.pipeline import Pipeline, Solution
from vr_ik.types import Status

LEVELS = st.lists(st.sampled_from(Level), max_size=40)


@given(LEVELS, st.integers(1, 5))
def test_worse_is_shown_at_once_and_better_only_when_it_stays(levels, reports):
    hysteresis = Hysteresis(reports)
    shown = [hysteresis.show(Health(level, '')).level for level in levels]
    for i, level in enumerate(levels):
        assert shown[i] >= level
        if i and shown[i] < shown[i - 1]:
            assert shown[i] == level
            assert all(before < shown[i - 1] for before in levels[i - reports + 1 : i + 1])
    if len(levels) >= reports and len(set(levels[-reports:])) == 1:
        assert shown[-1] == levels[-1]


def report(count: int = 100, **changes) -> LiveReport:
    """Return a report of frames like this one, ended a second after it began."""
    given_ = {'status': Status.CONVERGED, 'error_m': 0.001, 'latency_s': 0.002, **changes}
    counted = LiveReport()
    counted._since_s -= 1.0
    still = np.zeros(1)
    for _ in range(count):
        errors = {'hmd': 0.001, 'waist': given_['error_m']}
        solution = Solution(1, still, still, given_['status'], errors, 3, 1e-4)
        counted.note(solution, given_['latency_s'])
    return counted


@pytest.mark.parametrize(
    ('frames', 'level', 'text'),
    [
        ({}, Level.OK, 'solving'),
        ({'count': 0}, Level.WARN, 'no tracking frames'),
        ({'count': 5}, Level.WARN, 'only'),
        ({'status': Status.FAILED}, Level.ERROR, Status.FAILED.text),
        ({'status': Status.STALLED}, Level.WARN, Status.STALLED.text),
        ({'error_m': 0.3}, Level.WARN, 'waist is 0.3 m off'),
        ({'latency_s': 0.1}, Level.WARN, '100 ms old'),
        ({'latency_s': 1e8}, Level.ERROR, 'use_sim_time'),
        ({'latency_s': -1e8}, Level.ERROR, 'clocks differ'),
    ],
)
def test_the_solver_judges_its_frames(frames, level, text):
    health = report(**frames).health()
    assert health.level is level
    assert text in health.text


def shown(*reports: LiveReport) -> list[bytes]:
    """Return the levels in the diagnostics of reports, a second apart."""
    diagnostics = SolverDiagnostics()
    levels = []
    for one in reports:
        diagnostics.report = one
        levels.append(diagnostics.line({}, paused=False).level)
    return levels


def test_diagnostics_have_the_level_and_do_not_flicker():
    """Worse at once, in the level of its kind; better after three reports in a row."""
    ok, warn, error = (DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR)
    good, late = report(), report(latency_s=0.1)
    failed = report(status=Status.FAILED)
    assert shown(good, late, good, good, good) == [ok, warn, warn, warn, ok]
    assert shown(good, failed, late, good, late, good) == [ok, error, error, error, warn, warn]
    assert shown(late, good, good, late, good) == [warn] * 5


def test_latency_is_that_of_the_frames():
    values = report(latency_s=0.25).values()
    assert values['latency, mean [ms]'] == pytest.approx(250.0)
    assert values['latency, longest [ms]'] == pytest.approx(250.0)


def test_after_a_pause_counting_begins_anew():
    """Neither the pause nor a moment without a frame behind it counts as a low rate."""
    diagnostics = SolverDiagnostics()
    diagnostics.report = report(count=0)
    assert diagnostics.line({}, paused=True).message == 'paused'
    diagnostics.report._since_s -= 0.9
    diagnostics.go_on()
    line = diagnostics.line({}, paused=False)
    assert (line.level, line.message) == (DiagnosticStatus.OK, 'solving again')
    assert diagnostics.line({}, paused=False).level == DiagnosticStatus.OK
    diagnostics.report._since_s -= 1.0
    line = diagnostics.line({}, paused=False)
    assert (line.level, line.message) == (DiagnosticStatus.WARN, 'no tracking frames')


@pytest.mark.parametrize('failed', [0, 3, 80])
@pytest.mark.parametrize('error_m', [0.001, 0.3])
def test_recorded_frames_are_judged_as_live_ones(failed, error_m):
    """The diagnostics that `vr_ik solve` writes have the words and numbers of the node's."""
    live, recorded = LiveReport(), MotionReport()
    live._since_s -= 1.0
    still = np.zeros(1)
    for i in range(101):
        status = Status.FAILED if i < failed else Status.CONVERGED
        solution = Solution(1 + i * 10_000_000, still, still, status, {'hmd': error_m}, 3, 1e-4)
        live.note(solution, 0.002)
        is_due = recorded.note(solution)
    assert is_due
    message: Any = typestore().deserialize_cdr(recorded.message(10**9 + 1, {}), DIAGNOSTICS_TYPE)
    (line,) = message.status
    assert (line.level, line.message) == live.health()
    values = {item.key: item.value for item in line.values}
    expected = {key: figure(value) for key, value in live.values().items()}
    assert set(expected) - set(values) == {key for key in expected if '[ms]' in key}
    assert {key: expected[key] for key in values if 'rate' not in key} == {
        key: value for key, value in values.items() if 'rate' not in key
    }


def test_no_pose_of_a_limb_leaves_its_sphere():
    pipeline = Pipeline(SolverConfig())
    reach = Reach(pipeline.model, pipeline.mounts)
    assert set(reach.radii_m) == {'l_controller', 'r_controller', 'l_foot', 'r_foot'}
    rng = np.random.default_rng(2)
    for _ in range(200):
        q = pipeline.model.random(rng)
        points, first_joints = reach.points(q)
        for device, center in first_joints.items():
            at = points[pipeline.roles.index(device)]
            assert np.linalg.norm(at - center) <= reach.radii_m[device] + 1e-9
        i = pipeline.roles.index('hmd')
        mount = pipeline.mounts['hmd']
        truth = pipeline.model.link_pose(q, mount.link) @ mount.pose_link_from_device
        np.testing.assert_allclose(points[i], truth[:3, 3], atol=1e-12)
