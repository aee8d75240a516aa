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

"""Bounds how fast the joints move: devices jump, come and go; bodies do not."""

from collections.abc import Sequence

import numpy as np

from vr_ik.kinematics.compiled import kernel
from vr_ik.kinematics.model import RobotModel
from vr_ik.solvers.base import PostureSolver, Solver, SolveResult
from vr_ik.types import Array

# A limb whose device was lost goes back to rest without haste [rad/s].
_CALM = 1.5
# The trunk does not lean after a limb that is too slow: its device has little say.
_SAY_OF_SLOW_LIMBS = 0.01


class SpeedLimit:
    """Lets joints that would be too fast go as far as they may; the others make the best of it."""

    def __init__(self, solver: Solver, links: Sequence[str]) -> None:
        """Take the solver, and the links of its tasks in their order."""
        self._solver = solver
        self._first_q = solver.model.first_q
        self._limbs = np.array([_limb(solver.model, link) for link in links])

    def apply(
        self,
        result: SolveResult,
        targets: Array,
        q_before: Array,
        seconds: float,
        lost: Array | None,
    ) -> SolveResult:
        """Return the solution within reach of `q_before`, so many seconds ago.

        `lost` tells of each task whether its device was there before and is no more; None where
        all are there.
        """
        if seconds <= 0.0:
            return result
        speeds = self._speeds(lost)
        before, wanted = q_before[self._first_q :], result.q[self._first_q :]
        if _are_within(before, wanted, speeds, seconds):
            return result
        reach = seconds * speeds
        limited = np.clip(wanted, before - reach, before + reach)
        too_fast = limited != wanted
        wanted[:] = limited
        if not isinstance(self._solver, PostureSolver):
            return result
        return _solve_around(
            self._solver,
            result.q,
            targets,
            np.where(too_fast, limited, before - reach),
            np.where(too_fast, limited, before + reach),
            (self._limbs & too_fast).any(axis=1),
        )

    def _speeds(self, lost: Array | None) -> Array:
        speeds = self._solver.model.velocity_limits
        if lost is None:
            return speeds
        followed = (self._limbs & (self._solver.weights[:, :1] > 0.0)).any(axis=0)
        calm = self._limbs[lost].any(axis=0) & ~followed
        return np.where(calm, np.minimum(speeds, _CALM), speeds)


@kernel
def _are_within(before: Array, wanted: Array, speeds: Array, seconds: float) -> bool:
    """Tell in a microsecond what is so in nearly every frame: no joint is too fast."""
    for j in range(before.shape[0]):
        if not abs(wanted[j] - before[j]) <= speeds[j] * seconds:
            return False
    return True


def _solve_around(
    solver: PostureSolver, q: Array, targets: Array, lower: Array, upper: Array, slow: Array
) -> SolveResult:
    """Solve from q with narrower limits, and little say for the tasks of slow limbs."""
    weights, limits = solver.weights.copy(), solver.limits.copy()
    solver.weights[slow] *= _SAY_OF_SLOW_LIMBS
    solver.limits[:, 0] = np.maximum(limits[:, 0], lower)
    solver.limits[:, 1] = np.minimum(limits[:, 1], upper)
    result = solver.solve(q, targets)
    solver.weights[:], solver.limits[:] = weights, limits
    return result


def _limb(model: RobotModel, link: str) -> Array:
    """Tell of each joint whether it is of the limb that carries the link; trunk joints are not."""
    moves = model.jacobian(model.neutral(), link)[:, model.nv - len(model.joints) :].any(axis=0)
    aside = [name[:2] in ('l_', 'r_') for name in model.joint_names]
    return np.asarray(moves & np.array(aside))
