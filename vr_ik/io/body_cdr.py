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

"""
Writes solved bodies straight as the bytes of sensor_msgs/JointState and tf2_msgs/TFMessage.

Names and frames of a model do not change: the bytes are laid out once, then only stamps and
numbers are written. The solver node publishes these bytes, bags store them.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vr_ik.io.cdr_body import CdrBody
from vr_ik.io.tf_cdr_writer import TransformsLayout
from vr_ik.kinematics.compiled import allocating_kernel
from vr_ik.kinematics.model import RobotModel
from vr_ik.types import Array


class JointStateEncoder:
    """Writes joint positions and velocities; there are no efforts."""

    def __init__(self, joint_names: Sequence[str]) -> None:
        """Write joints in this order."""
        count = len(joint_names)
        body = CdrBody()
        self._stamp_at = body.reserve(8, 4) // 4
        body.add_string('')
        body.add_uint32(count)
        for name in joint_names:
            body.add_string(name)
        at = []
        for _ in ('position', 'velocity'):
            body.add_uint32(count)
            at.append(body.reserve(8 * count, 8) // 8 if count else 0)
        body.add_uint32(0)
        self._message = body.message()
        self._positions, self._velocities = (
            self._message.doubles[first : first + count] for first in at
        )

    def encode(self, stamp_ns: int, positions: Array, velocities: Array) -> bytes:
        """Return a JointState in little endian CDR [rad, rad/s, m, m/s]."""
        self._message.stamp(self._stamp_at, stamp_ns)
        self._positions[:] = positions
        self._velocities[:] = velocities
        return self._message.bytes()


class BodyFramesEncoder:
    """Writes where a body is: its root in the world and, if wanted, each link in its parent."""

    def __init__(
        self, model: RobotModel, world_frame: str, frame_prefix: str, with_links: bool
    ) -> None:
        """Put `frame_prefix` before the names of links; links on fixed joints are links, too."""
        self._model = model
        self._with_links = with_links
        links = model.link_names if with_links else (model.root_link,)
        self._rows = np.array([model.link_index(link) for link in links], np.int64)
        self._parents = np.array([model.link_parents[row] for row in self._rows], np.int64)
        names = [frame_prefix + name for name in model.link_names]
        self._layout = TransformsLayout(
            [
                (world_frame if parent < 0 else names[parent], names[row])
                for row, parent in zip(self._rows, self._parents, strict=True)
            ]
        )

    def encode(self, stamp_ns: int, q: Array) -> bytes:
        """Return a TFMessage in little endian CDR, all of it under one stamp."""
        if not self._with_links:
            return self._layout.fill_first(stamp_ns, q[:7])
        poses = _poses_in_parents(self._model.link_poses(q), self._rows, self._parents)
        return self._layout.fill(stamp_ns, poses)


@allocating_kernel
def _poses_in_parents(poses: Array, rows: NDArray[np.int64], parents: NDArray[np.int64]) -> Array:
    """Return pose_parent_from_link (n, 4, 4) of some links, from all in the world; -1: world."""
    relative = np.empty((rows.size, 4, 4))
    for i in range(rows.size):
        pose = poses[rows[i]]
        if parents[i] < 0:
            relative[i] = pose
            continue
        parent = poses[parents[i]]
        turn = parent[:3, :3].T.copy()
        relative[i, :3, :3] = turn @ pose[:3, :3].copy()
        relative[i, :3, 3] = turn @ (pose[:3, 3] - parent[:3, 3])
        relative[i, 3] = (0.0, 0.0, 0.0, 1.0)
    return relative
