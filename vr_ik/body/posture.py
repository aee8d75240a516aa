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

"""The natural posture that joints return to where no device says otherwise."""

from collections.abc import Mapping
import math

import numpy as np

from vr_ik.body.human import T_POSE
from vr_ik.kinematics.compiled import kernel
from vr_ik.kinematics.model import RobotModel
from vr_ik.solvers.base import NaturalSolver, PostureSolver
from vr_ik.types import Array

# Relaxed standing [deg]. Elbows and knees are never quite straight: a straight limb gives the
# solver no direction in which to bend it.
_REST_DEG = {
    'elbow_flexion': 20.0,
    'knee_flexion': 5.0,
    'hip_flexion': 2.5,
    'ankle_dorsiflexion': 2.5,
    'shoulder_abduction': 8.0,
}
_BENT_LEGS_DEG = {'hip_flexion': 90.0, 'knee_flexion': 100.0, 'ankle_dorsiflexion': 10.0}
# How stiff a joint is against leaving the posture, relative to hips and knees: the trunk and the
# shoulder girdle move little when an arm can do it, and a hand is carried nearly straight on its
# forearm, so that its orientation tells most of where the elbow is. Fitted to recordings of
# people who wear trackers on their forearms.
_STIFFNESS = {
    'lumbar': 100.0,
    'lumbar_lateral': 200.0,
    'lumbar_axial': 200.0,
    'thorax': 200.0,
    'thorax_lateral': 400.0,
    'neck': 40.0,
    'head': 40.0,
    'clavicle': 200.0,
    'shoulder': 1.0,
    'shoulder_rotation': 2.5,
    'forearm': 14.0,
    'wrist_twist': 14.0,
    'wrist': 20.0,
    'wrist_deviation': 45.0,
    'hip_rotation': 10.0,
    'knee_rotation': 10.0,
    'ankle': 7.0,
    'ankle_inversion': 30.0,
}
# How much a joint stays as it was just now where devices leave it free, times seconds, in the unit
# of its stiffness. An elbow that only the posture places would else jump about with every tremor
# of a nearly straight arm, and go along with every wave of the hand; slow ankles keep knees from
# jumping when a leg comes off being straight. What turns about its own bone is quick.
_DRAG_S = {
    'lumbar': 10.0,
    'thorax': 10.0,
    'neck': 8.0,
    'head': 8.0,
    'clavicle': 20.0,
    'shoulder': 1.4,
    'shoulder_rotation': 0.5,
    'elbow': 1.5,
    'forearm': 0.14,
    'wrist_twist': 0.14,
    'wrist': 1.0,
    'hip': 0.3,
    'knee': 0.3,
    'ankle': 2.5,
}
# Cost of an arm's posture, relative to the weight, beyond which it may be twisted. Whoever
# exercises (HTC Vive recordings) is below it; twisted arms are at several times as much, and some
# natural poses, such as arms around oneself, too.
_USUAL_STRAIN = 8.0
_SPINE = ('lumbar', 'thorax')
# How far each bends for each radian that the line from hips to neck leans by the spine alone.
_LEAN = {'lumbar_flexion': 1.02, 'thorax_flexion': 0.51}
_SPINE_STIFFNESS = {'natural': 1.0, 'stiff': 10.0, 'rigid': 1e4}


def rest_posture(model: RobotModel) -> Array:
    """Return the relaxed angle [rad] of every joint of the human model."""
    rest = np.array([math.radians(_REST_DEG.get(_pair(name), 0.0)) for name in model.joint_names])
    return np.clip(rest, model.lower, model.upper)


