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

"""What holds an arm back that does not come to its target, in words for the operator."""

import numpy as np

from vr_ik.teleop.arm_rows import MARGIN_M
from vr_ik.teleop.arm_step import ArmStep
from vr_ik.teleop.arm_work import LEVER_M
from vr_ik.teleop.config import TeleopConfig
from vr_ik.teleop.rooms import Rooms
from vr_ik.types import Array

# The arm is held back when its tip is this far from the target [m, rad]; no more at half of it.
_FAR_M = 0.03
_FAR_RAD = 0.2
# Below this singular value the arm is near a singularity; away from it at twice that.
NEAR_SINGULAR = 0.05
# What holds an arm back is looked for once in this time: the operator has to read it [s].
_READING_S = 0.3
# A joint is at a limit of position when it is this near [rad or m], of speed at this share of it.
_AT_LIMIT = 2e-3
_AT_SPEED = 0.98
# Beside the margin that the arm keeps from an obstacle, what is this near holds it back [m].
_TOUCHING_M = 2e-3
# Of the least squares for the way that the joints would go, and how far it is tried [rad or m].
_DAMPING = 1e-3
_TRIED = 1e-3


class Holding:
    """Watches whether one arm is held back; `text` tells by what, empty where it is not."""

    def __init__(self, config: TeleopConfig, step: ArmStep, arm: int) -> None:
        """Watch an arm of those that are led; all that is needed is compiled."""
        self._step, self._arm = step, arm
        self._rooms = Rooms(config, step.arm, step.collisions)
        self._age_s = 0.0
        self._find()
        self.text = ''

    def update(self, following: bool, seconds: float) -> None:
        """Take note of a tick, so long after the last."""
        far_m, far_rad = self._step.errors(self._arm)
        share = 0.5 if self.text else 1.0
        if not following or (far_m <= share * _FAR_M and far_rad <= share * _FAR_RAD):
            self.text = ''
            return
        self._age_s += seconds
        if not self.text or self._age_s >= _READING_S:
            self._age_s = 0.0
            self.text = self._find()

    def _find(self) -> str:
        """Return what is in the way of the joints that would go to the target."""
        if self._step.goes_back(self._arm):
            return 'it was stuck, and goes back to where it can follow'
        way = self._way()
        near = self._nearest(way)
        limits = self._limits(way)
        if near or limits:
            return ', '.join([*near, *limits])
        guarded = self._step.guarded(self._arm)
        if guarded is not None:
            room_m = float(self._rooms.at(self._step.q)[guarded])
            return f'slow, to be able to stop: {self._rooms.text(guarded, room_m)}'
        if self._step.singularity(self._arm) < NEAR_SINGULAR:
            return 'it is stretched, or at another singularity'
        speeds = self._speeds(way)
        return ', '.join(speeds) if speeds else 'the hand was quicker than the joints accelerate'

    def _way(self) -> Array:
        """Return how the joints (n,) would go to the target if nothing held them back."""
        arm, q = self._step.arm, self._step.q
        jacobian = arm.model.jacobian(q, arm.tips[self._arm])
        weights = np.array([1.0] * 3 + [LEVER_M] * 3)
        weighted = weights[:, None] * jacobian
        error = weights * self._step.way_to_target(self._arm)
        square = weighted.T @ weighted + _DAMPING * np.eye(len(q))
        way: Array = np.linalg.solve(square, weighted.T @ error)
        return way

    def _limits(self, way: Array) -> list[str]:
        """Return the joints that are at a limit that they would go beyond."""
        arm, q = self._step.arm, self._step.q
        low = (q < arm.lower + _AT_LIMIT) & (way < 0.0)
        high = (q > arm.upper - _AT_LIMIT) & (way > 0.0)
        names = arm.model.joint_names
        return [
            f'{names[j]} is at its {"upper" if high[j] else "lower"} limit'
            for j in np.flatnonzero(low | high)
        ]

    def _speeds(self, way: Array) -> list[str]:
        """Return the joints that are as fast as they may be."""
        arm, v = self._step.arm, self._step.v
        fast = (np.abs(v) > _AT_SPEED * arm.velocity) & (v * way > 0.0)
        return [f'{arm.model.joint_names[j]} is at its speed limit' for j in np.flatnonzero(fast)]

    def _nearest(self, way: Array) -> list[str]:
        """Return the distance that is as small as it may be, and would get smaller."""
        rooms = self._rooms.at(self._step.q)
        trial = self._step.q + _TRIED * way / max(float(np.abs(way).max()), 1e-9)
        held = (rooms < MARGIN_M + _TOUCHING_M) & (self._rooms.at(trial) < rooms)
        if not held.any():
            return []
        # One obstacle has many parts near it: the nearest tells enough.
        row = int(np.argmin(np.where(held, rooms, np.inf)))
        return [f'too near: {self._rooms.text(row, float(rooms[row]))}']
