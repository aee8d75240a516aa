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


"""The trunk as arms meet it: an ellipsoid about ribs and waist that elbows stay out of."""

import numpy as np

from vr_ik.kinematics.model import RobotModel
from vr_ik.solvers.clearance import (
    AXES,
    CENTRE,
    CLEARANCE,
    OTHER_BODY,
    POINT,
    POINT_BODY,
    RADII,
    WEIGHT,
)
from vr_ik.types import Array

# In the thorax's frame, as shares of its height over the hips: a slim body, lest arms that hang
# are pushed aside. Depth and breadth of the waist are 0.13 and 0.17 heights.
_TRUNK = 'torso'
_CENTRE = (0.12, 0.0, 0.0)
_SEMI_AXES = (0.30, 0.42, 0.95)
_ALONG_FOREARM = (0.0, 0.5)
_WEIGHT = 0.01


def trunk_clearances(model: RobotModel) -> Array:
    """Return a row of `solvers.clearance` for each elbow and forearm of a human model."""
    links = set(model.link_names)
    if not {_TRUNK, 'base_link', 'l_forearm', 'r_forearm', 'l_wrist', 'r_wrist'} <= links:
        return np.zeros((0, CLEARANCE))
    q = model.neutral()
    trunk = model.placement(_TRUNK)
    height = (model.link_pose(q, _TRUNK) - model.link_pose(q, 'base_link'))[2, 3]
    rows = []
    for side in 'lr':
        elbow, wrist = (model.link_pose(q, f'{side}_{link}') for link in ('forearm', 'wrist'))
        forearm = model.placement(f'{side}_forearm')
        for share in _ALONG_FOREARM:
            row = np.zeros(CLEARANCE)
            row[POINT_BODY], row[OTHER_BODY], row[WEIGHT] = forearm.body, trunk.body, _WEIGHT
            at = np.linalg.inv(elbow) @ np.append(elbow[:3, 3] + share * (wrist - elbow)[:3, 3], 1)
            row[POINT : POINT + 3] = (forearm.pose_body_from_frame @ at)[:3]
            row[AXES : AXES + 9] = trunk.pose_body_from_frame[:3, :3].ravel()
            centre = np.append(height * np.array(_CENTRE), 1.0)
            row[CENTRE : CENTRE + 3] = (trunk.pose_body_from_frame @ centre)[:3]
            row[RADII : RADII + 3] = height * np.array(_SEMI_AXES)
            rows.append(row)
    return np.array(rows)
