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

"""How the benchmark runs vr_ik's own solver, and what every solver has to look like for it.

A method answers one frame by `solve(state, target)`: `state` is where it starts, in its own order
of coordinates; `target` is the frame's poses, in its own type. Conversions between these and ours
are outside of `solve` and not timed.
"""

from typing import Any, Protocol

import numpy as np

from vr_ik.evaluation.bench_judge import ORIENTATION_TOLERANCE_RAD, POSITION_TOLERANCE_M
from vr_ik.evaluation.bench_workloads import Workload
from vr_ik.solvers.lm import LevenbergMarquardt
from vr_ik.types import Array, Task

MAX_ITERATIONS = 30
# Where `lm` gets stuck at joint limits, it tries again from starts farther and farther away.
RESTARTS = 6
# Of a squared error in metres, and of one in radians.
POSITION_WEIGHT, ORIENTATION_WEIGHT = 1.0, 0.1


class Method(Protocol):
    """One solver, made for one workload."""

    def prepare(self, targets: Array) -> Any:
        """Return one frame's poses (m, 4, 4) as `solve` reads them."""

    def start(self, q: Array) -> Any:
        """Return the state of a configuration in our order."""

    def solve(self, state: Any, target: Any) -> Any:
        """Answer one frame; only this is timed."""

    def read(self, outcome: Any) -> tuple[Any, Array, int]:
        """Return the next frame's state, the q in our order and the iterations of an outcome."""


class Lm:
    """vr_ik's `lm`, called as anyone would call it."""

    def __init__(self, workload: Workload) -> None:
        tasks = [Task(link, POSITION_WEIGHT, ORIENTATION_WEIGHT) for link in workload.frames]
        self.solver = LevenbergMarquardt(
            workload.model,
            tasks,
            max_iterations=MAX_ITERATIONS,
            position_tolerance=POSITION_TOLERANCE_M,
            orientation_tolerance=ORIENTATION_TOLERANCE_RAD,
            restarts=RESTARTS,
        )
        self.solver.posture[:] = workload.posture
        self.solve = self.solver.solve

    def prepare(self, targets: Array) -> Array:
        """Return the poses as they are."""
        return np.ascontiguousarray(targets)

    def start(self, q: Array) -> Array:
        """Return q as it is."""
        return q.copy()

    def read(self, outcome: Any) -> tuple[Array, Array, int]:
        """Return the result's q and iterations."""
        return outcome.q, outcome.q, outcome.iterations
