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

"""FABRIK on any tree: the solver `fabrik`."""

from dataclasses import dataclass

from vr_ik.config_fields import param
from vr_ik.solvers.fabrik_cones import cone_rows, hinge_ranges
from vr_ik.solvers.fabrik_round import solve_fabrik
from vr_ik.solvers.geometric import GeometricOptions, GeometricSolver
from vr_ik.solvers.geometric_state import FABRIK
from vr_ik.types import Array


@dataclass(frozen=True)
class FabrikOptions(GeometricOptions):
    """Options of the solver `fabrik`."""

    limits: str = param(
        'angles',
        'How stage 2 limits the hinges of a ball joint: each by its own angles, or first together '
        'by a cone and a twist made of these. Cones are for tasks with orientations; without them '
        'they are worse than angles, and can be worse than no limits.',
        choices=('angles', 'cones'),
    )


class Fabrik(GeometricSolver):
    """The solver `fabrik`; see `fabrik_round` for the method."""

    Options = FabrikOptions
    METHOD = FABRIK
    KERNEL = solve_fabrik
    options: FabrikOptions

    def _params(self) -> Array:
        if self.options.limits == 'angles':
            return super()._params()
        ranges = hinge_ranges(self.tree, self.joints, self.model.first_q)
        return cone_rows(self.tree, self.points, ranges, self.placements, self.task_bodies)
