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
A recorded session, solved again: `ros2 bag play` on simulated time, solver and RViz.

What the recorded solver had published comes under `recorded/`, and its frames keep their names;
the body that is solved now has frames of its own, so that both can be compared.
"""

from collections.abc import Callable

from ament_index_python.packages import get_package_share_path
from launch import Action, LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import (
    DeclareLaunchArgument,
    EmitEvent,
    ExecuteProcess,
    IncludeLaunchDescription,
    OpaqueFunction,
    RegisterEventHandler,
)
from launch.event_handlers import OnProcessExit, OnProcessIO
from launch.events import Shutdown
from launch.events.process import ProcessIO
from launch_ros.actions import Node

from vr_ik.launch_arguments import is_true, namespace_and_prefix

SHARE = get_package_share_path('vr_ik')
CLOCK_HZ = '250'
"""As fine as any tracking rate."""
DISCOVERY_S = '1.0'
"""How long player and solver have to find each other."""
SOLVED_TOPICS = ('joint_states', 'robot_description', 'markers')
ARGUMENTS = {
    'bag': (None, 'The recorded session: a folder with metadata.yaml, or an MCAP file.'),
    'rate': ('1.0', 'Speed of the replay; 2.0 is twice as fast.'),
    'loop': ('false', 'Whether to begin again at the end, or to end the launch there.'),
    'config': (str(SHARE / 'config' / 'demo.yaml'), 'ROS 2 parameter file of the solver.'),
    'body_prefix': ('replayed/', 'Before the frames of the body that is solved now.'),
    'use_sim_time': ('true', 'Whether time comes from the bag, by /clock.'),
}


def generate_launch_description() -> LaunchDescription:
    """Launch the player beside what body_launch.py launches, and takes as arguments."""
    declared = [
        DeclareLaunchArgument(name, default_value=default, description=text)
        for name, (default, text) in ARGUMENTS.items()
    ]
    return LaunchDescription(
        [
            *declared,
            IncludeLaunchDescription(str(SHARE / 'launch' / 'body_launch.py')),
            OpaqueFunction(function=_player),
        ]
    )


def _player(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    given = context.launch_configurations
    namespace, _ = namespace_and_prefix(given)
    below = f'/{namespace}/' if namespace else '/'
    remappings = [f'{below}{name}:={below}recorded/{name}' for name in SOLVED_TOPICS]
    play = ExecuteProcess(
        cmd=[
            *('ros2', 'bag', 'play', given['bag']),
            *('--clock', CLOCK_HZ, '--rate', given['rate'], '--delay', DISCOVERY_S),
            *(['--loop'] if is_true(given, 'loop') else []),
            *('--remap', *remappings, '/diagnostics:=/recorded/diagnostics'),
        ],
        output='screen',
    )
    end = EmitEvent(event=Shutdown(reason='the bag has ended'))
    return [
        RegisterEventHandler(OnProcessIO(target_action=_is_solver, on_stderr=_once_ready(play))),
        RegisterEventHandler(OnProcessExit(target_action=play, on_exit=[end])),
    ]


def _is_solver(action: Action) -> bool:
    return isinstance(action, Node) and action.node_executable == 'solver_node'


def _once_ready(play: ExecuteProcess) -> Callable[[ProcessIO], list[LaunchDescriptionEntity]]:
    """Return what starts the player when the solver listens: no frame is played to nobody."""
    waiting: list[LaunchDescriptionEntity] = [play]

    def look(output: ProcessIO) -> list[LaunchDescriptionEntity]:
        return [waiting.pop()] if waiting and b'Ready.' in output.text else []

    return look
