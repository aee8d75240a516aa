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

"""The way of a tracking frame through vr_ik, step by step: start reading here.

    frame -> clean -> place (on the first frame) -> solve -> differentiate -> Solution

Nothing here knows of ROS: the solver node, the offline tools and the tests call it alike.
"""

from dataclasses import dataclass, fields
import math
import time
from typing import Any

import numpy as np

from vr_ik import registry
from vr_ik.body.anthropometry import Proportions
from vr_ik.body.human import human_urdf
from vr_ik.body.mounts import Mount, device_mounts
from vr_ik.body.posture import joint_stiffness, rest_posture
from vr_ik.config import SolverConfig
from vr_ik.errors import ConfigError
from vr_ik.filters.clean import CleanLimits, FrameCleaner
from vr_ik.kinematics.model import RobotModel
from vr_ik.solvers.base import PostureSolver, Solver, make_solver
from vr_ik.types import Array, Status, Task, TrackingFrame


@dataclass(frozen=True, slots=True)
class Solution:
    """The body at the time of one tracking frame."""

    stamp_ns: int
    q: Array
    """Root position and quaternion xyzw (7), then the joints in the model's order."""
    velocity: Array
    """Root linear and angular velocity in its own axes (6), then joint velocities."""
    status: Status
    position_errors: dict[str, float]
    """Distance of each device in use from where the body puts it [m]."""
    solve_time_s: float


class Pipeline:
    """Turns tracking frames, one after the other, into poses of the human model."""

    def __init__(self, config: SolverConfig) -> None:
        """Build the user's body, the tasks of the devices to follow, and the solver."""
        proportions = Proportions.from_height(config.user_height_m, config.arm_span_m or None)
        self.urdf = human_urdf(proportions, config.model)
        self.model = RobotModel.from_urdf(self.urdf, floating_base=True)
        self._mounts = _mounts_in_use(config, proportions, self.model)
        self.roles = tuple(self._mounts)
        """Devices that are followed where present, in the order of the solver's tasks."""
        self._full_weights = np.array((config.position_weight, config.orientation_weight))
        self._solver = _solver(config, self.model, self._mounts)
        self._cleaner = FrameCleaner(self.roles, _clean_limits(config))
        self._targets = np.tile(np.eye(4), (len(self.roles), 1, 1))
        self._confidence = np.zeros(len(self.roles))
        self.reset()

    @property
    def glitches(self) -> int:
        """Device poses refused so far because they jumped."""
        return self._cleaner.glitches

    def reset(self) -> None:
        """Forget the past: the next frame is solved from a standing start."""
        self._cleaner.reset()
        self._q = self.model.neutral()
        self._stamp_ns: int | None = None

    def process(self, frame: TrackingFrame) -> Solution:
        """Solve one frame; time must not run backwards between calls (else `reset` first)."""
        self._cleaner.clean(frame, self._targets, self._confidence)
        self._solver.weights[:] = self._confidence[:, None] * self._full_weights
        if self._stamp_ns is None and self._confidence.any():
            self._q = self._standing_start()
        started = time.perf_counter()
        result = self._solver.solve(self._q, self._targets)
        solve_time_s = time.perf_counter() - started
        velocity = self._velocity(result.q, frame.stamp_ns)
        if self._confidence.any():
            self._q, self._stamp_ns = result.q, frame.stamp_ns
        errors = {
            role: float(error)
            for role, error, known in zip(
                self.roles, result.position_errors, self._confidence > 0.0, strict=True
            )
            if known
        }
        return Solution(
            frame.stamp_ns, result.q, velocity, result.status, errors, solve_time_s
        )

    def _standing_start(self) -> Array:
        """Return a pose for the first frame: at rest where the surest device is, then solved."""
        role = next(
            role for role, known in zip(self.roles, self._confidence > 0.0, strict=True) if known
        )
        mount = self._mounts[role]
        neutral = self.model.neutral()
        pose_root_from_device = self.model.link_pose(neutral, mount.link) @ (
            mount.pose_link_from_device
        )
        pose_world_from_device = self._targets[self.roles.index(role)]
        turn = pose_world_from_device[:3, :3] @ pose_root_from_device[:3, :3].T
        yaw = math.atan2(turn[1, 0] - turn[0, 1], turn[0, 0] + turn[1, 1])
        q = neutral.copy()
        q[3:7] = (0.0, 0.0, math.sin(0.5 * yaw), math.cos(0.5 * yaw))
        placed = self.model.link_pose(q, mount.link) @ mount.pose_link_from_device
        q[:3] += pose_world_from_device[:3, 3] - placed[:3, 3]
        # No frame before this one has brought the body near: it may take longer than others.
        for _ in range(_FIRST_SOLVES):
            q = self._solver.solve(q, self._targets).q
        return q

    def _velocity(self, q: Array, stamp_ns: int) -> Array:
        if self._stamp_ns is None or stamp_ns <= self._stamp_ns:
            return np.zeros(self.model.nv)
        return self.model.difference(self._q, q) / ((stamp_ns - self._stamp_ns) * 1e-9)


# A frame is solved when a step gains less than this part of the cost: beyond it nearly straight
# limbs still creep by milliradians, which no device can tell.
_GAIN_TOLERANCE = 1e-4

_FIRST_SOLVES = 5

# The devices that tell best where the body is and which way it faces come first.
_SUREST = ('waist', 'chest', 'hmd')


def _mounts_in_use(
    config: SolverConfig, proportions: Proportions, model: RobotModel
) -> dict[str, Mount]:
    """Return where each device to follow sits on the model; the surest come first."""
    mounts = device_mounts(proportions)
    roles = sorted(config.trackers, key=lambda role: (*_SUREST, role).index(role))
    in_use = {role: mounts[role] for role in roles if mounts[role].link in model.link_names}
    if not in_use:
        raise ConfigError(
            f"None of the trackers {', '.join(config.trackers)} is worn on the "
            f"'{config.model}' model; try hmd, l_controller, r_controller."
        )
    return in_use


def _solver(config: SolverConfig, model: RobotModel, mounts: dict[str, Mount]) -> Solver:
    """Make the configured solver; it gets those of our settings that it knows."""
    tasks = [
        Task(
            mount.link,
            config.position_weight,
            config.orientation_weight,
            mount.pose_link_from_device,
        )
        for mount in mounts.values()
    ]
    settings: dict[str, Any] = {
        'max_iterations': config.max_iterations,
        'position_tolerance': config.position_tolerance_mm * 1e-3,
        'orientation_tolerance': math.radians(config.orientation_tolerance_deg),
        'gain_tolerance': _GAIN_TOLERANCE,
    }
    options = registry.load(registry.SOLVERS, config.solver).Options
    known = {field.name for field in fields(options)}
    solver = make_solver(
        config.solver, model, tasks, **{k: v for k, v in settings.items() if k in known}
    )
    if isinstance(solver, PostureSolver):
        solver.posture[:] = rest_posture(model)
        solver.posture_weights[:] = config.posture_weight * joint_stiffness(model)
    return solver


def _clean_limits(config: SolverConfig) -> CleanLimits:
    return CleanLimits(
        config.glitch_speed_m_s,
        math.radians(config.glitch_turn_deg_s),
        config.glitch_hold_s,
        config.gap_hold_s,
    )
