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

"""The views for RViz and Foxglove show what the nodes publish: plug-ins, topics, qualities."""

from collections.abc import Callable, Iterator
import json
from pathlib import Path
import re
from typing import Any, NamedTuple

import pytest
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
import yaml

from vr_ik.body.anthropometry import Proportions
from vr_ik.body.human import human_urdf
from vr_ik.config import ROLES, SolverConfig, TrackerConfig
from vr_ik.kinematics.model import RobotModel
from vr_ik.nodes import solver_node, tracker_node
from vr_ik.nodes.joining import joined
from vr_ik.nodes.teleop_report import TeleopReport

ROOT = Path(__file__).parent.parent
TYPES = {
    'Grid': None,
    'MarkerArray': 'MarkerArray',
    'Pose': 'PoseStamped',
    'RobotModel': 'String',
    'TF': None,
}
"""Displays of rviz_default_plugins, and the messages that they take."""
PLUGINS = {
    *(f'rviz_default_plugins/{name}' for name in TYPES),
    *(f'rviz_default_plugins/{name}' for name in ('MoveCamera', 'FocusCamera', 'Measure')),
    *(f'rviz_default_plugins/{name}' for name in ('Orbit', 'TopDownOrtho')),
    *(f'rviz_common/{name}' for name in ('Displays', 'Views')),
}


class Published(NamedTuple):
    """A topic that a node publishes."""

    type: str
    qos: QoSProfile


class Graph(NamedTuple):
    """What nodes offer."""

    topics: dict[str, Published]
    services: set[str]


def offered_by(create: Callable[[], list[Node]]) -> Graph:
    """Make nodes, and return what they have opened."""
    with joined():
        nodes = create()
        topics = {
            end.topic_name: Published(end.msg_type.__name__, end.qos_profile)
            for node in nodes
            for end in node.publishers
        }
        services = {service.service_name for node in nodes for service in node.services}
        for node in nodes:
            node.destroy_node()
    return Graph(topics, services)


@pytest.fixture(scope='module')
def one_user() -> Graph:
    """The nodes as demo_launch.py has them."""
    return offered_by(lambda: [tracker_node.create(), solver_node.create()])


@pytest.fixture(scope='module')
def operator_and_robot() -> Graph:
    """The nodes that lead a robot: the operator's in his namespace."""

    def create() -> list[Node]:
        # The node itself opens its topics when a robot has told what it looks like.
        leading = Node('teleop_node')
        TeleopReport(leading, 2, 'base_link')
        return [tracker_node.create('/operator'), solver_node.create('/operator'), leading]

    return offered_by(create)


def view(name: str) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((ROOT / 'rviz' / name).read_text())
    return content['Visualization Manager']


def check(view_: dict[str, Any], topics: dict[str, Published]) -> None:
    """Have every display subscribe to something of its type, in a quality that is offered."""
    for display in view_['Displays']:
        wanted = TYPES[display['Class'].rpartition('/')[2]]
        if wanted is None:
            continue
        topic = display['Description Topic' if wanted == 'String' else 'Topic']
        name = topic['Value']
        offered = topics[name if name.startswith('/') else f'/{name}']
        assert offered.type == wanted
        # Either way: who subscribes as volatile misses what was said before he came.
        is_latched = offered.qos.durability == DurabilityPolicy.TRANSIENT_LOCAL
        assert topic['Durability Policy'] == ('Transient Local' if is_latched else 'Volatile')
        if topic['Reliability Policy'] == 'Reliable':
            assert offered.qos.reliability == ReliabilityPolicy.RELIABLE
        assert topic['History Policy'] == 'Keep Last'
        assert topic['Depth'] >= 1


@pytest.mark.parametrize('name', ['vr_ik.rviz', 'teleop.rviz'])
def test_a_view_needs_the_default_plug_ins_alone(name):
    content = yaml.safe_load((ROOT / 'rviz' / name).read_text())
    found = set(filter(None, values_of(content, 'Class')))
    assert found <= PLUGINS
    assert {'rviz_default_plugins/RobotModel', 'rviz_default_plugins/TF'} <= found
    assert view(name)['Global Options']['Fixed Frame'] == 'vr_world'
    assert view(name)['Views']['Current']['Target Frame'] == 'vr_world'


def test_the_view_of_a_user_shows_what_his_nodes_publish(one_user):
    view_ = view('vr_ik.rviz')
    check(view_, one_user.topics)
    shown = {display['Class'].rpartition('/')[2] for display in view_['Displays']}
    assert shown == {'Grid', 'MarkerArray', 'RobotModel', 'TF'}
    assert frames_of(view_) == set(ROLES)


def frames_of(view_: dict[str, Any]) -> set[str]:
    """Return the frames that a view shows by name."""
    (frames,) = (d['Frames'] for d in view_['Displays'] if d['Class'].endswith('/TF'))
    return set(frames) - {'All Enabled'}


def test_the_view_of_teleoperation_shows_robot_and_operator(operator_and_robot):
    topics = dict(operator_and_robot.topics)
    # Of the robot's own: whoever describes the robot publishes it so.
    topics['/robot_description'] = topics['/operator/robot_description']
    view_ = view('teleop.rviz')
    check(view_, topics)
    models = [d for d in view_['Displays'] if d['Class'].endswith('/RobotModel')]
    assert [(d['Name'], d['TF Prefix']) for d in models] == [
        ('Robot', ''),
        ('Operator', 'operator'),
    ]
    assert frames_of(view_) == {f'operator/{role}' for role in ROLES}


def strings(tree: Any) -> Iterator[str]:
    if isinstance(tree, dict):
        yield from tree
        tree = list(tree.values())
    if isinstance(tree, list):
        for value in tree:
            yield from strings(value)
    if isinstance(tree, str):
        yield tree


def values_of(tree: Any, key: str) -> Iterator[Any]:
    """Yield all that stands under a key, anywhere."""
    if isinstance(tree, dict):
        yield from (value for name, value in tree.items() if name == key)
        tree = list(tree.values())
    if isinstance(tree, list):
        for value in tree:
            yield from values_of(value, key)


def test_the_foxglove_layout_shows_what_the_nodes_publish(one_user):
    layout = json.loads((ROOT / 'config' / 'foxglove_layout.json').read_text())
    named = {text for text in strings(layout['configById']) if text.startswith('/')}
    for name in named:
        assert name.partition('.')[0] in {*one_user.topics, *one_user.services}, name
    assert {'/markers', '/robot_description', '/diagnostics'} <= named
    panels = {text for text in strings(layout['layout']) if '!' in text}
    assert panels == set(layout['configById'])
    frames = {SolverConfig().world_frame, TrackerConfig().world_frame}
    assert len(frames) == 1
    shown = {text for key in ('followTf', 'frameId') for text in values_of(layout, key)}
    assert shown == frames
    body = layout['configById']['3D!body']
    assert body['layers']['body']['topic'] == '/robot_description'


def test_the_foxglove_plot_has_the_joints_of_its_legend():
    layout = json.loads((ROOT / 'config' / 'foxglove_layout.json').read_text())
    names = RobotModel.from_urdf(human_urdf(Proportions.from_height(1.75))).joint_names
    paths = layout['configById']['Plot!joints']['paths']
    assert paths
    for path in paths:
        index = re.fullmatch(r'/joint_states\.position\[(\d+)\]', path['value'])
        assert index is not None
        assert names[int(index[1])] == path['label']
