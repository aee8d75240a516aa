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

"""The solver, a robot_state_publisher, RViz and a recording: common to the other launch files."""

from pathlib import Path
import tempfile
from typing import Any

from ament_index_python.packages import get_package_share_path
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import DeclareLaunchArgument, ExecuteProcess, OpaqueFunction
from launch_ros.actions import Node
import yaml

from vr_ik.body.anthropometry import Proportions
from vr_ik.body.human import human_urdf
from vr_ik.config import replace, SolverConfig
from vr_ik.config_file import load_config
from vr_ik.errors import ConfigError
from vr_ik.launch_arguments import is_true, namespace_and_prefix, number
from vr_ik.nodes.description import STATE_PUBLISHER

SHARE = get_package_share_path('vr_ik')
RECORDED = ('joint_states', 'robot_description', 'l_controller/joy', 'r_controller/joy')
"""Topics in the user's namespace that are recorded beside /tf, /tf_static and /diagnostics."""
ARGUMENTS = {
    'config': (str(SHARE / 'config' / 'openvr.yaml'), 'ROS 2 parameter file of the nodes.'),
    'model': ('', 'Body to solve for, full or upper; empty: as in the parameter file.'),
    'solver': ('', 'Solver, as docs/solvers.md has them; empty: as in the parameter file.'),
    'trackers': ('', "Devices to follow: 'hmd,l_controller,waist'; empty: as in the file."),
    'height': ('', "The user's height [m]; empty: as in the parameter file."),
    'user': ('', 'Whose calibration is loaded and saved; empty: as in the parameter file.'),
    'namespace': ('', 'Namespace of all nodes; one for each of several users.'),
    'frame_prefix': ('', "Before the user's frames; empty: the namespace and a slash, if any."),
    'body_prefix': ('', 'Before the frames of the body alone, after the other prefix.'),
    'use_sim_time': ('false', 'Whether time comes from /clock, as when a bag is played.'),
    'record': ('false', 'Whether to record the session with `ros2 bag record`.'),
    'record_to': ('', 'Folder of the recording; empty: one with the date, right here.'),
    'rviz': ('true', 'Whether to show the body in RViz.'),
    'robot_state_publisher': (
        'true',
        'Whether one broadcasts the frames of the links; false: the solver does, in one message.',
    ),
}


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments; the nodes follow from them."""
    declared = [
        DeclareLaunchArgument(name, default_value=default, description=text)
        for name, (default, text) in ARGUMENTS.items()
    ]
    return LaunchDescription([*declared, OpaqueFunction(function=_actions)])


def _actions(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    given = context.launch_configurations
    namespace, prefix = namespace_and_prefix(given)
    parameters = _solver_parameters(given, prefix)
    # Checked here, too: for the launch to end with the reason, before anything has started.
    file = load_config(
        SolverConfig, given['config'], 'solver_node', f'/{namespace}' if namespace else ''
    )
    config = replace(file, parameters)
    use_sim_time = {'use_sim_time': is_true(given, 'use_sim_time')}
    actions: list[LaunchDescriptionEntity] = [
        Node(
            package='vr_ik',
            executable='solver_node',
            # By name the arguments win over the sections of the parameter file.
            name='solver_node',
            namespace=namespace,
            parameters=[given['config'], {**parameters, **use_sim_time}],
            output='screen',
        )
    ]
    if is_true(given, 'robot_state_publisher'):
        actions.append(_state_publisher(config, namespace, use_sim_time))
    if is_true(given, 'rviz'):
        view = _view(config)
        actions.append(
            Node(
                package='rviz2',
                executable='rviz2',
                namespace=namespace,
                arguments=['-d', str(view)],
                parameters=[use_sim_time],
            )
        )
    if is_true(given, 'record'):
        actions.append(_recording(f'/{namespace}' if namespace else '', given['record_to']))
    return actions


def _solver_parameters(given: dict[str, str], prefix: str) -> dict[str, Any]:
    """Return the parameters that arguments have set, and those that hold for all launches."""
    parameters: dict[str, Any] = {
        name: given[name] for name in ('model', 'solver', 'user', 'body_prefix') if given[name]
    }
    if given['trackers']:
        parameters['trackers'] = [name.strip() for name in given['trackers'].split(',')]
    if given['height']:
        parameters['user_height_m'] = number(given, 'height')
    if prefix:
        parameters['frame_prefix'] = prefix
    return {**parameters, 'publish_link_tf': not is_true(given, 'robot_state_publisher')}


def _state_publisher(config: SolverConfig, namespace: str, use_sim_time: dict[str, bool]) -> Node:
    """Return a robot_state_publisher for the body; the solver tells it of every calibration."""
    parameters = {
        'robot_description': human_urdf(
            Proportions.from_height(config.user_height_m, config.arm_span_m or None), config.model
        ),
        'frame_prefix': f'{config.frame_prefix}{config.body_prefix}',
        # The most it allows: every joint state is broadcast.
        'publish_frequency': 1000.0,
    }
    return Node(
        package='robot_state_publisher',
        executable='robot_state_publisher',
        name=STATE_PUBLISHER,
        namespace=namespace,
        parameters=[{**parameters, **use_sim_time}],
        # The solver publishes the topic.
        remappings=[('robot_description', '~/robot_description')],
        output='screen',
    )


def _view(config: SolverConfig) -> Path:
    """Return the view for RViz; with other frames than the usual ones it is a temporary file."""
    view = SHARE / 'rviz' / 'vr_ik.rviz'
    content = yaml.safe_load(view.read_text(encoding='utf-8'))
    manager = content['Visualization Manager']
    world_frame, prefix = config.world_frame, f'{config.frame_prefix}{config.body_prefix}'
    if not prefix and manager['Global Options']['Fixed Frame'] == world_frame:
        return view
    if prefix and not prefix.endswith('/'):
        raise ConfigError(f"RViz shows no frames with the prefix '{prefix}': end it with '/'.")
    manager['Global Options']['Fixed Frame'] = world_frame
    manager['Views']['Current']['Target Frame'] = world_frame
    for display in manager['Displays']:
        if display['Class'] == 'rviz_default_plugins/RobotModel':
            display['TF Prefix'] = prefix.rstrip('/')
        if display['Class'] == 'rviz_default_plugins/TF':
            frames = display['Frames']
            display['Frames'] = {
                name if name == 'All Enabled' else f'{config.frame_prefix}{name}': value
                for name, value in frames.items()
            }
    with tempfile.NamedTemporaryFile('w', prefix='vr_ik_', suffix='.rviz', delete=False) as file:
        yaml.safe_dump(content, file, sort_keys=False)
    return Path(file.name)


def _recording(namespace: str, folder: str) -> ExecuteProcess:
    topics = ['/tf', '/tf_static', '/diagnostics', *(f'{namespace}/{name}' for name in RECORDED)]
    where = ['--output', folder] if folder else []
    return ExecuteProcess(cmd=['ros2', 'bag', 'record', *where, *topics], output='screen')
