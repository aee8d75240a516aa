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

"""Tables 3 and 4 of K. Erleben and S. Andrews 2018, on the first sequence of its Table 4.

Protocol of the paper: HDM05 dg_03-05_02, 41 markers, 58 degrees of freedom, f = 1/2 |r|^2 in cm^2,
stop at f < 0.01 or after k steps, warm start from the frame before (the recorded pose at first);
the error is the sum of the markers' distances in cm, averaged over the frames. 'constrained' has
limits, 'from zero' starts every frame at theta = 0. Deviations: solvers and machine are others
(MATLAB there; its constrained quasi-Newton is an interior point method); an inch is 2.54 cm, where
the paper's code has 2.5189; the root turns along the exponential map, not by Euler angles; `lm`
stops when no marker is further away than the mean distance that f = 0.01 stands for; 'from zero'
takes every 20th frame, and its root starts where the recorded one is, but not turned.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import numpy as np

from vr_ik.errors import VrIkError
from vr_ik.evaluation.marker_fit import MarkerFit, read_marker_fit
from vr_ik.evaluation.paper_caserman import Progress
from vr_ik.solvers.base import make_solver
from vr_ik.solvers.kernel_solver import KernelSolver
from vr_ik.types import Array, Task

FOLDER = 'hdm05'
"""Where the recording is in the data folder."""
FILES = ('HDM_dg.asf', 'HDM_dg_03-05_02_120.amc', 'HDM_dg_03-05_02_120.c3d')
# 0.01 cm^2.
_COST_TOLERANCE = 1e-6
_ALL_STEPS = 200
_ZERO_EVERY = 20


@dataclass(frozen=True)
class Run:
    """One row of the table."""

    solver: str
    max_iterations: int
    constrained: bool = False
    from_zero: bool = False


RUNS = {
    'bfgs_10': Run('bfgs', 10),
    'bfgs_100': Run('bfgs', 100),
    'newton': Run('newton', 10),
    'lm': Run('lm', 10),
    'bfgs_constrained': Run('bfgs', 100, constrained=True),
    'newton_constrained': Run('newton', 10, constrained=True),
    'lm_constrained': Run('lm', 10, constrained=True),
    'bfgs_from_zero': Run('bfgs', _ALL_STEPS, from_zero=True),
    'newton_from_zero': Run('newton', _ALL_STEPS, from_zero=True),
    'lm_from_zero': Run('lm', _ALL_STEPS, from_zero=True),
}
PAPER = {
    'bfgs_10': {'cm': 23.78, 'ms': 380.0},
    'bfgs_100': {'cm': 1.61, 'ms': 2630.0},
    'newton': {'cm': 0.5, 'ms': 1010.0},
}
"""The paper's Table 4, first row."""


def erleben_table(
    data: Path,
    runs: Sequence[str] = tuple(RUNS),
    progress: Progress = lambda share, text: None,
    frames: int | None = None,
) -> dict[str, dict[str, float]]:
    """Return cm, ms and iterations of each run on the recording in data/hdm05.

    `frames` takes only so many from the beginning.
    """
    paths = [data / FOLDER / name for name in FILES]
    for path in paths:
        if not path.is_file():
            raise VrIkError(f"'{data / FOLDER}' has no {path.name}; it needs {', '.join(FILES)}.")
    fits = {limited: read_marker_fit(*paths, limited) for limited in (False, True)}
    table = {}
    for i, name in enumerate(runs):
        progress(i / len(runs), name)
        run = RUNS[name]
        cm, ms, iterations = _run(run, fits[run.constrained], frames)
        table[name] = {'cm': cm, 'ms': ms, 'iterations': iterations}
    progress(1.0, 'done')
    return table


def marker_solver(fit: MarkerFit, solver: str, max_iterations: int) -> KernelSolver:
    """Return a solver of that name for the markers' positions."""
    options: dict[str, Any] = {'max_iterations': max_iterations}
    if solver == 'lm':
        options['position_tolerance'] = float(np.sqrt(2.0 * _COST_TOLERANCE / len(fit.links)))
    else:
        options |= {'cost_tolerance': _COST_TOLERANCE, 'position_tolerance': 0.0}
    tasks = [Task(link, 1.0, 0.0) for link in fit.links]
    made = make_solver(solver, fit.model, tasks, **options)
    if not isinstance(made, KernelSolver):
        raise VrIkError(f"The solver '{solver}' cannot move its tasks' offsets.")
    return made


def frame_arguments(fit: MarkerFit, frame: int) -> tuple[Array, Array]:
    """Return where a solver is to have the markers on the bodies (m, 3), and targets (m, 4, 4)."""
    placed = np.empty_like(fit.offsets[frame])
    for i, link in enumerate(fit.links):
        pose = fit.model.placement(link).pose_body_from_frame
        placed[i] = pose[:3, :3] @ fit.offsets[frame, i] + pose[:3, 3]
    targets = np.tile(np.eye(4), (len(placed), 1, 1))
    targets[:, :3, 3] = fit.targets[frame]
    return placed, targets


def _run(run: Run, fit: MarkerFit, frames: int | None) -> tuple[float, float, float]:
    """Return mean error [cm], median time [ms] and mean iterations a frame."""
    solver = marker_solver(fit, run.solver, run.max_iterations)
    q = fit.truth[0]
    rows = []
    for frame in range(0, len(fit.truth), _ZERO_EVERY if run.from_zero else 1)[:frames]:
        solver.placements[:, 9:], targets = frame_arguments(fit, frame)
        if run.from_zero:
            q = fit.model.neutral()
            q[:3] = fit.truth[frame, :3]
        start_ns = perf_counter_ns()
        result = solver.solve(q, targets)
        ms = 1e-6 * (perf_counter_ns() - start_ns)
        rows.append((100.0 * result.position_errors.sum(), ms, result.iterations))
        q = result.q
    cm, ms, iterations = np.array(rows).T
    return float(cm.mean()), float(np.median(ms)), float(iterations.mean())
