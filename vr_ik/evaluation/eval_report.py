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

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from vr_ik.config import replace, ROLES, SolverConfig
from vr_ik.config_fields import bad_value, changed
from vr_ik.errors import UnknownNameError, VrIkError
from vr_ik.evaluation.eval_data import read_file, recording_files
from vr_ik.evaluation.eval_plot import plot_motion
from vr_ik.evaluation.metrics import Figures, motion_figures, overall_figures, unbeaten
from vr_ik.evaluation.reconstruction import (
    calibrate_on_first,
    input_roles,
    POINTS,
    reconstruct,
)
from vr_ik.evaluation.recordings import Recording
from vr_ik.pipeline import Pipeline

_COLUMNS = (
    'head',
    'hands',
    'feet',
    'hips',
    'elbows',
    'knees',
    'knees_on_thigh',
    'upper_joints',
    'all_joints',
)
_TRACK_COLUMNS = {
    'mean': 'mean [mm]',
    'median': 'median [mm]',
    'p95': 'p95 [mm]',
    'rotation_deg': 'rotation [deg]',
    'velocity_mm_s': 'velocity [mm/s]',
    'jerk_ratio': 'jerk ratio',
}
_DIGITS = {key: 2 if key == 'jerk_ratio' else 1 for key in _TRACK_COLUMNS}
_RIGID = 'rigid, no IK'
_LIMITS_NAMED = 4


def compare(
    data: list[Path],
    points: str,
    configs: list[SolverConfig],
    refined: bool,
    plot: Path | None,
    names: Sequence[str] = (),
) -> Figures:
    """Print a table for each configuration, named by its solver, of all motions or those named.

    The configurations differ in the solver alone. Returns all figures, as `vr_ik eval --json`
    writes them: those of the first solver, under 'solvers' those of the others by name, and under
    'left_out' the reason for each file or motion that cannot be evaluated.
    """
    if points not in POINTS:
        raise UnknownNameError('choice of points', points, POINTS)
    if configs[0].model != 'full':
        raise bad_value('model', configs[0].model, "only the 'full' model can be evaluated")
    left_out: dict[str, str] = {}
    recordings = _chosen(_read(data, configs[0], left_out), names, left_out)
    recordings = _judged(recordings, points, configs[0], left_out)
    # What is wrong is told before the first of them takes its time.
    for config in configs:
        Pipeline(config)
    by_solver = {}
    for config in configs:
        figures = _evaluate(recordings, points, config, refined, plot)
        by_solver[config.solver] = {'parameters': changed(config), **figures}
        _print(config.solver, points, by_solver[config.solver])
    if len(by_solver) > 1:
        _print_side_by_side(points, by_solver)
    for recording in recordings:
        for remark in recording.remarks:
            Console().print(f"'{recording.name}': {remark}.", highlight=False, markup=False)
    for reason in _named(left_out):
        Console().print(f'Left out: {reason}', style='red', markup=False)
    first, *others = by_solver
    made = {'solver': first, 'points': points, 'refined': refined, 'left_out': left_out}
    figures = {**made, **by_solver[first]}
    if others:
        figures['solvers'] = {name: by_solver[name] for name in others}
    return figures


def _read(data: list[Path], config: SolverConfig, left_out: dict[str, str]) -> list[Recording]:
    """Read all recordings; note the files that cannot be read, with the reason."""
    # Devices that are not followed are read, too: they are the truth.
    config = replace(config, {'trackers': ROLES})
    recordings = []
    for file in recording_files(data):
        try:
            recordings += read_file(file, config, left_out)
        except VrIkError as error:
            left_out[str(file)] = str(error)
    return recordings


def _judged(
    recordings: list[Recording], points: str, config: SolverConfig, left_out: dict[str, str]
) -> list[Recording]:
    """Return the recordings that can be calibrated with these points; note why others cannot."""
    judged = []
    for recording in recordings:
        try:
            calibrate_on_first(recording, _roles(recording, points, config))
        except VrIkError as error:
            left_out[recording.name] = str(error)
        else:
            judged.append(recording)
    if not judged:
        raise VrIkError(' '.join(_named(left_out)))
    return judged


def _named(left_out: Mapping[str, str]) -> list[str]:
    """Return the reasons, each with the name of what it is about."""
    return [text if name in text else f"'{name}': {text}" for name, text in left_out.items()]


def _roles(recording: Recording, points: str, config: SolverConfig) -> tuple[str, ...]:
    """Return the devices that go in: those of the points that are followed."""
    return tuple(role for role in input_roles(recording, points) if role in config.trackers)


def _chosen(
    recordings: list[Recording], names: Sequence[str], left_out: dict[str, str]
) -> list[Recording]:
    """Return the recordings of these names, or all; what else was left out is then nobody's."""
    known = tuple(recording.name for recording in recordings)
    twice = sorted({name for name in known if known.count(name) > 1})
    if twice:
        raise VrIkError(f"Two recordings are named '{twice[0]}'; evaluate one after the other.")
    for name in names:
        if name not in known:
            unknown = UnknownNameError('motion', name, known)
            raise VrIkError(' '.join((str(unknown), *_named(left_out))))
    if names:
        left_out.clear()
    return [recording for recording in recordings if not names or recording.name in names]


