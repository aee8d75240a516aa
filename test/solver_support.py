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

"""Solvers on the tasks of six devices, as worn by a body of average proportions."""

import numpy as np

from vr_ik.body.human import human_urdf
from vr_ik.body.posture import joint_stiffness, rest_posture
from vr_ik.calibration.calibration import Calibration
from vr_ik.kinematics.model import RobotModel
from vr_ik.types import Task

THREE = ('hmd', 'l_controller', 'r_controller')
SIX = (*THREE, 'waist', 'l_foot', 'r_foot')


def solver(kind):
    calibration = Calibration.nominal(1.75)
    model = RobotModel.from_urdf(human_urdf(calibration.proportions), floating_base=True)
    mounts = [calibration.mounts[role] for role in SIX]
    tasks = [Task(m.link, 1.0, 0.3, m.pose_link_from_device) for m in mounts]
    made = kind(model, tasks, max_iterations=50)
    made.posture[:] = rest_posture(model)
    made.posture_weights[:] = 2e-5 * joint_stiffness(model)
    return made, mounts


def targets_at(model, mounts, q):
    return np.array([model.link_pose(q, m.link) @ m.pose_link_from_device for m in mounts])


def begun(body, mounts):
    """Return the solver after its first solve, which alone looks for limbs anew."""
    q = body.model.neutral()
    body.solve(q, targets_at(body.model, mounts, q))
    return body
