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

"""Devices of somebody who stands to be calibrated."""

import math

import numpy as np

from vr_ik.body.anthropometry import Proportions
from vr_ik.body.human import human_urdf, T_POSE
from vr_ik.body.mounts import device_mounts
from vr_ik.body.shoulder import shoulder_angles
from vr_ik.kinematics.model import RobotModel
from vr_ik.math.rotations import pose

ROLES = ('hmd', 'l_controller', 'r_controller', 'waist', 'l_foot', 'r_foot')


def devices(height=1.72, slant_deg=None, move=None, floor=0.0, roles=ROLES):
    """Device poses of an average body that stands with stretched arms."""
    proportions = Proportions.from_height(height)
    model = RobotModel.from_urdf(human_urdf(proportions), floating_base=True)
    angles = T_POSE
    if slant_deg is not None:
        slant = math.radians(slant_deg)
        arm = shoulder_angles((0.0, math.cos(slant), -math.sin(slant)), (1.0, 0.0, 0.0))
        names = ('shoulder_flexion', 'shoulder_abduction', 'shoulder_rotation')
        angles = {f'{s}_{n}': a for s in 'lr' for n, a in zip(names, arm)}
    root = pose(np.eye(3), np.array([0.0, 0.0, proportions.hip_height + floor]))
    q = model.configuration(angles, root if move is None else move @ root)
    mounts = device_mounts(proportions)
    return {
        role: model.link_pose(q, mounts[role].link) @ mounts[role].pose_link_from_device
        for role in roles
    }