class PosturePull:
    """The pull of a solver's joints to the natural posture, and to where they were just now."""

    def __init__(self, solver: PostureSolver, weight: float, spine: str) -> None:
        """Take the solver, the pull [1/rad^2] of hips and knees, and how stiff the spine is."""
        self._solver = solver
        self._first_q = solver.model.first_q
        self._rest = rest_posture(solver.model)
        self._weights = weight * joint_stiffness(solver.model, spine)
        self._drag = weight * _by_joint(_DRAG_S, solver.model)
        self._usual_strain = weight * _USUAL_STRAIN
        self._upright = self._rest.copy()
        leaning = [_LEAN.get(name, 0.0) for name in solver.model.joint_names]
        self._by_lean = np.array(leaning)
        self._lean = 0.0
        self._natural = solver if isinstance(solver, NaturalSolver) else None
        self._tell()
        self.to_rest()

    def lean(self, angle: float) -> None:
        """Let the natural posture of the spine be bent so that it leans forward so far [rad]."""
        if angle != self._lean:
            self._lean = angle
            np.multiply(self._by_lean, angle, out=self._rest)
            self._rest += self._upright
            self._tell()

    def _tell(self) -> None:
        """Let a solver know what is natural."""
        if self._natural is not None:
            self._natural.set_natural(self._rest, self._weights, self._usual_strain)

    def to_rest(self) -> None:
        """Pull to the natural posture alone: nothing is known of the past, or it is no good."""
        self._solver.posture[:] = self._rest
        self._solver.posture_weights[:] = self._weights

    def from_pose(self, q: Array, seconds: float) -> None:
        """Pull to it from a pose so many seconds ago, by the same share in the same time."""
        _pull(
            q[self._first_q :],
            self._drag / max(seconds, 1e-4),
            self._rest,
            self._weights,
            self._solver.posture,
            self._solver.posture_weights,
        )


@kernel
def _pull(
    before: Array,
    drag: Array,
    rest: Array,
    stiffness: Array,
    posture: Array,
    posture_weights: Array,
) -> None:
    """Write rest positions between a pose and the posture, and the pull to both together."""
    for j in range(rest.shape[0]):
        posture_weights[j] = stiffness[j] + drag[j]
        # Written as a step from the pose, so that what is at rest stays there to the last bit.
        share = stiffness[j] / posture_weights[j] if posture_weights[j] > 0.0 else 0.0
        posture[j] = before[j] + (rest[j] - before[j]) * share


def with_bent_legs(model: RobotModel, q: Array) -> Array:
    """Return a pose with the legs of somebody who sits."""
    bent = q.copy()
    for index, name in enumerate(model.joint_names):
        bent[model.first_q + index] = math.radians(
            _BENT_LEGS_DEG.get(_pair(name), math.degrees(q[model.first_q + index]))
        )
    return bent


def start_postures(model: RobotModel) -> list[Array]:
    """Return postures [rad] from which an unknown pose is searched: arms down, level, bent."""
    rest = rest_posture(model)
    postures = [rest]
    for angles in (T_POSE, {f'{side}_elbow_flexion': math.radians(90.0) for side in 'lr'}):
        posture = rest.copy()
        for joint, angle in angles.items():
            posture[model.joint_index(joint)] = angle
        postures.append(posture)
    return postures


def spine_share(spine: str) -> float:
    """Return what the spine has of the lean of the trunk; the pelvis has the rest."""
    return 0.5 / _SPINE_STIFFNESS[spine]


def joint_stiffness(model: RobotModel, spine: str = 'natural') -> Array:
    """Return the relative stiffness of every joint of the human model."""
    stiffness = _by_joint(_STIFFNESS, model)
    of_spine = [name.split('_')[0] in _SPINE for name in model.joint_names]
    stiffness[of_spine] *= _SPINE_STIFFNESS[spine]
    return stiffness


def _by_joint(table: Mapping[str, float], model: RobotModel) -> Array:
    """Return a table's value for every joint: its own, that of its part of the body, or 1."""
    pairs = [_pair(name) for name in model.joint_names]
    return np.array([table.get(pair, table.get(pair.split('_')[0], 1.0)) for pair in pairs])


def _pair(joint: str) -> str:
    """Return a joint's name without its side."""
    return joint[2:] if joint[:2] in ('l_', 'r_') else joint
