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

"""The parameter optimisation of P. Caserman et al. 2019 for the Jacobian methods.

One option after the other (lambda, the two tolerances, the most iterations) is tried over its
range with the others fixed, from the solver's defaults on, and set to its best value. The work is
done by dask, on this machine or on a cluster; what has been measured once is not measured again.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from vr_ik.errors import VrIkError
from vr_ik.evaluation.tuning_cases import Case, motion_of, QUANTITIES
from vr_ik.evaluation.tuning_grid import Options, start, sweeps, Value
from vr_ik.evaluation.tuning_scores import best_index, held_out, HeldOut, scores
from vr_ik.evaluation.tuning_store import Figures, result_key, Results
from vr_ik.types import Array

Advance = Callable[[str], None]
"""Called after each measurement, whether it was made now or before, with what is tried."""
# Enough that no worker waits for its next job to come over the network.
_JOBS_A_THREAD = 4


@dataclass(frozen=True, eq=False)
class Curve:
    """One option of a method over its range, the others fixed."""

    option: str
    values: tuple[Value, ...]
    motions: tuple[str, ...]
    measured: dict[str, Array]
    """(motions, values) of each quantity."""

    @property
    def scores(self) -> Array:
        """(motions, values): the lower the better."""
        return scores(*(self.measured[quantity] for quantity in QUANTITIES))

    @property
    def best(self) -> int:
        """The index of the best value."""
        return best_index(self.scores)

    @property
    def held_out(self) -> list[HeldOut]:
        """What the other motions choose, for each motion."""
        return held_out(self.scores)


@dataclass(frozen=True, eq=False)
class Tuned:
    """A method at its best."""

    options: Options
    curves: tuple[Curve, ...]

    @property
    def figures(self) -> Figures:
        """Each quantity with these options, the mean over the motions."""
        last = self.curves[-1]
        means = {name: values[:, last.best].mean() for name, values in last.measured.items()}
        return {name: float(mean) for name, mean in means.items()}


class _Job(NamedTuple):
    method: str
    options: Options
    case: int


def job_count(methods: Sequence[str], cases: Sequence[Case]) -> int:
    """Return how many measurements a search looks at."""
    return len(cases) * sum(len(v) for method in methods for v in sweeps(method).values())


def tune(
    client: Any, cases: Sequence[Case], methods: Sequence[str], results: Results, advance: Advance
) -> dict[str, Tuned]:
    """Search the best options of each method on a dask client; all methods move on together."""
    # Under new names: dask loses data which it is sent again while it still forgets the old.
    sent = client.scatter(list(cases), broadcast=True, hash=False)
    options = {method: start(method) for method in methods}
    curves: dict[str, list[Curve]] = {method: [] for method in methods}
    for stage in zip(*(sweeps(method).items() for method in methods), strict=True):
        swept = dict(zip(methods, stage, strict=True))
        jobs = [
            _Job(method, {**options[method], option: value}, case)
            for method, (option, values) in swept.items()
            for value in values
            for case in range(len(cases))
        ]
        _measure(client, cases, sent, jobs, results, advance)
        for method, (option, values) in swept.items():
            curve = _curve(method, options[method], option, values, cases, results)
            curves[method].append(curve)
            options[method][option] = values[curve.best]
    return {method: Tuned(options[method], tuple(curves[method])) for method in methods}


def _measure(
    client: Any,
    cases: Sequence[Case],
    sent: Sequence[Any],
    jobs: Sequence[_Job],
    results: Results,
    advance: Advance,
) -> None:
    """Have all jobs done that have no result yet; `sent` are the cases that workers have."""
    missing = {}
    for job in jobs:
        key = result_key(job.method, job.options, cases[job.case].digest)
        if key not in results and key not in missing:
            missing[key] = job
        else:
            advance(job.method)
    for key, figures in _done(client, sent, missing):
        job = missing[key]
        described = {'method': job.method, 'recording': cases[job.case].name, **job.options}
        results.add(key, described, figures)
        advance(job.method)


def _done(
    client: Any, sent: Sequence[Any], jobs: Mapping[str, _Job]
) -> Iterator[tuple[str, Figures]]:
    """Yield (key, figures) of all jobs as they come; no more are handed out than keep all busy.

    When the search is stopped there is little to call off.
    """
    from distributed import as_completed

    waiting = iter(jobs.items())
    running = as_completed()
    keys: dict[Any, str] = {}

    def hand_out(count: int) -> None:
        for key, job in islice(waiting, count):
            future = client.submit(_work, sent[job.case], job.method, job.options, pure=False)
            keys[future] = key
            running.add(future)

    hand_out(_JOBS_A_THREAD * sum(client.nthreads().values()))
    for future in running:
        yield keys.pop(future), _result(future)
        hand_out(1)


def _work(case: Case, method: str, options: Options) -> Figures:
    return case.measure(method, options)


def _result(future: Any) -> Figures:
    """Return what a worker has measured; its errors become ours."""
    try:
        figures: Figures = future.result()
    except VrIkError:
        raise
    except Exception as error:
        raise VrIkError(f'A worker failed: {type(error).__name__}: {error}') from error
    return figures


def _curve(
    method: str,
    options: Options,
    option: str,
    values: tuple[Value, ...],
    cases: Sequence[Case],
    results: Results,
) -> Curve:
    """Collect the results of one option: the mean over the recordings of each motion."""
    motions = tuple(dict.fromkeys(motion_of(case.name) for case in cases))
    measured = {quantity: np.empty((len(motions), len(values))) for quantity in QUANTITIES}
    for row, motion in enumerate(motions):
        digests = [case.digest for case in cases if motion_of(case.name) == motion]
        for column, value in enumerate(values):
            tried = {**options, option: value}
            found = [results[result_key(method, tried, digest)] for digest in digests]
            for quantity, table in measured.items():
                table[row, column] = np.mean([figures[quantity] for figures in found])
    return Curve(option, values, motions, measured)
