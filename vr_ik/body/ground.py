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

"""The ground as feet meet it that no device tells of: they do not go into it."""

import numpy as np

from vr_ik.kinematics.model import RobotModel
from vr_ik.solvers.clearance import (
    CLEARANCE,
    GROUND,
    HEIGHT,
    OTHER_BODY,
    POINT,
    POINT_BODY,
    WEIGHT,
)
from vr_ik.types import Array

# Knees are left out: held above the ground, they kept who lies down on all fours.
_POINTS = ('sole', 'toe')
# 1/m^2: firmer than the guess where the foot stands.
_WEIGHT = 0.2
# A foot on the ground is not to tremble with every breath of the head.
_LEEWAY_M = 0.01


def ground_clearances(model: RobotModel, side: str) -> Array:
    """Return rows of `solvers.clearance` for a foot of a human model; see `set_ground`."""
    links = [f'{side}_{point}' for point in _POINTS if f'{side}_{point}' in model.link_names]
    rows = np.zeros((len(links), CLEARANCE))
    for row, link in zip(rows, links, strict=True):
        placement = model.placement(link)
        row[POINT_BODY], row[OTHER_BODY] = placement.body, GROUND
        row[POINT : POINT + 3] = placement.pose_body_from_frame[:3, 3]
    return rows


def set_ground(rows: Array, height_m: float, is_guessed: bool) -> None:
    """Write into a foot's rows how high the ground is, and whether the foot minds it."""
    rows[:, HEIGHT] = height_m - _LEEWAY_M
    rows[:, WEIGHT] = _WEIGHT if is_guessed else 0.0
