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

"""The command `vr_ik tune`: the best options of the Jacobian methods on recorded motion."""

import json
from pathlib import Path
from typing import Annotated

import typer

from vr_ik.cli.files import check_writable, make_folder, write_text
from vr_ik.interruption import Interruption

_STOPPED = 130


def tune(
    data: Annotated[
        list[Path],
        typer.Argument(
            metavar='DATA', help='A folder with skeleton.json, or what `vr_ik eval` reads.'
        ),
    ],
    method: Annotated[
        list[str] | None,
        typer.Option(metavar='NAME', help='Method; give it again for more.', show_default='all'),
    ] = None,
    results: Annotated[
        Path,
        typer.Option(metavar='FILE', help='What has been measured; a search goes on from there.'),
    ] = Path('tune.jsonl'),
    yaml_file: Annotated[
        Path | None,
        typer.Option('--yaml', metavar='FILE', help='Write parameters for the solver node.'),
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option('--json', metavar='FILE', help='Write all figures to a file.')
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar='DIR', help='Draw the curves of every option there.')
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(metavar='N', min=1, help='Processes.', show_default='one a core'),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(metavar='ADDRESS', help='Work on the dask cluster there: tcp://host:8786.'),
    ] = None,
) -> None:
    """Search the best options of the Jacobian methods on recorded motion.

    Tries the ranges of Caserman et al. 2019 one option after the other, and takes those values
    whose z-scores of error and iterations are lowest on average over the motions. Ctrl-C stops
    it; the same command goes on from there.
    """
    # Imported late: numba takes a second, which the other commands need not wait for.
    from vr_ik.evaluation import tuning_report
    from vr_ik.evaluation.plotting import pyplot
    from vr_ik.evaluation.tuning_cases import read_cases
    from vr_ik.evaluation.tuning_search import search

    for path in (results, yaml_file, json_file):
        if path is not None:
            check_writable(path)
    if plot is not None:
        make_folder(plot)
        pyplot()  # Raises now, not after the search, where it is not installed.
    cases = read_cases(data)
    with Interruption() as interruption:
        tuned = search(cases, method, results, scheduler, workers)
    if interruption.requested:
        typer.echo(f"Stopped; the same command goes on from '{results}'.", err=True)
        raise typer.Exit(_STOPPED)
    best = tuning_report.best_method(tuned)
    if yaml_file is not None:
        write_text(yaml_file, tuning_report.node_yaml(best, tuned[best], cases[0]))
    if json_file is not None:
        write_text(json_file, json.dumps(tuning_report.to_json(tuned), indent=2) + '\n')
    if plot is not None:
        tuning_report.plot(tuned, plot)
