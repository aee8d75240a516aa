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

"""`vr_ik call`: calls a service of a running node, where there is no `ros2 service call`."""

from typing import Annotated

import typer

from vr_ik.cli.ros import import_node_module


def call(
    service: Annotated[
        str, typer.Argument(help="Its name: '/solver_node/calibrate', '/teleop_node/pause' ...")
    ],
    value: Annotated[
        bool | None,
        typer.Argument(metavar='[true|false]', help='For services that turn something on or off.'),
    ] = None,
    timeout_s: Annotated[
        float, typer.Option('--timeout', metavar='S', min=0.1, help='How long to wait [s].')
    ] = 10.0,
    retry_s: Annotated[
        float,
        typer.Option(
            '--retry', metavar='S', min=0.0, help='For how long to call again if refused [s].'
        ),
    ] = 0.0,
) -> None:
    """Call a service of a running node (std_srvs/Trigger or SetBool) and print its answer.

    The exit code is 0 if it was done, 1 if the node refused it.
    """
    answer = import_node_module('calling').call_service(service, value, timeout_s, retry_s)
    typer.echo(answer.message, err=not answer.success)
    if not answer.success:
        raise typer.Exit(1)
