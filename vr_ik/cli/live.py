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

"""`vr_ik get` and `vr_ik set`: a running node's parameters, where there is no `ros2 param`."""

import json
from typing import Annotated, Any

import typer

from vr_ik.cli.ros import import_node_module
from vr_ik.errors import VrIkError

NodeName = Annotated[
    str, typer.Argument(metavar='NODE', help="Its name: '/solver_node', '/anna/solver_node' ...")
]
Timeout = Annotated[
    float,
    typer.Option('--timeout', metavar='S', min=0.1, help='How long to wait for each answer [s].'),
]


def get(
    node: NodeName,
    names: Annotated[
        list[str] | None, typer.Argument(metavar='NAME', help='All, if none is named.')
    ] = None,
    timeout_s: Timeout = 10.0,
) -> None:
    """Print parameters of a running node, as they stand in a parameter file."""
    for setting in import_node_module('remote_parameters').get_parameters(
        node, names or [], timeout_s
    ):
        typer.echo(_line(setting))


def set_(
    node: NodeName,
    changes: Annotated[
        list[str],
        typer.Argument(
            metavar='NAME=VALUE', help="As in a parameter file: 'trackers=[hmd, waist]'."
        ),
    ],
    timeout_s: Timeout = 10.0,
) -> None:
    """Change parameters of a running node, all of them or none.

    The exit code is 0 if it was done, 1 if the node refused it.
    """
    texts: dict[str, str] = {}
    for name, text in map(_pair, changes):
        if name in texts:
            raise VrIkError(f"'{name}' is named twice.")
        texts[name] = text
    answer, given = import_node_module('remote_parameters').set_parameters(node, texts, timeout_s)
    if not answer.successful:
        typer.echo(answer.reason, err=True)
        raise typer.Exit(1)
    for setting in given:
        typer.echo(_line(setting))


def _pair(change: str) -> tuple[str, str]:
    name, equals, text = change.partition('=')
    if not (name and equals):
        raise VrIkError(f"'{change}' is no change of a parameter; NAME=VALUE is expected.")
    return name, text


def _line(setting: Any) -> str:
    """Return a parameter as YAML, of which JSON is a part."""
    remark = f'  # {setting.description}' if setting.description else ''
    return f'{setting.name}: {json.dumps(setting.value, default=str)}{remark}'
