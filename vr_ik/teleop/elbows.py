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

"""Elbows of a robot's arms, and where they are stretched: there an arm could bend the other way.

The angle of an elbow alone tells how far the wrist is from the shoulder: r^2 = A + B cos(q - s).
An arm that is led out of reach goes through that angle where it can, for a little less of an
error. Back within reach it would have to bend the other way, and is at a limit soon.
"""

from collections.abc import Sequence
import math
from typing import NamedTuple

import numpy as np

from vr_ik.kinematics.kernels import body_poses
from vr_ik.kinematics.model import RobotModel
from vr_ik.kinematics.tree import KIND, PARENT, Q_INDEX, REVOLUTE
from vr_ik.math.rotations import pose
from vr_ik.types import Array

# Upper arm and forearm are at least this long [m].
_LEAST_LEVER_M = 0.1
# Axes are parallel if the sine between them is less.
_PARALLEL = 0.1
# A side with this many times the room is the better one.
_FAR_MORE = 1.5
# Kept from the stretched and from the folded elbow [rad]; it costs about a millimetre of reach.
_BENT = 0.1


class Elbow(NamedTuple):
    """One elbow: the number of its joint, and the angle at which the arm is stretched [rad]."""

    joint: int
    stretched: float

    def side(self, angle: float, lower: float, upper: float) -> tuple[float, float]:
        """Return the limits [rad] that keep the elbow on the side it is on, within its limits.

        Where they leave far more room on another side they stay as they are: it may have to go
        there.
        """
        first = self.stretched + math.floor((angle - self.stretched) / math.pi) * math.pi
        last = first + math.pi
        here = min(upper, last) - max(lower, first)
        elsewhere = max(min(first - lower, math.pi), min(upper - last, math.pi))
        if elsewhere > _FAR_MORE * here:
            return lower, upper
        return max(lower, first + _BENT), min(upper, last - _BENT)


class _Axis(NamedTuple):
    """The axis of a joint that turns, at one configuration."""

    joint: int
    frame: Array
    """(4, 4), the axis is its z."""

    @property
    def point(self) -> Array:
        return self.frame[:3, 3]

    @property
    def way(self) -> Array:
        return self.frame[:3, 2]


def find_elbows(model: RobotModel, tips: Sequence[str]) -> list[Elbow]:
    """Return the elbow of each arm that has one: the joint with the longest levers.

    The lever on each side goes from its axis to the shoulder, or to the wrist: that is the next
    axis if it is parallel, or else the point of it that is nearest to the one after that.
    """
    elbows: dict[int, Elbow] = {}
    for tip in tips:
        axes = _axes(model, tip)
        levers = [
            (_lever(axis, axes[:i][::-1]), _lever(axis, axes[i + 1 :]))
            for i, axis in enumerate(axes)
        ]
        lengths = [min(math.hypot(*one), math.hypot(*two)) for one, two in levers]
        if max(lengths, default=0.0) > _LEAST_LEVER_M:
            i = int(np.argmax(lengths))
            shoulder, wrist = levers[i]
            turn = math.atan2(-shoulder[1], -shoulder[0]) - math.atan2(wrist[1], wrist[0])
            joint = axes[i].joint
            elbows[joint] = Elbow(joint, float(model.neutral()[joint]) + turn)
    return list(elbows.values())


def _axes(model: RobotModel, tip: str) -> list[_Axis]:
    """Return the axes from the root to a tip, up to the first that does not turn freely."""
    tree, poses = model.tree, np.empty((len(model.tree.body_ints), 12))
    body_poses(tree.body_ints, tree.body_floats, model.neutral(), poses)
    body, axes = model.placement(tip).body, list[_Axis]()
    while body >= 0 and tree.body_ints[body, KIND] == REVOLUTE:
        joint = int(tree.body_ints[body, Q_INDEX])
        axes.append(_Axis(joint, pose(poses[body, :9].reshape(3, 3), poses[body, 9:])))
        body = int(tree.body_ints[body, PARENT])
    return axes[::-1]


def _lever(axis: _Axis, others: Sequence[_Axis]) -> tuple[float, float]:
    """Return the way (x, y) across an axis to the shoulder or wrist on one side; 0 if none."""
    if not others:
        return 0.0, 0.0
    point = others[0].point
    if np.linalg.norm(np.cross(axis.way, others[0].way)) > _PARALLEL:
        if len(others) == 1:
            return 0.0, 0.0
        across = np.cross(others[0].way, others[1].way)
        square = float(across @ across)
        if square < _PARALLEL**2:
            return 0.0, 0.0
        between = np.cross(others[1].point - point, others[1].way)
        point = point + float(between @ across) / square * others[0].way
    lever = axis.frame[:3, :2].T @ (point - axis.point)
    return float(lever[0]), float(lever[1])
