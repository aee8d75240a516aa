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


"""The solver `body`: analytic start, then whole-body refinement that leaves contorted poses.

The first solve, where nothing is known of the body and devices are far from where q_start has
them, brings root and trunk to their tasks and then every arm and leg to its own by two bones, with
the elbow where it costs least. Descent from anywhere else may end in a limb twisted against its
limits.

Frame after frame, `lm` starts where the last frame ended. That keeps motion smooth, and it keeps
an arm twisted that was led around its own limits: when a device comes back from behind the body,
or after a jump. A pose far off its devices is therefore tried again from a natural posture with
limbs led to their devices in the same way, and so is an arm that is bent much farther than people
bend theirs, though its hand is met. They are left for what is clearly better.

Elbows and forearms are kept out of the trunk, and feet that no device tells of out of the ground.
All of it is one compiled call. How another pose is shown is not this solver's business: the
pipeline eases it in.
"""

from collections.abc import Container, Sequence
import math
from typing import Any

import numpy as np

from vr_ik.body.ground import ground_clearances, set_ground
from vr_ik.body.trunk import trunk_clearances
from vr_ik.kinematics.model import RobotModel
from vr_ik.kinematics.tree import Ints, Q_INDEX
from vr_ik.solvers import body_kernel, geometric_state
from vr_ik.solvers.base import Solver
from vr_ik.solvers.clearance import CLEARANCE, GROUND, OTHER_BODY, POINT_BODY
from vr_ik.solvers.joint_points import joint_points
from vr_ik.solvers.limbs import find_limbs, POLE_KEEP
from vr_ik.solvers.lm import LevenbergMarquardt
from vr_ik.solvers.natural_start import (
    APART,
    ARM,
    BENT,
    COLD,
    DEVICES,
    EACH,
    FAR,
    GAIN,
    LEAPT,
    LONGEST,
    NUMBERS,
    PAUSE,
    PULL,
    REST,
    SHORTEST,
    STRAIN,
)
from vr_ik.types import Array, Task

_FAR_M = 0.03
"""Distance of a device from its place on the body that calls for another try."""
_EVERY, _SELDOM = 10, 20
"""Calls from one try to the next at first, and after many that came to nothing."""
_GAIN = 0.7
"""A try is taken where its cost is below this share; of an arm's, where it takes the rest of the
arm's strain away."""
_APART_RAD = 0.5
"""Some joint must differ so much for a pose to be another one."""
_BENT_RAD = {'elbow_flexion': 1.2}
"""How joints are bent in every other start: what a stretched arm does not find, a bent one may."""
_STRAIGHT_RAD = math.radians(3.0)
"""Angle below which elbows and knees resist being straightened. A straight limb lies on a saddle
of the cost: it would stay straight, however near its device comes, until some rounding error lets
it go, and then leap."""
_STRAIGHT_PULL = 3e-3
"""How much they do [1/rad^2]."""
_UNUSED = -2
_ARM_JOINTS = ('shoulder', 'elbow', 'forearm', 'wrist')
"""The beginnings of their names, after the side. Collar bones are of the trunk: raised by a shrug
they are strained in both arms, with reason."""


