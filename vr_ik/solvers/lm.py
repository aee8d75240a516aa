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

"""Levenberg-Marquardt on all tasks of a tree at once, with joint limits inside the solve."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vr_ik.config_fields import Config, from_mapping, param
from vr_ik.errors import VrIkError
from vr_ik.kinematics.model import RobotModel
from vr_ik.kinematics.tasks import PackedTasks
from vr_ik.kinematics.tree import prune_tree
from vr_ik.solvers import lm_kernel, lm_state
from vr_ik.solvers.base import SolveResult
from vr_ik.types import Array, Task


@dataclass(frozen=True)
class LmOptions(Config):
    """Options of the solver `lm`."""

    max_iterations: int = param(30, 'Steps at most, rejected ones included.', minimum=1)
    position_tolerance: float = param(
        1e-4, 'Position error at which a task is met.', 'm', minimum=0.0
    )
    orientation_tolerance: float = param(
        1e-3, 'Rotation error at which a task is met.', 'rad', minimum=0.0
    )
    step_tolerance: float = param(
        1e-6, 'Largest joint step at which the solve has come to rest.', 'rad', minimum=0.0
    )
    gain_tolerance: float = param(
        1e-9,
        'Part of the cost that a step must gain lest the solve has come to rest.',
        minimum=0.0,
    )
    restarts: int = param(
        0,
        'Further tries from other starts, where the first ends short of the targets; a try that '
        'succeeds may be far from the start.',
        minimum=0,
    )
    posture_weight: float = param(
        0.0, 'Pull of every joint to the rest posture.', '1/rad^2', minimum=0.0
    )


class LevenbergMarquardt:
    """The solver `lm`; see `lm_kernel` for the method."""

    Options = LmOptions

    def __init__(self, model: RobotModel, tasks: Sequence[Task], **options: Any) -> None:
        """Prepare all buffers; `options` are the fields of `LmOptions`."""
        self.model = model
        self.options = from_mapping(LmOptions, options)
        packed = PackedTasks.of(tasks, model.placement)
        self.weights = packed.weights
        self._nq = model.nq
        self._targets_shape = (len(tasks), 4, 4)
        self._size = SolveResult.size(model.nq, len(tasks))
        self._joints = np.zeros((len(model.joints), 4))
        self._joints[:, 0] = model.lower
        self._joints[:, 1] = model.upper
        self.limits = self._joints[:, :2]
        """(n, 2) lower and upper limit of each joint; may be narrowed between calls."""
        self.posture = self._joints[:, 2]
        """Rest position of each joint; may be written between calls."""
        self.posture[:] = model.neutral()[model.first_q :]
        self.posture_weights = self._joints[:, 3]
        """Pull of each joint to its rest position [1/rad^2]; may be written between calls."""
        self.posture_weights[:] = self.options.posture_weight
        settings = np.array(
            [
                self.options.max_iterations,
                self.options.position_tolerance,
                self.options.orientation_tolerance,
                self.options.step_tolerance,
                self.options.gain_tolerance,
                self.options.restarts,
            ]
        )
        tree, bodies = prune_tree(model.tree, packed.bodies)
        work = np.empty(lm_state.work_size(tree, len(tasks), model.nq, model.nv))
        # All but the last three arguments of the kernel; made once, as it counts at 2 us a call.
        self._fixed = (
            *tree,
            bodies,
            packed.placements,
            self.weights,
            self._joints,
            settings,
            work,
        )
        self._warm_up()

    def solve(self, q_start: Array, targets: Array) -> SolveResult:
        """Bring the tasks to targets (m, 4, 4), starting at q_start; see `Solver.solve`."""
        values = np.empty(self._size)
        try:
            fits = lm_kernel.solve(*self._fixed, targets, q_start, values)
        except TypeError:  # Not a float64 array in C order: no reason to refuse it.
            return self._solve_converted(q_start, targets)
        if not fits:
            raise VrIkError(
                f'Expected q_start of shape {(self._nq,)} and targets of {self._targets_shape}; '
                f'got {q_start.shape} and {targets.shape}.'
            )
        return SolveResult(values, self._nq)

    def _solve_converted(self, q_start: Array, targets: Array) -> SolveResult:
        converted = [np.array(a, np.float64, order='C') for a in (q_start, targets)]
        if converted[0].ndim != 1 or converted[1].ndim != 3:
            raise VrIkError('q_start must be a vector, and targets an array of 4x4 poses.')
        return self.solve(*converted)

    def _warm_up(self) -> None:
        """Compile now, and let no other argument types cause a compilation in the loop."""
        self.solve(self.model.neutral(), np.tile(np.eye(4), (self._targets_shape[0], 1, 1)))
        lm_kernel.solve.disable_compile()
