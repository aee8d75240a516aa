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

"""
Tracked VR devices in, a moving body out: tracker, solver, robot_state_publisher and RViz.

robot_state_publisher gets the body as the parameter file and the arguments have it, once: a model
that changes while the solver runs (its parameters, a calibration) takes another launch to be seen
in tf as well. The solver's own topic robot_description always has the newest.
"""

from typing import Any

from ament_index_python.packages import get_package_share_path
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from vr_ik.body.anthropometry import Proportions
from vr_ik.body.human import human_urdf
from vr_ik.config import replace, SolverConfig
from vr_ik.config_file import load_config

SHARE = get_package_share_path('vr_ik')
PUBLISH_FREQUENCY_HZ = 250.0
"""Above every tracking rate: robot_state_publisher then passes on each joint state."""


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments; the nodes follow from them."""
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                'config',
                default_value=str(SHARE / 'config' / 'demo.yaml'),
                description='ROS 2 parameter file of tracker_node and solver_node.',
            ),
            DeclareLaunchArgument(
                'backend',
                default_value='',
                description='Tracking source in place of that in the parameter file.',
            ),
            DeclareLaunchArgument(
                'height',
                default_value='',
                description="The user's height [m] in place of that in the parameter file; "
                'robot_state_publisher keeps the body that the launch began with.',
            ),
            DeclareLaunchArgument(
                'rviz', default_value='true', description='Whether to show the body in RViz.'
            ),
            OpaqueFunction(function=_nodes),
        ]
    )


def _nodes(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    arguments = context.launch_configurations
    config = arguments['config']
    source = {'backend': arguments['backend']} if arguments['backend'] else {}
    user = {'user_height_m': float(arguments['height'])} if arguments['height'] else {}
    solver = replace(load_config(SolverConfig, config, 'solver_node'), user)
    proportions = Proportions.from_height(solver.user_height_m, solver.arm_span_m or None)
    return [
        Node(
            package='vr_ik',
            executable='tracker_node',
            parameters=_parameters(config, {**source, **user}),
            output='screen',
        ),
        Node(
            package='vr_ik',
            executable='solver_node',
            parameters=_parameters(config, user),
            output='screen',
        ),
        Node(
            package='robot_state_publisher',
            executable='robot_state_publisher',
            parameters=[
                {
                    'robot_description': human_urdf(proportions, solver.model),
                    'publish_frequency': PUBLISH_FREQUENCY_HZ,
                    'frame_prefix': solver.frame_prefix,
                }
            ],
            # The solver publishes the description, and does so again when it changes.
            remappings=[('robot_description', '~/robot_description')],
        ),
        Node(
            package='rviz2',
            executable='rviz2',
            arguments=['-d', str(SHARE / 'rviz' / 'vr_ik.rviz')],
            condition=IfCondition(LaunchConfiguration('rviz')),
        ),
    ]


def _parameters(config: str, given: dict[str, Any]) -> list[str | dict[str, Any]]:
    """Return a node's parameters: those of the file, then those given as arguments, if any."""
    return [config, given] if given else [config]
