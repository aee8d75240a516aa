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

"""The command `vr_ik papers`: the tables of the solvers' papers, ours beside theirs."""

import json
from pathlib import Path
from typing import Annotated

import typer

from vr_ik.cli.files import check_writable, make_folder, write_text
from vr_ik.errors import VrIkError


def papers(
    data: Annotated[
        Path, typer.Option(metavar='DIR', help='Folder with the recordings of the papers.')
    ],
    only: Annotated[
        list[str] | None,
        typer.Option(metavar='NAME', help='Paper, such as seed004; give it again for more.'),
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option('--json', metavar='FILE', help='Write all figures to a file.')
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar='DIR', help="Draw the papers' figures there.")
    ] = None,
) -> None:
    """Measure what the papers of the solvers did, and print it beside their tables.

    Recordings that are missing are named, and the rest is measured.
    """
    # Imported late: numba takes a second, which the other commands need not wait for.
    from vr_ik.evaluation.papers import reproduce

    if not data.is_dir():
        raise VrIkError(f"There is no folder '{data}'.")
    if json_file is not None:
        check_writable(json_file)
    if plot is not None:
        make_folder(plot)
    figures = reproduce(data, only or (), plot)
    if json_file is not None:
        write_text(json_file, json.dumps(figures, indent=2) + '\n')
