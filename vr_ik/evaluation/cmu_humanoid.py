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

"""A humanoid of 13 joints whose inner ones are deleted, on motion capture of CMU.

The 13 joints are head, shoulders, elbows, wrists, hips, knees and ankles; what is known of each
frame are head, wrists and ankles. Pelvis and chest are rigid, with a ball at either end of the
spine. All joints are balls without limits; in the constrained humanoid elbows and knees are hinges
(the elbow's bone may twist) and every hinge has limits. Of the known ends the places are given,
and their orientations too where the humanoid is to be oriented.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from vr_ik.io.bvh import read_bvh
from vr_ik.kinematics.model import RobotModel
from vr_ik.solvers.base import make_solver
from vr_ik.types import Array, Status, Task

_UNIT_M = 0.0254 / 0.45
# y up, z forward and x left into x forward, y left and z up.
_AXES = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
_DIRECTIONS = {'x': '1 0 0', 'y': '0 1 0', 'z': '0 0 1'}
_BALL, _ELBOW, _KNEE = 'zxy', 'zy', 'y'
_ORIENTATION_WEIGHT = 0.05
_FIT_STEP, _FIT_POSTURE = 30, 1e-5
_PERCENTILES = (1.0, 99.0)
# Elbows and knees bend to one side.
_FOLD = 2.7
_FOLDS = {
    'l_elbow_z': (-_FOLD, 0.0),
    'r_elbow_z': (0.0, _FOLD),
    'l_knee_y': (0.0, _FOLD),
    'r_knee_y': (0.0, _FOLD),
}

Limits = Mapping[str, tuple[float, float]]
"""Least and largest angle of hinges, by name [rad]."""


class _Joint(NamedTuple):
    name: str
    parent: str
    source: str
    """The joint of CMU's skeleton that is at its place."""
    hinges: str = _BALL
    """Axes of its hinges in the constrained humanoid."""


def _limbs(side: str, word: str) -> tuple[_Joint, ...]:
    return (
        _Joint(f'{side}_shoulder', 'chest', f'{word}Arm'),
        _Joint(f'{side}_elbow', f'{side}_shoulder', f'{word}ForeArm', _ELBOW),
        _Joint(f'{side}_wrist', f'{side}_elbow', f'{word}Hand'),
        _Joint(f'{side}_hip', 'pelvis', f'{word}UpLeg'),
        _Joint(f'{side}_knee', f'{side}_hip', f'{word}Leg', _KNEE),
        _Joint(f'{side}_ankle', f'{side}_knee', f'{word}Foot'),
    )


JOINTS = (
    _Joint('back', 'pelvis', 'LowerBack'),
    _Joint('chest', 'back', 'Spine1'),
    _Joint('neck', 'chest', 'Neck1'),
    *_limbs('l', 'Left'),
    *_limbs('r', 'Right'),
)
# Links that are known, with CMU's joints that tell their place and their orientation: its Hand
# turns about the forearm alone, and what bends is FingerBase.
KNOWN = {
    'neck': ('Head', 'Head'),
    'l_wrist': ('LeftHand', 'LeftFingerBase'),
    'r_wrist': ('RightHand', 'RightFingerBase'),
    'l_ankle': ('LeftFoot', 'LeftFoot'),
    'r_ankle': ('RightFoot', 'RightFoot'),
}
DELETED = {
    joint.name: joint.source
    for joint in JOINTS
    if joint.name.endswith(('shoulder', 'elbow', 'hip', 'knee'))
}


class Motion:
    """A recording of CMU: pose of every joint in every frame, z up, in metres."""

    def __init__(self, path: Path) -> None:
        bvh = read_bvh(path)
        poses = bvh.poses()
        poses[:, :, :3, :3] = _AXES @ poses[:, :, :3, :3]
        poses[:, :, :3, 3] = poses[:, :, :3, 3] @ (_UNIT_M * _AXES.T)
        self.rate_hz = 1.0 / bvh.frame_time_s
        self._poses = {name: poses[:, i] for i, name in enumerate(bvh.names)}
        self.frames = len(poses)

    def position(self, joint: str, frame: int = 0) -> Array:
        """Return where a joint is; frame 0 is a T-pose."""
        return self._poses[joint][frame, :3, 3]

    def known(self, frame: int) -> Array:
        """Return the poses of the known ends (5, 4, 4); the orientations are from the T-pose."""
        targets = np.tile(np.eye(4), (len(KNOWN), 1, 1))
        for target, (place, turn) in zip(targets, KNOWN.values(), strict=True):
            target[:3, 3] = self.position(place, frame)
            rotations = self._poses[turn][:, :3, :3]
            target[:3, :3] = rotations[frame] @ rotations[0].T
        return targets

    def deleted(self, frame: int) -> Array:
        """Return the true positions of the deleted joints (8, 3)."""
        return np.array([self.position(source, frame) for source in DELETED.values()])


class Found(NamedTuple):
    """What a humanoid found for one frame."""

    state: Array
    iterations: int
    reached: bool
    """Whether it met all that was given of the ends."""


