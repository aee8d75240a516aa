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

Protocol of the paper: each limb alone, warm start from the frame before (the bind pose at first),
parameters of Table III, both errors with the same weight, joints clamped in every iteration;
errors and iterations are averaged over all calls of a recording, then over the recordings.
Deviations: the solvers here return the best configuration they saw, not the last; a rotation error
is a rotation vector and a step one of Euler angles, where the paper's code has it the other way
round; `jt` never steps beyond the optimum of the linear model; `jpi` is the true pseudo-inverse,
where that code inverts a singular matrix for the legs; times are medians, from Python.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter_ns

import numpy as np

from vr_ik.evaluation.vive_limbs import Limb, read_vive, Recording
from vr_ik.solvers.base import make_solver, Solver
from vr_ik.types import Array, Task

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

Progress = Callable[[float, str], None]
"""Called with the share done, 0 to 1, and what is being done."""


def caserman_table(
    data: Path, methods: Sequence[str] = METHODS, progress: Progress = lambda share, text: None
) -> dict[str, dict[str, float]]:
    """Return mm, deg, iterations and us of each method on the recordings in data/vive_2019."""
    limbs, recordings = read_vive(data / FOLDER)
    table = {}
    for i, method in enumerate(methods):
        solvers = [make_solver(method, limb.model, [Task(limb.link, 1.0, 1.0)]) for limb in limbs]
        rows = []
        for k, recording in enumerate(recordings):
            progress((i + k / len(recordings)) / len(methods), f'{method}: {recording.name}')
            rows.append(_recording_row(limbs, solvers, recording))
        mm, deg, iterations, us = np.mean(rows, axis=0)
        table[method] = {'mm': mm, 'deg': deg, 'iterations': iterations, 'us': us}
    progress(1.0, 'done')
    return table


def _recording_row(
    limbs: Sequence[Limb], solvers: Sequence[Solver], recording: Recording
) -> tuple[float, float, float, float]:
    """Return mean errors [mm, deg], mean iterations and median time [us] of all calls."""
    calls = np.concatenate(
        [
            _solve_limb(limb, solver, recording.targets[limb.device])
            for limb, solver in zip(limbs, solvers, strict=True)
        ]
    )
    mm, deg, iterations = calls[:, :3].mean(axis=0)
    return mm, deg, iterations, float(np.median(calls[:, 3]))


def _solve_limb(limb: Limb, solver: Solver, targets: Array) -> Array:
    """Return (frames, 4): errors [mm, deg], iterations and time [us] of each call."""
    q = limb.model.neutral()
    calls = np.empty((len(targets), 4))
    for row, target in zip(calls, targets[:, None], strict=True):
        start_ns = perf_counter_ns()
        result = solver.solve(q, target)
        row[3] = 1e-3 * (perf_counter_ns() - start_ns)
        row[0] = 1e3 * result.position_errors[0]
        row[1] = np.degrees(result.orientation_errors[0])
        row[2] = result.iterations
        q = result.q
    return calls
