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

"""Write the tables of topics, parameters and options in the README and in docs/ from the code.

`--check` only compares.
"""

import argparse
from collections.abc import Iterable, Sequence
from importlib.metadata import entry_points, EntryPoint
import math
import os
from pathlib import Path
import re
import sys
from typing import NamedTuple
from unittest.mock import patch

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile

from vr_ik import registry
from vr_ik.body.anthropometry import Proportions
from vr_ik.body.human import human_urdf
from vr_ik.config import describe, SolverConfig, TrackerConfig
from vr_ik.config_fields import Config, ParamRow
from vr_ik.kinematics.urdf import read_urdf
from vr_ik.nodes import qos, solver_node, tracker_node
from vr_ik.nodes.joining import joined
from vr_ik.simulation.robot_config import RobotConfig
from vr_ik.teleop.humanoid_config import HumanoidConfig
from vr_ik.teleop.node_config import TeleopNodeConfig

ROOT = Path(__file__).resolve().parent.parent
OF_ROS = ('/parameter_events', '/rosout')

TOPIC_TEXTS = {
    ('tracker_node', 'publishes', '/tf'): (
        'The tracked devices, children of `vr_world`: one message for each tracking frame, with '
        'one stamp; a device that is not tracked is left out.'
    ),
    ('tracker_node', 'publishes', '/tf_static'): (
        'Base stations and, where there is one, the map: children of `vr_world`.'
    ),
    ('tracker_node', 'publishes', '/diagnostics'): (
        'Once a second: the source, and each device with its serial, role, status, rate, drops '
        'and battery.'
    ),
    ('solver_node', 'subscribes to', '/tf'): 'The tracked devices; a frame is solved as it comes.',
    **{
        ('solver_node', use, f'{side}_controller/joy{below}'): text
        for use, below, text in (
            ('subscribes to', '', 'Both triggers, held for a second, calibrate.'),
            (
                'publishes',
                '/set_feedback',
                'One firm pulse: the user is measured; three weak ones: refused.',
            ),
        )
        for side in 'lr'
    },
    ('solver_node', 'publishes', 'joint_states'): (
        'Positions and velocities of all joints, under the stamp of the tracking frame.'
    ),
    ('solver_node', 'publishes', '/tf'): (
        '`vr_world` → `base_link`, under the same stamp; with `publish_link_tf` all links, in the '
        'same message.'
    ),
    ('solver_node', 'publishes', 'robot_description'): (
        'The human model as URDF; kept for those who come later, published again on changes.'
    ),
    ('solver_node', 'publishes', 'markers'): (
        'Twenty times a second, while somebody looks: where each device is, where the body has '
        'it, coloured by the error, and how far hands and feet reach.'
    ),
    ('solver_node', 'publishes', '/diagnostics'): (
        'Once a second: rate, latency, solve time, errors, how the solves ended, devices in use, '
        'calibration. What is worse shows at once, what is better after three seconds.'
    ),
}


SERVICE_TEXTS = {
    ('tracker_node', '~/recenter'): (
        'The world gets its origin under the headset, facing where it faces.'
    ),
    ('tracker_node', '~/save_map'): 'Writes the map frame to its file.',
    ('tracker_node', '~/load_map'): 'Reads the map frame from its file.',
    ('solver_node', '~/calibrate'): (
        'Measures the user, who stands in a T-pose or A-pose: size, and how devices are worn.'
    ),
    (
        'solver_node',
        '~/reset',
    ): 'Forgets the past: the next frame is solved from a standing start.',
    ('solver_node', '~/pause'): (
        'true: frames are passed over, and nothing is published; false: on with the next frame.'
    ),
}


class Service(NamedTuple):
    """A service that a node offers."""

    node: str
    name: str
    kind: str


class Topic(NamedTuple):
    """A topic as a node uses it."""

    node: str
    use: str
    name: str
    kind: str
    quality: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Bring the pages up to date, or say that one is not; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        '--check', action='store_true', help='change nothing; exit code 1 if stale'
    )
    check = parser.parse_args(arguments).check
    for name, tables in pages().items():
        page = ROOT / name
        old = page.read_text(encoding='utf-8')
        new = with_tables(name, old, tables)
        if check and new != old:
            print(f'{name} is out of date: run tools/readme_tables.py.', file=sys.stderr)
            return 1
        if new != old:
            page.write_text(new, encoding='utf-8')
    return 0


def with_tables(page: str, text: str, tables: dict[str, str]) -> str:
    """Return the text of a page with each table between its two marks."""
    for name, table in tables.items():
        begin, end = f'<!-- begin {name} -->', f'<!-- end {name} -->'
        if text.count(begin) != 1 or text.count(end) != 1:
            raise SystemExit(f"{page} must have '{begin}' and '{end}', each once.")
        head, _, rest = text.partition(begin)
        text = f'{head}{begin}\n\n{table}\n{end}{rest.partition(end)[2]}'
    return text


def pages() -> dict[str, dict[str, str]]:
    """Return all tables, by page and name."""
    # The tables are those of this package, whatever plug-ins are installed beside it.
    with patch.object(registry, '_entries', _own_entries):
        topics, services = node_ends()
        readme = {
            'topics': topic_table(topics),
            'services': service_table(services),
            'tracker_node parameters': parameter_table(TrackerConfig),
            'solver_node parameters': parameter_table(SolverConfig),
        }
        teleop = {
            'teleop_node parameters': parameter_table(TeleopNodeConfig),
            'humanoid_node parameters': parameter_table(HumanoidConfig),
            'simulated_robot_node parameters': parameter_table(RobotConfig),
        }
        return {
            'README.md': readme,
            'docs/joints.md': {'joints': joint_table()},
            'docs/solvers.md': {'options': option_tables()},
            'docs/teleop.md': teleop,
        }


