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

"""Tracked VR devices in, a moving body out: tracker, solver, RViz, and a recording on request."""

from ament_index_python.packages import get_package_share_path
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription, OpaqueFunction
from launch_ros.actions import Node

from vr_ik.launch_arguments import is_true, namespace_and_prefix, number

SHARE = get_package_share_path('vr_ik')


def generate_launch_description() -> LaunchDescription:
    """Launch the tracker beside what body_launch.py launches, and takes as arguments."""
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                'backend',
                default_value='',
                description='Tracking source, such as openvr; empty: as in the parameter file.',
            ),
            IncludeLaunchDescription(str(SHARE / 'launch' / 'body_launch.py')),
            OpaqueFunction(function=_tracker),
        ]
    )


def _tracker(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    given = context.launch_configurations
    namespace, prefix = namespace_and_prefix(given)
    parameters: dict[str, object] = {'use_sim_time': is_true(given, 'use_sim_time')}
    if given['backend']:
        parameters['backend'] = given['backend']
    if given['height']:
        parameters['user_height_m'] = number(given, 'height')
    if prefix:
        parameters['frame_prefix'] = prefix
    return [
        Node(
            package='vr_ik',
            executable='tracker_node',
            # By name the arguments win over the sections of the parameter file.
            name='tracker_node',
            namespace=namespace,
            parameters=[given['config'], parameters],
            output='screen',
        )
    ]
