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

"""The solver `body`: whole-body refinement that finds its way out of contorted poses.

Frame after frame, `lm` starts where the last frame ended. That keeps motion smooth, and it keeps
an arm twisted that was led around its own limits: when a device comes back from behind the body,
or after a jump. A pose far off its devices is therefore tried again from a natural posture, and
left if that gets clearly nearer. What follows a change of pose is not this solver's business: the
pipeline bounds every joint's velocity.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from vr_ik.kinematics.model import RobotModel
from vr_ik.solvers.base import SolveResult
from vr_ik.solvers.lm import LevenbergMarquardt
from vr_ik.types import Array, Status, Task

_FAR_M = 0.03
"""Distance of a device from its place on the body that calls for another try."""
_EVERY = 10
"""Calls from one try to the next, so that what is out of reach does not cost twice the time."""
_GAIN = 0.7
"""A try is taken where its cost is below this share."""
_BENT_ELBOWS_RAD = 1.2


class BodySolver(LevenbergMarquardt):
    """Levenberg-Marquardt with a second try from a natural posture."""

    def __init__(self, model: RobotModel, tasks: Sequence[Task], **options: Any) -> None:
        """Prepare all buffers; `options` are those of `lm`."""
        self._elbows = [
            model.first_q + i
            for i, name in enumerate(model.joint_names)
            if name.endswith('elbow_flexion')
        ]
        self.reset()
        super().__init__(model, tasks, **options)
        self.reset()  # the solver has been tried out meanwhile

    def reset(self) -> None:
        """Forget when the last try was, and which."""
        self._wait = 0
        self._tries = 0

    def solve(self, q_start: Array, targets: Array) -> SolveResult:
        """Bring the tasks to targets (m, 4, 4), starting at q_start; see `Solver.solve`."""
        result = super().solve(q_start, targets)
        if result.status is Status.FAILED:
            return result
        far = (result.position_errors > _FAR_M) & (self.weights[:, 0] > 0.0)
        if not far.any():
            self._wait = 0
            return result
        if self._wait > 0:
            self._wait -= 1
            return result
        self._wait = _EVERY
        other = super().solve(self._natural(result.q), targets)
        return other if other.cost < _GAIN * result.cost else result

    def _natural(self, q: Array) -> Array:
        """Return the rest posture where the body is; every other time with bent elbows."""
        natural = q.copy()
        natural[self.model.first_q :] = self.posture
        self._tries += 1
        if self._tries % 2:
            natural[self._elbows] = _BENT_ELBOWS_RAD
        return np.ascontiguousarray(natural)