def _own_entries(group: str) -> dict[str, EntryPoint]:
    entries = entry_points(group=group)
    return {entry.name: entry for entry in entries if entry.value.startswith('vr_ik.')}


def joint_table() -> str:
    """Return the joints of the human model as Markdown, but for those of the right side."""
    model = read_urdf(human_urdf(Proportions.from_height(1.75)))
    rows = [
        (
            f'`{joint.name}`',
            f'`{joint.parent}` → `{joint.child}`',
            ' '.join(f'{x:.2f}'.replace('-0.00', '0.00') for x in joint.axis),
            f'{math.degrees(joint.lower):.4g} to {math.degrees(joint.upper):.4g}',
        )
        for joint in model.joints
        if joint.kind == 'revolute' and not joint.name.startswith('r_')
    ]
    return _markdown(('joint', 'between the links', 'axis', 'range [deg]'), rows)


def option_tables() -> str:
    """Return a table with the options of each solver, under its name."""
    return '\n'.join(
        f'### `{name}`\n{option_table(registry.load(registry.SOLVERS, name).Options)}'
        for name in registry.names(registry.SOLVERS)
    )


def option_table(cls: type[Config]) -> str:
    """Return the options of a solver as Markdown."""
    rows = [
        (f'`{row.name}`', _default(row), row.unit, _valid(row), row.description)
        for row in describe(cls)
    ]
    return _markdown(('option', 'default', 'unit', 'valid', 'meaning'), rows)


def parameter_table(cls: type[Config]) -> str:
    """Return the parameters of a node as Markdown."""
    rows = [
        (f'`{row.name}`', _default(row), row.unit, _valid(row), _meaning(row))
        for row in describe(cls)
    ]
    return _markdown(('parameter', 'default', 'unit', 'valid', 'meaning'), rows)


def topic_table(topics: Iterable[Topic]) -> str:
    """Return the topics of all nodes as Markdown; each must have its text here."""
    rows = [
        (
            f'`{topic.node}`',
            f'{topic.use} `{topic.name}`',
            f'`{topic.kind}`',
            topic.quality,
            _text(topic),
        )
        for topic in topics
    ]
    return _markdown(('node', 'topic', 'type', 'quality of service', 'what'), rows)


def _text(topic: Topic) -> str:
    key = (topic.node, topic.use, topic.name)
    if key not in TOPIC_TEXTS:
        raise SystemExit(f'Say in TOPIC_TEXTS what {topic.node} {topic.use} {topic.name} for.')
    return TOPIC_TEXTS[key]


def service_table(services: Iterable[Service]) -> str:
    """Return the services of all nodes as Markdown; each must have its text here."""
    rows = []
    for service in services:
        key = (service.node, service.name)
        if key not in SERVICE_TEXTS:
            raise SystemExit(f'Say in SERVICE_TEXTS what {service.name} of {service.node} is for.')
        kind = f'`std_srvs/{service.kind}`'
        rows.append((f'`{service.node}`', f'`{service.name}`', kind, SERVICE_TEXTS[key]))
    return _markdown(('node', 'service', 'type', 'what'), rows)


def node_ends() -> tuple[list[Topic], list[Service]]:
    """Make the nodes, and return the topics and services that they have opened."""
    # Nobody shall take these nodes for running ones.
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'OFF'
    topics: list[Topic] = []
    services: list[Service] = []
    with joined():
        for create in (tracker_node.create, solver_node.create):
            node = create()
            try:
                topics += _topics_of(node)
                services += _services_of(node)
            finally:
                node.destroy_node()
    return topics, services


def _services_of(node: Node) -> list[Service]:
    own = f'{node.get_fully_qualified_name()}/'
    return [
        Service(
            node.get_name(), service.service_name.replace(own, '~/'), service.srv_type.__name__
        )
        for service in node.services
        if service.srv_type.__module__.startswith('std_srvs.')
    ]


def _topics_of(node: Node) -> list[Topic]:
    topics = []
    for use, ends in (('subscribes to', node.subscriptions), ('publishes', node.publishers)):
        for end in ends:
            name = end.topic_name
            if name in OF_ROS:
                continue
            absolute = name in (qos.TF_TOPIC, qos.TF_STATIC_TOPIC, qos.DIAGNOSTICS_TOPIC)
            kind = f'{end.msg_type.__module__.partition(".")[0]}/{end.msg_type.__name__}'
            shown = name if absolute else name.removeprefix('/')
            topics.append(Topic(node.get_name(), use, shown, kind, _quality(end.qos_profile)))
    return topics


def _quality(profile: QoSProfile) -> str:
    latched = profile.durability == DurabilityPolicy.TRANSIENT_LOCAL
    durability = ', transient local' if latched else ''
    return f'{profile.reliability.name.lower()}{durability}, depth {profile.depth}'


def _default(row: ParamRow) -> str:
    if row.valid and row.default == f'[{row.valid.removeprefix("one of ")}]':
        return 'all'
    return f'`{row.default}`' if row.default else ''


def _valid(row: ParamRow) -> str:
    if row.valid.startswith('one of '):
        names = row.valid.removeprefix('one of ').split(', ')
        return ', '.join(f'`{name}`' for name in names)
    return re.sub(r'e\+?(-?)0*', r'e\1', row.valid)


def _meaning(row: ParamRow) -> str:
    return row.description + (' Fixed at the start.' if row.live == 'no' else '')


def _markdown(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [titles, ['---'] * len(titles), *rows]
    return ''.join(f'| {" | ".join(cells)} |\n' for cells in lines)


if __name__ == '__main__':
    sys.exit(main())
