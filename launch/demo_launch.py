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

"""A simulated VR user moves a body, shown in RViz: no VR hardware needed."""

from ament_index_python.packages import get_package_share_path
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.substitutions import LaunchConfiguration


def generate_launch_description() -> LaunchDescription:
    """Launch what hardware would be launched with, on the simulated backend."""
    vr_launch = get_package_share_path('vr_ik') / 'launch' / 'vr_launch.py'
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                'height',
                default_value='',
                description="The simulated user's height [m] in place of that in demo.yaml.",
            ),
            DeclareLaunchArgument(
                'rviz', default_value='true', description='Whether to show the body in RViz.'
            ),
            IncludeLaunchDescription(
                str(vr_launch),
                launch_arguments={
                    'backend': 'simulated',
                    'height': LaunchConfiguration('height'),
                    'rviz': LaunchConfiguration('rviz'),
                }.items(),
            ),
        ]
    )
