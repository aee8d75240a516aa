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

"""A made-up body with markers, of the structure of HDM05's, where the recording is not at hand.

It has the bones, the 58 degrees of freedom and the 41 markers of `marker_fit`, but round lengths,
angles about the world's axes, and a seeded motion: no figure of a paper, but the same work.
"""

import numpy as np

from vr_ik.evaluation.asf_amc import Bone, configurations, ROOT, Skeleton
from vr_ik.evaluation.marker_fit import MarkerFit, MARKERS
from vr_ik.types import Array

_RATE_HZ = 120.0
# Joint angles swing by this much [rad], the root by this much [m], this often.
_SWING_RAD, _SWAY_M, _MOST_HZ = 0.35, 0.3, 0.8
# A marker is this far from the beginning of its bone, at most, along each axis [m].
_AWAY_M = 0.12
_Bone = tuple[str, tuple[float, float, float], tuple[str, ...]]
_BALL = ('rx', 'ry', 'rz')
# Parent, end in the axes of the root [m, y up, z forward], angles.
_MIDDLE: dict[str, _Bone] = {
    'lowerback': (ROOT, (0.0, 0.12, 0.0), _BALL),
    'upperback': ('lowerback', (0.0, 0.12, 0.0), _BALL),
    'thorax': ('upperback', (0.0, 0.12, 0.0), _BALL),
    'lowerneck': ('thorax', (0.0, 0.08, 0.0), _BALL),
    'upperneck': ('lowerneck', (0.0, 0.08, 0.0), _BALL),
    'head': ('upperneck', (0.0, 0.16, 0.0), _BALL),
}
# Of the left side; names without the letter of the side.
_SIDE: dict[str, _Bone] = {
    'hipjoint': (ROOT, (0.1, -0.08, 0.0), ()),
    'femur': ('hipjoint', (0.05, -0.42, 0.0), _BALL),
    'tibia': ('femur', (0.0, -0.42, 0.0), ('rx',)),
    'foot': ('tibia', (0.0, -0.05, 0.13), ('rx', 'rz')),
    'toes': ('foot', (0.0, 0.0, 0.07), ('rx',)),
    'clavicle': ('thorax', (0.17, 0.05, 0.0), ('ry', 'rz')),
    'humerus': ('clavicle', (0.28, 0.0, 0.0), _BALL),
    'radius': ('humerus', (0.26, 0.0, 0.0), ('rx',)),
    'wrist': ('radius', (0.05, 0.0, 0.0), ('ry',)),
    'hand': ('wrist', (0.07, 0.0, 0.0), ('rx', 'rz')),
    'fingers': ('hand', (0.06, 0.0, 0.0), ('rx',)),
}


def make_marker_fit(seed: int, frames: int) -> MarkerFit:
    """Return a seeded motion; without limits, as in the unconstrained case of the paper."""
    rng = np.random.default_rng(seed)
    skeleton = Skeleton(_bones(), 1.0, 1.0)
    model = skeleton.model(1.0)
    motion = {ROOT: _swings(rng, frames, (_SWAY_M,) * 3 + (_SWING_RAD,) * 3)}
    for bone in skeleton.bones:
        motion[bone.name] = _swings(rng, frames, (_SWING_RAD,) * len(bone.dofs))
    truth = configurations(skeleton, motion, model, 1.0)
    links = tuple(link for link, group in MARKERS.items() for _ in group)
    offsets = np.tile(rng.uniform(-_AWAY_M, _AWAY_M, (len(links), 3)), (frames, 1, 1))
    rows = [model.link_index(link) for link in links]
    poses = np.array([model.link_poses(q)[rows] for q in truth])
    targets = np.einsum('fmij,fmj->fmi', poses[..., :3, :3], offsets) + poses[..., :3, 3]
    return MarkerFit(model, links, offsets, targets, truth)


def _bones() -> tuple[Bone, ...]:
    bones = dict(_MIDDLE)
    for letter, sign in (('l', 1.0), ('r', -1.0)):
        for name, (parent, (x, y, z), dofs) in _SIDE.items():
            above = letter + parent if parent in _SIDE else parent
            bones[letter + name] = (above, (sign * x, y, z), dofs)
    return tuple(
        Bone(name, parent, np.array(end), np.eye(3), dofs)
        for name, (parent, end, dofs) in bones.items()
    )


def _swings(rng: np.random.Generator, frames: int, sizes: tuple[float, ...]) -> Array:
    """Return (frames, n) sums of two sines each."""
    times = np.arange(frames)[:, None] / _RATE_HZ
    total = np.zeros((frames, len(sizes)))
    for _ in range(2):
        turns = rng.uniform(0.0, _MOST_HZ, len(sizes)) * times + rng.uniform(size=len(sizes))
        total += 0.5 * np.array(sizes) * np.sin(2.0 * np.pi * turns)
    return total
