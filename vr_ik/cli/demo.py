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

"""`vr_ik demo`: a simulated VR user through the real nodes, measured, shown in a browser."""

from collections.abc import Callable
from dataclasses import dataclass
import json
import os
from pathlib import Path
import time
from typing import Annotated, Any

from rich.console import Console
import typer

from vr_ik.cli.files import check_writable, write_text
from vr_ik.cli.processes import NodesError, running
from vr_ik.cli.ros import require_ros
from vr_ik.interruption import Interruption

DEFAULT_PORT = 8080
MOTION_STARTS_AFTER_S = 4


@dataclass(frozen=True)
class Simulation:
    """The simulated user: all that must be known to compute the true motion."""

    origin_s: int
    """When the motion starts, by the system's clock; whole seconds are exact as a parameter."""
    user_height_m: float = 1.75

    def nodes(self) -> dict[str, dict[str, object]]:
        """Return the nodes that track and solve the user, with their parameters."""
        tracker = {'backend': 'simulated', 'origin_s': float(self.origin_s)}
        return {
            'tracker_node': {**tracker, 'user_height_m': self.user_height_m},
            'solver_node': {'user_height_m': self.user_height_m},
        }


Seconds = Annotated[
    float | None,
    typer.Option(
        min=0.1,
        metavar='N',
        help='End after so many seconds, counted from the first joint states.',
        show_default='until Ctrl-C',
    ),
]
WithViewer = Annotated[
    bool, typer.Option('--viewer/--no-viewer', help='Show the bodies on a web page.')
]
JsonFile = Annotated[
    Path | None,
    typer.Option('--json', metavar='FILE', help='Write the figures of the run to a file.'),
]
Record = Annotated[
    Path | None,
    typer.Option(metavar='BAG', help='Record the devices to a new bag, for `vr_ik solve`.'),
]
Port = Annotated[
    int, typer.Option(min=0, max=65535, help='Port of the web page, or else the next free one.')
]


def demo(
    seconds: Seconds = None,
    viewer: WithViewer = True,
    json_file: JsonFile = None,
    record: Record = None,
    port: Port = DEFAULT_PORT,
) -> None:
    """Show a simulated VR user who moves a body through the real ROS 2 nodes.

    Starts tracker_node and solver_node as processes of their own and listens to what they
    publish, as any other node can: try `ros2 topic echo /joint_states` beside it.
    """
    if record is not None:
        from vr_ik.io.bag_writer import check_free

        check_free(record)
    port_or_none = port if viewer else None
    run_and_write(lambda: _run(Console(), seconds, port_or_none, record), json_file)


def run_and_write(run: Callable[[], dict[str, Any] | None], json_file: Path | None) -> None:
    """Run a demonstration and write its figures; where its nodes fail, the exit code is 1."""
    if json_file is not None:
        check_writable(json_file)
    require_ros()
    try:
        summary = run()
    except NodesError as error:
        typer.echo(f'vr_ik: {error}', err=True)
        raise typer.Exit(1) from error
    if summary is None:
        without = '' if json_file is None else f", without figures to write to '{json_file}'"
        typer.echo(f'Stopped before the first joint states had come{without}.')
    elif json_file is not None:
        write_text(json_file, json.dumps(summary, indent=2) + '\n')


def _run(
    console: Console, seconds: float | None, port: int | None, record: Path | None
) -> dict[str, Any] | None:
    """Run until the time is over or Ctrl-C, and return the figures, if there are any."""
    # The nodes are found by others on this machine, not by everyone in the network.
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    simulation = Simulation(int(time.time()) + MOTION_STARTS_AFTER_S)
    demonstration = None
    with Interruption() as interruption, running(simulation.nodes()) as nodes:
        console.print('Waiting for the first joint states of tracker_node and solver_node ...')
        # Imported late, with numba and all, for the nodes to be doing the same at the same time.
        from vr_ik.cli.demonstration import Demonstration

        demonstration = Demonstration(console, seconds, port, record)
        demonstration.run(simulation.user_height_m, simulation.origin_s, nodes, interruption)
    return demonstration.summarize() if demonstration is not None else None
