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

"""Solves many bags on all cores, each in a process of its own."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
import hashlib
from multiprocessing import get_context
import os
from pathlib import Path
import queue
import signal
from typing import Any

from numba.core import event

from vr_ik.calibration.calibration import Calibration
from vr_ik.config import SolverConfig
from vr_ik.errors import VrIkError
from vr_ik.interruption import Interrupted
from vr_ik.offline.solve_bag import solve_bag, Solved, warm_up
from vr_ik.pipeline import Pipeline

_POLL_S = 0.1


@dataclass(frozen=True)
class Job:
    """A bag to solve, for the user in a namespace, as `solve_bag` does."""

    source: Path
    target: Path
    namespace: str | None = None


Report = Callable[[int, float], None]
"""Is told the number of a job and which share of it is done."""


def solve_all(
    jobs: Sequence[Job], config: SolverConfig, calibration: Calibration | None, report: Report
) -> list[Solved | VrIkError]:
    """Solve the bags and return, in their order, what came of each."""
    # Machine code that was just compiled differs in the last digits from the same code when it is
    # loaded, which every later run does: compiled here, it is for other processes to use.
    if not _compiles(config, calibration) and len(jobs) == 1:
        return [_solve(jobs[0], config, calibration, lambda share: report(0, share))]
    # Spawned, not forked: the parent may have threads, of numba or of ROS.
    context = get_context('spawn')
    shares: Any = context.Queue()
    stop: Any = context.Event()
    workers = min(len(jobs), os.cpu_count() or 1)
    with ProcessPoolExecutor(workers, context, _begin, (shares, stop)) as pool:
        futures = [
            pool.submit(_work, number, job, config, calibration) for number, job in enumerate(jobs)
        ]
        try:
            _await(futures, shares, report)
        except BaseException:
            stop.set()  # each worker ends at its next step, and removes what it has begun
            pool.shutdown(cancel_futures=True)
            raise
        return [future.result() for future in futures]


def _compiles(config: SolverConfig, calibration: Calibration | None) -> bool:
    """Have every kernel ready; return whether one had to be compiled, as on the very first run."""
    with event.install_recorder('numba:compile') as recorder:
        warm_up(Pipeline(config, calibration), config)
    return bool(recorder.buffer)


def _await(futures: Sequence[Future[Any]], shares: Any, report: Report) -> None:
    pending = set(futures)
    while pending:
        _, pending = wait(pending, timeout=_POLL_S)
        while True:
            try:
                report(*shares.get_nowait())
            except queue.Empty:
                break


_shares: Any = None
_stop: Any = None


def _begin(shares: Any, stop: Any) -> None:
    """Prepare a worker: the parent alone takes notice of Ctrl-C, and tells."""
    global _shares, _stop
    _shares, _stop = shares, stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _work(
    number: int, job: Job, config: SolverConfig, calibration: Calibration | None
) -> Solved | VrIkError:
    def progress(share: float) -> None:
        if _stop.is_set():
            raise Interrupted
        _shares.put((number, share))

    return _solve(job, config, calibration, progress)


def _solve(
    job: Job,
    config: SolverConfig,
    calibration: Calibration | None,
    progress: Callable[[float], None],
) -> Solved | VrIkError:
    try:
        return solve_bag(job.source, job.target, config, calibration, progress, job.namespace)
    except VrIkError as error:
        # Without its cause, which may not pass from one process to another.
        return VrIkError(str(error))


def figures(solved: Sequence[Solved], seconds_taken: float) -> dict[str, Any]:
    """Return what `vr_ik solve --json` writes: of all bags together, and of each."""
    hashes = [one.sha256 for one in solved]
    together = hashes[0] if len(hashes) == 1 else _hash_of_hashes(hashes)
    motion_s = sum(one.seconds_of_motion for one in solved)
    return {
        **_figures(sum(one.frames for one in solved), motion_s, seconds_taken, together),
        'bags': [
            {
                'bag': one.bag,
                **_figures(one.frames, one.seconds_of_motion, one.seconds_taken, one.sha256),
                'errors_mm': one.errors_mm,
                'replaced': one.replaced,
                'lost': list(one.lost),
            }
            for one in solved
        ],
    }


def _figures(frames: int, motion_s: float, taken_s: float, sha256: str) -> dict[str, Any]:
    return {
        'frames': frames,
        'seconds_of_motion': round(motion_s, 6),
        'seconds_taken': round(taken_s, 6),
        'realtime_factor': round(motion_s / taken_s, 2),
        'sha256': sha256,
    }


def _hash_of_hashes(hashes: Sequence[str]) -> str:
    return hashlib.sha256(''.join(hashes).encode()).hexdigest()
