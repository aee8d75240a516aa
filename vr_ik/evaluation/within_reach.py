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

"""Where a path of tips is within reach of arms: found by solving for the joints, tick by tick.

The joints that are exactly there must be within their limits of position, velocity and
acceleration, with all parts at their distance. Nothing here knows how the arms are led.
"""

import numpy as np
from numpy.typing import NDArray

from vr_ik.solvers.base import make_solver
from vr_ik.teleop.arm_step import ArmStep
from vr_ik.teleop.collision import distances_at
from vr_ik.teleop.config import TeleopConfig
from vr_ik.types import Array, Task

_SMOOTHING_S = 0.025
"""A tracker's trembling is not asked of the joints: the path is smoothed so far to see what is."""
_SOLVED_M = 1e-4
_SHARE = 0.6
"""Of velocity and acceleration: who follows needs some to make up for what he errs."""
_RECOVERY_S = 0.5
"""After something out of reach an arm has to catch up."""
_SOFT_M = 0.005
"""Parts that are nearer than this to where they must not be may slow an arm down."""


def within_reach(config: TeleopConfig, arm: ArmStep, q: Array, paths: Array) -> Array:
    """Tell for each tick whether the poses (n, arms, 4, 4) are within reach, and were for long.

    The joints begin at q (n_joints,).
    """
    tick_s = 1.0 / config.rate_hz
    joints, solved = _solve(arm, q, smoothed(paths, _SMOOTHING_S / tick_s))
    speed = np.gradient(joints, tick_s, axis=0)
    rate = np.gradient(speed, tick_s, axis=0)
    well: NDArray[np.bool_] = np.logical_and(solved, _apart(config, arm, joints))
    well &= (np.abs(speed) <= _SHARE * arm.arm.velocity).all(axis=1)
    well &= (np.abs(rate) <= _SHARE * arm.arm.acceleration).all(axis=1)
    recovery = round(_RECOVERY_S / tick_s)
    # The number of the last tick out of reach, at each tick.
    ticks = np.arange(len(well))
    last = np.maximum.accumulate(np.where(well, -recovery, ticks))
    return np.asarray(ticks - last >= recovery)


def smoothed(paths: Array, ticks: float) -> Array:
    """Return poses (n, ..., 4, 4) with a Gaussian's mean over so many ticks, without delay."""
    half = int(4 * ticks)
    weights = np.exp(-0.5 * (np.arange(-half, half + 1) / ticks) ** 2)
    weights /= weights.sum()
    padded = np.concatenate((paths[:1].repeat(half, 0), paths, paths[-1:].repeat(half, 0)))
    flat = padded.reshape(len(padded), -1)
    mean = np.stack([np.convolve(column, weights, 'valid') for column in flat.T], axis=1)
    poses = mean.reshape(paths.shape)
    left, _, right = np.linalg.svd(poses[..., :3, :3])
    poses[..., :3, :3] = left @ right
    return poses


def _solve(arm: ArmStep, q: Array, paths: Array) -> tuple[Array, Array]:
    """Return joints (n, n_joints) at the poses, and whether they are there."""
    model = arm.arm.model
    tasks = [Task(tip, 1.0, 0.1) for tip in arm.arm.tips]
    tight = dict.fromkeys(('position_tolerance', 'orientation_tolerance'), 0.01 * _SOLVED_M)
    solver = make_solver('lm', model, tasks, **tight)
    joints, solved = np.empty((len(paths), len(q))), np.zeros(len(paths), bool)
    for i, targets in enumerate(paths):
        q = np.clip(solver.solve(q, np.ascontiguousarray(targets)).q, arm.arm.lower, arm.arm.upper)
        joints[i] = q
        errors = [
            np.abs(model.link_pose(q, tip) - target).max()
            for tip, target in zip(arm.arm.tips, targets, strict=True)
        ]
        solved[i] = max(errors) < _SOLVED_M
    return joints, solved


def _apart(config: TeleopConfig, arm: ArmStep, joints: Array) -> Array:
    """Tell for each configuration whether all parts are well apart."""
    distances = distances_at(arm.collisions, arm.arm, arm.collisions.pairs, joints)
    return np.asarray(distances.min(axis=1, initial=np.inf) > config.self_distance_m + _SOFT_M)
