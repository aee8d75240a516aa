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

"""The Python side of a compiled solver: buffers made once, one call a solve, clear errors."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from vr_ik.config_fields import param
from vr_ik.errors import VrIkError
from vr_ik.kinematics.model import RobotModel
from vr_ik.kinematics.tasks import PackedTasks
from vr_ik.kinematics.tree import Ints, prune_tree
from vr_ik.solvers.ball_joints import find_ball_joints
from vr_ik.solvers.base import SolveResult
from vr_ik.solvers.reach import reach_rows
from vr_ik.types import Array, Task

NOTHING: Array = np.zeros(0)
"""In the place of what a method alone reads, for one that reads nothing more."""


def ball_joints_param() -> Any:
    """Declare the option that says how three hinges which meet in one point move."""
    return param(
        'euler',
        'Step of three hinges that meet in a point: of each angle, or along the exponential map.',
        choices=('euler', 'exponential'),
    )


class KernelSolver:
    """Base of the solvers on pose tasks; a subclass binds its kernel when its buffers are made."""

    def __init__(self, model: RobotModel, tasks: Sequence[Task]) -> None:
        """Place the tasks on the part of the tree that moves them."""
        packed = PackedTasks.of(tasks, model.placement)
        self.model = model
        self.weights = packed.weights
        self.placements = packed.placements
        """(m, 12): rotation by rows and position of each task's point on its body; may be
        written between calls."""
        self.tree, self.task_bodies = prune_tree(model.tree, packed.bodies)
        self.joints = np.zeros((len(model.joints), 6))
        """(n, 6): lower and upper limit, rest position, pull to it, soft lower limit, pull to
        that from below."""
        self.joints[:, 0] = model.lower
        self.joints[:, 1] = model.upper
        self.limits = self.joints[:, :2]
        """(n, 2) lower and upper limit of each joint; may be narrowed between calls."""
        self.soft_limits = self.joints[:, 4:]
        """(n, 2) where each joint [rad] begins to resist on the way down, and the pull back
        [1/rad^2], for methods that descend a cost; may be written between calls."""
        self._nq = model.nq
        self._targets_shape = (len(tasks), 4, 4)
        self._size = SolveResult.size(model.nq, len(tasks))
        reach = reach_rows(self.tree, self.task_bodies, _slides(model))
        tasks_given = (self.task_bodies, self.placements, self.weights, self.joints, reach)
        self._given: tuple[Array | Ints, ...] = (*self.tree, *tasks_given)

    def bind(
        self,
        kernel: Callable[..., Any],
        settings: Sequence[float],
        work_size: int,
        extra: tuple[Any, ...] = (),
    ) -> None:
        """Set the kernel, and compile it now: nothing may cause a compilation in the loop."""
        self._kernel = kernel
        self.settings = np.array(settings, np.float64)
        """What the kernel reads of the options."""
        # All but the last three arguments; made once, as it counts at 2 us a call.
        self._fixed = (*self._given, *extra, self.settings, np.empty(work_size))
        self.solve(self.model.neutral(), np.tile(np.eye(4), (self._targets_shape[0], 1, 1)))
        kernel.disable_compile()  # type: ignore[attr-defined]

    def solve(self, q_start: Array, targets: Array) -> SolveResult:
        """Bring the tasks to targets (m, 4, 4), starting at q_start; see `Solver.solve`."""
        values = np.empty(self._size)
        try:
            fits = self._kernel(*self._fixed, targets, q_start, values)
        except TypeError:  # Not a float64 array in C order: no reason to refuse it.
            return self._solve_converted(q_start, targets)
        if not fits:
            raise VrIkError(
                f'Expected q_start of shape {(self._nq,)} and targets of {self._targets_shape}; '
                f'got {q_start.shape} and {targets.shape}.'
            )
        return SolveResult(values, self._nq)

    def set_posture(self, weight: float) -> None:
        """Pull every joint to its neutral position, and let both be written between calls."""
        self.posture = self.joints[:, 2]
        """Rest position of each joint; may be written between calls."""
        self.posture[:] = self.model.neutral()[self.model.first_q :]
        self.posture_weights = self.joints[:, 3]
        """Pull of each joint to its rest position [1/rad^2]; may be written between calls."""
        self.posture_weights[:] = weight

    def ball_joints(self, moved: str) -> Ints:
        """Return the ball joints of the tree; none where their hinges move one by one."""
        return find_ball_joints(self.tree, self.task_bodies)[
            : None if moved == 'exponential' else 0
        ]

    def _solve_converted(self, q_start: Array, targets: Array) -> SolveResult:
        converted = [np.array(a, np.float64, order='C') for a in (q_start, targets)]
        if converted[0].ndim != 1 or converted[1].ndim != 3:
            raise VrIkError('q_start must be a vector, and targets an array of 4x4 poses.')
        return self.solve(*converted)


def _slides(model: RobotModel) -> Array:
    """Return how far from zero each coordinate may be, for what slides [m]."""
    slides = np.full(model.nq, np.inf)
    slides[model.first_q :] = np.maximum(np.abs(model.lower), np.abs(model.upper))
    return slides
