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

"""Table 1 and Figure 15 of E. Stolpe 2021, "Inverse kinematics for arm pose reconstruction in VR".

Protocol of the paper: a chain of three joints without limits goes from one and the same start to
each of 30 reachable targets, for seven tolerances; means of the iterations and of the time, in
which targets that are not reached do not count, but their number is told. Deviations: its list of
targets, its start and its bones' lengths are not public: here two bones of 0.3 m start straight,
and the targets are seeded, uniform in all the volume within reach; 100 iterations at most, where
it does not tell its number; times are called from Python, the quietest of 20 rounds for each
target, on another machine than its C#; the condition for 'reachable', printed the wrong way round
in its inequality 2, is the right one here; FABRIK overshoots where it creeps, which the paper's
does not (see `fabrik_chain`).
"""

from pathlib import Path

import numpy as np
from rich.table import Table

from vr_ik.evaluation.bench_chains import ARM, SEED, TARGETS
from vr_ik.evaluation.chain_work import chain_solver, run_targets, targets_in_reach
from vr_ik.evaluation.paper import Column, comparison, Figures, Progress
from vr_ik.evaluation.plotting import legend_beside, pyplot, save

KEY = 'seed000'
TITLE = 'Stolpe 2021'
PAPER = {
    'fabrik': {
        '0.1': {'iterations': 1.033, 'us': 3.393, 'failed': 0},
        '0.075': {'iterations': 1.067, 'us': 3.640, 'failed': 0},
        '0.05': {'iterations': 1.100, 'us': 3.799, 'failed': 0},
        '0.025': {'iterations': 1.500, 'us': 4.029, 'failed': 0},
        '0.01': {'iterations': 2.233, 'us': 4.649, 'failed': 0},
        '0.005': {'iterations': 3.300, 'us': 5.905, 'failed': 0},
        '0.001': {'iterations': 6.200, 'us': 9.274, 'failed': 0},
    },
    'ccd': {
        '0.1': {'iterations': 2.333, 'us': 16.06, 'failed': 0},
        '0.075': {'iterations': 2.767, 'us': 16.02, 'failed': 0},
        '0.05': {'iterations': 3.600, 'us': 20.16, 'failed': 0},
        '0.025': {'iterations': 5.433, 'us': 21.53, 'failed': 0},
        '0.01': {'iterations': 8.333, 'us': 31.05, 'failed': 0},
        '0.005': {'iterations': 11.00, 'us': 36.23, 'failed': 0},
        '0.001': {'iterations': 14.37, 'us': 46.49, 'failed': 3},
    },
}
"""The paper's Table 1, by method and tolerance [m]."""
_ROUNDS = 20
_COLUMNS = (
    Column('iterations', 'iterations', 3),
    Column('us', 'us', 2),
    Column('failed', 'failed', 0),
)


def run(data: Path, progress: Progress) -> Figures:
    """Return iterations, us and failed by method and tolerance; needs no data."""
    targets = targets_in_reach(SEED, TARGETS, ARM.length)
    figures: Figures = {method: {} for method in PAPER}
    for i, (method, rows) in enumerate(PAPER.items()):
        for k, tolerance in enumerate(rows):
            progress((i + k / len(rows)) / len(PAPER), f'{method} to {tolerance} m')
            solve = chain_solver(method, ARM._replace(tolerance=float(tolerance)))
            outcome = run_targets(solve, targets, _ROUNDS)
            reached = outcome.distances <= float(tolerance)
            figures[method][tolerance] = {
                'iterations': float(outcome.iterations[reached].mean()),
                'us': float(outcome.us[reached].mean()),
                'failed': int(np.count_nonzero(~reached)),
            }
    return figures


def tables(figures: Figures) -> list[Table]:
    """Return the paper's Table 1 for each method, a row for each tolerance."""
    return [
        comparison(
            f'{TITLE}, Table 1: {method}, by tolerance in metres', _COLUMNS, rows, PAPER[method]
        )
        for method, rows in figures.items()
    ]


def plots(figures: Figures, folder: Path) -> list[Path]:
    """Draw Figure 15: iterations and time against the tolerance."""
    figure = pyplot().figure(figsize=(11.0, 4.0))
    for i, (key, label) in enumerate((('iterations', 'iterations'), ('us', 'time [us]'))):
        axes = figure.add_subplot(1, 2, 1 + i)
        for k, (method, rows) in enumerate(figures.items()):
            for source, style, whose in ((rows, 'o-', ''), (PAPER[method], 'x:', ', paper')):
                axes.plot(
                    [float(tolerance) for tolerance in source],
                    [row[key] for row in source.values()],
                    style,
                    color=f'C{k}',
                    label=method + whose,
                )
        axes.set_xlabel('tolerance [m]')
        axes.set_ylabel(label)
        if key == 'us':
            axes.set_yscale('log')
    legend_beside(axes)
    figure.suptitle(f'{TITLE}, Figure 15')
    return [save(figure, folder, f'{KEY}_figure_15')]
