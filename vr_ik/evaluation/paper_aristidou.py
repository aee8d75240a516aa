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

"""Table 1, Figures 11 and 12 and Table 2 of A. Aristidou and J. Lasenby 2011, "FABRIK".

Table 1: a straight chain of 10 joints, 0.9 m long and without limits, goes to 20 targets within
reach and 20 out of it, to 0.001 mm (the tolerance of the paper's Figure 11; none is told for the
table); mean iterations and median time. Its targets are not public: here they are seeded. Those of
'reachable' are where the end effector is in random poses, a third of the reach away on average;
those of 'reachable_uniform' are drawn evenly from all the reach, as for seed 000, and so mostly
near its border, where every method needs more iterations (there is a table by distance); the paper
does not say how its own lie. Those of 'unreachable' are 1.35 m away.
Deviations: FABRIK has the paper's own short cut for targets out of reach, and overshoots where it
creeps, which the paper's does not (see `fabrik_chain`); FTL gets its bones' lengths back; after
100 iterations that have not halved the distance triangulation takes over from either; the
Jacobian methods have the paper's damping of 1.1 in metres, `jt` the step of Buss and Kim; all stop
after 10000 iterations or when they rest, by their own rules. Times are called from Python here,
and of MATLAB there. Figures 11 and 12: one target 0.6 m from the end effector.

Table 2: a dance at 3 Hz, in 20 runs that begin one after the other; of 13 joints the 8 inner ones
are deleted. The error of a frame is their mean distance from the truth, and the median is over the
frames; beside it is the median over all joints of all frames (the paper does not tell which its
own is). 'fabrik' is the solver `fabrik` on a URDF without limits; 'fabrik_constrained' has elbows
and knees that are hinges, cones with twist at the other joints (`limits: cones`) and the
orientations of the 5 ends, as section 4.3 asks for hinges; 'fabrik_angles' limits each hinge of a
ball by itself. As the unconstrained one does not get the orientations, the two differ in more than
limits: 'oriented' are the orientations without limits, 'positions' limits without orientations.
'reached' is the share of frames whose ends were met within the tolerances, 'ends mm' how far they
are from their places on the average.
'fabrik_points' are bare points with the trunk in closed loops (`fabrik_tree`).
Rows with 'others' are the means over the seven other recordings, each within the limits of the
other six: on these, not on the dance, was chosen what the solver does about limits. Rows with
'from_truth' start each frame from the true pose of the frame before, as the paper's Figures 17 and
19 can be read; the others go on from what they found, from a T-pose on.
Deviations: the dance is CMU's 05_02, not the paper's; all limbs are solved at once, not one after
the other; the paper does not tell its limits: here they are the ranges of the same joints in the
other recordings of CMU, without the dance and a hundredth on each side; a moving root takes the
figure along, and targets are shifted where limits hold the ends off (see `fabrik_shift`); in the
copy at hand the rows of Table 2 have lost their names, and are taken to be in the order of its
Figure 17.

Growth: time of a solve to 1 mm against the number of joints of a chain of 1 m, random poses.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from vr_ik.errors import MissingDataError
from vr_ik.evaluation.chain_growth import measure_growth, plot_growth
from vr_ik.evaluation.chain_work import (
    Chain,
    chain_solver,
    directions,
    POINT_METHODS,
    run_targets,
    targets_in_reach,
    targets_of_poses,
)
from vr_ik.evaluation.humanoid_dance import measure_dance
from vr_ik.evaluation.paper import Column, comparison, Figures, MISSING, Progress
from vr_ik.evaluation.plotting import legend_beside, pyplot, save

KEY = 'seed001'
TITLE = 'Aristidou and Lasenby 2011'
PAPER_TABLE_1 = {
    'fabrik': ((15.461, 13280.0), (67.564, 62070.0)),
    'ccd': ((26.308, 123560.0), (390.135, 3928690.0)),
    'jt': ((1311.190, 12989470.0), (6549.0, 33904730.0)),
    'dls': ((998.648, 10480510.0), (2881.667, 14879180.0)),
    'svd_dls': ((808.797, 9296520.0), (2808.452, 15975910.0)),
    'ftl': ((21.125, 20450.0), (22.325, 25260.0)),
    'triangulation': ((1.0, 57470.0), (1.0, 69930.0)),
}
"""Iterations and us, for reachable and unreachable targets."""
PAPER_TABLE_2 = {
    'fabrik': {'iterations': 65.0, 'us': 1600.0, 'median_mm': 58.68},
    'fabrik_constrained': {'us': 3000.0, 'median_mm': 30.0},
    'ccd': {'iterations': 67.0, 'us': 20500.0, 'median_mm': 69.99},
    'jt': {'iterations': 1352.0, 'us': 1928000.0, 'median_mm': 137.42},
    'dls': {'iterations': 804.0, 'us': 1533000.0, 'median_mm': 84.84},
}
"""Of the constrained FABRIK the paper's text tells 'almost 3.0 ms' and 'just over 30 mm'."""
CHAIN = Chain(joints=10, length=0.9, tolerance=1e-6, max_iterations=10000)
_TARGETS, _SEED, _ROUNDS = 20, 1, 5
_OUT_OF_REACH = 1.5
_REST = {'step_change_tolerance': 1e-9}
_BUSS = {'damping': 1.1, **_REST}
METHODS: dict[str, dict[str, Any]] = {
    **{method: {} for method in POINT_METHODS},
    'jt': {'gain': 1e3, **_REST},
    'jpi': _REST,
    'dls': _BUSS,
    'svd': _REST,
    'svd_dls': _BUSS,
    'sdls': {'max_step': math.pi / 4.0, **_REST},
    'lm': {},
    'newton': {},
    'bfgs': {},
}
"""What is compared on the chain, with options."""
# 0.6 m from the end effector, and within reach.
_FIGURE_TARGET = np.array([0.6 * math.sin(0.7), 0.0, 0.9 - 0.6 * math.cos(0.7)])
_FIGURE_ITERATIONS = tuple(sorted({round(k) for k in np.geomspace(1.0, 1000.0, 25)}))
_FIGURE_TOLERANCES = tuple(10.0**-k for k in range(1, 7))
_LEAST_MM = 1e-4
_SHARES = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)
_COLUMNS_1 = (Column('iterations', 'iterations', 1), Column('us', 'us', 2))
_COLUMNS_2 = (
    Column('median_mm', 'median mm', 1),
    Column('joint_median_mm', 'median of joints', 1),
    Column('iterations', 'iterations', 1),
    Column('us', 'us', 0),
    Column('reached', 'reached', 2),
    Column('end_mm', 'ends mm', 1),
)


