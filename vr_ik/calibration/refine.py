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

"""Better calibration from motion: where joints are on the devices, and how devices are held.

One pose cannot tell where in the flesh the joints are. Over many frames only the right hip centre
(in the waist device's frame), knee axis (in the foot device's) and thigh length let the legs meet
all devices at once, and only the right grip lets hands be straight on the forearms most of the
time. Both are fitted together: every frame's pose, by the solver, and what all
frames share, by Gauss-Newton steps on what the solver leaves over, with a Gaussian prior about the
first calibration and less say for frames that do not fit (Huber).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
import math

import numpy as np

from vr_ik.body.human import human_urdf
from vr_ik.body.mounts import Mount
from vr_ik.body.posture import joint_stiffness, rest_posture
from vr_ik.body.trust import device_trust
from vr_ik.calibration.calibration import Calibration
from vr_ik.config import SolverConfig
from vr_ik.kinematics.model import RobotModel
from vr_ik.math.rotations import exp_rotation, pose
from vr_ik.pipeline import Pipeline
from vr_ik.solvers.lm import LevenbergMarquardt
from vr_ik.types import Array, Task, TrackingFrame

# Prior standard deviations: of lengths [share], and of each device's place on its link [m, rad]
# in the link's axes. How a foot points in the calibration pose is the user's choice.
_LENGTHS = {'thigh': 0.06, 'hip_half_width': 0.10}
_MOUNTS = {
    'controller': (1e-4, 1e-4, 1e-4, 0.20, 0.20, 0.20),
    'waist': (0.03, 0.01, 0.03, 0.10, 0.10, 0.10),
    'foot': (0.03, 0.015, 0.03, 0.05, 0.05, 0.35),
}
_NOISE_M = 0.01
"""Of a device on its bone: soft tissue, straps."""
_INDEPENDENT_FRAMES = 30.0
"""Frames of a recording repeat each other; together they weigh as much as so many."""
_FRAMES = 40
_STEPS = 4
_HUBER = 0.03
_DIFFERENCE = 1e-3


def refine(calibration: Calibration, frames: Sequence[TrackingFrame]) -> Calibration:
    """Return the calibration fitted to the motion; what did not move stays as it was."""
    roles = tuple(role for role in calibration.mounts if any(role in f.names for f in frames))
    targets, q = _spread(calibration.wearing(roles), frames, roles)
    if len(targets) < 2:
        return calibration
    fit = _Fit(calibration, roles)
    return fit.calibration(fit.best(targets, q))


def _spread(
    calibration: Calibration, frames: Sequence[TrackingFrame], roles: tuple[str, ...]
) -> tuple[Array, list[Array]]:
    """Return device poses (n, m, 4, 4) and body poses of frames all over the recording."""
    pipeline = Pipeline(SolverConfig(smoothing_hz=0.0), calibration)
    wanted = set(np.linspace(0, len(frames) - 1, _FRAMES).astype(int).tolist())
    rows = [pipeline.roles.index(role) for role in roles]
    targets, q = [], []
    for i, frame in enumerate(frames):
        solution = pipeline.process(frame)
        if i in wanted and (pipeline.confidence[rows] == 1.0).all():
            targets.append(pipeline.targets[rows].copy())
            q.append(solution.q)
    return np.array(targets), q


class _Fit:
    """The parameters, and what the solver leaves over for given ones.

    Parameters: logarithms of the lengths' ratios, then for each device a shift [m] and a turn
    [rad] on its link.
    """

    def __init__(self, calibration: Calibration, roles: tuple[str, ...]) -> None:
        self._first = calibration
        self._roles = roles
        legs_seen = all(role in roles for role in ('waist', 'l_foot', 'r_foot'))
        self._names = tuple(_LENGTHS) if legs_seen else ()
        self._moved = [role for role in roles if role.split('_')[-1] in _MOUNTS]
        self._sd = np.concatenate(
            [[_LENGTHS[name] for name in self._names]]
            + [_MOUNTS[role.split('_')[-1]] for role in self._moved]
        )
        config = SolverConfig()
        weights = np.array([config.position_weight, config.orientation_weight])
        self._weights = np.array([weights * device_trust(role) for role in roles])
        self._posture_weight = config.posture_weight
        self._model, self._lengths = self._body(calibration), np.zeros(len(self._names))

    @staticmethod
    def _body(calibration: Calibration) -> RobotModel:
        return RobotModel.from_urdf(human_urdf(calibration.proportions), floating_base=True)

    def calibration(self, parameters: Array) -> Calibration:
        """Return the first calibration changed by the parameters."""
        first = self._first.proportions
        lengths = {
            name: getattr(first, name) * math.exp(change)
            for name, change in zip(self._names, parameters, strict=False)
        }
        mounts = dict(self._first.mounts)
        for role, change in zip(
            self._moved, parameters[len(self._names) :].reshape(-1, 6), strict=True
        ):
            old = mounts[role].pose_link_from_device
            turned = exp_rotation(change[3:]) @ old[:3, :3]
            mounts[role] = Mount(mounts[role].link, pose(turned, old[:3, 3] + change[:3]))
        return Calibration(replace(first, **lengths), mounts, self._first.floor_m)

    def best(self, targets: Array, q: list[Array]) -> Array:
        """Return the most likely parameters."""
        parameters = np.zeros(len(self._sd))
        prior = (_NOISE_M / self._sd) ** 2
        share = _INDEPENDENT_FRAMES / len(targets)
        for _ in range(_STEPS):
            left, q = self._left_over(parameters, targets, q)
            columns = [
                (self._left_over(changed, targets, q)[0] - left).ravel() / _DIFFERENCE
                for changed in _changed(parameters)
            ]
            jacobian = np.array(columns)
            weighted = jacobian * (share * self._say(left)).ravel()
            matrix = weighted @ jacobian.T + np.diag(prior)
            step = np.linalg.solve(matrix, weighted @ left.ravel() + prior * parameters)
            parameters = parameters - step
        return parameters

    def _say(self, left: Array) -> Array:
        """Return Huber's weight of every residual: of a device far off in a frame it is small."""
        tasks = 6 * len(self._roles)
        by_task = left[:, :tasks].reshape(len(left), -1, 6)
        size = np.linalg.norm(by_task, axis=2)
        say = np.ones_like(left)
        say[:, :tasks] = np.repeat(np.minimum(1.0, _HUBER / np.maximum(size, 1e-9)), 6, axis=1)
        return say

    def _left_over(
        self, parameters: Array, targets: Array, q_start: list[Array]
    ) -> tuple[Array, list[Array]]:
        """Return the weighted residuals of every frame's best pose, and those poses."""
        calibration = self.calibration(parameters)
        if not np.array_equal(parameters[: len(self._names)], self._lengths):
            self._lengths = parameters[: len(self._names)].copy()
            self._model = self._body(calibration)
        model = self._model
        mounts = [calibration.mounts[role] for role in self._roles]
        solver = self._solver(model, mounts)
        pulls = np.sqrt(solver.posture_weights)
        links = [model.link_index(mount.link) for mount in mounts]
        offsets = np.array([mount.pose_link_from_device for mount in mounts])
        rows, poses = [], []
        for target, start in zip(targets, q_start, strict=True):
            q = solver.solve(start, target).q
            error = _error(model.link_poses(q)[links] @ offsets, target)
            error *= np.repeat(np.sqrt(self._weights), 3, axis=1)
            away = q[model.first_q :] - solver.posture
            rows.append(np.concatenate((error.ravel(), pulls * away)))
            poses.append(q)
        return np.array(rows), poses

    def _solver(self, model: RobotModel, mounts: list[Mount]) -> LevenbergMarquardt:
        tasks = [
            Task(mount.link, position_weight, orientation_weight, mount.pose_link_from_device)
            for mount, (position_weight, orientation_weight) in zip(
                mounts, self._weights.tolist(), strict=True
            )
        ]
        # Differences of solutions are taken: they must have come to rest.
        solver = LevenbergMarquardt(
            model, tasks, max_iterations=100, gain_tolerance=1e-10, step_tolerance=1e-7
        )
        solver.posture[:] = rest_posture(model)
        solver.posture_weights[:] = self._posture_weight * joint_stiffness(model)
        return solver


def _changed(parameters: Array) -> Iterator[Array]:
    for i in range(len(parameters)):
        changed = parameters.copy()
        changed[i] += _DIFFERENCE
        yield changed


def _error(poses: Array, targets: Array) -> Array:
    """Return (m, 6): position error [m] and, for small ones, rotation error [rad]."""
    turn = np.swapaxes(targets[:, :3, :3], 1, 2) @ poses[:, :3, :3]
    skew = 0.5 * (turn - np.swapaxes(turn, 1, 2))
    rotation = np.stack((skew[:, 2, 1], skew[:, 0, 2], skew[:, 1, 0]), axis=1)
    return np.concatenate(((poses - targets)[:, :3, 3], rotation), axis=1)
