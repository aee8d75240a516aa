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

"""The launch files as they are read, on stand-ins for launch and launch_ros, which PyPI lacks.

`test_launch.py` starts them for real, where ROS 2 has a `ros2 launch`.
"""

from pathlib import Path
import runpy
import sys
import tempfile
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import yaml

from vr_ik.body.anthropometry import Proportions
from vr_ik.body.human import human_urdf
from vr_ik.errors import VrIkError
from vr_ik.nodes.description import STATE_PUBLISHER

ROOT = Path(__file__).parent.parent
NAMES = {
    'launch': ['Action', 'LaunchContext', 'LaunchDescription', 'LaunchDescriptionEntity'],
    'launch.actions': [
        'DeclareLaunchArgument',
        'EmitEvent',
        'ExecuteProcess',
        'IncludeLaunchDescription',
        'OpaqueFunction',
        'RegisterEventHandler',
    ],
    'launch.event_handlers': ['OnProcessExit', 'OnProcessIO'],
    'launch.events': ['Shutdown'],
    'launch.events.process': ['ProcessIO'],
    'launch_ros': [],
    'launch_ros.actions': ['Node'],
}
FILES = (
    'body_launch.py',
    'demo_launch.py',
    'replay_launch.py',
    'teleop_launch.py',
    'vr_launch.py',
)


def stand_in(name: str) -> Any:
    """Return a class whose instances only remember what they were made with."""

    def remember(self: Any, *positional: Any, **named: Any) -> None:
        self.positional, self.named = positional, named

    return type(name, (), {'__init__': remember})


@pytest.fixture(autouse=True)
def launch_modules(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path))
    for module_name, names in NAMES.items():
        module = ModuleType(module_name)
        for name in names:
            setattr(module, name, stand_in(name))
        monkeypatch.setitem(sys.modules, module_name, module)
    packages = ModuleType('ament_index_python.packages')
    packages.get_package_share_path = lambda package: ROOT  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, 'ament_index_python.packages', packages)


def kind(entity: Any) -> str:
    return type(entity).__name__


def visit(name: str, given: dict[str, str]) -> list[Any]:
    """Return what a launch file starts; as launch does, each argument is set where declared."""
    file = runpy.run_path(str(ROOT / 'launch' / name))
    started: list[Any] = []
    for entity in file['generate_launch_description']().positional[0]:
        if kind(entity) == 'DeclareLaunchArgument':
            assert entity.named['description'].endswith('.')
            given.setdefault(entity.positional[0], entity.named['default_value'])
        elif kind(entity) == 'IncludeLaunchDescription':
            given.update(entity.named.get('launch_arguments', {}))
            started += visit(Path(entity.positional[0]).name, given)
        elif kind(entity) == 'OpaqueFunction':
            context = SimpleNamespace(launch_configurations=given)
            started += entity.named['function'](context)
    return started


def nodes(name: str, **given: str) -> dict[str, dict[str, Any]]:
    """Return the nodes that a launch file starts with these arguments, by executable."""
    started = [entity.named for entity in visit(name, given) if kind(entity) == 'Node']
    return {node['executable']: node for node in started}


def commands(name: str, **given: str) -> list[list[str]]:
    started = visit(name, given)
    for entity in list(started):
        if kind(entity) == 'RegisterEventHandler' and 'on_stderr' in entity.positional[0].named:
            look = entity.positional[0].named['on_stderr']
            assert look(SimpleNamespace(text=b'Preparing the solver')) == []
            started += look(SimpleNamespace(text=b'[INFO] [solver_node]: Ready.\n'))
            assert look(SimpleNamespace(text=b'Ready.')) == []
    started = [entity for entity in started if kind(entity) == 'ExecuteProcess']
    return [entity.named['cmd'] for entity in started]


def parameters(node: dict[str, Any]) -> dict[str, Any]:
    """Return those that are given beside the parameter file."""
    return dict(entry for more in node['parameters'][1:] for entry in more.items())


