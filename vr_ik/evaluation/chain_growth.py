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

"""How the methods' cost grows with a chain, from 3 to 300 joints.

FABRIK, FTL and triangulation touch each joint a fixed number of times in an iteration, which is
linear; so are the Jacobian transpose and damped least squares by J J^T. CCD and target triangle
turn all that is beyond a joint at each of them, which is quadratic; so is building J^T J, and its
factorization is cubic.
"""

from pathlib import Path

from vr_ik.evaluation.chain_work import (
    Chain,
    chain_solver,
    POINT_METHODS,
    run_targets,
    targets_of_poses,
)
from vr_ik.evaluation.paper import Figures, Progress
from vr_ik.evaluation.plotting import legend_beside, pyplot, save

JOINTS = (3, 5, 10, 20, 50, 100, 200, 300)
_LENGTH, _TOLERANCE, _MAX_ITERATIONS = 1.0, 1e-3, 1000
_SEED = 2
# Method: most joints, targets, rounds. What costs milliseconds needs few repetitions.
_TREE_METHODS = {'jt': 300, 'dls': 300, 'lm': 100}
_POINT_WORK, _TREE_WORK = (20, 10), (3, 3)


def measure_growth(progress: Progress) -> Figures:
    """Return us a solve, us an iteration and iterations by method and number of joints."""
    most_joints = {**dict.fromkeys(POINT_METHODS, JOINTS[-1]), **_TREE_METHODS}
    figures: Figures = {}
    for i, (method, most) in enumerate(most_joints.items()):
        figures[method] = {}
        for joints in JOINTS:
            if joints <= most:
                progress(i / len(most_joints), f'{method}, {joints} joints')
                figures[method][str(joints)] = _measure(method, joints)
    return figures


def _measure(method: str, joints: int) -> dict[str, float]:
    chain = Chain(joints, _LENGTH, _TOLERANCE, _MAX_ITERATIONS)
    targets, rounds = _POINT_WORK if method in POINT_METHODS else _TREE_WORK
    solve = chain_solver(method, chain)
    outcome = run_targets(solve, targets_of_poses(_SEED, targets, chain), rounds)
    return {
        'us': float(outcome.us.mean()),
        'us_per_iteration': float(outcome.us.sum() / outcome.iterations.sum()),
        'iterations': float(outcome.iterations.mean()),
    }


def plot_growth(figures: Figures, folder: Path, name: str) -> Path:
    """Draw time against the number of joints."""
    figure = pyplot().figure(figsize=(11.5, 4.5))
    for i, (key, label) in enumerate((('us', 'a solve'), ('us_per_iteration', 'an iteration'))):
        axes = figure.add_subplot(1, 2, 1 + i)
        for method, rows in figures.items():
            joints = [int(count) for count in rows]
            axes.loglog(joints, [row[key] for row in rows.values()], 'o-', label=method)
        axes.set_xlabel('joints')
        axes.set_ylabel(f'time of {label} [us]')
    legend_beside(axes)
    return save(figure, folder, name)
