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


"""What is measured of the robot and of the operator, as it comes in pieces."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from vr_ik.errors import UnknownNameError
from vr_ik.kinematics.model import RobotModel
from vr_ik.math.rotations import quaternion_from_matrix
from vr_ik.teleop.types import RobotState
from vr_ik.types import Array


class MeasuredJoints:
    """The robot's joints from joint states, each of which may have some of them only."""

    def __init__(self, led: Iterable[str]) -> None:
        """Know nothing yet; `led` are the joints whose age counts."""
        self._led = tuple(led)
        self._positions: dict[str, float] = {}
        self._stamps_ns: dict[str, int] = {}

    def update(self, stamp_ns: int, names: Sequence[str], positions: Sequence[float]) -> None:
        """Take the positions [rad or m] of some joints."""
        for name, position in zip(names, positions, strict=False):
            self._positions[name] = position
            self._stamps_ns[name] = stamp_ns

    def state(self) -> RobotState | None:
        """Return all joints, as old as the oldest of those that are led; None before any."""
        if not self._positions:
            return None
        stamps_ns = [self._stamps_ns[name] for name in self._led if name in self._stamps_ns]
        return RobotState(min(stamps_ns, default=0), self._positions)

    @property
    def positions(self) -> Mapping[str, float]:
        """The last known position of every joint."""
        return self._positions


class OperatorBody:
    """The operator's solved body: where its links are, once root and joints have come."""

    def __init__(self, urdf_text: str, links: Sequence[str]) -> None:
        """Find these links in the body, or say that they are not there."""
        self.model = RobotModel.from_urdf(urdf_text, floating_base=True)
        for link in links:
            if link not in self.model.link_names:
                raise UnknownNameError("link of the operator's body", link, self.model.link_names)
        self._q = self.model.neutral()
        self._root_ns = self._joints_ns = -1

    def set_root(self, stamp_ns: int, pose_world_from_root: Array) -> None:
        """Take the root's pose."""
        self._q[:3] = pose_world_from_root[:3, 3]
        self._q[3:7] = quaternion_from_matrix(pose_world_from_root[:3, :3])
        self._root_ns = stamp_ns

    def set_joints(self, stamp_ns: int, names: Sequence[str], positions: Sequence[float]) -> None:
        """Take the joints; those of another body are passed over."""
        if tuple(names) == self.model.joint_names:
            self._q[7:] = positions
            self._joints_ns = stamp_ns

    def position(self, link: str, now_ns: int, timeout_s: float) -> Array | None:
        """Return where a link is (3,) in the world; None where root or joints hold no more."""
        stamps_ns = (self._root_ns, self._joints_ns)
        if not all(_is_recent(stamp_ns, now_ns, timeout_s) for stamp_ns in stamps_ns):
            return None
        return np.array(self.model.link_pose(self._q, link)[:3, 3])


def _is_recent(stamp_ns: int, now_ns: int, timeout_s: float) -> bool:
    """Tell whether a stamp is near now; one far ahead of it would not grow old for as long."""
    return abs(now_ns - stamp_ns) <= round(timeout_s * 1e9)
