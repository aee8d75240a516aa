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

"""What goes into a step of teleoperation, and what comes out of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from vr_ik.types import Array


class State(Enum):
    """Where teleoperation stands."""

    DISENGAGED = 'disengaged'
    """Nothing is commanded."""
    ENGAGED = 'engaged'
    """At least one arm follows its device."""
    HOLDING = 'holding'
    """No clutch is pressed: the arms come to rest and hold their command."""
    STOPPED = 'stopped'
    """A fault: the arms come smoothly to rest, then nothing is commanded any more."""


class Reason(Enum):
    """Why the arms do not move, with the text for the operator."""

    NONE = 'all is well'
    READY = 'ready: press the clutch'
    NOT_ENABLED = 'not enabled: enable first, then press the clutch'
    ENABLE_LOST = 'the enable was withdrawn'
    HELD = 'paused by the service ~/pause, which alone takes it back'
    ROBOT_CHANGED = 'the robot is described otherwise now: start this node anew'
    ENDED = 'the node ends'
    CLUTCH_SILENT = 'the buttons of the device are silent'
    CLUTCH_HELD = 'the clutch is held: release it, then press it'
    NEVER_TRACKED = 'no pose of the device has come'
    TRACKING_LOST = 'the device is not tracked'
    TRACKING_JUMP = 'the device jumped'
    BAD_POSE = 'the device reports an impossible pose'
    HEAD_LOST = 'the head is not tracked, so that nothing tells which way is forward'
    ROBOT_MISSING = 'no state of the robot has come, or some joints are missing in it'
    ROBOT_STALE = 'the state of the robot is too old'
    ROBOT_FAR = 'the robot is not where it was commanded to be'
    ROBOT_MOVES = 'the robot moves, or is not known to rest yet'
    NOT_HEARD = 'nobody listens to the commands'
    OTHERS_MOVED = 'joints that are not led are elsewhere than at the start: reset first'
    LIMIT_VIOLATION = 'the robot is beyond its joint limits'
    CLOCK_JUMP = 'the clock jumped'
    PAUSED = 'the ticks paused'
    SOLVER_FAILED = 'no command could be computed'


class Buzz(Enum):
    """Why a device is to vibrate."""

    LIMIT = 'limit'
    """The arm cannot follow: limits, boxes or its own body hold it back."""
    SINGULARITY = 'singularity'
    RETURN = 'return'
    """The arm was stuck, and moves by itself to where it can follow again."""
    LOSS = 'loss'
    """The arm has stopped, or refused to engage."""


@dataclass(frozen=True, slots=True)
class ArmInput:
    """What the operator does with one hand; positions in the world frame [m]."""

    pose_world_from_device: Array | None = None
    """(4, 4); None where the device is lost."""
    stamp_ns: int = 0
    """When the pose was measured, on the clock of `now_ns`."""
    clutch: float = 0.0
    """From 0 (released) to 1: the arm follows while it is pressed; NaN where it is not known."""
    trigger: float = 0.0
    """From 0 to 1: closes the gripper."""
    elbow: Array | None = None
    """(3,) where the operator's elbow is; None where it is not known."""
    lack: str = ''
    """Why there is no pose, in words; empty where there is one, or nobody knows."""


@dataclass(frozen=True, slots=True)
class RobotState:
    """Measured joint positions [rad or m] by name; names that no arm has are passed over."""

    stamp_ns: int
    positions: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class TeleopInputs:
    """All that is known at a tick."""

    arms: tuple[ArmInput, ...]
    enabled: bool = False
    pose_world_from_head: Array | None = None
    """(4, 4), for the automatic yaw; None where it is lost: then no arm is engaged by it."""
    robot: RobotState | None = None
    veto: Reason = Reason.NONE
    """What forbids every motion, whoever has enabled it, and whether that is required or not."""
    unheard: str = ''
    """The topic of commands that nobody listens to; empty where each has somebody."""


@dataclass(frozen=True, slots=True)
class ArmReport:
    """One arm after a tick; poses in the robot's root frame."""

    following: bool
    pose_root_from_target: Array
    """(4, 4) where the tip is wanted; where it is, unless following."""
    pose_root_from_tip: Array
    """(4, 4) where the command puts the tip."""
    twist: Array
    """(6,) the commanded tip's velocity [m/s] and turn rate [rad/s], in root axes."""
    position_error_m: float
    rotation_error_rad: float
    singularity: float
    """Smallest singular value of the Jacobian with metres of the arm's reach as unit."""
    held_by: str
    """What keeps the tip far from its target, in words; empty while it follows."""
    goes_back: bool
    """Whether it was stuck, and moves by itself to where it can follow again."""


@dataclass(frozen=True, slots=True)
class TeleopCommand:
    """What a tick commands; without positions nothing is to be published."""

    state: State
    reason: Reason
    """Of the stop, once stopped; else of a refusal, or what a press would be refused for."""
    detail: str
    """The reason in words, with the arm or joint it is about, and all else that is missing for a
    press; or what holds an arm back."""
    joint_names: tuple[str, ...]
    positions: Array | None
    """(n,) [rad or m], the joints in the order of `joint_names`."""
    velocities: Array | None
    """(n,) at the same instant [rad/s or m/s]."""
    gripper: Mapping[str, float]
    """Gripper joint -> position; empty where there is nothing to command."""
    arms: tuple[ArmReport, ...]
    haptics: tuple[tuple[int, Buzz], ...]
    """(arm, why): at the onset only."""

    @property
    def publish(self) -> bool:
        """Whether there is a command to publish."""
        return self.positions is not None
