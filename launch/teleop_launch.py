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

from pathlib import Path
import tempfile

from ament_index_python.packages import get_package_share_path
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription, OpaqueFunction
from launch_ros.actions import Node

from vr_ik.cli.robot_files import robot_file
from vr_ik.config import SolverConfig
from vr_ik.config_file import load_config
from vr_ik.io.packages import read_description
from vr_ik.kinematics.urdf import read_urdf
from vr_ik.launch_arguments import is_true, number
from vr_ik.simulation.robot_config import RobotConfig

SHARE = get_package_share_path('vr_ik')
OPERATOR = 'operator'
"""Namespace of the operator, so that his joint_states are not taken for the robot's."""
ARGUMENTS = {
    'robot': ('panda', 'The robot: a file of config/robots, without .yaml.'),
    'robot_file': ('', 'Parameter file of your own robot, in place of one of these.'),
    'output': ('', 'What is published, as docs/teleop.md has it; empty: as in the file.'),
    'controller': ('', 'Name of the controller of all joints; empty: as in the file.'),
    'simulate': ('false', 'Whether to simulate the robot, and to broadcast its frames.'),
    'robot_x': ('0.8', 'Where the simulated robot stands in the world frame: forward [m].'),
    'robot_y': ('0.0', 'Where it stands: to the left [m].'),
    'robot_z': ('0.0', 'Where it stands: up [m].'),
    'robot_yaw': ('0.0', 'How it is turned, counter-clockwise [rad].'),
    'config': (str(SHARE / 'config' / 'operator.yaml'), "Parameter file of the operator's nodes."),
    'namespace': (OPERATOR, "Namespace of the operator's nodes, and prefix of his frames."),
    'rviz': ('true', 'Whether to show operator and robot in RViz.'),
    'use_sim_time': ('false', 'Whether time comes from /clock, as of a simulator.'),
    # His elbow comes in one message with his body, and no later.
    'robot_state_publisher': ('false', "Whether one broadcasts the links of the operator's body."),
}


def generate_launch_description() -> LaunchDescription:
    """Launch what vr_launch.py launches for the operator, and takes as arguments, and more."""
    declared = [
        DeclareLaunchArgument(name, default_value=default, description=text)
        for name, (default, text) in ARGUMENTS.items()
    ]
    return LaunchDescription(
        [
            *declared,
            OpaqueFunction(function=_nodes),
            # RViz has been started by then, with another view.
            IncludeLaunchDescription(
                str(SHARE / 'launch' / 'vr_launch.py'), launch_arguments={'rviz': 'false'}.items()
            ),
        ]
    )


def _nodes(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    given = context.launch_configurations
    file = given['robot_file'] or str(robot_file(given['robot']))
    use_sim_time = {'use_sim_time': is_true(given, 'use_sim_time')}
    namespace = given['namespace'].strip('/')
    parameters = {
        'operator': namespace,
        'frame_prefix': f'{namespace}/',
        **use_sim_time,
        **({'output': given['output']} if given['output'] else {}),
        **({'controllers': given['controller']} if given['controller'] else {}),
    }
    nodes: list[LaunchDescriptionEntity] = [_node('teleop_node', [file, parameters])]
    if is_true(given, 'simulate'):
        nodes += _simulated_robot(given, file, use_sim_time)
    if is_true(given, 'rviz'):
        nodes.append(
            Node(
                package='rviz2',
                executable='rviz2',
                arguments=['-d', str(_view(namespace))],
                parameters=[use_sim_time],
            )
        )
    return nodes


def _simulated_robot(
    given: dict[str, str], file: str, use_sim_time: dict[str, bool]
) -> list[LaunchDescriptionEntity]:
    """Return the robot, its frames, and where it stands; a real one has the latter of its own."""
    urdf = read_description(load_config(RobotConfig, file, 'simulated_robot_node').urdf)
    namespace = given['namespace'].strip('/')
    world = load_config(SolverConfig, given['config'], 'solver_node', f'/{namespace}').world_frame
    place = {axis: str(number(given, f'robot_{axis}')) for axis in ('x', 'y', 'z', 'yaw')}
    frames = {**place, 'frame-id': world, 'child-frame-id': read_urdf(urdf).root}
    return [
        _node('simulated_robot_node', [file, use_sim_time]),
        Node(
            package='robot_state_publisher',
            executable='robot_state_publisher',
            parameters=[{'robot_description': urdf, 'publish_frequency': 250.0, **use_sim_time}],
            # The robot's node publishes the topic.
            remappings=[('robot_description', '~/robot_description')],
        ),
        Node(
            package='tf2_ros',
            executable='static_transform_publisher',
            arguments=[part for name, value in frames.items() for part in (f'--{name}', value)],
        ),
    ]


def _view(namespace: str) -> Path:
    """Return the view for RViz; for an operator of another name it is a temporary file."""
    view = SHARE / 'rviz' / 'teleop.rviz'
    if namespace == OPERATOR:
        return view
    text = view.read_text(encoding='utf-8').replace(f'{OPERATOR}/', f'{namespace}/')
    with tempfile.NamedTemporaryFile('w', prefix='vr_ik_', suffix='.rviz', delete=False) as file:
        file.write(text.replace(f'TF Prefix: {OPERATOR}', f'TF Prefix: {namespace}'))
    return Path(file.name)


def _node(executable: str, parameters: list[object]) -> Node:
    # By name the arguments win over the sections of the parameter file.
    return Node(
        package='vr_ik',
        executable=executable,
        name=executable,
        parameters=parameters,
        output='screen',
    )
