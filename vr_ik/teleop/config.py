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

"""The parameters of teleoperation; a robot's YAML sets a few of them."""

from dataclasses import dataclass
import math

import numpy as np

from vr_ik.config_fields import bad_value, Config, param
from vr_ik.types import Array

MODES = ('relative', 'absolute')
"""Relative: the arm repeats the hand's motion since the clutch was pressed. Absolute: the arm
keeps the hand's pose, as the operator's origin is placed on the robot."""
YAWS = ('automatic', 'fixed')
OUTPUTS = ('joint_trajectory', 'commands', 'servo_pose', 'servo_twist', 'joint_states')
"""What the node publishes; see docs/teleop.md."""

MOST_ARMS = 2
_BOX_NUMBERS = 6
# A tick that is a little late is no pause.
_LEAST_TICKS = 2


@dataclass(frozen=True)
class TeleopConfig(Config):
    """Parameters of teleoperation of one or two arms; lists have one entry an arm."""

    tip_links: tuple[str, ...] = param(
        ('panda_hand_tcp',), 'The link that each device leads: one or two.', read_only=True
    )
    device_frames: tuple[str, ...] = param(
        ('r_controller',), 'The frame of the device that leads each arm.', read_only=True
    )
    base_link: str = param(
        '', 'Only joints beyond this link are moved; empty: all up to the tips.', read_only=True
    )
    head_frame: str = param(
        'hmd',
        'The device that tells which way the operator faces, for the automatic yaw.',
        read_only=True,
    )
    mode: str = param('relative', 'How a hand leads its arm.', choices=MODES)
    position_scale: float = param(
        1.0, "The tip's way for each metre of the hand's.", minimum=0.01, maximum=10.0
    )
    rotation_scale: float = param(
        1.0, "The tip's turn for each degree of the hand's.", minimum=0.0, maximum=4.0
    )
    operator_yaw: str = param(
        'automatic',
        'Which way of the operator is forward for the robot (its root x axis): the way the head '
        'faces at each press of the clutch, or the world x axis.',
        choices=YAWS,
    )
    operator_yaw_deg: float = param(
        0.0, 'Added to it, about the vertical.', 'deg', minimum=-180.0, maximum=180.0
    )
    operator_origin: tuple[float, ...] = param(
        (0.0, 0.0, 0.0),
        'Absolute mode: the point of the world frame that lies on the root of the robot.',
        'm',
        minimum=-100.0,
        maximum=100.0,
    )
    tool_rpy_deg: tuple[float, ...] = param(
        (0.0, 0.0, 0.0),
        "Absolute mode: the tip's roll, pitch and yaw on the device.",
        'deg',
        minimum=-180.0,
        maximum=180.0,
    )
    approach_s: float = param(
        2.0,
        'Absolute mode: how long the arm takes to the pose of the hand after a press.',
        's',
        minimum=0.1,
        maximum=30.0,
    )
    clutch_threshold: float = param(
        0.5, 'The clutch is pressed above this.', minimum=0.05, maximum=1.0
    )
    require_enable: bool = param(
        True, 'Nothing moves before the operator has enabled it.', read_only=True
    )
    rate_hz: float = param(
        250.0, 'Commands computed.', '1/s', minimum=20.0, maximum=1000.0, read_only=True
    )
    longest_tick_s: float = param(
        0.1, 'A longer wait for the next tick is a pause.', 's', minimum=0.01, maximum=0.5
    )
    horizon_s: float = param(
        0.02,
        'How far ahead commands are, where the output has a time for them; longer is smoother, '
        'and later. After a tick that was longer the arm has braked meanwhile; where the output '
        'has no time for them, it is a pause.',
        's',
        minimum=0.004,
        maximum=0.5,
    )
    velocity_scale: float = param(
        0.5, "Share of the URDF's joint velocity limits.", minimum=0.01, maximum=1.0
    )
    acceleration: float = param(
        8.0, 'Of every joint, at most.', 'rad/s^2 or m/s^2', minimum=0.1, maximum=200.0
    )
    stop_time_s: float = param(
        0.5, 'Every stop is over by then; joints are no faster.', 's', minimum=0.05, maximum=5.0
    )
    limit_margin: float = param(
        0.01, 'Kept from joint limits.', 'rad or m', minimum=0.0, maximum=0.5
    )
    workspace: str = param(
        '', "Where the tips may be, in the robot's root frame: 'x y z x y z' of two corners [m]."
    )
    keep_out: str = param(
        '', "Where no part may be: boxes 'x y z x y z' of two corners [m], ';' between them."
    )
    self_distance_m: float = param(
        0.02, 'Kept between parts; 0: not watched.', 'm', minimum=0.0, maximum=0.5
    )
    posture_gain: float = param(
        0.5,
        'How fast joints go back to where they were engaged, where the tips leave freedom.',
        '1/s',
        minimum=0.0,
        maximum=10.0,
    )
    elbow_links: tuple[str, ...] = param(
        ('',), "The elbow of each arm, led by the operator's; empty: none.", read_only=True
    )
    elbow_frames: tuple[str, ...] = param(
        ('',), "The frame of the operator's elbow for each arm; empty: none.", read_only=True
    )
    elbow_gain: float = param(
        3.0,
        "How fast the elbow goes to the side of the operator's, where the tips leave freedom.",
        '1/s',
        minimum=0.0,
        maximum=10.0,
    )
    gripper_joints: tuple[str, ...] = param(
        ('',), 'The joint that the trigger closes, for each arm; empty: none.', read_only=True
    )
    gripper_open: tuple[float, ...] = param(
        (0.04,), 'Its position when the trigger is released.', 'rad or m'
    )
    gripper_closed: tuple[float, ...] = param(
        (0.0,), 'Its position when the trigger is pressed.', 'rad or m'
    )
    jump_m: float = param(
        0.06, 'A device that moves farther in a frame has jumped.', 'm', minimum=0.001, maximum=1.0
    )
    jump_deg: float = param(
        25.0, 'A device that turns farther in a frame has jumped.', 'deg', minimum=1.0, maximum=180
    )
    tracking_timeout_s: float = param(
        0.1, 'A device pose that is older is lost.', 's', minimum=0.01, maximum=2.0
    )
    robot_timeout_s: float = param(
        0.2, 'A state of the robot that is older is stale.', 's', minimum=0.01, maximum=5.0
    )
    robot_distance: float = param(
        0.2, 'No joint may be farther from its command.', 'rad or m', minimum=0.001, maximum=3.0
    )
    clock_jump_s: float = param(
        0.05,
        'A clock that gains or loses more, at once or within a second, has jumped.',
        's',
        minimum=0.001,
    )
    output: str = param('joint_trajectory', 'What is published.', choices=OUTPUTS, read_only=True)

    def __post_init__(self) -> None:
        """Check every value, that lists have one entry an arm, and the boxes."""
        super().__post_init__()
        arms = len(self.tip_links)
        if arms > MOST_ARMS or len(set(self.tip_links)) < arms:
            raise bad_value('tip_links', list(self.tip_links), 'it must be one or two links')
        for name in ('device_frames', *_PER_ARM):
            value = getattr(self, name)
            if len(value) != arms and (name == 'device_frames' or len(value) > 1):
                raise bad_value(name, list(value), f'it must have {arms} entries, as tip_links')
        for name in ('operator_origin', 'tool_rpy_deg'):
            if len(getattr(self, name)) != 3:
                raise bad_value(name, list(getattr(self, name)), 'it must have 3 numbers')
        if self.horizon_s * self.rate_hz < 1.0:
            valid = f'it must be at least one tick, {1.0 / self.rate_hz:g} s'
            raise bad_value('horizon_s', self.horizon_s, valid)
        if self.longest_tick_s * self.rate_hz < _LEAST_TICKS:
            valid = f'it must be at least {_LEAST_TICKS} ticks, {_LEAST_TICKS / self.rate_hz:g} s'
            raise bad_value('longest_tick_s', self.longest_tick_s, valid)
        if len(_boxes('workspace', self.workspace)) > 1:
            raise bad_value('workspace', self.workspace, 'it must be one box')
        self.keep_out_boxes()

    @property
    def arms(self) -> int:
        """The number of arms."""
        return len(self.tip_links)

    @property
    def longest_wait_s(self) -> float:
        """The longest tick that is no pause.

        A robot whose commands have no time has stood still since the last: to go on from where it
        would have been by now would be a jump.
        """
        timed = self.output in ('joint_trajectory', 'joint_states')
        return self.longest_tick_s if timed else min(self.longest_tick_s, self.horizon_s)

    def of_arm(self, name: str, arm: int) -> str | float:
        """Return an arm's entry of a list; a list of one holds for both."""
        values = getattr(self, name)
        return values[min(arm, len(values) - 1)]

    def workspace_box(self) -> Array | None:
        """Return the lower and upper corner (2, 3) [m], None for no limit."""
        boxes = _boxes('workspace', self.workspace)
        return boxes[0] if len(boxes) else None

    def keep_out_boxes(self) -> Array:
        """Return lower and upper corners (n, 2, 3) [m]."""
        return _boxes('keep_out', self.keep_out)


_PER_ARM = ('elbow_links', 'elbow_frames', 'gripper_joints', 'gripper_open', 'gripper_closed')


def _boxes(name: str, text: str) -> Array:
    """Return the boxes (n, 2, 3) of a parameter's text."""
    boxes = []
    for part in filter(None, (part.strip() for part in text.split(';'))):
        try:
            numbers = [float(word) for word in part.split()]
        except ValueError:
            numbers = []
        if len(numbers) != _BOX_NUMBERS or not all(map(math.isfinite, numbers)):
            raise bad_value(name, part, "a box is 'x y z x y z' of two corners, in metres")
        corners = np.array(numbers).reshape(2, 3)
        boxes.append(np.sort(corners, axis=0))
    return np.array(boxes).reshape(-1, 2, 3)