class BodySolver(LevenbergMarquardt):
    """Levenberg-Marquardt with an analytic start, and a second try from a natural posture."""

    KERNEL = body_kernel.solve

    def __init__(self, model: RobotModel, tasks: Sequence[Task], **options: Any) -> None:
        """Prepare all buffers; `options` are those of `lm`."""
        joints = np.zeros((len(model.joint_names), EACH))
        joints[:, ARM] = [_arm(name) for name in model.joint_names]
        joints[:, BENT] = [_BENT_RAD.get(name[2:], 0.0) for name in model.joint_names]
        self._retry = np.concatenate((np.zeros(NUMBERS), joints.ravel()))
        self._retry[[FAR, SHORTEST, LONGEST]] = _FAR_M, _EVERY, _SELDOM
        self._retry[DEVICES] = _devices(tasks)
        self._retry[[GAIN, STRAIN, APART]] = _GAIN, np.inf, _APART_RAD
        super().__init__(model, tasks, **options)
        bends = [name[2:] in ('elbow_flexion', 'knee_flexion') for name in model.joint_names]
        self.soft_limits[bends] = _STRAIGHT_RAD, _STRAIGHT_PULL
        self.reset()  # the solver has been tried out meanwhile

    def set_natural(self, posture: Array, pull: Array, usual_strain: float) -> None:
        """Take the natural posture to try again from; see `NaturalSolver`."""
        joints = self._retry[NUMBERS:].reshape(-1, EACH)
        joints[:, REST], joints[:, PULL] = posture, pull
        self._retry[STRAIN] = usual_strain

    def reset(self) -> None:
        """Forget when the last try was, and which; look for limbs anew in the next solve."""
        self._retry[:FAR] = 0.0
        self._retry[[PAUSE, COLD]] = _EVERY, 1.0

    def take_over(self, before: Solver) -> None:
        """Go on with the tries of another solver; limbs are where it has them."""
        self._retry[COLD] = 0.0
        if isinstance(before, BodySolver):
            self._retry[:FAR] = before._retry[:FAR]

    @property
    def has_leapt(self) -> bool:
        """Whether the last solve has left for another posture, however near its devices are."""
        return bool(self._retry[LEAPT])

    def more(self) -> tuple[Array | Ints, ...]:
        """Return when and how to try again, and what the analytic start takes besides."""
        points = joint_points(self.tree, self.task_bodies)
        limbs = find_limbs(self.tree, points, self.task_bodies, self.model.neutral())
        settings = np.full(geometric_state.VARIANT + 1, POLE_KEEP, np.float64)
        size = geometric_state.work_size(self.tree, len(self.task_bodies), self.model.nq)
        return self._retry, *points, limbs, settings, np.zeros(size)

    def clearances(self) -> Array:
        """Return the points of arms that stay out of the trunk, of feet that do of the ground."""
        parts = [trunk_clearances(self.model), *(ground_clearances(self.model, s) for s in 'lr')]
        parts = [self._in_use(part) for part in parts]
        rows = np.concatenate(parts)
        _, left, right = np.split(rows, np.cumsum([len(part) for part in parts[:-1]]))
        self._feet = {'l': left, 'r': right}
        return rows

    def stand_on(self, ground_m: float, sides: Container[str]) -> None:
        """Keep the feet of these sides out of a ground of this height; see `GroundedSolver`."""
        for side, rows in self._feet.items():
            set_ground(rows, ground_m, side in sides)

    def _in_use(self, rows: Array) -> Array:
        """Return those of the rows whose bodies the tasks move, with their numbers there."""
        in_use = {int(row[Q_INDEX]): body for body, row in enumerate(self.tree.body_ints)}
        kept = []
        for row in rows:
            for column in (POINT_BODY, OTHER_BODY):
                if row[column] != GROUND:
                    q_index = int(self.model.tree.body_ints[int(row[column]), Q_INDEX])
                    row[column] = in_use.get(q_index, _UNUSED)
            if _UNUSED not in (row[POINT_BODY], row[OTHER_BODY]):
                kept.append(row)
        return np.array(kept).reshape(-1, CLEARANCE)


def _devices(tasks: Sequence[Task]) -> int:
    """Return how many tasks are no guesses; these come first."""
    devices = sum(not task.is_guess for task in tasks)
    for task in tasks[:devices]:
        if task.is_guess:
            raise ValueError(f"The guess of '{task.link}' comes before devices; put it last.")
    return devices


def _arm(joint: str) -> int:
    """Return the arm that a joint belongs to, the left one first; -1: none."""
    is_of_arm = joint[:2] in ('l_', 'r_') and joint[2:].startswith(_ARM_JOINTS)
    return 'lr'.index(joint[0]) if is_of_arm else -1
