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

"""The gripper of one arm, led by the trigger no faster than its joint may go."""

import math

from vr_ik.config_fields import bad_value
from vr_ik.errors import UnknownNameError
from vr_ik.kinematics.urdf import Joint, read_urdf
from vr_ik.teleop.config import TeleopConfig
from vr_ik.teleop.types import RobotState

# The trigger has found the gripper where it is this near, as a share of the range.
_FOUND = 0.05


class Gripper:
    """Where a gripper's joint is commanded to be, between open and closed.

    Nothing is commanded before the trigger has been where the gripper is measured to be. From
    then on it stays as commanded after a press of the clutch, until the trigger has been there:
    what is held is neither dropped nor let go by taking hold of the arm again.
    """

    def __init__(self, config: TeleopConfig, arm: int, urdf_text: str) -> None:
        """Take an arm's gripper; it may have none."""
        self.joint = str(config.of_arm('gripper_joints', arm))
        """Empty where there is none."""
        self._open = float(config.of_arm('gripper_open', arm))
        self._closed = float(config.of_arm('gripper_closed', arm))
        self.command: float | None = None
        """The position of the joint; None until the trigger has found it for the first time."""
        self._lower, self._upper, self._speed = -math.inf, math.inf, math.inf
        self._held: float | None = None
        """How far the trigger was from the gripper, with its sign; None where it leads it."""
        if self.joint:
            joints = {joint.name: joint for joint in read_urdf(urdf_text).joints}
            if self.joint not in joints:
                raise UnknownNameError('joint in gripper_joints', self.joint, joints)
            joint = joints[self.joint]
            self._check_range(joint)
            self._lower, self._upper = joint.lower, joint.upper
            self._speed = config.velocity_scale * joint.velocity

    def hold(self) -> None:
        """Stay, until the trigger has been where the gripper is."""
        self._held = math.nan

    def step(self, seconds: float, trigger: float, robot: RobotState | None) -> None:
        """Go toward where the trigger, from 0 to 1, wants it; what is no number moves nothing."""
        at = self._measured(robot) if self.command is None else self.command
        if not (math.isfinite(trigger) and math.isfinite(at)):
            return
        share = min(max(trigger, 0.0), 1.0)
        wanted = self._open + share * (self._closed - self._open)
        if self._held is not None and not self._found(wanted, at):
            return
        reach = self._speed * seconds
        self.command = at + min(max(wanted - at, -reach), reach)

    def _measured(self, robot: RobotState | None) -> float:
        """Return where the joint is, within its limits; NaN where nothing tells it."""
        measured = math.nan if robot is None else robot.positions.get(self.joint, math.nan)
        # What is held keeps the joint from where it is commanded to be: this is for a start only.
        return (
            min(max(measured, self._lower), self._upper) if math.isfinite(measured) else math.nan
        )

    def _found(self, wanted: float, at: float) -> bool:
        """Tell whether the trigger is where the gripper is, or has just passed it."""
        low, high = sorted((self._open, self._closed))
        away, before = wanted - min(max(at, low), high), self._held
        near = abs(away) <= _FOUND * (high - low)
        passed = before is not None and away * before < 0.0
        self._held = None if near or passed else away
        return near or passed

    def _check_range(self, joint: Joint) -> None:
        for name, value in (('gripper_open', self._open), ('gripper_closed', self._closed)):
            if not joint.lower <= value <= joint.upper:
                valid = f"the joint '{joint.name}' goes from {joint.lower:g} to {joint.upper:g}"
                raise bad_value(name, value, valid)
