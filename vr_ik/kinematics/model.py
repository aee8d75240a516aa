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

"""`RobotModel`: any URDF as a kinematic tree with forward kinematics and derivatives."""

from collections.abc import Sequence
import math
from pathlib import Path

import numpy as np

from vr_ik.errors import ConfigError, UnknownNameError, VrIkError
from vr_ik.kinematics import kernels, tangent
from vr_ik.kinematics.tasks import cost_derivatives, PackedTasks
from vr_ik.kinematics.tree import build_tree, Placement, Tree
from vr_ik.kinematics.urdf import Joint, read_urdf, Urdf
from vr_ik.math.rotations import quaternion_from_matrix
from vr_ik.types import Array, Task

_ROUNDED = 1e-3


class RobotModel:
    """A kinematic tree; positions in metres, angles in radians, frames in the world.

    A configuration q holds the joints in the order of `joint_names`. With a floating base it
    starts with the root's position (3) and quaternion xyzw (4), and a velocity starts with the
    root's linear (3) and angular (3) velocity in its own axes.
    """

    def __init__(self, urdf: Urdf, floating_base: bool = False) -> None:
        """Build the tree of a parsed URDF."""
        tree, placements, joints = build_tree(urdf, floating_base)
        self.name = urdf.name
        self.root_link = urdf.root
        self.floating_base = floating_base
        self.tree: Tree = tree
        self.joints: tuple[Joint, ...] = joints
        self.joint_names = tuple(joint.name for joint in joints)
        self.link_names = urdf.links
        self.lower = np.array([joint.lower for joint in joints])
        self.upper = np.array([joint.upper for joint in joints])
        self.velocity_limits = np.array([joint.velocity for joint in joints])
        self.first_q, self.first_v = (7, 6) if floating_base else (0, 0)
        self.nq = self.first_q + len(joints)
        self.nv = self.first_v + len(joints)
        self._placements = [placements[link] for link in urdf.links]
        self._link_bodies = np.array([p.body for p in self._placements], np.int64)
        self._link_placements = np.array([p.row for p in self._placements])
        self._index = {link: i for i, link in enumerate(urdf.links)}
        parent_of = {joint.child: self._index[joint.parent] for joint in urdf.joints}
        self.link_parents = tuple(parent_of.get(link, -1) for link in urdf.links)
        """The row of each link's parent in `link_names`; -1 for the root."""

    @classmethod
    def from_urdf(cls, source: str | Path, floating_base: bool = False) -> 'RobotModel':
        """Read URDF text or the file at a path."""
        return cls(read_urdf(source), floating_base)

    def link_index(self, link: str) -> int:
        """Return a link's row in `link_poses`."""
        try:
            return self._index[link]
        except KeyError:
            raise UnknownNameError('link', link, self.link_names) from None

    def joint_index(self, joint: str) -> int:
        """Return a joint's index among `joint_names`, `lower` and `upper`."""
        try:
            return self.joint_names.index(joint)
        except ValueError:
            raise UnknownNameError('joint', joint, self.joint_names) from None

    def placement(self, link: str) -> Placement:
        """Return the body that carries a link, and the link's pose on it."""
        return self._placements[self.link_index(link)]

    def neutral(self) -> Array:
        """Return the configuration with every joint at zero, or as near as its limits allow."""
        q = np.zeros(self.nq)
        if self.floating_base:
            q[6] = 1.0
        return self.clamp(q)

    def random(self, rng: np.random.Generator) -> Array:
        """Return a configuration within the limits; joints without limits within a half turn."""
        q = self.neutral()
        if self.floating_base:
            q[:3] = rng.uniform(-1.0, 1.0, 3)
            quaternion = rng.normal(size=4)
            q[3:7] = quaternion / np.linalg.norm(quaternion)
        lower = np.maximum(self.lower, np.minimum(-math.pi, self.upper - 2.0 * math.pi))
        upper = np.minimum(self.upper, np.maximum(math.pi, self.lower + 2.0 * math.pi))
        q[self.first_q :] = rng.uniform(lower, upper)
        return q

    def clamp(self, q: Array) -> Array:
        """Return q with every joint within its limits."""
        clamped = self.checked(q).copy()
        clamped[self.first_q :] = np.clip(clamped[self.first_q :], self.lower, self.upper)
        return clamped

    def configuration(self, joints: dict[str, float], root: Array | None = None) -> Array:
        """Return neutral with the named joints [rad or m] and the root's pose (4, 4) set."""
        q = self.neutral()
        for joint, value in joints.items():
            q[self.first_q + self.joint_index(joint)] = value
        if root is not None:
            q[:3] = root[:3, 3]
            q[3:7] = quaternion_from_matrix(root[:3, :3])
        return q

    def posture(self, joints: dict[str, float]) -> Array:
        """Return neutral with the named joints [rad or m] set, which have to be within limits."""
        q = self.configuration(joints)
        within = self.clamp(q)
        for joint, value in joints.items():
            i = self.joint_index(joint)
            # A little beyond is a rounded limit.
            if not abs(within[self.first_q + i] - value) <= _ROUNDED:
                limits = f'{self.lower[i]:g} to {self.upper[i]:g}'
                raise ConfigError(f"The joint '{joint}' goes from {limits}, not to {value:g}.")
        return within

    def link_poses(self, q: Array) -> Array:
        """Return pose_world_from_link of every link, (n_links, 4, 4)."""
        tree = self.tree
        return kernels.link_poses(
            tree.body_ints,
            tree.body_floats,
            self._link_bodies,
            self._link_placements,
            self.checked(q),
        )

    def link_pose(self, q: Array, link: str) -> Array:
        """Return pose_world_from_link (4, 4) of one link."""
        i = self.link_index(link)
        tree = self.tree
        return kernels.link_poses(
            tree.body_ints,
            tree.body_floats,
            self._link_bodies[i : i + 1],
            self._link_placements[i : i + 1],
            self.checked(q),
        )[0]

    def jacobian(self, q: Array, link: str, frame: str = 'world') -> Array:
        """Return the Jacobian (6, nv) of a link's origin: linear rows, then angular rows.

        frame='world' gives velocities in world axes, frame='local' in the link's own.
        """
        if frame not in ('world', 'local'):
            raise UnknownNameError('Jacobian frame', frame, ('world', 'local'))
        i = self.link_index(link)
        tree = self.tree
        jacobian, pose = kernels.frame_jacobian(
            tree.body_ints,
            tree.body_floats,
            tree.column_ints,
            self.nv,
            self.checked(q),
            self._link_bodies[i],
            self._link_placements[i],
        )
        if frame == 'local':
            world_from_link = pose[:9].reshape(3, 3)
            jacobian = np.vstack(
                (world_from_link.T @ jacobian[:3], world_from_link.T @ jacobian[3:])
            )
        return jacobian

    def cost_derivatives(
        self, q: Array, tasks: Sequence[Task], targets: Array
    ) -> tuple[float, Array, Array]:
        """Return the tasks' cost, its gradient (nv,) and its exact Hessian (nv, nv).

        The cost is 1/2 sum of w_p |position error|^2 + w_r |rotation error|^2; derivatives are
        with respect to v in integrate(q, v) at v = 0.
        """
        packed = PackedTasks.of(tasks, self.placement)
        return cost_derivatives(self.tree, packed, self.checked(q), targets)

    def integrate(self, q: Array, v: Array) -> Array:
        """Return q moved by the tangent vector v."""
        v = np.ascontiguousarray(v, np.float64)
        if v.shape != (self.nv,):
            raise VrIkError(f"'{self.name}' has {self.nv} velocities; got shape {v.shape}.")
        return tangent.integrate(self.checked(q), v, self.floating_base)

    def difference(self, q_from: Array, q_to: Array) -> Array:
        """Return the tangent vector v with integrate(q_from, v) = q_to."""
        return tangent.difference(self.checked(q_from), self.checked(q_to), self.floating_base)

    def checked(self, q: Array) -> Array:
        """Return q as a contiguous float array, or say what is wrong with its shape."""
        q = np.ascontiguousarray(q, np.float64)
        if q.shape != (self.nq,):
            raise VrIkError(f"'{self.name}' has {self.nq} coordinates; got shape {q.shape}.")
        return q
