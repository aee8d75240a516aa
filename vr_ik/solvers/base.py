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

"""What every solver is: made by name for a model and its tasks, then called once a frame."""

from collections.abc import Container, Sequence
from typing import Any, Protocol, runtime_checkable

from vr_ik import registry
from vr_ik.kinematics.model import RobotModel
from vr_ik.types import Array, Status, Task

_STATUSES = tuple(Status)


class SolveResult:
    """The outcome of one solve; `q` is finite and within the joint limits whatever happened."""

    __slots__ = ('_values', '_nq')

    def __init__(self, values: Array, nq: int) -> None:
        """Wrap q, status, iterations, cost and the tasks' errors, as the kernels write them."""
        self._values = values
        self._nq = nq

    @property
    def q(self) -> Array:
        """The configuration found."""
        return self._values[: self._nq]

    @property
    def status(self) -> Status:
        """How the solve ended."""
        return _STATUSES[int(self._values[self._nq])]

    @property
    def iterations(self) -> int:
        """Steps taken, the rejected ones included."""
        return int(self._values[self._nq + 1])

    @property
    def cost(self) -> float:
        """The weighted cost at q, the posture prior included."""
        return float(self._values[self._nq + 2])

    @property
    def position_errors(self) -> Array:
        """(m,) distance of each task's point from its target [m]."""
        return self._values[self._nq + 3 :: 2]

    @property
    def orientation_errors(self) -> Array:
        """(m,) angle of each task's frame from its target [rad]."""
        return self._values[self._nq + 4 :: 2]

    @staticmethod
    def size(nq: int, tasks: int) -> int:
        """Return how many values a result holds."""
        return nq + 3 + 2 * tasks


class Solver(Protocol):
    """Inverse kinematics of one model and one list of tasks."""

    model: RobotModel
    weights: Array
    """(m, 2) position and orientation weights; may be written between calls, 0 switches off."""

    def solve(self, q_start: Array, targets: Array) -> SolveResult:
        """Bring the tasks to targets (m, 4, 4), starting at q_start; never raises on bad values.

        NaN or infinity in either gives Status.FAILED and q_start (or neutral, where q_start itself
        is bad).
        """


@runtime_checkable
class PostureSolver(Solver, Protocol):
    """A solver that pulls joints to a rest posture where the tasks leave them free."""

    limits: Array
    """(n, 2) lower and upper limit of each joint [rad or m]; may be narrowed between calls."""
    posture: Array
    """(n,) rest position of each joint [rad or m]; may be written between calls."""
    posture_weights: Array
    """(n,) pull of each joint to it [1/rad^2 or 1/m^2]; may be written between calls."""


@runtime_checkable
class RememberingSolver(Solver, Protocol):
    """A solver that carries something from one call to the next."""

    def reset(self) -> None:
        """Forget it: from here on all is as after the solver was made."""


@runtime_checkable
class ContinuingSolver(Solver, Protocol):
    """A solver that can go on where another one is."""

    def take_over(self, before: Solver) -> None:
        """Go on from what another solver, which has solved until now, carries."""


@runtime_checkable
class LeapingSolver(Solver, Protocol):
    """A solver that may leave for quite another pose when it finds a better one there."""

    @property
    def has_leapt(self) -> bool:
        """Whether the last solve did."""


@runtime_checkable
class GroundedSolver(Solver, Protocol):
    """A solver that keeps feet out of the ground."""

    def stand_on(self, ground_m: float, sides: Container[str]) -> None:
        """Keep the feet of these sides ('l', 'r') above a height [m] of the world, no others."""


@runtime_checkable
class NaturalSolver(Solver, Protocol):
    """A solver that has to know the natural posture, wherever joints are pulled for the moment."""

    def set_natural(self, posture: Array, pull: Array, usual_strain: float) -> None:
        """Take the angles (n,) [rad] that joints have where all is well, and the pulls [1/rad^2].

        An arm whose pulls cost more than is usual may be twisted.
        """


def make_solver(name: str, model: RobotModel, tasks: Sequence[Task], **options: Any) -> Solver:
    """Make the solver of that name; an unknown name or option lists the known ones."""
    solver: Solver = registry.load(registry.SOLVERS, name)(model, tasks, **options)
    return solver
