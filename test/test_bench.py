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

"""Laws of the benchmark: seeded work, one referee for all, figures that hide nobody."""

from importlib.util import find_spec
import json
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from rich.progress import Progress, TextColumn

from vr_ik.evaluation import bench
from vr_ik.evaluation.bench_judge import Judge
from vr_ik.evaluation.bench_measure import Contest, memory_growth_kib
from vr_ik.evaluation.bench_methods import Lm
from vr_ik.evaluation.bench_peers import PEERS
from vr_ik.evaluation.bench_report import OURS, Report, TIME_KEYS
from vr_ik.evaluation.bench_workloads import (
    arm_workload,
    body_workload,
    FRAME_RATE_HZ,
    Workload,
)
from vr_ik.types import Array

FRAMES = 12
MAKERS = {'arm': arm_workload, 'body': body_workload}


@pytest.fixture(params=MAKERS, name='workload', scope='module')
def small_workload(request: pytest.FixtureRequest) -> Workload:
    return MAKERS[request.param]((3, 4), FRAMES)


def quiet() -> Progress:
    return Progress(TextColumn('{task.fields[now]}'), console=Console(quiet=True))


def test_a_seed_makes_the_same_work_again_and_another_seed_other_work(workload: Workload) -> None:
    again = MAKERS[workload.name]((3, 4), FRAMES)
    for first, second in zip(workload.sessions, again.sessions):
        np.testing.assert_array_equal(first.truth, second.truth)
        np.testing.assert_array_equal(first.targets, second.targets)
    assert not np.allclose(workload.sessions[0].truth, workload.sessions[1].truth)


