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

"""Cyclic coordinate descent on any tree: the solver `ccd`."""

from dataclasses import dataclass
import math

import numpy as np

from vr_ik.config_fields import bad_value, param
from vr_ik.solvers.ccd_round import solve_ccd
from vr_ik.solvers.geometric import GeometricOptions, GeometricSolver
from vr_ik.solvers.geometric_state import CCD
from vr_ik.types import Array


@dataclass(frozen=True)
class CcdOptions(GeometricOptions):
    """Options of the solver `ccd`."""

    max_turn: tuple[float, ...] = param(
        (math.pi,),
        'Damping: how far a joint may move in one visit. One number for all joints, or a list of '
        "one for each, in the model's order (`joint_names`).",
        'rad',
        minimum=1e-6,
        maximum=math.pi,
    )
    root_first: bool = param(False, 'Visit joints from the root on; else from the end effectors.')

    def __post_init__(self) -> None:
        """Check every value; one number for all joints needs no list."""
        if not isinstance(self.max_turn, (list, tuple)):
            object.__setattr__(self, 'max_turn', (self.max_turn,))
        super().__post_init__()


class CyclicCoordinateDescent(GeometricSolver):
    """The solver `ccd`; see `ccd_round` for the method."""

    Options = CcdOptions
    METHOD = CCD
    KERNEL = solve_ccd
    options: CcdOptions

    def _params(self) -> Array:
        turns, n = self.options.max_turn, len(self.model.joints)
        if len(turns) not in (1, n):
            reason = f'it must be one number, or one for each of the {n} joints of the model'
            raise bad_value('max_turn', turns, reason)
        return np.broadcast_to(np.array(turns)[:, None], (n, 1)).copy()

    def _variant(self) -> float:
        return float(self.options.root_first)
