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

"""All papers whose tables are reproduced, measured one after the other.

`paper` says what the module of a paper must have.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from vr_ik.errors import UnknownNameError, VrIkError
from vr_ik.evaluation import paper_aristidou, paper_caserman, paper_erleben, paper_stolpe
from vr_ik.evaluation.paper import Figures, MISSING, Paper
from vr_ik.evaluation.plotting import pyplot

PAPERS: dict[str, Paper] = {
    paper.KEY: paper for paper in (paper_stolpe, paper_aristidou, paper_erleben, paper_caserman)
}
"""By key, in the order in which they are measured."""
# Columns of characters that the tables need.
_NARROWEST = 100


def reproduce(data: Path, only: Sequence[str], plots: Path | None) -> dict[str, Any]:
    """Measure the papers that `only` names (all where it names none), and print their tables.

    Returns the figures by the papers' keys, and under 'missing' what could not be measured.
    """
    for key in only:
        if key not in PAPERS:
            raise UnknownNameError('paper', key, PAPERS)
    if plots is not None:
        pyplot()  # Raises now, not after minutes, where it is not installed.
    console = Console(width=max(_NARROWEST, Console().width))
    figures: dict[str, Any] = {}
    missing: dict[str, str] = {}
    for key in only or PAPERS:
        try:
            figures[key] = _measure(PAPERS[key], data, console)
        except VrIkError as error:
            missing[key] = str(error)
        else:
            if MISSING in figures[key]:
                missing[key] = figures[key].pop(MISSING)
            _show(PAPERS[key], figures[key], plots, console)
        if key in missing:
            console.print(f'{key}: not measured: {missing[key]}', style='yellow', markup=False)
    return {**figures, MISSING: missing}


def _measure(paper: Paper, data: Path, console: Console) -> Figures:
    columns = (TextColumn('{task.description}'), BarColumn(), TimeElapsedColumn())
    with Progress(
        *columns, TextColumn('{task.fields[now]}'), console=console, transient=True
    ) as bar:
        task = bar.add_task(f'{paper.KEY}: {paper.TITLE}', total=1.0, now='')
        return paper.run(data, lambda share, now: bar.update(task, completed=share, now=now))


def _show(paper: Paper, figures: Figures, plots: Path | None, console: Console) -> None:
    """Print the tables with the protocol below them, and draw the plots."""
    for table in paper.tables(figures):
        console.print(table)
    for paragraph in (paper.__doc__ or '').split('\n\n'):
        console.print(' '.join(paragraph.split()), markup=False, highlight=False)
    for path in paper.plots(figures, plots) if plots else ():
        console.print(f'{path}', style='dim', markup=False, highlight=False)
    console.print()
