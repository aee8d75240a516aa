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

SHARE = get_package_share_path('vr_ik')


def generate_launch_description() -> LaunchDescription:
    """Launch what hardware would be launched with, on the simulated user."""
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                'config',
                default_value=str(SHARE / 'config' / 'demo.yaml'),
                description='ROS 2 parameter file of the nodes.',
            ),
            IncludeLaunchDescription(
                str(SHARE / 'launch' / 'vr_launch.py'),
                launch_arguments={'backend': 'simulated'}.items(),
            ),
        ]
    )