def test_the_nodes_are_those_that_are_installed():
    for file, ours in (
        ('demo_launch.py', {'solver_node', 'tracker_node'}),
        ('vr_launch.py', {'solver_node', 'tracker_node'}),
        ('replay_launch.py', {'solver_node'}),
    ):
        started = nodes(file, bag='session')
        assert {name for name, node in started.items() if node['package'] == 'vr_ik'} == ours
        for name in ours:
            assert f"'{name} = vr_ik.nodes.{name}:main'" in (ROOT / 'setup.py').read_text()


def test_the_parameter_file_decides_on_what_no_argument_says():
    for file, config in (('demo_launch.py', 'demo.yaml'), ('vr_launch.py', 'openvr.yaml')):
        started = nodes(file)
        assert started['tracker_node']['parameters'][0] == str(ROOT / 'config' / config)
        assert started['solver_node']['parameters'][0] == str(ROOT / 'config' / config)
        solver = parameters(started['solver_node'])
        assert solver == {'publish_link_tf': False, 'use_sim_time': False}
    assert parameters(nodes('vr_launch.py')['tracker_node']) == {'use_sim_time': False}


def test_the_arguments_reach_the_nodes():
    arguments = {'model': 'upper', 'solver': 'lm', 'trackers': 'hmd, l_controller', 'user': 'me'}
    started = nodes('vr_launch.py', height='1.9', backend='circle', **arguments)
    tracker = parameters(started['tracker_node'])
    assert tracker == {'backend': 'circle', 'user_height_m': 1.9, 'use_sim_time': False}
    solver = parameters(started['solver_node'])
    assert solver['trackers'] == ['hmd', 'l_controller']
    assert (solver['model'], solver['solver'], solver['user']) == ('upper', 'lm', 'me')
    assert solver['user_height_m'] == 1.9


@pytest.mark.parametrize(
    ('name', 'value'), [('solver', 'magic'), ('model', 'lower'), ('trackers', 'hmd,tail')]
)
def test_a_bad_argument_ends_the_launch_with_the_valid_ones(name, value):
    with pytest.raises(VrIkError, match='Known: '):
        nodes('demo_launch.py', **{name: value})


def test_a_switch_is_true_or_false():
    with pytest.raises(VrIkError, match="'yes' of parameter 'record'"):
        nodes('demo_launch.py', record='yes')


def test_rviz_has_the_frames_of_the_parameter_file(tmp_path):
    file = tmp_path / 'prefixed.yaml'
    text = '/**/solver_node: {ros__parameters: {frame_prefix: %s, body_prefix: b/}}'
    file.write_text(text % 'op/')
    view = Path(nodes('vr_launch.py', config=str(file))['rviz2']['arguments'][1]).read_text()
    assert 'TF Prefix: op/b\n' in view
    assert ' op/hmd:' in view
    file.write_text(text.replace('b/', 'b') % 'op/')
    with pytest.raises(VrIkError, match="end it with '/'"):
        nodes('vr_launch.py', config=str(file))


def test_a_namespace_is_that_of_all_nodes_and_a_prefix_of_all_frames():
    started = nodes('demo_launch.py', namespace='anna')
    assert {node['namespace'] for node in started.values()} == {'anna'}
    for name in ('solver_node', 'tracker_node'):
        assert parameters(started[name])['frame_prefix'] == 'anna/'
    view = yaml.safe_load(Path(started['rviz2']['arguments'][1]).read_text())
    displays = {display['Name']: display for display in view['Visualization Manager']['Displays']}
    assert displays['Body']['TF Prefix'] == 'anna'
    assert 'anna/hmd' in displays['Devices']['Frames']


def test_a_number_that_is_none_is_named():
    with pytest.raises(VrIkError, match="'tall' of parameter 'height'"):
        nodes('demo_launch.py', height='tall')


