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


"""An operator leads a robot: his nodes under /operator, teleop_node between, RViz for both.

The robot publishes joint_states and robot_description and has its controllers running; with
simulate:=true it is a simulated one.
"""

from ament_index_python.packages import get_package_share_path
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription, OpaqueFunction
from launch_ros.actions import Node

SHARE = get_package_share_path('vr_ik')
OPERATOR = 'operator'
"""Namespace of the operator, so that his joint_states are not taken for the robot's."""
ARGUMENTS = {
    'robot': ('panda', 'The robot: a file of config/robots, without .yaml.'),
    'robot_file': ('', 'Parameter file of your own robot, in place of one of these.'),
    'output': ('', 'What is published, as docs/teleop.md has it; empty: as in the file.'),
    'controller': ('', 'Name of the controller of all joints; empty: as in the file.'),
    'simulate': ('false', 'Whether to simulate the robot.'),
    'teleop_rviz': ('true', 'Whether to show operator and robot in RViz.'),
}


def generate_launch_description() -> LaunchDescription:
    """Launch what vr_launch.py launches for the operator, and takes as arguments, and more."""
    declared = [
        DeclareLaunchArgument(name, default_value=default, description=text)
        for name, (default, text) in ARGUMENTS.items()
    ]
    operator = {
        'config': str(SHARE / 'config' / 'operator.yaml'),
        'namespace': OPERATOR,
        'rviz': 'false',
        # His elbow comes in one message with his body, and no later.
        'robot_state_publisher': 'false',
    }
    return LaunchDescription(
        [
            *declared,
            IncludeLaunchDescription(
                str(SHARE / 'launch' / 'vr_launch.py'), launch_arguments=operator.items()
            ),
            OpaqueFunction(function=_nodes),
        ]
    )


def _nodes(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    given = context.launch_configurations
    file = given['robot_file'] or str(SHARE / 'config' / 'robots' / f'{given["robot"]}.yaml')
    use_sim_time = {'use_sim_time': _is_true(given['use_sim_time'])}
    parameters = {
        'operator': OPERATOR,
        'frame_prefix': f'{OPERATOR}/',
        **use_sim_time,
        **({'output': given['output']} if given['output'] else {}),
        **({'controllers': given['controller']} if given['controller'] else {}),
    }
    nodes: list[LaunchDescriptionEntity] = [_node('teleop_node', [file, parameters])]
    if _is_true(given['simulate']):
        nodes.append(_node('simulated_robot_node', [file, use_sim_time]))
    if _is_true(given['teleop_rviz']):
        nodes.append(
            Node(
                package='rviz2',
                executable='rviz2',
                arguments=['-d', str(SHARE / 'rviz' / 'teleop.rviz')],
                parameters=[use_sim_time],
            )
        )
    return nodes


def _node(executable: str, parameters: list[object]) -> Node:
    # By name the arguments win over the sections of the parameter file.
    return Node(
        package='vr_ik',
        executable=executable,
        name=executable,
        parameters=parameters,
        output='screen',
    )


def _is_true(text: str) -> bool:
    return text.lower() in ('true', '1')
