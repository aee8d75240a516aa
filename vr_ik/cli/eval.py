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

"""The command `vr_ik eval`: errors of the reconstructed body on recorded motion."""

import json
from pathlib import Path
from typing import Annotated

import typer

from vr_ik.cli.files import check_writable, make_folder, write_text
from vr_ik.cli.settings import ConfigFile, Namespace, user_config
from vr_ik.config import replace

_SOME_LEFT_OUT = 3
"""The exit code where figures are there, and not of all that was asked for."""


def eval_(
    data: Annotated[
        list[Path], typer.Argument(metavar='DATA', help='Folders, .npz or .bvh files, bags.')
    ],
    points: Annotated[
        str, typer.Option(metavar='3|6|all', help='Headset and hands; waist and feet, too; all.')
    ] = '6',
    solver: Annotated[
        list[str] | None,
        typer.Option(
            metavar='NAME',
            help="Solver, instead of the file's; give it again to compare.",
            show_default='body',
        ),
    ] = None,
    config_file: ConfigFile = None,
    namespace: Namespace = None,
    motion: Annotated[
        list[str] | None,
        typer.Option(metavar='NAME', help='Motion to take; may be repeated.', show_default='all'),
    ] = None,
    refine: Annotated[
        bool, typer.Option(help='Refine the calibration on the motion before solving it.')
    ] = True,
    smooth: Annotated[
        bool, typer.Option(help='Smooth the devices (both filters), as configured.')
    ] = True,
    json_file: Annotated[
        Path | None, typer.Option('--json', metavar='FILE', help='Write all figures to a file.')
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar='DIR', help='Draw a picture of every motion there.')
    ] = None,
) -> None:
    """Reconstruct recorded motions and compare them with what was held out as the truth.

    The body is measured in each recording: a parameter file says nothing about its size. What
    cannot be evaluated is left out and named, and the exit code is then 3.
    """
    # Imported late: numba takes a second, which the other commands need not wait for.
    from vr_ik.evaluation.eval_report import compare

    if json_file is not None:
        check_writable(json_file)
    if plot is not None:
        make_folder(plot)
    config, _ = user_config(config_file, namespace)
    if not smooth:
        config = replace(config, {'vibration_hz': 0.0, 'smoothing_hz': 0.0})
    configs = [replace(config, {'solver': name}) for name in solver or [config.solver]]
    figures = compare(data, points, configs, refine, plot, motion or [])
    if json_file is not None:
        write_text(json_file, json.dumps(figures, indent=2) + '\n')
    if figures['left_out']:
        raise typer.Exit(_SOME_LEFT_OUT)