def test_either_the_solver_or_a_state_publisher_broadcasts_the_links():
    started = nodes('replay_launch.py', bag='session', namespace='anna', height='1.6')
    (given,) = started['robot_state_publisher']['parameters']
    body = human_urdf(Proportions.from_height(1.6))
    assert given['robot_description'] == body
    assert given['frame_prefix'] == 'anna/replayed/'
    assert given['use_sim_time'] is True
    assert started['robot_state_publisher']['name'] == STATE_PUBLISHER
    assert not parameters(started['solver_node'])['publish_link_tf']
    without = nodes('replay_launch.py', bag='session', robot_state_publisher='false')
    assert 'robot_state_publisher' not in without
    assert parameters(without['solver_node'])['publish_link_tf']


def test_rviz_can_be_left_out():
    assert 'rviz2' in nodes('demo_launch.py')
    assert 'rviz2' not in nodes('demo_launch.py', rviz='false')


def test_a_recording_has_what_a_replay_needs():
    assert commands('demo_launch.py') == []
    (command,) = commands('demo_launch.py', record='true', namespace='anna', record_to='out')
    assert command[:5] == ['ros2', 'bag', 'record', '--output', 'out']
    assert {'/tf', '/tf_static', '/anna/joint_states'} <= set(command)


def test_a_replay_plays_the_bag_on_its_own_time_and_moves_aside_what_was_solved():
    (command,) = commands('replay_launch.py', bag='session', rate='0.5', loop='true')
    assert command[:4] == ['ros2', 'bag', 'play', 'session']
    assert command[command.index('--rate') + 1] == '0.5'
    assert {'--loop', '--clock', '/joint_states:=/recorded/joint_states'} <= set(command)
    solver = parameters(nodes('replay_launch.py', bag='session')['solver_node'])
    assert solver['use_sim_time'] is True
    assert solver['body_prefix'] == 'replayed/'


def test_every_launch_file_is_looked_at_here():
    ours = {path.name for path in (ROOT / 'launch').glob('*.py')}
    assert ours == set(FILES)


def test_the_operator_of_a_robot_has_a_namespace_of_his_own():
    started = nodes('teleop_launch.py', robot='ur5', output='commands', controller='mine')
    assert set(started) == {'teleop_node', 'tracker_node', 'solver_node', 'rviz2'}
    for name in ('tracker_node', 'solver_node'):
        assert started[name]['namespace'] == 'operator'
        assert parameters(started[name])['frame_prefix'] == 'operator/'
    teleop = started['teleop_node']
    assert teleop['parameters'][0] == str(ROOT / 'config' / 'robots' / 'ur5.yaml')
    given = parameters(teleop)
    assert given['operator'] == 'operator'
    assert given['frame_prefix'] == 'operator/'
    assert (given['output'], given['controllers']) == ('commands', 'mine')
    assert started['rviz2']['arguments'][1] == str(ROOT / 'rviz' / 'teleop.rviz')
    simulated = nodes('teleop_launch.py', simulate='true', rviz='false', robot_yaw='1.5')
    assert {'simulated_robot_node', 'teleop_node', 'robot_state_publisher'} < set(simulated)
    assert 'rviz2' not in simulated
    place = simulated['static_transform_publisher']['arguments']
    given = dict(zip(place[::2], place[1::2], strict=True))
    assert (given['--frame-id'], given['--child-frame-id']) == ('vr_world', 'panda_link0')
    assert (given['--x'], given['--yaw']) == ('0.8', '1.5')


def test_the_arguments_of_the_operator_are_his():
    started = nodes('teleop_launch.py', namespace='anna', config=str(ROOT / 'config/demo.yaml'))
    for name in ('tracker_node', 'solver_node'):
        assert started[name]['namespace'] == 'anna'
        assert started[name]['parameters'][0] == str(ROOT / 'config/demo.yaml')
    assert parameters(started['teleop_node'])['frame_prefix'] == 'anna/'
    view = Path(started['rviz2']['arguments'][1]).read_text()
    assert '/anna/robot_description' in view
    assert 'operator' not in view
    with pytest.raises(VrIkError, match='nowhere'):
        nodes('teleop_launch.py', config='nowhere.yaml')
