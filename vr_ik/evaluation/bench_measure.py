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

"""What the benchmark measures of a solver: time per call, success by the referee, memory."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
import resource
import time
from typing import Any

import numpy as np

from vr_ik.evaluation.bench_judge import Judge
from vr_ik.evaluation.bench_methods import Lm, Method
from vr_ik.evaluation.bench_workloads import Session, Workload
from vr_ik.types import Array

# A joint that turns this far in one frame has jumped to another solution [rad].
JUMP_RAD = 0.5
_MEMORY_WARM_UP = 20_000


@dataclass(frozen=True)
class Score:
    """How one method did on one workload."""

    median_us: float
    p99_us: float
    rounds: int
    solved: float
    """Share of the frames, from 0 to 1, that the referee counts as solved."""
    position_error_mm: float
    """Mean over the frames of the worst target's error."""
    iterations: float
    """Mean per frame."""
    jumps: float
    """Share of the frames in which a joint jumps."""


class Contest:
    """One method on one workload, run in rounds; the round of the lowest median counts."""

    def __init__(self, method: Method, workload: Workload) -> None:
        self._method, self._workload = method, workload
        self._targets = [
            [method.prepare(targets) for targets in session.targets]
            for session in workload.sessions
        ]
        self._rounds: list[Array] = []
        self._answers: list[Array] = []
        self._iterations: list[Array] = []
        self.spent_s = 0.0
        """Wall time of all rounds."""

    def run_round(self) -> None:
        """Run all sessions once; the answers are the same every time, and kept from the last."""
        began = time.perf_counter()
        runs = [
            self._run(session, targets)
            for session, targets in zip(self._workload.sessions, self._targets, strict=True)
        ]
        self._rounds.append(np.concatenate([run[0] for run in runs]))
        self._answers = [run[1] for run in runs]
        self._iterations = [run[2] for run in runs]
        self.spent_s += time.perf_counter() - began

    @property
    def round_s(self) -> float:
        """How long a round takes."""
        return self.spent_s / len(self._rounds) if self._rounds else 0.0

    def _run(self, session: Session, targets: list[Any]) -> tuple[Array, Array, Array]:
        """Track one session; return microseconds, answers and iterations of every frame."""
        method, clock = self._method, time.perf_counter_ns
        solve: Callable[[Any, Any], Any] = method.solve
        times_us, iterations = np.empty(len(targets)), np.empty(len(targets))
        answers = np.empty_like(session.truth)
        state = method.start(session.truth[0])
        for frame, target in enumerate(targets):
            began_ns = clock()
            outcome = solve(state, target)
            ended_ns = clock()
            times_us[frame] = 1e-3 * (ended_ns - began_ns)
            state, answers[frame], iterations[frame] = method.read(outcome)
        return times_us, answers, iterations

    def score(self, judge: Judge) -> Score:
        """Judge the answers, and take the time of the quietest round."""
        sessions = self._workload.sessions
        verdicts = [
            judge.verdict(answers, session.targets)
            for answers, session in zip(self._answers, sessions, strict=True)
        ]
        best = min(self._rounds, key=np.median)
        first_q = self._workload.model.first_q
        steps = [np.abs(np.diff(answers[:, first_q:], axis=0)) for answers in self._answers]
        return Score(
            median_us=float(np.median(best)),
            p99_us=float(np.percentile(best, 99.0)),
            rounds=len(self._rounds),
            solved=float(np.mean([verdict.solved for verdict in verdicts])),
            position_error_mm=1e3 * float(np.mean([v.position_errors for v in verdicts])),
            iterations=float(np.mean(self._iterations)),
            jumps=float(np.mean([step.max(axis=1) > JUMP_RAD for step in steps])),
        )


def memory_growth_kib(workload: Workload, solves: int, advance: Callable[[int], None]) -> int:
    """Return by how much the resident set grows over many warm-started solves of `lm`.

    `advance` is told now and then how many solves were made since it was last told.
    """
    solve = Lm(workload).solver.solve
    targets = [target for session in workload.sessions for target in session.targets]
    _solve_on(solve, workload, targets, _MEMORY_WARM_UP)
    before_kib, made = _resident_kib(), 0
    while made < solves:
        count = min(_MEMORY_WARM_UP, solves - made)
        _solve_on(solve, workload, targets, count)
        made += count
        advance(count)
    return _resident_kib() - before_kib


def _solve_on(
    solve: Callable[[Array, Array], Any], workload: Workload, targets: list[Array], count: int
) -> None:
    q = workload.sessions[0].truth[0]
    for i in range(count):
        q = solve(q, targets[i % len(targets)]).q


def _resident_kib() -> int:
    pages = int(Path('/proc/self/statm').read_text(encoding='ascii').split()[1])
    return pages * resource.getpagesize() // 1024
