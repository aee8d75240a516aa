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


"""The fit of a calibration to recorded poses: bone lengths, and where devices sit on their links.

Unknown are what all frames share (parameters) and every frame's pose. Poses are found by the
solver; parameters by Gauss-Newton steps on what it leaves over, from which all that poses can
take up has been projected out (variable projection: G. Golub and V. Pereyra 1973; L. Kaufman
1975), with a Gaussian prior about the first calibration and less say for what does not fit
(Huber).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
import math

import numpy as np

from vr_ik.body.human import human_urdf
from vr_ik.body.mounts import Mount
from vr_ik.calibration.calibration import Calibration
from vr_ik.kinematics.model import RobotModel
from vr_ik.math.rotations import exp_rotation, pose
from vr_ik.solvers.lm import LevenbergMarquardt
from vr_ik.types import Array, Task

_NOISE_M = 0.01
"""Of a device on its bone: soft tissue, straps."""
_HUBER = 0.03
_DIFFERENCE = 1e-4
_STEPS = 4
_HALVINGS = 4
_FARTHEST = 4.0
"""Standard deviations from the first calibration at most."""
_DAMPING = 1e-9


@dataclass(frozen=True)
class Observation:
    """What is known of one instant."""

    targets: Array
    """(m, 4, 4) pose_world_from_device."""
    weights: Array
    """(m, 2) of position [1/m^2] and orientation [1/rad^2]; 0 where nothing is known."""
    posture: Array
    """(n,) likely angle of every joint [rad]."""
    stiffness: Array
    """(n,) pull to it [1/rad^2]."""
    q: Array
    """A pose near the one looked for."""
    share: float
    """How many independent observations this one counts for."""


@dataclass(frozen=True)
class Priors:
    """Standard deviations of what is fitted; what is not named stays as it is."""

    lengths: dict[str, float]
    """Of the logarithm of lengths, by their names in `Proportions`."""
    mounts: dict[str, tuple[float, ...]]
    """By role: of the device's shift [m] and turn [rad], in its link's axes."""


class MotionFit:
    """The parameters, and what the solver leaves over for given ones.

    Parameters: logarithms of the lengths' ratios, then for each device a shift [m] and a turn
    [rad] on its link.
    """

    def __init__(self, first: Calibration, roles: Sequence[str], priors: Priors) -> None:
        """Take the calibration to start from, and the devices in the order of the targets."""
        self._first = first
        self._roles = tuple(roles)
        self._lengths = tuple(priors.lengths)
        self._moved = tuple(priors.mounts)
        self._sd = np.concatenate(
            [[*priors.lengths.values()], *(priors.mounts[role] for role in self._moved)]
        )
        self._precision = (_NOISE_M / self._sd) ** 2

    def best(self, observations: Sequence[Observation]) -> Calibration:
        """Return the most likely calibration; one that is no better is not taken."""
        parameters = np.zeros(len(self._sd))
        start = [observation.q for observation in observations]
        poses, cost = self._posed(parameters, observations, start)
        for _ in range(_STEPS):
            share, step = 1.0, self._step(parameters, observations, poses)
            for _ in range(_HALVINGS):
                tried = np.clip(
                    parameters + share * step, -_FARTHEST * self._sd, _FARTHEST * self._sd
                )
                poses_there, cost_there = self._posed(tried, observations, poses)
                if cost_there < cost:
                    break
                share *= 0.5
            else:
                break
            parameters, poses, cost = tried, poses_there, cost_there
        return self._calibration(parameters)

    def _posed(
        self, parameters: Array, observations: Sequence[Observation], near: Sequence[Array]
    ) -> tuple[list[Array], float]:
        """Return the poses of the body with these parameters, and what it costs in all."""
        calibration = self._calibration(parameters)
        body = _Body(_model(calibration), calibration, self._roles)
        solver = body.solver(observations[0].weights)
        poses = [_solved(solver, o, q) for o, q in zip(observations, near, strict=True)]
        costs = [
            o.share * _cost(body.left_over(o, q), len(self._roles))
            for o, q in zip(observations, poses, strict=True)
        ]
        return poses, sum(costs) + 0.5 * float(self._precision @ parameters**2)

    def _step(
        self, parameters: Array, observations: Sequence[Observation], poses: Sequence[Array]
    ) -> Array:
        """Return the Gauss-Newton step of the parameters."""
        matrix, gradient = np.diag(self._precision), self._precision * parameters
        bodies = self._bodies(parameters)
        for observation, q in zip(observations, poses, strict=True):
            left, columns = _reduced(bodies, observation, q)
            say = observation.share * _say(left, len(self._roles))
            matrix += (columns * say) @ columns.T
            gradient += (columns * say) @ left
        return np.asarray(-np.linalg.solve(matrix, gradient))

    def _bodies(self, parameters: Array) -> 'list[_Body]':
        """Return the body of these parameters, then one for a slight change of each."""
        first = self._calibration(parameters)
        model = _model(first)
        bodies = [_Body(model, first, self._roles)]
        for i in range(len(parameters)):
            changed = parameters.copy()
            changed[i] += _DIFFERENCE
            other = self._calibration(changed)
            moved = _model(other) if i < len(self._lengths) else model
            bodies.append(_Body(moved, other, self._roles))
        return bodies

    def _calibration(self, parameters: Array) -> Calibration:
        """Return the first calibration changed by the parameters."""
        proportions = self._first.proportions
        lengths = {
            name: getattr(proportions, name) * math.exp(change)
            for name, change in zip(self._lengths, parameters, strict=False)
        }
        mounts = dict(self._first.mounts)
        changes = parameters[len(self._lengths) :].reshape(-1, 6)
        for role, change in zip(self._moved, changes, strict=True):
            old = mounts[role].pose_link_from_device
            turned = exp_rotation(change[3:]) @ old[:3, :3]
            mounts[role] = Mount(mounts[role].link, pose(turned, old[:3, 3] + change[:3]))
        return Calibration(replace(proportions, **lengths), mounts, self._first.floor_m)


def _model(calibration: Calibration) -> RobotModel:
    return RobotModel.from_urdf(human_urdf(calibration.proportions), floating_base=True)


class _Body:
    """A body of given lengths that wears devices."""

    def __init__(self, model: RobotModel, calibration: Calibration, roles: Sequence[str]) -> None:
        self.model = model
        self.mounts = [calibration.mounts[role] for role in roles]
        self._links = [self.model.link_index(mount.link) for mount in self.mounts]
        self._offsets = np.array([mount.pose_link_from_device for mount in self.mounts])

    def solver(self, weights: Array) -> LevenbergMarquardt:
        """Return a solver that goes on until it has come to rest."""
        tasks = [
            Task(mount.link, position_weight, orientation_weight, mount.pose_link_from_device)
            for mount, (position_weight, orientation_weight) in zip(
                self.mounts, weights.tolist(), strict=True
            )
        ]
        return LevenbergMarquardt(
            self.model, tasks, max_iterations=60, gain_tolerance=1e-7, step_tolerance=1e-5
        )

    def devices(self, q: Array) -> Array:
        """Return (m, 4, 4) pose_world_from_device."""
        return np.asarray(self.model.link_poses(q)[self._links] @ self._offsets)

    def left_over(self, observation: Observation, q: Array) -> Array:
        """Return the weighted residuals: of every device, then of every joint's pull."""
        error = _error(self.devices(q), observation.targets)
        error *= np.repeat(np.sqrt(observation.weights), 3, axis=1)
        away = q[self.model.first_q :] - observation.posture
        return np.concatenate((error.ravel(), np.sqrt(observation.stiffness) * away))

    def jacobian(self, observation: Observation, q: Array) -> Array:
        """Return the derivative (rows, nv) of `left_over` by the pose."""
        devices, blocks = self.devices(q), []
        for i, mount in enumerate(self.mounts):
            moves = self.model.jacobian(q, mount.link)
            arm = (devices[i] - self.model.link_pose(q, mount.link))[:3, 3]
            linear = moves[:3] + np.cross(moves[3:].T, arm).T
            angular = observation.targets[i, :3, :3].T @ moves[3:]
            scale = np.sqrt(observation.weights[i])
            blocks += [scale[0] * linear, scale[1] * angular]
        joints = np.zeros((len(observation.posture), self.model.nv))
        joints[:, self.model.first_v :] = np.diag(np.sqrt(observation.stiffness))
        return np.concatenate((*blocks, joints))


