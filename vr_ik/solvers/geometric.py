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

"""The Python side that all geometric solvers share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from vr_ik.config_fields import Config, from_mapping, param
from vr_ik.kinematics.model import RobotModel
from vr_ik.solvers.geometric_state import work_size
from vr_ik.solvers.joint_points import joint_points
from vr_ik.solvers.kernel_solver import KernelSolver
from vr_ik.types import Array, Task


@dataclass(frozen=True)
class GeometricOptions(Config):
    """Options of every geometric solver."""

    max_iterations: int = param(100, 'Rounds at most.', minimum=1)
    position_tolerance: float = param(
        1e-4, 'Position error at which a task is met.', 'm', minimum=0.0
    )
    orientation_tolerance: float = param(
        1e-3, 'Rotation error at which a task is met.', 'rad', minimum=0.0
    )
    step_tolerance: float = param(
        1e-6, 'Largest joint step at which the solve has come to rest.', 'rad', minimum=0.0
    )


class GeometricSolver(KernelSolver):
    """Base of the geometric methods, which differ in what they do in one round."""

    Options: ClassVar[type[GeometricOptions]] = GeometricOptions
    METHOD: ClassVar[int]
    KERNEL: ClassVar[Callable[..., bool]]

    def __init__(self, model: RobotModel, tasks: Sequence[Task], **options: Any) -> None:
        """Prepare all buffers; `options` are the fields of `Options`."""
        super().__init__(model, tasks)
        self.options = from_mapping(self.Options, options)
        self.points = joint_points(self.tree, self.task_bodies)
        self._given = (*self._given, *self.points, self._params())
        settings = (
            self.options.max_iterations,
            self.options.position_tolerance,
            self.options.orientation_tolerance,
            self.options.step_tolerance,
            self.METHOD,
            self._variant(),
        )
        size = work_size(self.tree, len(tasks), model.nq)
        self.bind(type(self).KERNEL, settings, size)

    def _params(self) -> Array:
        """Return the array that only this method reads."""
        return np.zeros((0, 0))

    def _variant(self) -> float:
        """Return the number that tells variants of the method apart."""
        return 0.0
