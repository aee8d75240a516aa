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

from collections.abc import Iterable
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import numpy as np

from vr_ik.evaluation.cmu_humanoid import Humanoid, limits_of, Motion
from vr_ik.evaluation.paper import data_files, Figures, Progress
from vr_ik.evaluation.point_humanoid import limits_of_points, PointHumanoid

_FOLDER, _DANCE = 'cmu', '05_02'
_OTHERS = ('02_01', '02_05', '09_01', '13_02', '13_07', '13_29', '15_06')
_RATE_HZ, _RUNS = 3.0, 20
_TOLERANCES = {'position_tolerance': 1e-3, 'orientation_tolerance': 0.02}
_MOST = 100
_ROUNDS = {'max_iterations': _MOST}
_STEPS = {'max_iterations': 1000, 'step_change_tolerance': 1e-6}
METHODS: dict[str, tuple[str, bool, dict[str, Any]]] = {
    'fabrik_urdf': ('fabrik', False, _ROUNDS),
    'fabrik_urdf_constrained': ('fabrik', True, _ROUNDS),
    'fabrik_ccd_constrained': ('fabrik', True, {'assist': 'ccd', **_ROUNDS}),
    'ccd': ('ccd', False, _ROUNDS),
    'ccd_constrained': ('ccd', True, _ROUNDS),
    'jt': ('jt', False, {'gain': 1e3, **_STEPS}),
    'dls': ('dls', False, {'damping': 1.1, **_STEPS}),
    'lm': ('lm', False, _ROUNDS),
    'lm_constrained': ('lm', True, _ROUNDS),
}
"""Solver, whether the humanoid is constrained, and options."""


def measure_dance(data: Path, progress: Progress) -> Figures:
    """Return errors [mm], iterations and us of each method on the dance in data/cmu.

    The error of a frame is the mean over the deleted joints; median_mm and mean_mm are over the
    frames, joint_median_mm is over all joints of all frames.
    """
    paths = data_files(data, _FOLDER, [f'{name}.bvh' for name in (_DANCE, *_OTHERS)])
    progress(0.0, 'Table 2: limits from the other recordings')
    dance, *others = (Motion(path) for path in paths)
    figures: Figures = {}
    for name, limits in {'fabrik': None, 'fabrik_constrained': limits_of_points(others)}.items():
        points = PointHumanoid(dance, limits, _TOLERANCES['position_tolerance'], _MOST)
        figures[name] = follow(points, dance, runs_of(dance))
    ranges = limits_of(others)
    for i, (name, (solver, constrained, options)) in enumerate(METHODS.items()):
        progress((1 + i) / (1 + len(METHODS)), f'Table 2: {name}')
        humanoid = Humanoid(dance, ranges if constrained else None, constrained)
        humanoid.set_solver(solver, {**_TOLERANCES, **options})
        figures[name] = follow(humanoid, dance, runs_of(dance))
    return figures


def runs_of(motion: Motion) -> list[range]:
    """Return the frames of the runs at a low rate, each of which begins a little later."""
    step = round(motion.rate_hz / _RATE_HZ)
    return [range(1 + step * run // _RUNS, motion.frames, step) for run in range(_RUNS)]


def follow(
    humanoid: Humanoid | PointHumanoid, motion: Motion, runs: Iterable[range]
) -> dict[str, float]:
    """Follow the known ends of a recording, and return how far the deleted joints are off."""
    rows = []
    for frames in runs:
        state = humanoid.start
        for frame in frames:
            known = motion.known(frame)
            began_ns = perf_counter_ns()
            state, iterations = humanoid.solve(state, known)
            us = 1e-3 * (perf_counter_ns() - began_ns)
            off = np.linalg.norm(humanoid.deleted(state) - motion.deleted(frame), axis=1)
            rows.append((iterations, us, *(1e3 * off)))
    steps, times, *errors = np.array(rows).T
    mm = np.array(errors)
    return {
        'median_mm': float(np.median(mm.mean(axis=0))),
        'mean_mm': float(mm.mean()),
        'joint_median_mm': float(np.median(mm)),
        'iterations': float(steps.mean()),
        'us': float(np.median(times)),
    }
