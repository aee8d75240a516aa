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

import math

import numpy as np

from vr_ik.body.human import T_POSE
from vr_ik.kinematics.compiled import kernel
from vr_ik.kinematics.model import RobotModel
from vr_ik.solvers.base import PostureSolver
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
    'clavicle': 400.0,
    'shoulder': 1.0,
    'shoulder_rotation': 2.5,
    'forearm': 7.0,
    'wrist': 20.0,
    'wrist_deviation': 90.0,
    'hip_rotation': 3.0,
    'ankle': 5.0,
    'ankle_inversion': 50.0,
}
# For so long [s] the body stays as it is where devices leave it free: joints have inertia, and an
# elbow that only the posture places would jump about with every tremor of a nearly straight arm.
_PERSISTENCE_S = 0.02
_SPINE = ('lumbar', 'thorax')
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
        self.to_rest()

    def to_rest(self) -> None:
        """Pull to the natural posture alone: nothing is known of the past, or it is no good."""
        self._solver.posture[:] = self._rest
        self._solver.posture_weights[:] = self._weights

    def from_pose(self, q: Array, seconds: float) -> None:
        """Pull to it from a pose so many seconds ago, by the same share in the same time."""
        inertia = _PERSISTENCE_S / max(seconds, 1e-4)
        before = q[self._first_q :]
        _pull(
            inertia,
            before,
            self._rest,
            self._weights,
            self._solver.posture,
            self._solver.posture_weights,
        )


@kernel
def _pull(
    inertia: float,
    before: Array,
    rest: Array,
    stiffness: Array,
    posture: Array,
    posture_weights: Array,
) -> None:
    """Write rest positions between a pose and the posture, and the pull to both together."""
    for j in range(rest.shape[0]):
        posture[j] = before[j] + (rest[j] - before[j]) / (1.0 + inertia)
        posture_weights[j] = (1.0 + inertia) * stiffness[j]


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


def joint_stiffness(model: RobotModel, spine: str = 'natural') -> Array:
    """Return the relative stiffness of every joint of the human model."""
    stiffness = np.array([_joint_stiffness(_pair(name)) for name in model.joint_names])
    of_spine = [name.split('_')[0] in _SPINE for name in model.joint_names]
    stiffness[of_spine] *= _SPINE_STIFFNESS[spine]
    return stiffness


def _joint_stiffness(name: str) -> float:
    return _STIFFNESS.get(name, _STIFFNESS.get(name.split('_')[0], 1.0))


def _pair(joint: str) -> str:
    """Return a joint's name without its side."""
    return joint[2:] if joint[:2] in ('l_', 'r_') else joint
