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

"""The Jacobian methods `jt`, `jpi`, `dls`, `svd`, `svd_dls` and `sdls`.

They are those which P. Caserman, P. Achenbach and S. Goebel, "Analysis of inverse kinematics
solutions for full-body reconstruction in virtual reality", 2019, compare, and the defaults are
what they found best for the arms and legs of a person (Table III), with tasks whose weights are 1.
`jacobian_steps` has the formulas, `jacobian_kernel` the loop.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from vr_ik.config_fields import Config, from_mapping, param
from vr_ik.kinematics.model import RobotModel
from vr_ik.solvers import jacobian_kernel, jacobian_steps
from vr_ik.solvers.kernel_solver import ball_joints_param, KernelSolver, NOTHING
from vr_ik.types import Task


def _iterations(default: int) -> Any:
    return param(default, 'Steps at most.', minimum=1)


def _position(default: float) -> Any:
    return param(default, 'Position error at which a task is met.', 'm', minimum=0.0)


def _orientation(default: float) -> Any:
    return param(default, 'Rotation error at which a task is met.', 'rad', minimum=0.0)


@dataclass(frozen=True)
class JacobianOptions(Config):
    """What the Jacobian methods have in common; each has its own defaults."""

    max_iterations: int = _iterations(10)
    position_tolerance: float = _position(0.01)
    orientation_tolerance: float = _orientation(0.01)
    step_change_tolerance: float = param(
        1e-4,
        'Change of the step, summed over the joints, at which one that gains nothing is at rest.',
        'rad',
        minimum=0.0,
    )
    ball_joints: str = ball_joints_param()


@dataclass(frozen=True)
class JtOptions(JacobianOptions):
    """Options of the solver `jt`."""

    gain: float = param(0.35, 'Share of J^T e that a step takes, at most.', minimum=1e-6)


@dataclass(frozen=True)
class JpiOptions(JacobianOptions):
    """Options of the solver `jpi`."""

    max_iterations: int = _iterations(100)
    position_tolerance: float = _position(0.1)
    orientation_tolerance: float = _orientation(0.1)
    gain: float = param(0.05, 'Share of J^+ e that a step takes.', minimum=1e-6, maximum=1.0)


@dataclass(frozen=True)
class DlsOptions(JacobianOptions):
    """Options of the solvers `dls` and `svd_dls`."""

    max_iterations: int = _iterations(20)
    position_tolerance: float = _position(0.001)
    damping: float = param(0.2, 'Damping lambda of the step.', minimum=1e-6)


@dataclass(frozen=True)
class SvdOptions(JacobianOptions):
    """Options of the solver `svd`."""

    threshold: float = param(
        0.03, 'Share of the largest singular value below which one is dropped.', minimum=0.0
    )


@dataclass(frozen=True)
class SdlsOptions(JacobianOptions):
    """Options of the solver `sdls`."""

    max_iterations: int = _iterations(60)
    max_step: float = param(0.018, 'Largest step of any joint.', 'rad', minimum=1e-6)


class JacobianSolver(KernelSolver):
    """Base of the Jacobian methods, which differ in their step rule and its one parameter."""

    Options: ClassVar[type[JacobianOptions]]
    RULE: ClassVar[int]
    PARAMETER: ClassVar[str]
    """The option that is the paper's lambda (its Table II)."""

    def __init__(self, model: RobotModel, tasks: Sequence[Task], **options: Any) -> None:
        """Prepare all buffers; `options` are the fields of `Options`."""
        super().__init__(model, tasks)
        self.options = from_mapping(self.Options, options)
        settings = (
            self.options.max_iterations,
            self.options.position_tolerance,
            self.options.orientation_tolerance,
            self.options.step_change_tolerance,
            self.RULE,
            getattr(self.options, self.PARAMETER),
        )
        size = jacobian_kernel.work_size(self.tree, len(tasks), model.nq, model.nv, self.RULE)
        balls = self.ball_joints(self.options.ball_joints)
        self.bind(jacobian_kernel.solve, settings, size, (balls, NOTHING, NOTHING))


class JacobianTranspose(JacobianSolver):
    """The solver `jt`."""

    Options = JtOptions
    RULE = jacobian_steps.TRANSPOSE
    PARAMETER = 'gain'


class JacobianPseudoinverse(JacobianSolver):
    """The solver `jpi`."""

    Options = JpiOptions
    RULE = jacobian_steps.PSEUDOINVERSE
    PARAMETER = 'gain'


class DampedLeastSquares(JacobianSolver):
    """The solver `dls`."""

    Options = DlsOptions
    RULE = jacobian_steps.DAMPED
    PARAMETER = 'damping'


class SingularValues(JacobianSolver):
    """The solver `svd`."""

    Options = SvdOptions
    RULE = jacobian_steps.TRUNCATED
    PARAMETER = 'threshold'


class DampedSingularValues(JacobianSolver):
    """The solver `svd_dls`: `dls` by singular value decomposition."""

    Options = DlsOptions
    RULE = jacobian_steps.DAMPED_SINGULAR
    PARAMETER = 'damping'


class SelectivelyDamped(JacobianSolver):
    """The solver `sdls`."""

    Options = SdlsOptions
    RULE = jacobian_steps.SELECTIVE
    PARAMETER = 'max_step'
