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


"""The parameters of humanoid retargeting: which link of the robot does as which of the person."""

from dataclasses import dataclass

from vr_ik.config_fields import bad_value, Config, param
from vr_ik.config_texts import key_values, number_map, option_map


@dataclass(frozen=True)
class HumanoidConfig(Config):
    """Parameters of the humanoid's node."""

    urdf: str = param(
        'package://example-robot-data/robots/talos_data/robots/talos_reduced.urdf',
        'The robot: a file, or package://PACKAGE/path.',
        read_only=True,
    )
    pairs: str = param(
        'torso=torso_2_link, l_elbow_flexion_link=arm_left_4_link, l_wrist=arm_left_7_link, '
        'r_elbow_flexion_link=arm_right_4_link, r_wrist=arm_right_7_link',
        "Links of the human model, and the robot's that do the same: 'torso=chest_link, ...'.",
        read_only=True,
    )
    weights: str = param(
        '',
        "Weights of single pairs on position [1/m^2] and rotation [1/rad^2], by the human's link: "
        "'torso=0 1'; 1 and 0.1 where none are given.",
        read_only=True,
    )
    reference: str = param(
        '',
        "The robot's joints, where not 0, when it stands with its arms hanging [rad or m]: "
        "'elbow=-0.2'.",
        read_only=True,
    )
    scale: float = param(
        0.0,
        "Steps of the robot to the person's; 0 takes it from the heights of their roots.",
        minimum=0.0,
        maximum=10.0,
        read_only=True,
    )
    posture_weight: float = param(
        1e-3,
        'Weight of the pull to the reference posture.',
        '1/rad^2',
        minimum=0.0,
        maximum=100.0,
        read_only=True,
    )
    operator: str = param(
        'operator', "Namespace of the person's joint_states and robot_description.", read_only=True
    )
    operator_frame: str = param(
        'operator/base_link', "Frame of the person's root.", read_only=True
    )
    world_frame: str = param('vr_world', 'Parent frame of both roots.', read_only=True)
    frame_prefix: str = param('', "Put before the robot's root frame.", read_only=True)

    def __post_init__(self) -> None:
        """Check every value, and the lists in texts."""
        super().__post_init__()
        self.reference_positions()
        self.pair_weights()

    def link_pairs(self) -> dict[str, str]:
        """Return the robot's link of each link of the human model."""
        return key_values('pairs', self.pairs)

    def reference_positions(self) -> dict[str, float]:
        """Return the joints that are not at 0 in the reference posture."""
        return number_map('reference', self.reference)

    def pair_weights(self) -> dict[str, tuple[float, float]]:
        """Return position and rotation weights of the pairs that have some of their own."""
        weights = {}
        for link, values in option_map('weights', self.weights).items():
            try:
                position, rotation = (float(value) for value in values)
            except (TypeError, ValueError):
                valid = "it must be 'LINK=position rotation', two numbers"
                raise bad_value('weights', f'{link}={values}', valid) from None
            weights[link] = (position, rotation)
        return weights