def run(data: Path, progress: Progress) -> Figures:
    """Measure all; Table 2 needs data/cmu."""
    figures: Figures = {
        'table1': _table_1(_part(progress, 0.0, 0.3)),
        'figure11': _figure_11(_part(progress, 0.3, 0.5)),
        'figure12': _figure_12(_part(progress, 0.5, 0.6)),
        'reach': _reach(),
        'growth': measure_growth(_part(progress, 0.6, 0.8)),
    }
    try:
        figures['table2'] = measure_dance(data, _part(progress, 0.8, 1.0))
    except MissingDataError as error:
        figures[MISSING] = f'Table 2: {error}'
    return figures


def _part(progress: Progress, begin: float, end: float) -> Progress:
    return lambda share, text: progress(begin + share * (end - begin), text)


def _table_1(progress: Progress) -> Figures:
    out = directions(np.random.default_rng(_SEED), _TARGETS) * _OUT_OF_REACH * CHAIN.length
    targets = {
        'reachable': targets_of_poses(_SEED, _TARGETS, CHAIN),
        'reachable_uniform': targets_in_reach(_SEED, _TARGETS, CHAIN.length),
        'unreachable': out,
    }
    table: Figures = {method: {} for method in METHODS}
    for i, (method, options) in enumerate(METHODS.items()):
        progress(i / len(METHODS), f'Table 1: {method}')
        solve = chain_solver(method, CHAIN, **options)
        for kind, points in targets.items():
            outcome = run_targets(solve, points, _ROUNDS if method in POINT_METHODS else 1)
            row = {
                'iterations': float(outcome.iterations.mean()),
                'us': float(np.median(outcome.us)),
            }
            if kind != 'unreachable':
                row['failed'] = int(np.count_nonzero(outcome.distances > CHAIN.tolerance))
            table[method][kind] = row
    return table


