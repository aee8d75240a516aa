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

"""Methods for chains of points on any tree: `ftl`, `triangulation` and `target_triangle`."""

from vr_ik.solvers.chain_round import solve_chain
from vr_ik.solvers.geometric import GeometricSolver
from vr_ik.solvers.geometric_state import FTL, TARGET_TRIANGLE, TRIANGULATION


class FollowTheLeader(GeometricSolver):
    """The solver `ftl`; see `ftl_chain` for the method and `chain_round` for its use on a tree."""

    METHOD = FTL
    KERNEL = solve_chain


class Triangulation(GeometricSolver):
    """The solver `triangulation`; see `triangulation_chain` and `chain_round`."""

    METHOD = TRIANGULATION
    KERNEL = solve_chain


class TargetTriangle(GeometricSolver):
    """The solver `target_triangle`; see `target_triangle_chain` and `chain_round`."""

    METHOD = TARGET_TRIANGLE
    KERNEL = solve_chain