def _solved(solver: LevenbergMarquardt, observation: Observation, q: Array) -> Array:
    solver.weights[:] = observation.weights
    solver.posture[:] = observation.posture
    solver.posture_weights[:] = observation.stiffness
    return solver.solve(q, observation.targets).q


def _reduced(bodies: Sequence[_Body], observation: Observation, q: Array) -> tuple[Array, Array]:
    """Return residuals (rows,) and their derivatives (parameters, rows).

    Of the derivatives only what no change of the pose could undo.
    """
    body = bodies[0]
    left = body.left_over(observation, q)
    columns = np.array(
        [(other.left_over(observation, q) - left) / _DIFFERENCE for other in bodies[1:]]
    )
    moves = body.jacobian(observation, q)
    joints = q[body.model.first_q :]
    free = np.ones(body.model.nv, bool)
    free[body.model.first_v :] = (joints > body.model.lower) & (joints < body.model.upper)
    moves = moves[:, free]
    normal = moves.T @ moves + _DAMPING * np.eye(moves.shape[1])
    taken_up = np.linalg.solve(normal, moves.T @ columns.T)
    return left, columns - (moves @ taken_up).T


def _say(left: Array, devices: int) -> Array:
    """Return Huber's weight of every residual: of a device far off in a frame it is small."""
    size = np.linalg.norm(left[: 6 * devices].reshape(-1, 6), axis=1)
    say = np.ones_like(left)
    say[: 6 * devices] = np.repeat(np.minimum(1.0, _HUBER / np.maximum(size, 1e-9)), 6)
    return say


def _cost(left: Array, devices: int) -> float:
    """Return half the sum of squared residuals, by Huber for devices that are far off."""
    size = np.linalg.norm(left[: 6 * devices].reshape(-1, 6), axis=1)
    near = np.minimum(size, _HUBER)
    return float(np.sum(near * (size - 0.5 * near)) + 0.5 * np.sum(left[6 * devices :] ** 2))


def _error(poses: Array, targets: Array) -> Array:
    """Return (m, 6): position error [m] and, for small ones, rotation error [rad]."""
    turn = np.swapaxes(targets[:, :3, :3], 1, 2) @ poses[:, :3, :3]
    skew = 0.5 * (turn - np.swapaxes(turn, 1, 2))
    rotation = np.stack((skew[:, 2, 1], skew[:, 0, 2], skew[:, 1, 0]), axis=1)
    return np.concatenate(((poses - targets)[:, :3, 3], rotation), axis=1)
