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

"""Real robots' URDFs (from example-robot-data) and Pinocchio as an oracle for their kinematics."""

from pathlib import Path
import sysconfig

import numpy as np
import pinocchio

from vr_ik.kinematics.model import RobotModel
from vr_ik.kinematics.urdf import read_urdf
from vr_ik.types import Array

_FOLDER = Path(
    sysconfig.get_path('purelib'), 'cmeel.prefix', 'share', 'example-robot-data', 'robots'
)

PACKAGE_PATHS = (_FOLDER.parent.parent,)
"""Where meshes of 'package://example-robot-data/...' are."""


def urdf_path(name: str) -> Path:
    """Return the path of a robot's URDF, such as 'panda'."""
    return next(_FOLDER.rglob(f'{name}.urdf'))


class Oracle:
    """Pinocchio on the same URDF, with configurations in our order."""

    def __init__(self, name: str, floating_base: bool) -> None:
        path = urdf_path(name)
        self.model = RobotModel.from_urdf(path, floating_base)
        root = (pinocchio.JointModelFreeFlyer(),) if floating_base else ()
        self.pin = pinocchio.buildModelFromUrdf(str(path), *root)
        self.data = self.pin.createData()
        self._moving = [joint for joint in read_urdf(path).joints if joint.kind != 'fixed']

    def update(self, q: Array) -> None:
        """Compute all frames and Jacobians at q."""
        pin_q = pinocchio.neutral(self.pin)
        pin_q[: self.model.first_q] = q[: self.model.first_q]
        for joint in self._moving:
            master, multiplier, offset = _mimic(joint)
            value = q[self.model.first_q + self.model.joint_index(master)] * multiplier + offset
            slot = self.pin.joints[self.pin.getJointId(joint.name)]
            if slot.nq == 2:  # Pinocchio holds a continuous joint as a point on the circle.
                pin_q[slot.idx_q : slot.idx_q + 2] = np.cos(value), np.sin(value)
            else:
                pin_q[slot.idx_q] = value
        pinocchio.computeJointJacobians(self.pin, self.data, pin_q)
        pinocchio.updateFramePlacements(self.pin, self.data)

    def pose(self, link: str) -> Array:
        """Return pose_world_from_link."""
        return np.asarray(self.data.oMf[self._frame(link)].homogeneous)

    def jacobian(self, link: str, frame: str) -> Array:
        """Return the Jacobian with our columns."""
        reference = pinocchio.LOCAL if frame == 'local' else pinocchio.LOCAL_WORLD_ALIGNED
        theirs = pinocchio.getFrameJacobian(self.pin, self.data, self._frame(link), reference)
        ours = np.zeros((6, self.model.nv))
        ours[:, : self.model.first_v] = theirs[:, : self.model.first_v]
        for joint in self._moving:
            master, multiplier, _ = _mimic(joint)
            column = theirs[:, self.pin.joints[self.pin.getJointId(joint.name)].idx_v]
            ours[:, self.model.first_v + self.model.joint_index(master)] += multiplier * column
        return ours

    def _frame(self, link: str) -> int:
        return int(self.pin.getFrameId(link, pinocchio.FrameType.BODY))


def _mimic(joint):
    if joint.mimic is None:
        return joint.name, 1.0, 0.0
    return joint.mimic.joint, joint.mimic.multiplier, joint.mimic.offset
