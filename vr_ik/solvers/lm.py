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

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from vr_ik.config_fields import Config, from_mapping, param
from vr_ik.kinematics.model import RobotModel
from vr_ik.solvers import lm_kernel, lm_state
from vr_ik.solvers.clearance import CLEARANCE
from vr_ik.solvers.kernel_solver import KernelSolver, NOTHING
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


class LevenbergMarquardt(KernelSolver):
    """The solver `lm`; see `lm_kernel` for the method."""

    Options = LmOptions
    KERNEL: ClassVar[Callable[..., bool]] = lm_kernel.solve

    def __init__(self, model: RobotModel, tasks: Sequence[Task], **options: Any) -> None:
        """Prepare all buffers; `options` are the fields of `LmOptions`."""
        super().__init__(model, tasks)
        self.options = from_mapping(LmOptions, options)
        self.set_posture(self.options.posture_weight)
        settings = (
            self.options.max_iterations,
            self.options.position_tolerance,
            self.options.orientation_tolerance,
            self.options.step_tolerance,
            self.options.gain_tolerance,
            self.options.restarts,
        )
        size = lm_state.work_size(self.tree, len(tasks), model.nq, model.nv)
        # Hinges move one by one here, those of a ball joint too.
        balls = self.ball_joints('euler')
        own = (balls, self.clearances(), self.more())
        self.bind(type(self).KERNEL, settings, size, own)

    def clearances(self) -> Array:
        """Return the points that are to stay out of other bodies, as `clearance` reads them."""
        return np.zeros((0, CLEARANCE))

    def more(self) -> Any:
        """Return what else the kernel reads."""
        return NOTHING
