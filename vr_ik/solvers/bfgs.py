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

"""BFGS, a quasi-Newton method: the solver `bfgs`; see `bfgs_kernel`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from vr_ik.config_fields import Config, from_mapping, param
from vr_ik.kinematics.model import RobotModel
from vr_ik.solvers import bfgs_kernel
from vr_ik.solvers.kernel_solver import KernelSolver, NOTHING
from vr_ik.types import Task


@dataclass(frozen=True)
class BfgsOptions(Config):
    """Options of the solver `bfgs`."""

    max_iterations: int = param(100, 'Steps at most.', minimum=1)
    position_tolerance: float = param(
        1e-4, 'Position error at which a task is met.', 'm', minimum=0.0
    )
    orientation_tolerance: float = param(
        1e-3, 'Rotation error at which a task is met.', 'rad', minimum=0.0
    )
    step_tolerance: float = param(
        1e-8, 'Largest joint step at which the solve has come to rest.', 'rad', minimum=0.0
    )
    cost_tolerance: float = param(0.0, 'Cost at which all tasks count as met.', minimum=0.0)
    posture_weight: float = param(
        0.0, 'Pull of every joint to the rest posture.', '1/rad^2', minimum=0.0
    )


class Bfgs(KernelSolver):
    """The solver `bfgs`."""

    Options = BfgsOptions

    def __init__(self, model: RobotModel, tasks: Sequence[Task], **options: Any) -> None:
        """Prepare all buffers; `options` are the fields of `BfgsOptions`."""
        super().__init__(model, tasks)
        self.options = from_mapping(BfgsOptions, options)
        self.set_posture(self.options.posture_weight)
        settings = (
            self.options.max_iterations,
            self.options.position_tolerance,
            self.options.orientation_tolerance,
            self.options.step_tolerance,
            self.options.cost_tolerance,
        )
        size = bfgs_kernel.work_size(self.tree, len(tasks), model.nq, model.nv)
        self.bind(bfgs_kernel.solve, settings, size, (self.ball_joints('euler'), NOTHING, NOTHING))
