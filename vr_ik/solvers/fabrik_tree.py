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

"""FABRIK on bare trees of points: limits, several end effectors, inner targets, closed loops.

The method is A. Aristidou's and J. Lasenby's, "FABRIK: a fast, iterative solver for the inverse
kinematics problem", 2011, sections 4 to 4.3; see `fabrik_tree_kernel`. Chains without limits are
faster with `fabrik_chain`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
import math
from typing import NamedTuple

import numpy as np

from vr_ik.errors import VrIkError
from vr_ik.kinematics.tree import Ints
from vr_ik.math.rotations import rotation_to_axis
from vr_ik.solvers import fabrik_net as net_rows
from vr_ik.solvers.fabrik_tree_kernel import solve_net
from vr_ik.types import Array


@dataclass(frozen=True)
class Cone:
    """Limits of a ball and socket joint: how far a bone may turn from its rest direction.

    Figure 4 of the paper: the angles theta_1 to theta_4 [rad], each from 0 to pi, towards `right`,
    up, left and down, where up completes bone and right to axes by the right-hand rule.
    """

    angles: tuple[float, float, float, float]
    right: tuple[float, float, float] = (1.0, 0.0, 0.0)
    """A direction in the world when the tree is at rest; its part across the bone counts."""
    twist: tuple[float, float] = (-math.pi, math.pi)
    """Least and largest turn of the bone about itself [rad]."""


@dataclass(frozen=True)
class Hinge:
    """A joint that turns about one axis; figure 7 of the paper."""

    axis: tuple[float, float, float]
    """In the world when the tree is at rest; its part across the bone counts."""
    lower: float
    upper: float
    """Limits of the angle from rest [rad], by the right-hand rule."""


class TreeSolution(NamedTuple):
    """What a solve found."""

    points: Array
    """(n, 3)."""
    frames: Array
    """(n, 3, 3): frame of the bone that ends in each point, z along it; of the root, as given."""
    iterations: int
    distance: float
    """The largest distance of a point from its target, or of a loop from its length."""


class FabrikTree:
    """A tree of points; made once, solved often."""

    def __init__(
        self,
        rest: Array,
        parents: Sequence[int],
        limits: Mapping[int, Cone | Hinge] | None = None,
        loops: Sequence[tuple[int, int]] = (),
        root_is_free: bool = False,
        sides: Mapping[int, int] | None = None,
    ) -> None:
        """Take the points at rest (n, 3), each one's parent (-1 for the first, the root), limits.

        Limits are by point, for the joint that moves the bone which ends there. A loop joins two
        points by a bone more, as long as they are apart at rest (section 4.2). `sides` are for
        bones in loops: an earlier point that tells how far the bone is turned about itself, which
        its limits and those of the bones that it carries count from.
        """
        self._rest = np.array(rest, np.float64)
        n = len(self._rest)
        if self._rest.shape != (n, 3) or n < 2:
            raise VrIkError(f'A tree needs points of shape (2 or more, 3); got {np.shape(rest)}.')
        self._parents = np.array(parents, np.int64)
        if (
            len(self._parents) != n
            or self._parents[0] != -1
            or not all(0 <= parent < i for i, parent in enumerate(self._parents[1:], start=1))
        ):
            raise VrIkError(
                f'A tree of {n} points needs {n} parents: -1, then numbers of earlier points; '
                f'got {list(parents)}.'
            )
        self._root_is_free = root_is_free
        self._lengths = np.zeros(n)
        bones = self._rest[1:] - self._rest[self._parents[1:]]
        self._lengths[1:] = np.linalg.norm(bones, axis=1)
        self._joints = _joints(self._rest, self._parents, limits or {}, sides or {})
        self._loops = np.array(
            [(i, j, np.linalg.norm(self._rest[i] - self._rest[j])) for i, j in loops], np.float64
        ).reshape(-1, 3)

    def solve(
        self,
        targets: Mapping[int, Array],
        start: Array | None = None,
        root_frame: Array | None = None,
        tolerance: float = 1e-3,
        max_iterations: int = 100,
    ) -> TreeSolution:
        """Bring points to targets: positions (3,), or poses (4, 4) whose z is along the last bone.

        Starts from points (n, 3) (else from rest) with bones of the right lengths, and with the
        base turned by `root_frame` (3, 3) from rest. Not finite input moves nothing and has an
        infinite distance.
        """
        n = len(self._rest)
        points = np.zeros((n, 4))
        points[:, :3] = self._rest if start is None else start
        points[:, net_rows.LENGTH] = self._lengths
        frames = np.zeros((n, 9))
        frames[0] = np.eye(3).ravel() if root_frame is None else np.ravel(root_frame)
        rows = _target_rows(targets, n)
        if not (np.isfinite(points).all() and np.isfinite(rows).all()):
            return TreeSolution(points[:, :3], frames.reshape(n, 3, 3), 0, math.inf)
        net = net_rows.Net(
            self._parents,
            self._joints,
            rows,
            self._loops,
            points,
            frames,
            np.zeros((n, 3)),
            np.zeros((n, 4)),
            np.zeros(n),
            np.zeros((3, 9)),
        )
        iterations, distance = solve_net(net, tolerance, max_iterations, self._root_is_free)
        return TreeSolution(points[:, :3], frames.reshape(n, 3, 3), iterations, distance)


def _target_rows(targets: Mapping[int, Array], n: int) -> Array:
    rows = np.zeros((n, net_rows.TARGET))
    for point, target in targets.items():
        target = np.asarray(target, np.float64)
        if not 0 <= point < n or target.shape not in ((3,), (4, 4)):
            raise VrIkError(
                f'A target is for a point from 0 to {n - 1} and has the shape (3,) or (4, 4); got '
                f'{target.shape} for {point}.'
            )
        row = rows[point]
        row[net_rows.WEIGHT] = 1.0
        row[:3] = target if target.shape == (3,) else target[:3, 3]
        if target.shape == (4, 4):
            row[net_rows.ORIENTED] = 1.0
            row[net_rows.FRAME :] = target[:3, :3].ravel()
    return rows


def _joints(
    rest: Array, parents: Ints, limits: Mapping[int, Cone | Hinge], sides: Mapping[int, int]
) -> Array:
    """Return the joints' rows; the frame of each bone at rest has its limits' axes."""
    joints = np.zeros((len(rest), net_rows.JOINT))
    joints[:, net_rows.TWIST : net_rows.SIDE] = (-math.pi, math.pi)
    joints[:, net_rows.SIDE] = -1.0
    frames = np.tile(np.eye(3), (len(rest), 1, 1))
    for i in range(1, len(rest)):
        limit = limits.get(i)
        across = _across(limit)
        if i in sides:
            joints[i, net_rows.SIDE] = sides[i]
            across = rest[sides[i]] - rest[parents[i]]
        frames[i] = bone_frame(rest[i] - rest[parents[i]], across)
        joints[i, net_rows.REST : net_rows.ANGLES] = (frames[parents[i]].T @ frames[i]).ravel()
        if isinstance(limit, Cone):
            joints[i, net_rows.KIND] = net_rows.CONE
            joints[i, net_rows.ANGLES : net_rows.TWIST] = limit.angles
            joints[i, net_rows.TWIST : net_rows.SIDE] = limit.twist
        elif isinstance(limit, Hinge):
            joints[i, net_rows.KIND] = net_rows.HINGE
            joints[i, net_rows.ANGLES : net_rows.ANGLES + 2] = limit.lower, limit.upper
            joints[i, net_rows.TWIST : net_rows.SIDE] = 0.0
    return joints


def _across(limit: Cone | Hinge | None) -> Array | None:
    """Return the direction that is to be a bone's x, where a limit has one."""
    if limit is None:
        return None
    return np.array(limit.right if isinstance(limit, Cone) else limit.axis, np.float64)


def bone_frame(bone: Array, across: Array | None) -> Array:
    """Return a frame with z along the bone, and x as near to `across` as can be."""
    length = float(np.linalg.norm(bone))
    if length == 0.0:
        return np.eye(3)
    z = bone / length
    if across is None:
        return rotation_to_axis(z)
    x = across - (across @ z) * z
    size = float(np.linalg.norm(x))
    if size < 1e-9:
        raise VrIkError(f'The axis {across.tolist()} of a limit lies along its bone.')
    x /= size
    return np.column_stack((x, np.cross(z, x), z))