def _evaluate(
    recordings: list[Recording],
    points: str,
    config: SolverConfig,
    refined: bool,
    plot: Path | None,
) -> Figures:
    motions = {}
    for recording in recordings:
        roles = _roles(recording, points, config)
        reconstruction = reconstruct(recording, roles, config, refined)
        motions[recording.name] = motion_figures(reconstruction)
        if plot is not None:
            plot_motion(reconstruction, config.solver, plot)
    return overall_figures(motions)


def _print(solver: str, points: str, figures: Figures) -> None:
    """Print the errors by motion, those by device and joint, and where no IK is as good."""
    columns = _columns(figures)
    table = _table(f'{solver}, {points} points: mean error [mm]', 'motion', columns)
    for name, motion in figures['motions'].items():
        table.add_row(escape(name), *_cells(motion['mean'], columns), *_rest(motion))
    table.add_section()
    table.add_row('mean', *_cells(figures['mean'], columns), *_rest(figures))
    table.add_row(escape('rotation [deg]'), *_cells(figures['rotation_deg'], columns))
    table.add_row(_RIGID, *_cells(figures['baseline'], columns))
    console = _console(columns)
    console.print(table)
    console.print(_by_track(solver, points, figures))
    console.print(_limits_line(figures))
    console.print(_times_line(figures))
    console.print(_unbeaten_line(figures))
    if figures['parameters']:
        given = ', '.join(f'{name} {value}' for name, value in figures['parameters'].items())
        console.print(f'Not by default: {given}.', highlight=False, markup=False)


def _print_side_by_side(points: str, by_solver: dict[str, Figures]) -> None:
    """Print a row a solver: the means over the motions."""
    first = next(iter(by_solver.values()))
    columns = _columns(first)
    table = _table(f'{points} points: mean error [mm] by solver', 'solver', columns)
    for solver, figures in by_solver.items():
        table.add_row(escape(solver), *_cells(figures['mean'], columns), *_rest(figures))
    table.add_section()
    table.add_row(_RIGID, *_cells(first['baseline'], columns))
    _console(columns).print(table)


def _by_track(solver: str, points: str, figures: Figures) -> Table:
    """Return a row for each device and joint, the mean over the motions."""
    table = Table(title=escape(f'{solver}, {points} points: by device and joint'))
    table.add_column('device or joint')
    for title in _TRACK_COLUMNS.values():
        table.add_column(escape(title), justify='right')
    for name, track in figures['tracks'].items():
        cells = [
            f'{track[key]:.{_DIGITS[key]}f}' if key in track else '' for key in _TRACK_COLUMNS
        ]
        table.add_row(escape(name), *cells)
    return table


def _limits_line(figures: Figures) -> str:
    often = sorted(figures['limit_share'].items(), key=lambda item: -item[1])[:_LIMITS_NAMED]
    named = ', '.join(f'{joint} {share:.0%}' for joint, share in often)
    line = f'Some joint is at its limit in {figures["at_limit"]:.0%} of the frames'
    return f'{line}; most often: {named}.' if named else f'{line}.'


def _times_line(figures: Figures) -> str:
    solve, frame = figures['time_us'], figures['frame_us']
    line = (
        f'In the solver {solve["median"]:.0f} us a frame (p99 {solve["p99"]:.0f}), in the whole '
        f'pipeline {frame["median"]:.0f} us (p99 {frame["p99"]:.0f}).'
    )
    untied = figures['untied']
    if untied:
        line += (
            ' Not tied to their links at the calibration pose, joints are off by '
            f'{untied["all_joints"]:.1f} mm (upper {untied["upper_joints"]:.1f}).'
        )
    return line


def _unbeaten_line(figures: Figures) -> str:
    lost = [
        f'{motion} ({part} {error:.1f} against {rigid:.1f})'
        for motion, part, error, rigid in unbeaten(figures)
    ]
    if not figures['baseline']:
        return f"No elbows or knees are known to compare with '{_RIGID}'."
    if not lost:
        return f"'{_RIGID}' is beaten in every motion where it errs by over 10 mm."
    return escape(f"'{_RIGID}' errs by over 10 mm and is not beaten in: {', '.join(lost)}.")


def _columns(figures: Figures) -> list[str]:
    return [name for name in _COLUMNS if name in figures['mean']]


def _table(title: str, first: str, columns: list[str]) -> Table:
    table = Table(title=escape(title))
    table.add_column(first)
    for name in (*columns, 'jerk ratio', 'at limit', 'us', 'p99'):
        table.add_column(name, justify='right')
    return table


def _console(columns: list[str]) -> Console:
    return Console(width=max(100, 26 + 10 * (len(columns) + 4)))


def _cells(means: dict[str, float], columns: list[str]) -> list[str]:
    return [f'{means[name]:.1f}' if name in means else '' for name in columns]


def _rest(figures: Figures) -> tuple[str, str, str, str]:
    ratio, time_us = figures['jerk_ratio'], figures['time_us']
    jerk = '' if ratio is None else f'{ratio:.2f}'
    limit = f'{figures["at_limit"]:.0%}'
    return jerk, limit, f'{time_us["median"]:.0f}', f'{time_us["p99"]:.0f}'
