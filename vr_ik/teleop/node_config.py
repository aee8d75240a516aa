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


"""The parameters of the teleoperation node: those of the core, and the names around it."""

from dataclasses import dataclass

from vr_ik.config_fields import bad_value, param
from vr_ik.config_texts import number_map
from vr_ik.errors import UnknownNameError
from vr_ik.teleop.config import TeleopConfig


@dataclass(frozen=True)
class TeleopNodeConfig(TeleopConfig):
    """Parameters of the teleoperation node."""

    urdf: str = param(
        '',
        "The robot: a file, or package://PACKAGE/path; empty: the topic 'robot_description'.",
        read_only=True,
    )
    controllers: str = param(
        'joint_trajectory_controller',
        "Controllers with their joints in their own order: 'left=joint1 joint2, right=joint3'; "
        'one controller needs no joints, it has all that are led.',
        read_only=True,
    )
    gripper_controllers: tuple[str, ...] = param(
        ('gripper_controller',),
        "The gripper's controller of each arm, by its topic 'commands'.",
        read_only=True,
    )
    servo_nodes: tuple[str, ...] = param(
        ('servo_node',), 'The node of moveit_servo for each arm.', read_only=True
    )
    initial: str = param(
        '',
        "Output joint_states: joints that do not start at 0 [rad or m]: 'joint2=-0.8'.",
        read_only=True,
    )
    world_frame: str = param(
        'vr_world', 'The frame in which the devices are, by TF.', read_only=True
    )
    frame_prefix: str = param(
        '', "Before every frame of the operator's, as in his nodes: 'operator/'.", read_only=True
    )
    operator: str = param(
        '',
        "Namespace of the operator's devices and body, as of his nodes; empty: that of this node.",
        read_only=True,
    )
    joy_timeout_s: float = param(
        0.25,
        'A device without Joy for longer is silent; tracker_node sends it every 50 ms at least.',
        's',
        minimum=0.06,
        maximum=2.0,
    )
    clutch_axis: int = param(5, 'Axis of Joy that is the clutch: the grip.', minimum=0, maximum=63)
    clutch_button: int = param(
        1, 'Button of Joy that is the clutch as well.', minimum=0, maximum=63
    )
    trigger_axis: int = param(
        4, 'Axis of Joy that closes the gripper: the trigger.', minimum=0, maximum=63
    )
    enable_button: int = param(
        4, 'Button of Joy that enables, once pressed: the menu.', minimum=0, maximum=63
    )

    def __post_init__(self) -> None:
        """Check every value, and the lists in texts."""
        super().__post_init__()
        self.controller_joints()
        self.initial_positions()
        for name in ('gripper_controllers', 'servo_nodes'):
            if len(getattr(self, name)) > self.arms:
                raise bad_value(name, list(getattr(self, name)), 'it has more entries than arms')
        if self.output.startswith('servo') and len(self.servo_nodes) < self.arms:
            raise bad_value('servo_nodes', list(self.servo_nodes), 'each arm needs one')

    def controller_joints(self) -> dict[str, tuple[str, ...]]:
        """Return the joints of each controller; none stands for all that are led."""
        joints_of: dict[str, tuple[str, ...]] = {}
        for entry in filter(None, (part.strip() for part in self.controllers.split(','))):
            name, _, joints = (part.strip() for part in entry.partition('='))
            if not name or name in joints_of:
                raise bad_value('controllers', entry, "it must be 'NAME=joint joint', names once")
            joints_of[name] = tuple(joints.split())
        if not joints_of or (len(joints_of) > 1 and not all(joints_of.values())):
            valid = 'each of several controllers needs its joints'
            raise bad_value('controllers', self.controllers, valid)
        return joints_of

    def joints_of_controllers(self, led: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
        """Return the joints of each controller, which together must be those that are led."""
        joints_of = {name: joints or led for name, joints in self.controller_joints().items()}
        given = [joint for joints in joints_of.values() for joint in joints]
        for joint in given:
            if joint not in led:
                raise UnknownNameError("joint in 'controllers':", joint, led)
        for joint in led:
            if given.count(joint) != 1:
                valid = f"the joint '{joint}' is led and must be in it once"
                raise bad_value('controllers', self.controllers, valid)
        return joints_of

    def initial_positions(self) -> dict[str, float]:
        """Return the initial position of each joint that is named."""
        return number_map('initial', self.initial)
