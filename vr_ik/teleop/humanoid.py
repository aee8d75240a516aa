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


"""Humanoid retargeting: a robot with arms, legs and a head does as a person does.

Each link of a pair turns as the person's has turned since he stood with his arms hanging, and so
do the lengths of the robot between its links: its limbs point where the person's do, however long
they are, and where the person stands as at first, so does the robot.
"""

from dataclasses import dataclass
import math

import numpy as np

from vr_ik.config_fields import bad_value
from vr_ik.errors import UnknownNameError
from vr_ik.kinematics.model import RobotModel
from vr_ik.kinematics.urdf import read_urdf, Urdf
from vr_ik.solvers.base import make_solver, PostureSolver, SolveResult
from vr_ik.teleop.humanoid_config import HumanoidConfig
from vr_ik.types import Array, Status, Task

DEFAULT_WEIGHTS = (1.0, 0.1)
_PASSES = 3
"""A limb is aimed from where the link that carries it has come to be: known after a solve."""
_ROOT = -1


@dataclass(frozen=True, slots=True)
class HumanoidPose:
    """The robot at one instant."""

    q: Array
    """Its joints, in its model's order."""
    status: Status


@dataclass(frozen=True)
class _Pair:
    human: str
    robot: str
    parent: int
    """The pair that carries this one, or the root."""


class HumanoidRetargeting:
    """Turns configurations of a human model, one after the other, into those of a robot."""

    def __init__(self, config: HumanoidConfig, urdf_text: str, human_urdf_text: str) -> None:
        """Pair the links of the robot and of the person, and take both reference postures."""
        self.model = RobotModel.from_urdf(urdf_text)
        human_urdf = read_urdf(human_urdf_text)
        self.human = human = RobotModel(human_urdf, floating_base=True)
        self._pairs = _linked(config.link_pairs(), human_urdf)
        self._human_rows = [human.link_index(pair.human) for pair in self._pairs]
        self._robot_rows = [self.model.link_index(pair.robot) for pair in self._pairs]
        self.reference = self.model.clamp(self.model.configuration(config.reference_positions()))
        self._solver = self._make_solver(config)
        human_reference = _in_root(human, human.neutral())
        self._human_turns = human_reference[self._human_rows, :3, :3].transpose(0, 2, 1)
        robot_reference = self.model.link_poses(self.reference)
        self._robot_turns = robot_reference[self._robot_rows, :3, :3]
        self._offsets = self._rest_offsets(robot_reference[self._robot_rows, :3, 3])
        self.scale = config.scale or _height(self.model, robot_reference) / _height(
            human, human_reference
        )
        """Where the person's root goes, the robot's goes so many times as far."""
        self._limbs = {
            self._pairs[pair.parent].human: (pair.parent, i)
            for i, pair in enumerate(self._pairs)
            if pair.parent != _ROOT and self._weights(config, pair.human)[0] > 0.0
        }
        self.limb_joints = {
            limb: _joints_to(read_urdf(urdf_text), self._pairs[far].robot)
            for limb, (_, far) in self._limbs.items()
        }
        """The joints that move each limb of the person's in the robot."""
        self._targets = np.tile(np.eye(4), (len(self._pairs), 1, 1))
        self._velocity_limits = self.model.velocity_limits
        self.reset()

    @property
    def q(self) -> Array:
        """The joints now."""
        return self._q.copy()

    def reset(self) -> None:
        """Go back to the reference posture."""
        self._q = self.reference.copy()

    def retarget(self, q_human: Array, seconds: float = math.inf) -> HumanoidPose:
        """Do as the person does; no joint moves faster than it may in these seconds."""
        turns = self._turns(q_human)
        reach = self._velocity_limits * seconds if seconds > 0.0 else 0.0 * self._q
        self._solver.limits[:, 0] = np.maximum(self.model.lower, self._q - reach)
        self._solver.limits[:, 1] = np.minimum(self.model.upper, self._q + reach)
        q = self._q
        for _ in range(_PASSES):
            result = self._solve(q, turns)
            q = result.q.copy()
        self._q = q
        return HumanoidPose(q.copy(), result.status)

    def limb_errors(self, q_human: Array) -> dict[str, float]:
        """Return by what angle [rad] the robot's limbs point elsewhere than the person's, now.

        A limb is what lies between a link of the person that has a pair and the next.
        """
        turns, places = self._turns(q_human), self.model.link_poses(self._q)
        errors: dict[str, float] = {}
        for limb, (near, far) in self._limbs.items():
            start, end = (places[self._robot_rows[i], :3, 3] for i in (near, far))
            errors[limb] = _angle(turns[near] @ self._offsets[far], end - start)
        return errors

    def _turns(self, q_human: Array) -> Array:
        """Return how each link of the person has turned, seen from his root: (n, 3, 3)."""
        poses = _in_root(self.human, q_human)
        turned: Array = poses[self._human_rows, :3, :3] @ self._human_turns
        return turned

    def _solve(self, q: Array, turns: Array) -> SolveResult:
        places = self.model.link_poses(q)[self._robot_rows, :3, 3]
        self._targets[:, :3, :3] = turns @ self._robot_turns
        for i, pair in enumerate(self._pairs):
            if pair.parent == _ROOT:
                self._targets[i, :3, 3] = self._offsets[i]
            else:
                offset = turns[pair.parent] @ self._offsets[i]
                self._targets[i, :3, 3] = places[pair.parent] + offset
        return self._solver.solve(q, self._targets)

    def _rest_offsets(self, places: Array) -> Array:
        """Return from where its carrier is to where each link is, in the reference posture."""
        return np.array(
            [
                place if pair.parent == _ROOT else place - places[pair.parent]
                for pair, place in zip(self._pairs, places, strict=True)
            ]
        )

    @staticmethod
    def _weights(config: HumanoidConfig, link: str) -> tuple[float, float]:
        """Return the weights of a pair, by the human's link, on position and rotation."""
        return config.pair_weights().get(link, DEFAULT_WEIGHTS)

    def _make_solver(self, config: HumanoidConfig) -> PostureSolver:
        for link in config.pair_weights():
            if link not in config.link_pairs():
                raise UnknownNameError('link in weights', link, config.link_pairs())
        tasks = [Task(pair.robot, *self._weights(config, pair.human)) for pair in self._pairs]
        solver = make_solver('lm', self.model, tasks, gain_tolerance=1e-4)
        assert isinstance(solver, PostureSolver)
        solver.posture[:] = self.reference
        solver.posture_weights[:] = config.posture_weight
        return solver


