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

"""Tables III to V of P. Caserman, P. Achenbach and S. Goebel 2019, on their own recordings.

Protocol: each limb alone, warm start from the frame before (the bind pose at first), parameters of
Table III, both errors with the same weight, joints clamped in every iteration; errors and
iterations are averaged over all calls of a recording, then over the recordings. The first table is
measured as their code does it: a joint is a rotation, its limits clamp Euler angles, the rotation
error is three Euler angles, and errors are those before the last step. The second one has the same
limbs as URDF chains of hinges (about x, y, z of each bone, in this order) under the solvers as
anybody calls them: they keep the best configuration seen, rest only when the step neither changes
nor gains, and errors are those of the result.
Deviations in both: `jt` never steps beyond the optimum of the linear model; `jpi` is the true
pseudo-inverse, where their code inverts a singular matrix for the legs; `sdls` has the speeds of
the joints from their own columns, as Buss and Kim do, where their code takes others; y of the
shoulder ends at 90 instead of 105 deg, as the middle one of three Euler angles does; times are
medians of calls from Python, on another machine. Limits are those of Table I: those of their
published code differ.
"""

from collections.abc import Callable
from pathlib import Path
from time import perf_counter_ns

import numpy as np
from rich.table import Table

from vr_ik.evaluation.paper import Column, comparison, data_files, Figures, Progress
from vr_ik.evaluation.plotting import legend_beside, pyplot, save
from vr_ik.evaluation.vive_limbs import FILES, follow, Limb, read_vive, Recording
from vr_ik.solvers.base import make_solver
from vr_ik.solvers.bone_chain import solve_bones
from vr_ik.solvers.jacobian import JacobianSolver
from vr_ik.types import Array, Task

KEY = 'seed004'
TITLE = 'Caserman et al. 2019'
FOLDER = 'vive_2019'
"""Where the recordings are in the data folder."""
METHODS = ('jt', 'jpi', 'dls', 'svd', 'svd_dls', 'sdls')
PAPER = {
    'jt': {'mm': 86.0, 'deg': 1.318, 'iterations': 7.917, 'us': 114.519},
    'jpi': {'mm': 190.0, 'deg': 25.898, 'iterations': 32.75, 'us': 562.318},
    'dls': {'mm': 76.0, 'deg': 3.724, 'iterations': 6.511, 'us': 116.052},
    'svd': {'mm': 81.0, 'deg': 3.037, 'iterations': 5.689, 'us': 165.336},
    'svd_dls': {'mm': 76.0, 'deg': 3.724, 'iterations': 6.505, 'us': 187.533},
    'sdls': {'mm': 98.0, 'deg': 1.776, 'iterations': 7.717, 'us': 209.3},
}
"""The paper's Tables IV and V."""
URDF = 'urdf'
"""Key of a method's figures on URDF chains."""
COLUMNS = (
    Column('mm', 'position [mm]', 1),
    Column('deg', 'rotation [deg]', 2),
    Column('iterations', 'iterations', 2),
    Column('us', 'time [us]', 1),
)

_LimbRun = Callable[[Limb, JacobianSolver, Recording], Array]


def run(data: Path, progress: Progress) -> Figures:
    """Measure each method on their chains of bones and on URDF chains."""
    data_files(data, FOLDER, FILES)
    limbs, recordings = read_vive(data / FOLDER)
    figures: Figures = {}
    for i, method in enumerate(METHODS):
        solvers = [_solver(method, limb) for limb in limbs]
        rows: dict[_LimbRun, list[Array]] = {_run_bones: [], _run_urdf: []}
        for k, recording in enumerate(recordings):
            progress((i + k / len(recordings)) / len(METHODS), f'{method}: {recording.name}')
            for run_limb, means in rows.items():
                pairs = zip(limbs, solvers, strict=True)
                means.append(_means([run_limb(*pair, recording) for pair in pairs]))
        figures[method] = {**_named(rows[_run_bones]), URDF: _named(rows[_run_urdf])}
    progress(1.0, 'done')
    return figures


def tables(figures: Figures) -> list[Table]:
    """Return both tables, ours beside Tables IV and V."""
    on_urdf = {method: row[URDF] for method, row in figures.items()}
    return [
        comparison('Tables IV and V, on their chains of bones', COLUMNS, figures, PAPER),
        comparison('The same limbs as URDF chains', COLUMNS, on_urdf, PAPER),
    ]


def plots(figures: Figures, folder: Path) -> list[Path]:
    """Draw each column of Tables IV and V as bars."""
    figure, axes = pyplot().subplots(1, len(COLUMNS), figsize=(14, 3.5))
    places = np.arange(len(figures))
    shown = {
        'paper': {method: PAPER[method] for method in figures},
        'bones': figures,
        'URDF': {method: row[URDF] for method, row in figures.items()},
    }
    for axis, column in zip(axes, COLUMNS, strict=True):
        for i, (name, rows) in enumerate(shown.items()):
            heights = [row[column.key] for row in rows.values()]
            axis.bar(places + 0.27 * (i - 1), heights, 0.25, label=name)
        axis.set_xticks(places, list(figures), rotation=45)
        axis.set_ylabel(column.title)
    axes[-1].set_yscale('log')
    legend_beside(axes[-1])
    figure.suptitle(f'{TITLE}, Tables IV and V')
    return [save(figure, folder, f'{KEY}_tables_4_5')]


def _solver(method: str, limb: Limb) -> JacobianSolver:
    solver = make_solver(method, limb.model, [Task(limb.link, 1.0, 1.0)])
    assert isinstance(solver, JacobianSolver)
    return solver


def _means(calls: list[Array]) -> Array:
    """Return mean errors [mm, deg], mean iterations and median time [us] of all limbs' calls."""
    rows = np.concatenate(calls)
    return np.append(rows[:, :3].mean(axis=0), np.median(rows[:, 3]))


def _named(means: list[Array]) -> dict[str, float]:
    """Return the mean over the recordings, by the names of the columns."""
    values = np.mean(means, axis=0)
    return {column.key: float(value) for column, value in zip(COLUMNS, values, strict=True)}


def _run_bones(limb: Limb, solver: JacobianSolver, recording: Recording) -> Array:
    """Return (frames, 4): errors [mm, deg], iterations and time [us] of their loop."""
    rotations = np.tile(np.eye(3).ravel(), (len(limb.bones), 1))
    roots = np.hstack((recording.hip[:, :3, :3].reshape(-1, 9), recording.hip[:, :3, 3]))
    targets = recording.hip @ recording.targets[limb.device]
    errors = np.empty(2)
    calls = np.empty((len(targets), 4))
    for row, root, target in zip(calls, roots, targets, strict=True):
        start_ns = perf_counter_ns()
        row[2] = solve_bones(limb.bones, solver.settings, root, target, rotations, errors)
        row[3] = 1e-3 * (perf_counter_ns() - start_ns)
        row[:2] = 1e3 * errors[0], np.degrees(errors[1])
    return calls


def _run_urdf(limb: Limb, solver: JacobianSolver, recording: Recording) -> Array:
    """Return (frames, 4): errors [mm, deg], iterations and time [us] of the solver."""
    return follow(solver, recording.targets[limb.device])
