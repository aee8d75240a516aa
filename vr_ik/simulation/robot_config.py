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

"""The parameters of the simulated robot's node."""

from collections import Counter
from dataclasses import dataclass

from vr_ik.config_fields import bad_value, Config, param
from vr_ik.config_texts import key_values, number_map

DEFAULT_URDF = 'package://example-robot-data/robots/panda_description/urdf/panda.urdf'

DEFAULT_CONTROLLER = 'controller'


@dataclass(frozen=True)
class RobotConfig(Config):
    """Parameters of the simulated robot's node."""

    urdf: str = param(
        DEFAULT_URDF, 'The robot: a file, or package://PACKAGE/path.', read_only=True
    )
    controllers: str = param(
        '',
        "Controllers and their joints: 'arm=joint1 joint2, gripper=finger1'; empty: one named "
        f"'{DEFAULT_CONTROLLER}' for all joints.",
        read_only=True,
    )
    initial: str = param(
        '', "Joints that do not start at 0 [rad or m]: 'joint2=-0.8, joint4=-2'.", read_only=True
    )
    open_loop_control: bool = param(
        False,
        'New trajectories begin where the old one is; false, as in joint_trajectory_controller: '
        'where the joints are measured.',
        read_only=True,
    )
    rate_hz: float = param(
        250.0, 'Joint states published.', '1/s', minimum=1.0, maximum=500.0, read_only=True
    )

    def __post_init__(self) -> None:
        """Check every value, and the lists in texts."""
        super().__post_init__()
        self.joints_of()
        self.initial_positions()

    def joints_of(self) -> dict[str, tuple[str, ...]]:
        """Return the joints of each controller."""
        pairs = key_values('controllers', self.controllers)
        joints_of = {name: tuple(joints.split()) for name, joints in pairs.items()}
        counts = Counter(joint for joints in joints_of.values() for joint in joints)
        for joint, count in counts.items():
            if count > 1:
                valid = f"the joint '{joint}' must be in it once"
                raise bad_value('controllers', self.controllers, valid)
        return joints_of

    def initial_positions(self) -> dict[str, float]:
        """Return the initial position of each joint that is named."""
        return number_map('initial', self.initial)
