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

"""Newton's method with the exact Hessian: the solver `newton`; see `newton_kernel`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vr_ik.config_fields import Config, from_mapping, param
from vr_ik.kinematics.model import RobotModel
from vr_ik.solvers import newton_kernel
from vr_ik.solvers.kernel_solver import ball_joints_param, KernelSolver, NOTHING
from vr_ik.types import Task


@dataclass(frozen=True)
class NewtonOptions(Config):
    """Options of the solver `newton`."""

    max_iterations: int = param(50, 'Steps at most, rejected ones included.', minimum=1)
    position_tolerance: float = param(
        1e-4, 'Position error at which a task is met.', 'm', minimum=0.0
    )
    orientation_tolerance: float = param(
        1e-3, 'Rotation error at which a task is met.', 'rad', minimum=0.0
    )
    step_tolerance: float = param(
        1e-8,
        'Largest joint step at which the solve has come to rest.',
        'rad',
        minimum=0.0,
    )
    cost_tolerance: float = param(0.0, 'Cost at which all tasks count as met.', minimum=0.0)
    posture_weight: float = param(
        0.0, 'Pull of every joint to the rest posture.', '1/rad^2', minimum=0.0
    )
    strategy: str = param(
        'trust_region',
        'What makes each step lower the cost.',
        choices=('trust_region', 'line_search'),
    )
    indefinite: str = param(
        'damp',
        'What becomes of an indefinite Hessian: damped, or the nearest semi-definite one (slow).',
        choices=('damp', 'project'),
    )
    first_radius: float = param(
        0.5, 'Largest joint step inside the first trust region.', 'rad', minimum=1e-6
    )
    ball_joints: str = ball_joints_param()


class Newton(KernelSolver):
    """The solver `newton`."""

    Options = NewtonOptions

    def __init__(self, model: RobotModel, tasks: Sequence[Task], **options: Any) -> None:
        """Prepare all buffers; `options` are the fields of `NewtonOptions`."""
        super().__init__(model, tasks)
        self.options = from_mapping(NewtonOptions, options)
        self.set_posture(self.options.posture_weight)
        settings = (
            self.options.max_iterations,
            self.options.position_tolerance,
            self.options.orientation_tolerance,
            self.options.step_tolerance,
            self.options.cost_tolerance,
            self.options.strategy == 'line_search',
            self.options.indefinite == 'project',
            self.options.first_radius,
        )
        # Each dof after all before it: a dense lower triangle as the tree's pattern is stored.
        nv = model.nv
        dense_paths = np.tile(np.arange(-1, nv), (nv, 1))
        dense_paths[:, 0] = np.arange(nv)
        extra = (self.ball_joints(self.options.ball_joints), dense_paths, NOTHING)
        size = newton_kernel.work_size(self.tree, len(tasks), model.nq, nv)
        self.bind(newton_kernel.solve, settings, size, extra)
