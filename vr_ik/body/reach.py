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

"""Where the body has its devices, and how far its limbs can take them."""

from collections.abc import Mapping

import numpy as np

from vr_ik.body.mounts import Mount
from vr_ik.kinematics.model import RobotModel
from vr_ik.types import Array

_LIMBS = {'controller': ('upper_arm', 'forearm', 'wrist'), 'foot': ('thigh', 'shin', 'ankle')}
"""Links whose origins are the joints of the limb that carries a device, from the trunk outward."""


class Reach:
    """Points of devices on a body, and the spheres that they cannot leave."""

    def __init__(self, model: RobotModel, mounts: Mapping[str, Mount]) -> None:
        """Take the body, and the devices on it by role."""
        self._model = model
        self._rows = np.array([model.link_index(mount.link) for mount in mounts.values()])
        offsets = [mount.pose_link_from_device[:3, 3] for mount in mounts.values()]
        self._offsets = np.array(offsets).reshape(-1, 3)
        self.radii_m: dict[str, float] = {}
        """By device at the end of a limb: how far from the limb's first joint it can be at most,
        with all of the limb stretched out."""
        self._first_joints: dict[str, int] = {}
        poses = model.link_poses(model.neutral())
        for device, row, offset in zip(mounts, self._rows, self._offsets, strict=True):
            side, _, kind = device.partition('_')
            if kind not in _LIMBS:
                continue
            joints = [model.link_index(f'{side}_{link}') for link in _LIMBS[kind]]
            self._first_joints[device] = joints[0]
            way = [*poses[joints, :3, 3], poses[row, :3, :3] @ offset + poses[row, :3, 3]]
            self.radii_m[device] = float(np.linalg.norm(np.diff(way, axis=0), axis=1).sum())

    def points(self, q: Array) -> tuple[Array, dict[str, Array]]:
        """Return where the devices are (n, 3), and by device the first joint of its limb [m]."""
        poses = self._model.link_poses(q)
        of_devices = poses[self._rows]
        turned = np.einsum('nij,nj->ni', of_devices[:, :3, :3], self._offsets)
        first = {device: poses[row, :3, 3] for device, row in self._first_joints.items()}
        return turned + of_devices[:, :3, 3], first