class Humanoid:
    """The model in the size of a recording's skeleton, with the tasks on its known ends.

    Its state is the model's q.
    """

    def __init__(
        self, motion: Motion, limits: Limits | None, constrained: bool, oriented: bool
    ) -> None:
        self.model = RobotModel.from_urdf(
            _urdf(motion, limits or {}, constrained), floating_base=True
        )
        head = np.eye(4)
        head[:3, 3] = motion.position('Head') - motion.position('Neck1')
        weight = _ORIENTATION_WEIGHT if oriented else 0.0
        self.tasks = [
            Task(link, 1.0, weight, head if link == 'neck' else np.eye(4)) for link in KNOWN
        ]
        self.start = self.model.clamp(self.model.neutral())
        self.start[:3] = motion.position('Hips')

    def set_solver(self, name: str, options: Mapping[str, Any]) -> None:
        """Make the solver that `solve` calls."""
        self._solver = make_solver(name, self.model, self.tasks, **options)

    def solve(self, state: Array, known: Array) -> Found:
        """Bring the known ends to their poses (5, 4, 4)."""
        result = self._solver.solve(state, known)
        return Found(result.q, result.iterations, result.status is Status.CONVERGED)

    def fitted(self, motion: Motion, frames: Iterable[int]) -> list[Array]:
        """Return the states that are nearest to all 13 joints in frames of a recording."""
        tasks = [*self.tasks, *(Task(link, 1.0, 0.0) for link in DELETED)]
        solver = make_solver('lm', self.model, tasks, posture_weight=_FIT_POSTURE)
        q, targets, states = self.start, np.tile(np.eye(4), (len(tasks), 1, 1)), []
        for frame in frames:
            targets[: len(KNOWN)] = motion.known(frame)
            targets[len(KNOWN) :, :3, 3] = motion.deleted(frame)
            q = solver.solve(q, targets).q.copy()
            states.append(q)
        return states

    def deleted(self, state: Array) -> Array:
        """Return where the deleted joints are (8, 3)."""
        rows = [self.model.link_index(link) for link in DELETED]
        return self.model.link_poses(state)[rows, :3, 3]

    def ends(self, state: Array) -> Array:
        """Return where the known ends are (5, 3)."""
        poses = [self.model.link_pose(state, task.link) @ task.offset for task in self.tasks]
        return np.array(poses)[:, :3, 3]


def _urdf(motion: Motion, limits: Limits, constrained: bool) -> str:
    places = {joint.name: motion.position(joint.source) for joint in JOINTS}
    places['pelvis'] = motion.position('Hips')
    parts = ['<link name="pelvis"/>']
    for joint in JOINTS:
        last, offset = joint.parent, places[joint.name] - places[joint.parent]
        hinges = joint.hinges if constrained else _BALL
        for axis in hinges:
            name = f'{joint.name}_{axis}'
            link = joint.name if axis == hinges[-1] else f'{name}_link'
            limit = ''
            if name in limits:
                lower, upper = limits[name]
                limit = f'<limit lower="{lower}" upper="{upper}" velocity="1" effort="1"/>'
            parts.append(
                f'<link name="{link}"/>'
                f'<joint name="{name}" type="{"revolute" if limit else "continuous"}">'
                f'<parent link="{last}"/><child link="{link}"/>'
                f'<origin xyz="{" ".join(map(repr, offset.tolist()))}"/>'
                f'<axis xyz="{_DIRECTIONS[axis]}"/>{limit}</joint>'
            )
            last, offset = link, np.zeros(3)
    return f'<robot name="humanoid">{"".join(parts)}</robot>'


def hinge_angles(motion: Motion) -> dict[str, list[float]]:
    """Return the angles of the constrained humanoid's hinges where it follows a whole recording.

    The model with one-sided elbows and knees is fitted to all 13 joints by `lm`, and what one side
    does counts for the other too.
    """
    humanoid = Humanoid(motion, _FOLDS, constrained=True, oriented=True)
    angles: dict[str, list[float]] = {name: [] for name in humanoid.model.joint_names}
    for q in humanoid.fitted(motion, range(0, motion.frames, _FIT_STEP)):
        for name, angle in zip(humanoid.model.joint_names, q[7:], strict=True):
            angle = float(np.angle(np.exp(1j * angle)))
            angles[name].append(angle)
            angles[_mirrored(name)].append(angle if name.endswith('_y') else -angle)
    return angles


def limits_of(recordings: Sequence[Mapping[str, Sequence[float]]]) -> Limits:
    """Return the ranges of `hinge_angles` over recordings, but for a hundredth on each side."""
    limits = {}
    for name in recordings[0]:
        values = np.concatenate([angles[name] for angles in recordings])
        lower, upper = np.percentile(values, _PERCENTILES)
        limits[name] = (float(lower), float(upper))
    return limits


def _mirrored(hinge: str) -> str:
    """Return the hinge on the other side."""
    sides = {'l_': 'r_', 'r_': 'l_'}
    return sides.get(hinge[:2], hinge[:2]) + hinge[2:]
