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

"""Joint commands that bring the tips to their targets within all limits, tick by tick."""

import numpy as np

from vr_ik.math.rotations import log_rotation
from vr_ik.teleop.arm_model import arm_model
from vr_ik.teleop.config import TeleopConfig
from vr_ik.types import Array


class ArmStep:
    """The commanded joints of all arms: `q` [rad or m] and `v` at the last tick."""

    def __init__(self, config: TeleopConfig, urdf_text: str) -> None:
        """Build the chains of a robot."""
        self.arm = arm_model(config, urdf_text)
        self.joint_names = self.arm.model.joint_names
        self._config = config
        self.q = self.arm.model.neutral()
        self.v = np.zeros(self.arm.model.nv)
        self.errors = np.zeros((config.arms, 2))
        self.singularity = np.ones(config.arms)

    @property
    def at_rest(self) -> bool:
        """Whether no joint moves."""
        return not self.v.any()

    def reset(self, q: Array) -> None:
        """Be at rest at a configuration, or as near as the limits allow."""
        self.q, self.v = np.clip(q, self.arm.lower, self.arm.upper), np.zeros_like(q)

    def halt(self) -> None:
        """Be at rest where the joints are: nobody has followed the command for long."""
        self.v = np.zeros_like(self.v)

    def tip_pose(self, arm: int) -> Array:
        """Return pose_root_from_tip (4, 4) at the command."""
        return self.arm.model.link_pose(self.q, self.arm.tips[arm])

    def tip_twist(self, arm: int) -> Array:
        """Return the tip's velocity (3) and turn rate (3) at the command, root axes."""
        return np.asarray(self.arm.model.jacobian(self.q, self.arm.tips[arm]) @ self.v)

    def step(
        self, seconds: float, following: Array, targets: Array, twists: Array, elbows: Array
    ) -> bool:
        """Move on by one tick; arms that do not follow come to rest.

        Targets (arms, 4, 4), their twists (arms, 6) and the directions from tip to elbow
        (arms, 3; NaN: none) are in the root frame. Returns whether all went well; joints that
        did not come to rest then.
        """
        wanted = np.zeros_like(self.v)
        for arm in map(int, np.flatnonzero(following)):
            tip = self.tip_pose(arm)
            error = np.concatenate(
                (
                    targets[arm, :3, 3] - tip[:3, 3],
                    log_rotation(targets[arm, :3, :3] @ tip[:3, :3].T),
                )
            )
            self.errors[arm] = np.linalg.norm(error[:3]), np.linalg.norm(error[3:])
            jacobian = self.arm.model.jacobian(self.q, self.arm.tips[arm])
            gram = jacobian @ jacobian.T + 1e-4 * np.eye(6)
            wanted += jacobian.T @ np.linalg.solve(gram, 20.0 * error + twists[arm])
        self._move(wanted, seconds)
        return True

    def _move(self, wanted: Array, seconds: float) -> None:
        arm, change = self.arm, self.arm.acceleration * seconds
        half = 0.5 * (self._config.longest_tick_s + seconds)
        bounds = []
        for sign, room in ((1.0, arm.upper - self.q), (-1.0, self.q - arm.lower)):
            left = np.maximum(room - 0.5 * seconds * sign * self.v, 0.0)
            a = arm.acceleration / 1.5
            bounds.append(a * (np.sqrt(half * half + 2.0 * left / a) - half))
        rest = np.sign(self.v) * np.maximum(np.abs(self.v) - change, 0.0)
        high = np.maximum(np.minimum(np.minimum(bounds[0], arm.velocity), self.v + change), rest)
        low = np.minimum(np.maximum(np.maximum(-bounds[1], -arm.velocity), self.v - change), rest)
        v = np.clip(wanted, low, high)
        self.q = np.clip(self.q + 0.5 * seconds * (self.v + v), arm.lower, arm.upper)
        self.v = v