def _linked(pairs: dict[str, str], human: Urdf) -> list[_Pair]:
    """Return the pairs with those that carry them; carriers come first."""
    if not pairs:
        raise bad_value('pairs', '', "it must be 'HUMAN_LINK=robot_link, ...', one pair at least")
    for link in pairs:
        if link not in human.links:
            raise UnknownNameError('link of the human model', link, human.links)
    parents = {joint.child: joint.parent for joint in human.joints}
    order = sorted(pairs, key=human.links.index)
    linked: list[_Pair] = []
    for link in order:
        carrier = parents.get(link)
        while carrier is not None and carrier not in pairs:
            carrier = parents.get(carrier)
        parent = _ROOT if carrier is None else order.index(carrier)
        linked.append(_Pair(link, pairs[link], parent))
    return linked


def _joints_to(robot: Urdf, link: str) -> tuple[str, ...]:
    """Return the joints from the root on that move the origin of a link."""
    carriers = {joint.child: joint for joint in robot.joints}
    names = []
    link = carriers[link].parent  # the link's own joint leaves its origin where it is
    while link in carriers:
        names.append(carriers[link].name)
        link = carriers[link].parent
    return tuple(names)


def _in_root(model: RobotModel, q: Array) -> Array:
    """Return the poses of all links in the axes of the root: (n, 4, 4)."""
    poses = model.link_poses(q)
    root = poses[model.link_index(model.root_link)]
    moved: Array = np.linalg.inv(root) @ poses
    return moved


def _height(model: RobotModel, poses: Array) -> float:
    """Return how high the root is above the lowest link's origin [m]."""
    root = poses[model.link_index(model.root_link)]
    return float(root[2, 3] - poses[:, 2, 3].min())


def _angle(a: Array, b: Array) -> float:
    """Return the angle [rad] between two directions."""
    return math.atan2(float(np.linalg.norm(np.cross(a, b))), float(a @ b))
