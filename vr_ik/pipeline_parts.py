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

"""The parts of the pipeline as configured: devices, solver, posture, filters, the first pose."""

from collections.abc import Iterable, Sequence
from dataclasses import fields
import math
from typing import Any

from vr_ik import registry
from vr_ik.body.mounts import Mount
from vr_ik.body.posture import PosturePull
from vr_ik.calibration.calibration import Calibration
from vr_ik.config import SolverConfig
from vr_ik.config_fields import bad_value
from vr_ik.config_texts import option_map
from vr_ik.errors import ConfigError
from vr_ik.filters.clean import CleanLimits
from vr_ik.filters.one_euro import OneEuro, Smoothing
from vr_ik.filters.smoother import Smoother
from vr_ik.filters.vibration import VibrationFilter
from vr_ik.kinematics.model import RobotModel
from vr_ik.solvers.base import make_solver, PostureSolver, Solver
from vr_ik.types import Array, Task

# A frame is solved when a step gains less than this part of the cost. With 1e-3 nearly straight
# knees flicker by half a degree from frame to frame.
_GAIN_TOLERANCE = 1e-5

# The devices that tell best where the body is and which way it faces come first.
_SUREST = ('waist', 'chest', 'hmd')


def mounts_in_use(
    config: SolverConfig, calibration: Calibration, model: RobotModel
) -> dict[str, Mount]:
    """Return where each device to follow sits on the model; the surest come first."""
    mounts = calibration.mounts
    roles = sorted(config.trackers, key=lambda role: (*_SUREST, role).index(role))
    in_use = {
        role: mounts[role]
        for role in roles
        if role in mounts and mounts[role].link in model.link_names
    }
    if not in_use:
        raise ConfigError(
            f'None of the trackers {", ".join(config.trackers)} is worn on the '
            f"'{config.model}' model; try hmd, l_controller, r_controller."
        )
    return in_use


def configured_solver(
    config: SolverConfig, model: RobotModel, mounts: Iterable[Mount], guesses: Iterable[str]
) -> Solver:
    """Make the configured solver for devices and, after them, links whose places are guessed.

    It gets those of our settings that it knows, and its own.
    """
    tasks = [
        Task(
            mount.link,
            config.position_weight,
            config.orientation_weight,
            mount.pose_link_from_device,
        )
        for mount in mounts
    ]
    tasks += [
        Task(link, config.position_weight, config.orientation_weight, is_guess=True)
        for link in guesses
    ]
    settings: dict[str, Any] = {
        'max_iterations': config.max_iterations,
        'position_tolerance': config.position_tolerance_mm * 1e-3,
        'orientation_tolerance': math.radians(config.orientation_tolerance_deg),
        'gain_tolerance': _GAIN_TOLERANCE,
    }
    options = registry.load(registry.SOLVERS, config.solver).Options
    known = {field.name for field in fields(options)}
    given = {name: value for name, value in settings.items() if name in known}
    given |= option_map('solver_options', config.solver_options)
    if 'posture_weight' in given:
        valid = "set the node's parameter posture_weight instead"
        raise bad_value('solver_options', config.solver_options, valid)
    return make_solver(config.solver, model, tasks, **given)


def configured_pull(config: SolverConfig, solver: Solver) -> PosturePull | None:
    """Return the pull to the posture; None for a solver that knows of none."""
    if not isinstance(solver, PostureSolver):
        return None
    return PosturePull(solver, config.posture_weight, config.spine)


def placed(model: RobotModel, joints: Array, mount: Mount, pose_world_from_device: Array) -> Array:
    """Return a posture, upright, placed and turned so that a device is met."""
    q = model.neutral()
    q[7:] = joints
    there = model.link_pose(q, mount.link) @ mount.pose_link_from_device
    turn = pose_world_from_device[:3, :3] @ there[:3, :3].T
    yaw = math.atan2(turn[1, 0] - turn[0, 1], turn[0, 0] + turn[1, 1])
    q[3:7] = (0.0, 0.0, math.sin(0.5 * yaw), math.cos(0.5 * yaw))
    there = model.link_pose(q, mount.link) @ mount.pose_link_from_device
    q[:3] += pose_world_from_device[:3, 3] - there[:3, 3]
    return q


def smoothers(config: SolverConfig, roles: Sequence[str]) -> tuple[Smoother, ...]:
    """Return what device poses go through, one after the other, to be smoothed."""
    chain: list[Smoother] = []
    if config.vibration_hz > 0.0:
        strapped = [role != 'hmd' and not role.endswith('_controller') for role in roles]
        chain.append(VibrationFilter(strapped, config.vibration_hz))
    if config.smoothing_hz > 0.0:
        smoothing = Smoothing(
            config.smoothing_hz, config.smoothing_position_gain, config.smoothing_rotation_gain
        )
        chain.append(OneEuro(len(roles), smoothing))
    return tuple(chain)


def clean_limits(config: SolverConfig) -> CleanLimits:
    """Return what counts as a glitch."""
    return CleanLimits(
        config.glitch_speed_m_s,
        math.radians(config.glitch_turn_deg_s),
        config.glitch_hold_s,
        config.gap_hold_s,
    )
