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

"""Evaluates solvers on recorded motions, prints a table of each and draws the motions."""

from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from vr_ik.config import SolverConfig
from vr_ik.errors import UnknownNameError
from vr_ik.evaluation.eval_data import read_recordings
from vr_ik.evaluation.eval_plot import plot_motion
from vr_ik.evaluation.metrics import Figures, motion_figures, overall_figures
from vr_ik.evaluation.reconstruction import input_roles, POINTS, reconstruct
from vr_ik.evaluation.recordings import Recording

_COLUMNS = (
    'head',
    'hands',
    'feet',
    'hips',
    'elbows',
    'knees',
    'knees_on_shin',
    'upper_joints',
    'all_joints',
)


def compare(
    data: list[Path],
    points: str,
    configs: list[SolverConfig],
    refined: bool,
    plot: Path | None,
) -> Figures:
    """Print a table for each configuration, named by its solver.

    Returns all figures, as `vr_ik eval --json` writes them.
    """
    if points not in POINTS:
        raise UnknownNameError('choice of points', points, POINTS)
    recordings = read_recordings(data)
    by_solver = {}
    for config in configs:
        by_solver[config.solver] = _evaluate(recordings, points, config, refined, plot)
        _print(config.solver, points, by_solver[config.solver])
    first = next(iter(by_solver.values()))
    return first if len(by_solver) == 1 else {**first, 'solvers': by_solver}


def _evaluate(
    recordings: list[Recording],
    points: str,
    config: SolverConfig,
    refined: bool,
    plot: Path | None,
) -> Figures:
    motions = {}
    for recording in recordings:
        roles = input_roles(recording, points)
        reconstruction = reconstruct(recording, roles, config, refined)
        motions[recording.name] = motion_figures(reconstruction)
        if plot is not None:
            plot_motion(reconstruction, config.solver, plot)
    return overall_figures(motions)


def _print(solver: str, points: str, figures: Figures) -> None:
    """Print a table: a row a motion, then their mean and that of no inverse kinematics at all."""
    columns = [name for name in _COLUMNS if name in figures['mean']]
    title = f'{solver}, {points} points: mean error [mm]'
    table = Table(title=escape(title))
    table.add_column('motion')
    for name in (*columns, 'jerk ratio', 'us', 'p99'):
        table.add_column(name, justify='right')
    for name, motion in figures['motions'].items():
        table.add_row(name, *_cells(motion['mean'], columns), *_rest(motion))
    table.add_section()
    table.add_row('mean', *_cells(figures['mean'], columns), *_rest(figures))
    table.add_row(escape('rotation [deg]'), *_cells(figures['rotation_deg'], columns), '', '', '')
    table.add_row('rigid, no IK', *_cells(figures['baseline'], columns), '', '', '')
    Console(width=max(100, 26 + 10 * (len(columns) + 3))).print(table)


def _cells(means: dict[str, float], columns: list[str]) -> list[str]:
    return [f'{means[name]:.1f}' if name in means else '' for name in columns]


def _rest(figures: Figures) -> tuple[str, str, str]:
    ratio, time_us = figures['jerk_ratio'], figures['time_us']
    jerk = '' if ratio is None else f'{ratio:.2f}'
    return jerk, f'{time_us["median"]:.0f}', f'{time_us["p99"]:.0f}'
