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

"""The analytic solution of arms and legs on any tree: the solver `two_bone`."""

from dataclasses import dataclass

import numpy as np

from vr_ik.config_fields import bad_value, param
from vr_ik.solvers.geometric import GeometricOptions, GeometricSolver
from vr_ik.solvers.geometric_state import TWO_BONE
from vr_ik.solvers.limbs import (
    FAR_POLE,
    find_limbs,
    FIXED_POLE,
    MARGIN,
    NEAR_POLE,
    POLE_FIXED,
    POLE_KEEP,
    POLE_ZONES,
    WIDTH,
)
from vr_ik.solvers.two_bone_round import solve_two_bone
from vr_ik.types import Array

_POLES = {'keep': POLE_KEEP, 'fixed': POLE_FIXED, 'zones': POLE_ZONES}


@dataclass(frozen=True)
class TwoBoneOptions(GeometricOptions):
    """Options of the solver `two_bone`.

    Poles are given from the shoulder, in the body's axes: forward, outward, up.
    """

    max_iterations: int = param(50, 'Rounds at most.', minimum=1)
    pole: str = param(
        'keep',
        'Where elbows point: as they do (keep), to one pole (fixed), or to one of two, for hands '
        'beside the body and before it (zones).',
        choices=tuple(_POLES),
    )
    fixed_pole: tuple[float, ...] = param((0.0, 0.2, -0.6), "The pole of 'fixed'.", 'm')
    far_pole: tuple[float, ...] = param((0.5, 0.0, 0.2), "The far pole of 'zones'.", 'm')
    near_pole: tuple[float, ...] = param((0.5, 0.0, -0.5), "The near pole of 'zones'.", 'm')
    zone_margin: float = param(
        0.05, "How far outside the shoulder the near zone of 'zones' ends.", 'm', minimum=0.0
    )

    def __post_init__(self) -> None:
        """Check every value, and that each pole has three."""
        super().__post_init__()
        for name in ('fixed_pole', 'far_pole', 'near_pole'):
            if len(getattr(self, name)) != 3:
                raise bad_value(name, getattr(self, name), 'it must have three numbers')


class TwoBone(GeometricSolver):
    """The solver `two_bone`; see `two_bone_round` for the method."""

    Options = TwoBoneOptions
    METHOD = TWO_BONE
    KERNEL = solve_two_bone
    options: TwoBoneOptions

    def _params(self) -> Array:
        rows = find_limbs(self.tree, self.points, self.task_bodies, self.model.neutral())
        poles = np.zeros((1, WIDTH))
        poles[0, FIXED_POLE : FIXED_POLE + 3] = self.options.fixed_pole
        poles[0, FAR_POLE : FAR_POLE + 3] = self.options.far_pole
        poles[0, NEAR_POLE : NEAR_POLE + 3] = self.options.near_pole
        poles[0, MARGIN] = self.options.zone_margin
        return np.vstack((rows, poles))

    def _variant(self) -> float:
        return float(_POLES[self.options.pole])