def _figure_11(progress: Progress) -> Figures:
    """Return the distance [m] of end effector and target after so many iterations."""
    figure: Figures = {}
    for i, (method, options) in enumerate(METHODS.items()):
        progress(i / len(METHODS), f'Figure 11: {method}')
        figure[method] = {'0': 0.6}
        for most in _FIGURE_ITERATIONS:
            chain = CHAIN._replace(max_iterations=most)
            _, distance = chain_solver(method, chain, **options)(_FIGURE_TARGET)
            figure[method][str(most)] = distance
            if distance <= CHAIN.tolerance:
                break
    return figure


def _figure_12(progress: Progress) -> Figures:
    """Return the time [us] to come within each tolerance [m] of the target, where it does."""
    figure: Figures = {}
    for i, (method, options) in enumerate(METHODS.items()):
        progress(i / len(METHODS), f'Figure 12: {method}')
        figure[method] = {}
        for tolerance in _FIGURE_TOLERANCES:
            solve = chain_solver(method, CHAIN._replace(tolerance=tolerance), **options)
            outcome = run_targets(solve, [_FIGURE_TARGET], _ROUNDS)
            if outcome.distances[0] <= tolerance:
                figure[method][f'{tolerance:g}'] = float(outcome.us[0])
    return figure


def _reach() -> Figures:
    """Return mean iterations by the target's distance from the root, as a share of the reach."""
    around = directions(np.random.default_rng(_SEED), _TARGETS) * CHAIN.length
    return {
        method: {
            f'{share:g}': float(
                run_targets(chain_solver(method, CHAIN), share * around, 1).iterations.mean()
            )
            for share in _SHARES
        }
        for method in ('fabrik', 'ccd', 'ftl')
    }


def tables(figures: Figures) -> list[Table]:
    """Return Table 1, one of targets near the border, and Table 2 where it has been measured."""
    made = []
    for i, kind in ((0, 'reachable'), (0, 'reachable_uniform'), (1, 'unreachable')):
        ours = {method: rows[kind] for method, rows in figures['table1'].items()}
        theirs = {
            method: dict(zip(('iterations', 'us'), rows[i], strict=True))
            for method, rows in PAPER_TABLE_1.items()
        }
        columns = _COLUMNS_1 if i else (*_COLUMNS_1, Column('failed', 'failed', 0))
        made.append(comparison(f'{TITLE}, Table 1: {kind} targets', columns, ours, theirs))
    made.append(_reach_table(figures['reach']))
    if 'table2' in figures:
        title = f'{TITLE}, Table 2: a dance at 3 Hz'
        made.append(comparison(title, _COLUMNS_2, figures['table2'], PAPER_TABLE_2))
    return made


def _reach_table(figures: Figures) -> Table:
    title = "Iterations by the target's distance from the root, as a share of the reach"
    table = Table('method', title=title, title_justify='left')
    for share in next(iter(figures.values())):
        table.add_column(share, justify='right')
    for method, row in figures.items():
        table.add_row(method, *(f'{iterations:.1f}' for iterations in row.values()))
    return table


def plots(figures: Figures, folder: Path) -> list[Path]:
    """Draw Figures 11 and 12, the iterations towards the border of the reach, and the growth."""
    return [
        _draw(_in_mm(figures['figure11']), 'iterations', 'distance [mm]', folder, 'Figure 11'),
        _draw(figures['figure12'], 'tolerance [m]', 'time [us]', folder, 'Figure 12'),
        _draw(figures['reach'], 'distance / reach', 'iterations', folder, 'Reach', 'semilogy'),
        plot_growth(figures['growth'], folder, f'{KEY}_growth'),
    ]


def _in_mm(figure: Figures) -> Figures:
    """Return the curves in mm, no lower than can be read, and without iteration 0."""
    return {
        method: {x: max(1e3 * y, _LEAST_MM) for x, y in curve.items() if x != '0'}
        for method, curve in figure.items()
    }


def _draw(
    curves: Figures, x: str, y: str, folder: Path, title: str, scale: str = 'loglog'
) -> Path:
    figure = pyplot().figure(figsize=(8.5, 4.5))
    axes = figure.add_subplot()
    for i, (method, curve) in enumerate(curves.items()):
        style = ('o-', 's--', '^:')[i // 5]
        draw = getattr(axes, scale)
        draw([float(key) for key in curve], list(curve.values()), style, label=method)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_title(f'{TITLE}, {title}')
    legend_beside(axes)
    return save(figure, folder, f'{KEY}_{title.lower().replace(" ", "_")}')
