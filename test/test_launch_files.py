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

"""The launch files, run against stand-ins for launch and launch_ros, which PyPI does not have."""

from pathlib import Path
import runpy
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import yaml

from vr_ik.body.anthropometry import Proportions
from vr_ik.body.human import human_urdf

ROOT = Path(__file__).parent.parent
NAMES = {
    'launch': ['LaunchContext', 'LaunchDescription', 'LaunchDescriptionEntity'],
    'launch.actions': ['DeclareLaunchArgument', 'IncludeLaunchDescription', 'OpaqueFunction'],
    'launch.conditions': ['IfCondition'],
    'launch.substitutions': ['LaunchConfiguration'],
    'launch_ros': [],
    'launch_ros.actions': ['Node'],
}


def stand_in(name: str) -> Any:
    """Return a class whose instances only remember what they were made with."""

    def remember(self: Any, *positional: Any, **named: Any) -> None:
        self.positional, self.named = positional, named

    return type(name, (), {'__init__': remember})


@pytest.fixture(autouse=True)
def launch_modules(monkeypatch):
    for module_name, names in NAMES.items():
        module = ModuleType(module_name)
        for name in names:
            setattr(module, name, stand_in(name))
        monkeypatch.setitem(sys.modules, module_name, module)
    packages = ModuleType('ament_index_python.packages')
    packages.get_package_share_path = lambda package: ROOT  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, 'ament_index_python.packages', packages)


def entities(name: str) -> list[Any]:
    file = runpy.run_path(str(ROOT / 'launch' / name))
    return list(file['generate_launch_description']().positional[0])


def kind(entity: Any) -> str:
    return type(entity).__name__


def declared(name: str) -> dict[str, str]:
    arguments = [e for e in entities(name) if kind(e) == 'DeclareLaunchArgument']
    assert all(argument.named['description'].endswith('.') for argument in arguments)
    return {argument.positional[0]: argument.named['default_value'] for argument in arguments}


def nodes(**arguments: str) -> dict[str, dict[str, Any]]:
    """Return what vr_launch.py starts with these arguments, by executable."""
    function = next(e for e in entities('vr_launch.py') if kind(e) == 'OpaqueFunction')
    configurations = {**declared('vr_launch.py'), **arguments}
    context = SimpleNamespace(launch_configurations=configurations)
    started = function.named['function'](context)
    return {node.named['executable']: node.named for node in started}


def test_the_nodes_are_those_that_are_installed():
    started = nodes()
    ours = {name for name, node in started.items() if node['package'] == 'vr_ik'}
    assert ours == {'tracker_node', 'solver_node'}
    for name in ours:
        assert f"'{name} = vr_ik.nodes.{name}:main'" in (ROOT / 'setup.py').read_text()


def test_the_arguments_reach_the_nodes():
    started = nodes(height='1.9', backend='circle')
    config = str(ROOT / 'config' / 'demo.yaml')
    user = {'user_height_m': 1.9}
    assert started['tracker_node']['parameters'] == [config, {'backend': 'circle', **user}]
    assert started['solver_node']['parameters'] == [config, user]
    publisher = started['robot_state_publisher']['parameters'][0]
    assert publisher['robot_description'] == human_urdf(Proportions.from_height(1.9))


def test_the_parameter_file_decides_on_what_no_argument_says(tmp_path):
    file = tmp_path / 'mine.yaml'
    mine = {'model': 'upper', 'user_height_m': 1.6, 'arm_span_m': 1.7}
    file.write_text(yaml.dump({'solver_node': {'ros__parameters': mine}}))
    started = nodes(config=str(file))
    assert started['tracker_node']['parameters'] == [str(file)]
    assert started['solver_node']['parameters'] == [str(file)]
    publisher = started['robot_state_publisher']['parameters'][0]
    proportions = Proportions.from_height(1.6, 1.7)
    assert publisher['robot_description'] == human_urdf(proportions, 'upper')


def test_rviz_gets_a_view_that_exists():
    rviz = nodes()['rviz2']
    view = yaml.safe_load(Path(rviz['arguments'][1]).read_text())
    displays = view['Visualization Manager']['Displays']
    assert {display['Class'].rpartition('/')[2] for display in displays} >= {'RobotModel', 'TF'}
    assert view['Visualization Manager']['Global Options']['Fixed Frame'] == 'vr_world'
    assert kind(rviz['condition']) == 'IfCondition'


def test_the_demonstration_is_the_same_on_the_simulated_user():
    include = next(e for e in entities('demo_launch.py') if kind(e) == 'IncludeLaunchDescription')
    passed = dict(include.named['launch_arguments'])
    assert Path(include.positional[0]) == ROOT / 'launch' / 'vr_launch.py'
    assert passed['backend'] == 'simulated'
    assert set(passed) <= set(declared('vr_launch.py'))
    arguments = declared('demo_launch.py')
    assert set(arguments) == set(passed) - {'backend'}
    assert arguments['height'] == declared('vr_launch.py')['height'] == ''
