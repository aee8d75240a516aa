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

"""What a search has found: tables, curves, JSON, and parameters for the solver node."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table
import yaml

from vr_ik.evaluation.plotting import pyplot, save
from vr_ik.evaluation.tuning import Curve, Tuned
from vr_ik.evaluation.tuning_cases import Case, node_settings, QUANTITIES
from vr_ik.evaluation.tuning_scores import error_scores, scores, z_scores
from vr_ik.types import Array

_AXES_PER_ROW = 3


def best_method(tuned: Mapping[str, Tuned]) -> str:
    """Return the method with the lowest score beside the others, each at its best."""
    figures = [method.figures for method in tuned.values()]
    columns = [np.array([[each[quantity] for each in figures]]) for quantity in QUANTITIES]
    return list(tuned)[int(np.argmin(scores(*columns)))]


def table(tuned: Mapping[str, Tuned]) -> Table:
    """Return the best options of each method and what they reach."""
    title = 'Best lambda, tolerances and iterations at most; what they reach; lost by holding out'
    made = Table(title=title, title_justify='left')
    made.add_column('method', no_wrap=True)
    for column in ('lambda', 'm', 'rad', 'most', 'mm', 'deg', 'iterations', 'held out'):
        made.add_column(column, justify='right')
    for name, method in tuned.items():
        mm, deg, iterations = (method.figures[quantity] for quantity in QUANTITIES)
        made.add_row(
            name,
            *(f'{value:g}' for value in method.options.values()),
            *(f'{mm:.1f}', f'{deg:.2f}', f'{iterations:.2f}', _loss_text(method.curves)),
        )
    return made


def _loss_text(curves: Sequence[Curve]) -> str:
    """Tell by how much the score of a motion suffers when only the others choose, on average."""
    losses = [each.score - each.lowest for curve in curves for each in curve.held_out]
    return f'+{np.mean(losses):.2f}' if losses else 'one motion'


def to_json(tuned: Mapping[str, Tuned]) -> dict[str, Any]:
    """Return all figures as they are written to the file."""
    return {
        name: {
            'options': method.options,
            **method.figures,
            'curves': {curve.option: _curve_json(curve) for curve in method.curves},
        }
        for name, method in tuned.items()
    }


def _curve_json(curve: Curve) -> dict[str, Any]:
    motions = {
        motion: {
            **{quantity: curve.measured[quantity][i].tolist() for quantity in QUANTITIES},
            'score': curve.scores[i].tolist(),
        }
        for i, motion in enumerate(curve.motions)
    }
    chosen = {
        motion: {
            'value': curve.values[each.choice],
            'score': each.score,
            'lowest_score': each.lowest,
        }
        for motion, each in zip(curve.motions, curve.held_out, strict=False)
    }
    return {
        'values': list(curve.values),
        'best': curve.values[curve.best],
        'score': curve.scores.mean(axis=0).tolist(),
        'motions': motions,
        'held_out': chosen,
    }


def node_yaml(method: str, tuned: Tuned, case: Case) -> str:
    """Return a parameter file that makes the solver node use a method as it was tuned."""
    settings = {**node_settings(method, tuned.options), **case.NODE_SETTINGS}
    file = {'solver_node': {'ros__parameters': settings}}
    note = (
        '# Written by `vr_ik tune`. For: vr_ik run --config, ros2 launch vr_ik, --params-file.\n'
    )
    return note + yaml.safe_dump(file, sort_keys=False)


def plot(tuned: Mapping[str, Tuned], folder: Path) -> list[Path]:
    """Draw Figs. 2 to 4 of Caserman et al. 2019 (Fig. 3 for both tolerances), a file an option."""
    names = ('lambda', 'position_tolerance', 'orientation_tolerance', 'max_iterations')
    curves = zip(*(method.curves for method in tuned.values()), strict=True)
    return [
        _draw(name, dict(zip(tuned, row, strict=True)), folder)
        for name, row in zip(names, curves, strict=True)
    ]


def _draw(name: str, curves: Mapping[str, Curve], folder: Path) -> Path:
    """Draw one option of all methods, z-scores averaged over the motions."""
    columns = min(len(curves), _AXES_PER_ROW)
    rows = -(-len(curves) // columns)
    figure = pyplot().figure(figsize=(4.5 * columns, 3.2 * rows))
    for i, (method, curve) in enumerate(curves.items(), 1):
        axes = figure.add_subplot(rows, columns, i)
        error = error_scores(curve.measured['mm'], curve.measured['deg'])
        _line(axes, curve, error, 'error', 'tab:blue')
        _line(axes, curve, z_scores(curve.measured['iterations']), 'iterations', 'tab:red')
        _line(axes, curve, curve.scores, 'average', 'black')
        axes.axvline(curve.values[curve.best], color='gray', linestyle=':')
        axes.set_title(f'{method}: {curve.values[curve.best]:g}')
        axes.set_xlabel(curve.option)
        if name.endswith('tolerance'):
            axes.set_xscale('log')
        if i == 1:
            axes.set_ylabel('z-score')
            axes.legend(fontsize='small')
    return save(figure, folder, name)


def _line(axes: Any, curve: Curve, by_motion: Array, label: str, colour: str) -> None:
    axes.plot(curve.values, by_motion.mean(axis=0), '.-', label=label, color=colour)
