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


"""`vr_ik teleop-demo`: a simulated operator leads a simulated robot through the real nodes."""

from collections.abc import Sequence
import os
from pathlib import Path
from typing import Annotated, Any

from rich.console import Console
import typer

from vr_ik.cli.demo import (
    DEFAULT_PORT,
    JsonFile,
    Port,
    run_and_write,
    Seconds,
    WithViewer,
)
from vr_ik.cli.processes import running
from vr_ik.cli.robot_files import robot_file
from vr_ik.config_fields import bad_value
from vr_ik.config_file import load_config
from vr_ik.errors import ConfigError, UnknownNameError, VrIkError
from vr_ik.interruption import Interruption
from vr_ik.io.packages import read_description, share_folders
from vr_ik.simulation.robot_config import DEFAULT_CONTROLLER, RobotConfig
from vr_ik.teleop.node_config import TeleopNodeConfig

OPERATOR = 'operator'
LEADING = 'r_controller'
"""The device that the simulated user leads an arm with."""
USER_HEIGHT_M = 1.75
_NOT_YET_S = 1e10
"""Until he is told when to begin, the simulated user stands still and presses nothing."""

Robot = Annotated[
    str,
    typer.Option(
        metavar='NAME',
        help='The robot: a file of config/robots, without .yaml, or the path of one.',
    ),
]


def teleop_demo(
    seconds: Seconds = None,
    robot: Robot = 'panda',
    viewer: WithViewer = True,
    json_file: JsonFile = None,
    port: Port = DEFAULT_PORT,
) -> None:
    """Show a simulated VR user who leads a simulated robot arm with his right hand.

    Starts tracker_node and solver_node for the operator, simulated_robot_node for the robot, and
    teleop_node between them, as processes of their own. Ends with exit code 1 if a command was
    beyond a limit of position, velocity or acceleration, or the arm was not led for long enough
    to measure how well it follows.
    """
    file = robot_file(robot)
    check_shown(file)
    summaries: list[dict[str, Any]] = []

    def run() -> dict[str, Any] | None:
        summary = _run(Console(), file, seconds, port if viewer else None)
        if summary is not None:
            summaries.append(summary)
        return summary

    run_and_write(run, json_file)
    for summary in summaries:
        measured = summary['tracking_error_mm']['mean'] is not None
        if not measured:
            typer.echo('The arm was not led for long enough to measure how it follows.', err=True)
        if not measured or any(summary['limit_violations'].values()):
            raise typer.Exit(1)


def check_shown(file: Path) -> None:
    """Raise `ConfigError` for a robot that the simulated user cannot lead, or nobody judge."""
    config = load_config(TeleopNodeConfig, file, 'teleop_node')
    if LEADING not in config.device_frames:
        valid = f"the simulated user leads with his '{LEADING}', which is not among them"
        raise ConfigError(
            f'{file}: {bad_value("device_frames", list(config.device_frames), valid)}'
        )
    if config.output != 'joint_trajectory':
        valid = "the demonstration hears and judges 'joint_trajectory' alone"
        raise ConfigError(f'{file}: {bad_value("output", config.output, valid)}')
    _check_names(file, config)


def _check_names(file: Path, config: TeleopNodeConfig) -> None:
    """Raise `ConfigError` for links, joints and controllers that the robot does not have."""
    # Imported late: with it come numba and all that is compiled.
    from vr_ik.teleop.session import TeleopSession

    simulated = load_config(RobotConfig, file, 'simulated_robot_node')
    known = simulated.joints_of() or {DEFAULT_CONTROLLER: ()}
    try:
        for name in config.controller_joints():
            if name not in known:
                raise UnknownNameError("controller of 'teleop_node'", name, known)
        text = read_description(simulated.urdf)
        session = TeleopSession(config, text, tuple(share_folders()))
        config.joints_of_controllers(session.joint_names)
    except VrIkError as error:
        raise ConfigError(f'{file}: {error}') from error


def _run(
    console: Console, file: Path, seconds: float | None, port: int | None
) -> dict[str, Any] | None:
    """Run until the time is over or Ctrl-C, and return the figures, if there are any."""
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    demonstration = None
    nodes, arguments = all_nodes(file)
    with Interruption() as interruption, running(nodes, arguments) as processes:
        console.print(f'Waiting for {", ".join(nodes)} ...')
        # Imported late, with numba and all, for the nodes to be doing the same at the same time.
        from vr_ik.cli.teleop_demonstration import TeleopDemonstration

        demonstration = TeleopDemonstration(console, file, seconds, port)
        demonstration.run(USER_HEIGHT_M, processes, interruption)
    return demonstration.summarize() if demonstration is not None else None


_FRAMES = {'frame_prefix': f'{OPERATOR}/'}
_USER = {'user_height_m': USER_HEIGHT_M}
_MOTION = {'motion': 'teleoperation', 'origin_s': _NOT_YET_S}
_NAMED = ('-r', f'__ns:=/{OPERATOR}')

Nodes = tuple[dict[str, dict[str, object]], dict[str, Sequence[str]]]
"""Nodes with their parameters, and with their other arguments."""


def all_nodes(file: Path) -> Nodes:
    """Return the nodes of a robot and of an operator, who waits for when he is to begin."""
    given = ('--params-file', str(file))
    nodes: dict[str, dict[str, object]] = {
        'simulated_robot_node': {},
        'teleop_node': {'operator': OPERATOR, **_FRAMES},
        'solver_node': {**_USER, **_FRAMES, 'calibrate_by_triggers': 'false'},
        'tracker_node': {**_USER, **_FRAMES, **_MOTION},
    }
    return nodes, {
        'simulated_robot_node': given,
        'teleop_node': given,
        'solver_node': _NAMED,
        'tracker_node': _NAMED,
    }