def test_a_longer_session_begins_like_a_shorter_one(workload: Workload) -> None:
    (longer,) = MAKERS[workload.name]((3,), 5 * FRAMES).sessions
    np.testing.assert_allclose(
        longer.truth[: FRAMES // 2], workload.sessions[0].truth[: FRAMES // 2]
    )


@pytest.mark.parametrize('name', MAKERS)
def test_paths_are_smooth_and_within_the_limits(name: str) -> None:
    workload = MAKERS[name]((0, 1, 2), 240)
    model = workload.model
    for session in workload.sessions:
        joints = session.truth[:, model.first_q :]
        assert (joints >= model.lower).all()
        assert (joints <= model.upper).all()
        speeds = np.abs(np.diff(joints, axis=0)) * FRAME_RATE_HZ
        assert (speeds <= 1.5 * model.velocity_limits).all()
        assert speeds.max() > 0.5


def test_an_arm_is_at_its_limits_now_and_then() -> None:
    workload = arm_workload(range(8), 600)
    truth = np.concatenate([session.truth for session in workload.sessions])
    room = np.minimum(truth - workload.model.lower, workload.model.upper - truth)
    assert (room < 1e-3).any(axis=1).sum() > 10


def test_the_truth_is_solved_and_what_is_off_is_not(workload: Workload) -> None:
    session, judge = workload.sessions[0], Judge(workload)
    assert judge.verdict(session.truth, session.targets).solved.all()
    shifted = session.targets.copy()
    shifted[:, -1, 2, 3] += 2e-3
    verdict = judge.verdict(session.truth, shifted)
    assert not verdict.solved.any()
    np.testing.assert_allclose(verdict.position_errors, 2e-3, atol=1e-9)
    turned = session.targets.copy()
    turned[:, 0, :3, :3] = _quarter_degrees(3) @ turned[:, 0, :3, :3]
    verdict = judge.verdict(session.truth, turned)
    assert not verdict.solved.any()
    np.testing.assert_allclose(verdict.orientation_errors, np.radians(0.75), atol=1e-9)


def _quarter_degrees(count: int) -> Array:
    angle = np.radians(0.25 * count)
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def test_an_answer_beyond_a_joint_limit_is_not_solved(workload: Workload) -> None:
    session, model = workload.sessions[0], workload.model
    beyond = session.truth.copy()
    beyond[:, model.first_q + 1] = model.upper[1] + 1e-3
    targets = np.array([_targets(workload, q) for q in beyond])
    verdict = Judge(workload).verdict(beyond, targets)
    assert (verdict.position_errors < 1e-9).all()
    assert not verdict.solved.any()


def _targets(workload: Workload, q: Array) -> Array:
    rows = [workload.model.link_index(link) for link in workload.frames]
    return workload.model.link_poses(q)[rows]


@pytest.mark.parametrize('name', [OURS, *PEERS])
def test_every_method_meets_the_same_targets(name: str, workload: Workload) -> None:
    if name != OURS:
        if find_spec(PEERS[name].module) is None:
            pytest.skip(f'{name} is not installed')
        if workload.name not in PEERS[name].workloads:
            pytest.skip(f'{name} has no {workload.name}')
    method = (Lm if name == OURS else PEERS[name].make)(workload)
    contest = Contest(method, workload)
    contest.run_round()
    score = contest.score(Judge(workload))
    assert score.solved == 1.0
    assert score.iterations > 0.0
    assert 0.0 < score.median_us <= score.p99_us


def test_a_state_survives_the_way_to_a_method_and_back(workload: Workload) -> None:
    q = workload.sessions[1].truth[-1]
    target = workload.sessions[1].targets[-1]
    method = Lm(workload)
    _, back, iterations = method.read(method.solve(method.start(q), method.prepare(target)))
    # Quaternions are made unit again on the way, which may change the last digit.
    np.testing.assert_allclose(back, q, rtol=0.0, atol=1e-15)
    assert iterations == 0


class Lazy(Lm):
    """Returns where it started."""

    def read(self, outcome: object) -> tuple[Array, Array, int]:
        return self.first, self.first, 1

    def start(self, q: Array) -> Array:
        self.first = q.copy()
        return self.first


def test_who_does_not_move_does_not_solve(workload: Workload) -> None:
    contest = Contest(Lazy(workload), workload)
    contest.run_round()
    score = contest.score(Judge(workload))
    assert score.solved <= 2.0 / FRAMES
    assert score.position_error_mm > 1.0


def test_the_file_has_the_promised_keys_and_hides_no_peer() -> None:
    small = {name: make((5,), FRAMES) for name, make in MAKERS.items()}
    report = Report(absent=dict.fromkeys(PEERS, 'not installed'), memory_growth_kib=0)
    with quiet() as progress:
        for name, workload in small.items():
            report.titles[name] = workload.title
            report.scores[name] = bench.run_contests(workload, [OURS], 2, progress)
    figures = json.loads(json.dumps(report.to_json()))
    for key in TIME_KEYS.values():
        assert set(figures[key]) == {'median', 'p99'}
    assert figures['solved'] == {'arm': 1.0, 'body': 1.0}
    assert figures['memory_growth_kib'] == 0
    assert figures['peers'] == {name: {'status': 'not installed'} for name in PEERS}
    console = Console(width=120)
    with console.capture() as capture:
        for table in report.tables():
            console.print(table)
    assert all(capture.get().count(f'{name}: not installed') == 2 for name in PEERS)


def test_memory_is_measured_over_all_solves() -> None:
    told: list[int] = []
    growth = memory_growth_kib(arm_workload((6,), FRAMES), 50_000, told.append)
    assert sum(told) == 50_000
    assert isinstance(growth, int)


def test_an_unknown_part_is_refused_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench.main(['--only', 'arms', '--json', str(tmp_path / 'bench.json')]) == 2
    assert "Did you mean 'arm'?" in capsys.readouterr().out
    assert not (tmp_path / 'bench.json').exists()


def test_missing_peers_are_those_that_cannot_be_found() -> None:
    missing = {name for name, peer in PEERS.items() if find_spec(peer.module) is None}
    assert set(bench.missing_peers()) >= missing
