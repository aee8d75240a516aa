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

"""The command `vr_ik solve`: the body for recorded sessions, faster than they were recorded."""

from collections.abc import Sequence
import json
import math
from pathlib import Path
import sys
import time
from typing import Annotated, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
import typer

from vr_ik.cli.files import check_writable, make_folder, write_text
from vr_ik.cli.settings import (
    ConfigFile,
    Namespace,
    SolverName,
    user_config,
    UserName,
    with_calibration,
)
from vr_ik.errors import VrIkError
from vr_ik.interruption import Interruption

_MISFIT_MM = 30.0
"""A device that is farther from the body on the average is not where such a body has it."""


def solve(
    bags: Annotated[
        list[Path],
        typer.Argument(metavar='BAG', help='Bags (MCAP, sqlite3) with the devices on /tf.'),
    ],
    output: Annotated[
        Path,
        typer.Option(
            '-o', '--output', metavar='OUT', help='The new bag; of several bags, their folder.'
        ),
    ],
    solver: SolverName = None,
    config_file: ConfigFile = None,
    namespace: Namespace = None,
    user: UserName = None,
    json_file: Annotated[
        Path | None, typer.Option('--json', metavar='FILE', help='Write the figures to a file.')
    ] = None,
) -> None:
    """Solve recorded sessions offline, as solver_node would, on all cores.

    The new bag has all topics of the old one, unchanged, and joint_states, the root on /tf,
    robot_description and diagnostics. What an earlier solve has put there is replaced.
    Of several users one is solved for, in his namespace: the next may be so in the new bag.
    """
    # Imported late: numba takes a second, which the other commands need not wait for.
    from vr_ik.offline.many import figures, solve_all
    from vr_ik.offline.solve_bag import Solved

    if json_file is not None:
        check_writable(json_file)
    config, space = user_config(config_file, namespace)
    config, calibration = with_calibration(config, solver, user)
    jobs = _jobs(bags, output, space)
    outcomes: list[Any] = []
    started_s = time.perf_counter()
    with Interruption() as interruption, _progress() as progress:
        bar = progress.add_task('Solving', total=len(jobs))
        shares = [0.0] * len(jobs)

        def report(number: int, share: float) -> None:
            shares[number] = share
            progress.update(bar, completed=sum(shares))

        outcomes = solve_all(jobs, config, calibration, report)
        progress.update(bar, completed=len(jobs))
    if interruption.requested:
        typer.echo('Stopped: nothing is left of what was not complete.', err=True)
        raise typer.Exit(1)
    solved = [outcome for outcome in outcomes if isinstance(outcome, Solved)]
    for one in solved:
        _tell(one)
        if calibration is None and max(one.errors_mm.values(), default=0.0) > _MISFIT_MM:
            typer.echo(
                f'The average body of {config.user_height_m:g} m does not fit: measure the user '
                f'with `vr_ik calibrate {one.bag} --user NAME`, then solve with --user NAME.'
            )
    if solved and json_file is not None:
        taken_s = time.perf_counter() - started_s
        taken_s = solved[0].seconds_taken if len(jobs) == 1 else taken_s
        write_text(json_file, json.dumps(figures(solved, taken_s), indent=2) + '\n')
    errors = [str(outcome) for outcome in outcomes if isinstance(outcome, VrIkError)]
    if errors:
        raise VrIkError('\nvr_ik: '.join(errors))


def _jobs(bags: list[Path], output: Path, namespace: str | None) -> list[Any]:
    """Return what to solve; of several bags, each gets its own name below the output."""
    from vr_ik.io.bag_writer import check_free
    from vr_ik.offline.many import Job

    check_free(output)
    if len(bags) == 1:
        return [Job(bags[0], output, namespace)]
    names = [bag.absolute().name for bag in bags]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise VrIkError(f"Several bags are named '{twice[0]}'; solve them one by one.")
    make_folder(output)
    return [Job(bag, output / name, namespace) for bag, name in zip(bags, names, strict=True)]


def _progress() -> Progress:
    return Progress(
        TextColumn('{task.description}'),
        BarColumn(),
        TextColumn('{task.percentage:>3.0f}%'),
        TimeRemainingColumn(),
        console=Console(file=sys.stderr),
        transient=True,
    )


def _tell(one: Any) -> None:
    factor = one.seconds_of_motion / one.seconds_taken
    worst = max(one.errors_mm, key=one.errors_mm.__getitem__, default='no device')
    off_mm = one.errors_mm.get(worst, math.nan)
    typer.echo(
        f'{one.bag}: {one.frames} frames, {one.seconds_of_motion:.1f} s of motion in '
        f'{one.seconds_taken:.2f} s, {factor:.0f} times real time; the body is within '
        f'{off_mm:.1f} mm of every device on the average ({worst}).'
    )
    if one.replaced:
        typer.echo(f'{one.bag}: replaced {one.replaced} messages of the body that was in it.')
    tell_lost(one.bag, one.lost)


def tell_lost(bag: object, lost: Sequence[str]) -> None:
    """Say in one line what of a bag could not be read, if anything."""
    if lost:
        typer.echo(f'{bag}: could not be read: {"; ".join(lost)}.', err=True)
