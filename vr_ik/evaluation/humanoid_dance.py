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

"""How well methods find the deleted joints of a dancing humanoid, at a low frame rate."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import numpy as np

from vr_ik.evaluation.cmu_humanoid import (
    DELETED,
    hinge_angles,
    Humanoid,
    Limits,
    limits_of,
    Motion,
)
from vr_ik.evaluation.paper import data_files, Figures, Progress
from vr_ik.evaluation.point_humanoid import limits_of_points, PointHumanoid

_FOLDER, _DANCE = 'cmu', '05_02'
_OTHERS = ('02_01', '02_05', '09_01', '13_02', '13_07', '13_29', '15_06')
_RATE_HZ, _RUNS, _RUNS_OF_OTHERS = 3.0, 20, 4
_TOLERANCES = {'position_tolerance': 1e-3, 'orientation_tolerance': 0.02}
_MOST = 100
_ROUNDS = {'max_iterations': _MOST}
_STEPS = {'max_iterations': 1000, 'step_change_tolerance': 1e-6}
_CONES = {'limits': 'cones', **_ROUNDS}
METHODS: dict[str, tuple[str, bool, bool, dict[str, Any]]] = {
    'fabrik': ('fabrik', False, False, _ROUNDS),
    'fabrik_oriented': ('fabrik', False, True, _ROUNDS),
    'fabrik_constrained': ('fabrik', True, True, _CONES),
    'fabrik_constrained_positions': ('fabrik', True, False, _CONES),
    'fabrik_angles_constrained': ('fabrik', True, True, _ROUNDS),
    'fabrik_angles_constrained_positions': ('fabrik', True, False, _ROUNDS),
    'ccd': ('ccd', False, False, _ROUNDS),
    'ccd_constrained': ('ccd', True, True, _ROUNDS),
    'jt': ('jt', False, False, {'gain': 1e3, **_STEPS}),
    'dls': ('dls', False, False, {'damping': 1.1, **_STEPS}),
    'lm': ('lm', False, False, _ROUNDS),
    'lm_constrained': ('lm', True, True, _ROUNDS),
}
"""Solver, whether the humanoid has limits, whether it knows orientations, and options."""
_PAIR = ('fabrik', 'fabrik_constrained')
# Limits and orientations, each without the other: what either does alone.
_CONTROLS = ('fabrik_oriented', 'fabrik_constrained_positions')


def measure_dance(data: Path, progress: Progress) -> Figures:
    """Return errors [mm], iterations and us of each method on the dance in data/cmu.

    The error of a frame is the mean over the deleted joints; median_mm and mean_mm are over the
    frames, joint_median_mm is over all joints of all frames, and shoulder_mm etc. are means.
    reached is the share of frames in which all that is given of the ends was met, and end_mm how
    far the ends are from their given places, on the average.
    """
    paths = data_files(data, _FOLDER, [f'{name}.bvh' for name in (_DANCE, *_OTHERS)])
    progress(0.0, 'Table 2: limits from the other recordings')
    dance, *others = (Motion(path) for path in paths)
    angles = [hinge_angles(motion) for motion in others]
    runs, figures = runs_of(dance), {}
    for i, name in enumerate(METHODS):
        progress((1 + i) / (3 + len(METHODS)), f'Table 2: {name}')
        figures[name] = follow(_humanoid(name, dance, limits_of(angles)), dance, runs)
    for name in _PAIR:
        humanoid = _humanoid(name, dance, limits_of(angles))
        figures[f'{name}_from_truth'] = follow(humanoid, dance, runs, from_truth=True)
    for name, limits in zip(_PAIR, (None, limits_of_points(others)), strict=True):
        points = PointHumanoid(dance, limits, _TOLERANCES['position_tolerance'], _MOST)
        figures[name.replace('fabrik', 'fabrik_points')] = follow(points, dance, runs)
    progress(1.0 - 1.0 / (3 + len(METHODS)), 'Table 2: the other recordings')
    for name in (*_PAIR, *_CONTROLS):
        figures[f'{name}_others'] = _follow_others(name, others, angles)
    return figures


def _humanoid(method: str, motion: Motion, limits: Limits) -> Humanoid:
    solver, constrained, oriented, options = METHODS[method]
    humanoid = Humanoid(motion, limits if constrained else None, constrained, oriented)
    humanoid.set_solver(solver, {**_TOLERANCES, **options})
    return humanoid


def _follow_others(
    method: str, motions: Sequence[Motion], angles: Sequence[Mapping[str, Sequence[float]]]
) -> dict[str, float]:
    """Return the means over recordings, each within the limits of all the others of them."""
    rows = []
    for i, motion in enumerate(motions):
        limits = limits_of([*angles[:i], *angles[i + 1 :]])
        runs = runs_of(motion)[:: max(_RUNS // _RUNS_OF_OTHERS, 1)]
        rows.append(follow(_humanoid(method, motion, limits), motion, runs))
    return {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}


def runs_of(motion: Motion) -> list[range]:
    """Return the frames of the runs at a low rate, each of which begins a little later."""
    step = round(motion.rate_hz / _RATE_HZ)
    return [range(1 + step * run // _RUNS, motion.frames, step) for run in range(_RUNS)]


def follow(
    humanoid: Humanoid | PointHumanoid,
    motion: Motion,
    runs: Iterable[range],
    from_truth: bool = False,
) -> dict[str, float]:
    """Follow the known ends of a recording, and return how far the deleted joints are off.

    Each frame starts from what was found for the one before; or from what is nearest to the truth
    there, for a humanoid that can tell it.
    """
    rows = []
    for frames in runs:
        state, truths = humanoid.start, []
        if from_truth and isinstance(humanoid, Humanoid):
            truths = humanoid.fitted(motion, frames)
        for i, frame in enumerate(frames):
            if truths:
                state = truths[max(i - 1, 0)]
            known = motion.known(frame)
            began_ns = perf_counter_ns()
            found = humanoid.solve(state, known)
            us = 1e-3 * (perf_counter_ns() - began_ns)
            state = found.state
            off = np.linalg.norm(humanoid.deleted(state) - motion.deleted(frame), axis=1)
            end_m = np.linalg.norm(humanoid.ends(state) - known[:, :3, 3], axis=1).mean()
            rows.append((found.iterations, us, found.reached, 1e3 * end_m, *(1e3 * off)))
    steps, times, reached, ends_mm, *errors = np.array(rows).T
    mm = np.array(errors)
    return {
        'median_mm': float(np.median(mm.mean(axis=0))),
        'mean_mm': float(mm.mean()),
        'joint_median_mm': float(np.median(mm)),
        'iterations': float(steps.mean()),
        'us': float(np.median(times)),
        'reached': float(reached.mean()),
        'end_mm': float(ends_mm.mean()),
        **{
            f'{part}_mm': float(mm[[name.endswith(part) for name in DELETED]].mean())
            for part in ('shoulder', 'elbow', 'hip', 'knee')
        },
    }
