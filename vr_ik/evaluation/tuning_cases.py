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

"""Recordings to tune solvers on, each of which measures a solver with given options."""

from collections.abc import Sequence
from dataclasses import dataclass
import hashlib
import math
from pathlib import Path
import re
from typing import Any, ClassVar, Protocol

import numpy as np

from vr_ik.config import SolverConfig
from vr_ik.errors import VrIkError
from vr_ik.evaluation.eval_data import read_recordings
from vr_ik.evaluation.metrics import motion_figures
from vr_ik.evaluation.reconstruction import input_roles, reconstruct
from vr_ik.evaluation.recordings import Recording
from vr_ik.evaluation.tuning_grid import Options
from vr_ik.evaluation.vive_limbs import FILES, follow, Limb, read_vive, Recording as LimbRecording
from vr_ik.solvers.base import make_solver
from vr_ik.types import Task

QUANTITIES = ('mm', 'deg', 'iterations')
"""What a case measures: mean position error, mean rotation error, mean number of iterations."""
_POINTS = '6'
_RECORDED = ('.npz', '.bvh', '.mcap', '.db3')


class Case(Protocol):
    """One recording to measure a solver on."""

    NODE_SETTINGS: ClassVar[dict[str, float]]
    """Further parameters of the solver node under which the measurement is made."""

    @property
    def name(self) -> str:
        """The recording's name: a motion and a number."""

    @property
    def digest(self) -> str:
        """Tells this recording from all others, and from itself once it has been changed."""

    def measure(self, method: str, options: Options) -> dict[str, float]:
        """Return the quantities of a method with these options, over all calls."""


@dataclass(frozen=True, eq=False)
class LimbCase:
    """Arms and legs, each a chain of its own: the protocol of Caserman et al. 2019."""

    NODE_SETTINGS: ClassVar[dict[str, float]] = {'position_weight': 1.0, 'orientation_weight': 1.0}

    limbs: tuple[Limb, ...]
    recording: LimbRecording
    digest: str

    @property
    def name(self) -> str:
        """The recording's name."""
        return self.recording.name

    def measure(self, method: str, options: Options) -> dict[str, float]:
        """Solve every limb in every frame, each from its last answer."""
        calls = []
        for limb in self.limbs:
            solver = make_solver(method, limb.model, [Task(limb.link, 1.0, 1.0)], **options)
            calls.append(follow(solver, self.recording.targets[limb.device]))
        means = np.concatenate(calls).mean(axis=0).tolist()
        return dict(zip(QUANTITIES, means, strict=False))


@dataclass(frozen=True, eq=False)
class BodyCase:
    """The whole body with headset, hands, waist and feet, through the pipeline of the node."""

    NODE_SETTINGS: ClassVar[dict[str, float]] = {}

    recording: Recording
    digest: str

    @property
    def name(self) -> str:
        """The recording's name."""
        return self.recording.name

    def measure(self, method: str, options: Options) -> dict[str, float]:
        """Reconstruct the recording; errors are those that `vr_ik eval` tells."""
        config = SolverConfig(**node_settings(method, options))
        roles = input_roles(self.recording, _POINTS)
        r = reconstruct(self.recording, roles, config, refined=False)
        tracks = motion_figures(r)['tracks'].values()
        return {
            'mm': float(np.mean([track['mean'] for track in tracks])),
            'deg': float(np.mean([t['rotation_deg'] for t in tracks if 'rotation_deg' in t])),
            'iterations': float(r.iterations.mean()),
        }


def node_settings(method: str, options: Options) -> dict[str, Any]:
    """Return parameters of the solver node that make it use a method with these options."""
    others = dict(options)
    return {
        'solver': method,
        'max_iterations': others.pop('max_iterations'),
        'position_tolerance_mm': 1e3 * others.pop('position_tolerance'),
        'orientation_tolerance_deg': math.degrees(others.pop('orientation_tolerance')),
        'solver_options': ', '.join(f'{name}={value}' for name, value in others.items()),
    }


def motion_of(name: str) -> str:
    """Return the motion that a recording is of: its name without the number at the end."""
    return re.sub(r'[-_ ]?\d+$', '', name) or name


def read_cases(paths: Sequence[Path]) -> list[Case]:
    """Read all recordings: a folder of Caserman et al. 2019, or whatever `vr_ik eval` reads."""
    if any((path / FILES[0]).is_file() for path in paths):
        if len(paths) > 1:
            raise VrIkError(f'A folder with {FILES[0]} is tuned on alone, not with others.')
        return _limb_cases(paths[0])
    cases: list[Case] = []
    for path in paths:
        # A folder's recordings are as good as its files: any change makes all of them new.
        files = sorted(path.glob('*.*')) if path.is_dir() else [path]
        recordings = read_recordings([path])
        content = _digest(file for file in files if file.suffix in _RECORDED)
        cases += [BodyCase(each, f'{content} {each.name}') for each in recordings]
    return cases


def _limb_cases(folder: Path) -> list[Case]:
    limbs, recordings = read_vive(folder)
    content = _digest(folder / name for name in FILES)
    return [LimbCase(limbs, each, f'{content} {each.name}') for each in recordings]


def _digest(files: Any) -> str:
    total = hashlib.sha256()
    for file in files:
        total.update(file.read_bytes())
    return total.hexdigest()
