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

"""A search for people to watch: a progress bar while it lasts, then what it found."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from vr_ik.evaluation.dask_client import dask_client
from vr_ik.evaluation.tuning import job_count, tune, Tuned
from vr_ik.evaluation.tuning_cases import Case
from vr_ik.evaluation.tuning_grid import METHODS
from vr_ik.evaluation.tuning_report import best_method, table
from vr_ik.evaluation.tuning_store import Results

_BAR = (
    TextColumn('{task.description}'),
    BarColumn(),
    MofNCompleteColumn(),
    TimeElapsedColumn(),
    TimeRemainingColumn(),
)


def search(
    cases: Sequence[Case],
    methods: Sequence[str] | None,
    results: Path,
    scheduler: str | None,
    workers: int | None,
) -> dict[str, Tuned]:
    """Tune the methods (all, where none is named) and print the best options."""
    methods = list(dict.fromkeys(methods or METHODS))
    total, known = job_count(methods, cases), Results(results)
    console = Console()
    with dask_client(scheduler, workers) as client, Progress(*_BAR, console=console) as bar:
        task = bar.add_task('starting', total=total)

        def advance(method: str) -> None:
            bar.update(task, advance=1, description=f'{method:8}')

        tuned = tune(client, cases, methods, known, advance)
    console.print(table(tuned))
    console.print(
        'Each option in turn over its range, the others fixed; score: average z-score of error '
        '(position and rotation alike) and iterations, over the motions. Held out: how far above '
        'its lowest the score of a motion is, on average, when only the other motions choose. '
        f"Of these methods '{best_method(tuned)}' has the lowest score.",
        highlight=False,
    )
    return tuned
