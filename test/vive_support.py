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

"""A folder like that of Caserman et al. 2019, with a made-up skeleton and short motions."""

import json
from pathlib import Path
from typing import Any

import numpy as np

DEVICES = ('hip', 'lHand', 'rHand', 'lFoot', 'rFoot')
# Offsets from the parent bone [m]; x left, z up.
_ARM = {'Arm': (0.2, 0.0, 0.5), 'ForeArm': (0.0, 0.0, -0.3), 'Hand': (0.0, 0.0, -0.25)}
_LEG = {'UpLeg': (0.1, 0.0, 0.0), 'Leg': (0.0, 0.0, -0.45), 'Foot': (0.0, 0.0, -0.45)}
_FINGER = (0.0, 0.0, -0.1)
# Turns the recordings' axes (y up) into the skeleton's.
_QUATERNION = (-np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))


def bones() -> list[dict]:
    """Return all bones with their places on their parents."""
    made = [_bone('Hips', None, (0.0, 0.0, 0.0))]
    for side, sign in (('Left', 1.0), ('Right', -1.0)):
        for limb in ({**_ARM, 'HandFinger1': _FINGER}, _LEG):
            parent = 'Hips'
            for name, (x, y, z) in limb.items():
                made.append(_bone(side + name, parent, (sign * x, y, z)))
                parent = side + name
    return made


def _bone(name: str, parent: str | None, offset: tuple[float, float, float]) -> dict:
    local = np.eye(4)
    local[:3, 3] = offset
    return {'name': name, 'parent': parent, 'local': local.tolist()}


def samples(rng: np.random.Generator, frames: int) -> np.ndarray:
    """Return (frames, 5, 7): hands and feet swing about where they hang."""
    hanging = np.array(
        [(0, 0, 0), (0.2, 0, -0.15), (-0.2, 0, -0.15), (0.1, 0, -0.9), (-0.1, 0, -0.9)]
    )
    phase = np.linspace(0.0, np.pi, frames)[:, None, None]
    positions = hanging + rng.uniform(0.05, 0.25, (1, 5, 3)) * np.sin(phase)
    positions[:, 0] = 0.0
    made = np.empty((frames, 5, 7), np.float32)
    # x, y, z of the skeleton are x, -z, y of the recordings.
    made[..., :3] = positions[..., [0, 2, 1]] * (1.0, 1.0, -1.0)
    made[..., 3:] = _QUATERNION
    return made


def make_vive_folder(folder: Path, names: tuple[str, ...], frames: int) -> Path:
    """Write the skeleton and a recording of each name; return the folder."""
    folder.mkdir(exist_ok=True)
    (folder / 'skeleton.json').write_text(json.dumps({'bones': bones()}))
    rng = np.random.default_rng(4)
    recordings = {name: samples(rng, frames) for name in names}
    arrays: dict[str, Any] = {'devices': np.array(DEVICES), **recordings}
    np.savez(folder / 'targets.npz', **arrays)
    return folder
