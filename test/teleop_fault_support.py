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

"""Faults of a session of teleoperation, each with the reason that it is stopped for."""

from collections.abc import Callable
import math

import numpy as np
from teleop_session_support import Operator, PANDA_READY

from vr_ik.teleop.types import Reason, TeleopCommand


def withdraw(operator: Operator) -> TeleopCommand:
    operator.enabled = False
    return operator.tick()


def lose(operator: Operator) -> TeleopCommand:
    operator.tracked = False
    return operator.tick()


def jump(operator: Operator) -> TeleopCommand:
    operator.hands[0][1, 3] += 0.07
    return operator.tick()


def spin(operator: Operator) -> TeleopCommand:
    operator.hands[0][:3, :3] = np.diag([-1.0, -1.0, 1.0])
    return operator.tick()


def report_nan(operator: Operator) -> TeleopCommand:
    return operator.tick(pose=np.full((4, 4), np.nan))


def report_zero_rotation(operator: Operator) -> TeleopCommand:
    return operator.tick(pose=np.diag([0.0, 0.0, 0.0, 1.0]))


def lose_robot(operator: Operator) -> TeleopCommand:
    operator.robot_known = False
    return operator.tick()


def report_nan_of_robot(operator: Operator) -> TeleopCommand:
    operator.robot[2] = math.nan
    return operator.tick()


def age_robot(operator: Operator) -> TeleopCommand:
    operator.robot_age_s = 0.25
    return operator.tick()


def take_robot_from_the_future(operator: Operator) -> TeleopCommand:
    operator.robot_age_s = -0.25
    return operator.tick()


def push_robot(operator: Operator) -> TeleopCommand:
    operator.robot[1] += 0.25
    return operator.tick()


def push_robot_beyond_limits(operator: Operator) -> TeleopCommand:
    operator.robot[3] = 0.2
    return operator.tick()


def push_robot_a_little_beyond_limits(operator: Operator) -> TeleopCommand:
    operator.robot[3] = -0.0698 + 0.025
    return operator.tick()


def set_clock_forward(operator: Operator) -> TeleopCommand:
    operator.offset_ns += 10**9
    return operator.tick()


def set_clock_back(operator: Operator) -> TeleopCommand:
    operator.offset_ns -= 10**9
    return operator.tick()


FAULTS: dict[Callable[[Operator], TeleopCommand], Reason] = {
    withdraw: Reason.ENABLE_LOST,
    lose: Reason.TRACKING_LOST,
    jump: Reason.TRACKING_JUMP,
    spin: Reason.TRACKING_JUMP,
    report_nan: Reason.BAD_POSE,
    report_zero_rotation: Reason.BAD_POSE,
    lose_robot: Reason.ROBOT_MISSING,
    report_nan_of_robot: Reason.ROBOT_MISSING,
    age_robot: Reason.ROBOT_STALE,
    take_robot_from_the_future: Reason.ROBOT_STALE,
    push_robot: Reason.ROBOT_FAR,
    push_robot_beyond_limits: Reason.LIMIT_VIOLATION,
    push_robot_a_little_beyond_limits: Reason.LIMIT_VIOLATION,
    set_clock_forward: Reason.CLOCK_JUMP,
    set_clock_back: Reason.CLOCK_JUMP,
}


def mend(operator: Operator) -> None:
    """Take every fault away, as if nothing had been."""
    operator.enabled = operator.tracked = operator.robot_known = True
    operator.robot_age_s = 0.0
    operator.robot = np.array(PANDA_READY)
