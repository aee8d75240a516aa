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

"""Where a path of tips is within reach of arms: where the quickest of all followers keeps up.

He knows each frame of the record when it was taken, and goes on evenly until the next. For every
frame he solves for the joints exactly, and each joint goes there as fast as its limits of velocity
and acceleration allow, braking at the last moment: no jerk is too hard for him, and no joint has
to wait for another. What he cannot follow is out of reach. Nothing here knows how the arms are
led. Of the hand he knows what its tracker has told by then, noise and all: one who knew it without
noise would keep up for longer.
"""

from dataclasses import dataclass
import math

import numpy as np
from numpy.typing import NDArray

from vr_ik.solvers.base import make_solver
from vr_ik.teleop.arm_model import ArmModel
from vr_ik.teleop.arm_rows import MARGIN_M
from vr_ik.teleop.arm_step import ArmStep
from vr_ik.teleop.collision import distances_at
from vr_ik.teleop.config import TeleopConfig
from vr_ik.types import Array, Task

BAR_M, BAR_RAD = 2e-3, math.radians(0.5)
"""How near a tip is to follow, wherever it can."""
_SOLVED_M = 1e-4
_RESTARTS, _SEED = 6, 5


@dataclass(frozen=True)
class Wanted:
    """Where tips are wanted, (n, arms, 4, 4): at the ticks, and at the frames of the record."""

    ticks_s: Array
    at_ticks: Array
    frames_s: Array
    """From the one before the last frame that is known at the first tick, or from that, on."""
    at_frames: Array


@dataclass(frozen=True)
class Reach:
    """What the quickest follower makes of it, tick by tick."""

    reachable: NDArray[np.bool_]
    """(n,) whether he is within the bar, and was for as long as a stop takes."""
    errors_m: Array
    """(n, arms) his errors."""
    errors_rad: Array


def within_reach(config: TeleopConfig, arm: ArmStep, q: Array, wanted: Wanted) -> Reach:
    """Send the quickest follower along a path, from rest at q (n_joints,)."""
    joints, solved = _solve(arm, q, wanted.at_frames)
    well = np.logical_and(solved, _apart(config, arm, joints))
    last = np.searchsorted(wanted.frames_s, wanted.ticks_s, 'right') - 1
    places, speeds = _continued(joints, wanted.frames_s, wanted.ticks_s, last)
    frame_s = float(np.diff(wanted.frames_s).mean())
    ways = _quickest(arm.arm, q, places, speeds, 1.0 / config.rate_hz, frame_s)
    tips = np.array([[arm.arm.model.link_pose(x, tip) for tip in arm.arm.tips] for x in ways])
    errors_m, errors_rad = pose_errors(wanted.at_ticks, tips)
    keeps_up = (errors_m <= BAR_M).all(axis=1) & (errors_rad <= BAR_RAD).all(axis=1)
    keeps_up &= well[last] & well[np.minimum(last + 1, len(well) - 1)]
    recovery = round(config.stop_time_s * config.rate_hz)
    # The number of the last tick out of reach, at each tick; before the first the arm was at rest.
    ticks = np.arange(len(keeps_up))
    out = np.maximum.accumulate(np.where(keeps_up, -recovery, ticks))
    return Reach(np.asarray(ticks - out >= recovery), errors_m, errors_rad)


def pose_errors(wanted: Array, tips: Array) -> tuple[Array, Array]:
    """Return how far poses (..., 4, 4) are from others [m], and how far they are turned [rad]."""
    errors_m = np.linalg.norm((wanted - tips)[..., :3, 3], axis=-1)
    left = wanted[..., :3, :3] @ tips[..., :3, :3].swapaxes(-1, -2)
    cosines = 0.5 * (np.trace(left, axis1=-2, axis2=-1) - 1.0)
    return errors_m, np.arccos(np.clip(cosines, -1.0, 1.0))


def _continued(
    joints: Array, frames_s: Array, ticks_s: Array, last: NDArray[np.intp]
) -> tuple[Array, Array]:
    """Return where joints are thought to be at ticks, and their velocities, by frames so far."""
    before = np.maximum(last - 1, 0)
    between_s = np.where(last > before, frames_s[last] - frames_s[before], math.inf)
    speeds = (joints[last] - joints[before]) / between_s[:, None]
    return joints[last] + speeds * (ticks_s - frames_s[last])[:, None], speeds


def _quickest(
    arm: ArmModel, q: Array, places: Array, speeds: Array, tick_s: float, frame_s: float
) -> Array:
    """Return the joints (n, n_joints) of the quickest follower of moving places, from rest at q.

    At each tick he takes the speed, relative to the place's, from which he can just brake to reach
    it: with the way m and the deceleration a that is a (sqrt(t^2 + 2 m / a) - t) in ticks of t.
    He need not be there before the next frame tells him more.
    """
    a, v, ways = arm.acceleration, np.zeros_like(q), np.empty_like(places)
    for i, (place, speed) in enumerate(zip(places, speeds, strict=True)):
        left = place - (q + 0.5 * tick_s * (v + speed))
        most = a * (np.sqrt(tick_s**2 + 2.0 * np.abs(left) / a) - tick_s)
        wish = speed + np.sign(left) * np.minimum(most, np.abs(left) / frame_s)
        wish = np.clip(np.clip(wish, v - a * tick_s, v + a * tick_s), -arm.velocity, arm.velocity)
        q = np.clip(q + 0.5 * tick_s * (v + wish), arm.lower, arm.upper)
        ways[i], v = q, wish
    return ways


def _solve(arm: ArmStep, q: Array, paths: Array) -> tuple[Array, Array]:
    """Return joints (n, n_joints) at the poses, and whether they are there.

    Each pose is solved for from the joints before it. Where that fails they may be stuck in a
    corner of their limits: it is tried again from where they began and from all over their range.
    """
    model = arm.arm.model
    tasks = [Task(tip, 1.0, 0.1) for tip in arm.arm.tips]
    tight = dict.fromkeys(('position_tolerance', 'orientation_tolerance'), 0.01 * _SOLVED_M)
    solver = make_solver('lm', model, tasks, **tight)
    rng = np.random.default_rng(_SEED)
    others = [q, *(model.random(rng) for _ in range(_RESTARTS))]
    joints, solved = np.empty((len(paths), len(q))), np.zeros(len(paths), bool)
    for i, targets in enumerate(paths):
        wanted = np.ascontiguousarray(targets)
        for k, start in enumerate([q, *others]):
            found = np.clip(solver.solve(start, wanted).q, arm.arm.lower, arm.arm.upper)
            errors = [
                np.abs(model.link_pose(found, tip) - target).max()
                for tip, target in zip(arm.arm.tips, targets, strict=True)
            ]
            solved[i] = max(errors) < _SOLVED_M
            if solved[i] or k == 0:
                joints[i] = found
            if solved[i]:
                break
        q = joints[i]
    return joints, solved


def _apart(config: TeleopConfig, arm: ArmStep, joints: Array) -> Array:
    """Tell for each configuration whether all parts are so far apart that none slows another."""
    distances = distances_at(arm.collisions, arm.arm, arm.collisions.pairs, joints)
    return np.asarray(distances.min(axis=1, initial=np.inf) > config.self_distance_m + MARGIN_M)
