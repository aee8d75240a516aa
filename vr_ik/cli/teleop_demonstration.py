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


"""What the teleoperation demonstration does with running nodes: wait, measure, show."""

from collections.abc import Callable
from contextlib import ExitStack
import math
from pathlib import Path
import time
from typing import Any

from rich.console import Console

from vr_ik.cli.processes import NodeProcesses, NodesError
from vr_ik.cli.ros import import_node_module
from vr_ik.cli.teleop_demo import OPERATOR
from vr_ik.cli.teleop_measures import FRAMES, TeleopMeasures
from vr_ik.config_file import load_config
from vr_ik.errors import MissingDependencyError
from vr_ik.interruption import Interruption
from vr_ik.io.packages import read_description
from vr_ik.kinematics.model import RobotModel
from vr_ik.simulation.robot_config import RobotConfig
from vr_ik.teleop.node_config import TeleopNodeConfig
from vr_ik.trackers.simulated_user import SimulatedUser
from vr_ik.viewer.scene import Viewer

_PICTURE_PERIOD_S = 1.0 / 30.0
_LINE_PERIOD_S = 5.0
_PATIENCE_S = 240.0
_BEGINS_AFTER_S = 2
"""He is told so long before: he has to be seen releasing what he then presses."""
_HEARD_AFTER_S = 3
"""He has enabled and pressed the clutch; was he not heard by then, he begins again."""


class Beginning:
    """Lets the operator begin once nothing but him is missing; again, where he was not heard."""

    def __init__(
        self,
        measures: TeleopMeasures,
        lead_from: Callable[[int], bool],
        say: Callable[[str], None],
    ) -> None:
        """Ask the operator by `lead_from`, which tells whether there is somebody to ask."""
        self._measures, self._lead_from, self._say = measures, lead_from, say
        self._heard_by_s = 0

    def __call__(self) -> bool:
        """Return whether the robot is led; to be called over and over until it is."""
        measures, now_s = self._measures, int(time.time())
        if measures.first_command_s is not None:
            return True
        if measures.operator_awaited and now_s >= self._heard_by_s:
            origin_s = now_s + _BEGINS_AFTER_S
            if self._lead_from(origin_s):
                measures.begin(origin_s * 1_000_000_000)
                self._say('He begins again.' if self._heard_by_s else 'The operator begins.')
                self._heard_by_s = origin_s + _HEARD_AFTER_S
        return False


class TeleopDemonstration:
    """Measures and shows a robot that is led by a simulated operator."""

    def __init__(
        self, console: Console, file: Path, seconds: float | None, port: int | None
    ) -> None:
        """Measure for some seconds, or on and on; without a port there is no web page."""
        self._console = console
        self._seconds = math.inf if seconds is None else seconds
        self._port = port
        self._config = load_config(TeleopNodeConfig, file, 'teleop_node')
        robot = load_config(RobotConfig, file, 'simulated_robot_node')
        self._urdf_text = read_description(robot.urdf)
        self._measures: TeleopMeasures | None = None
        self._measured_s = 0.0

    def run(self, user_height_m: float, nodes: NodeProcesses, interruption: Interruption) -> None:
        """Wait until all are there, let the operator begin, then measure and show."""
        user = SimulatedUser(user_height_m, 'teleoperation')
        measures = TeleopMeasures(self._config, self._urdf_text, user)
        topics = [f'{name}/joint_trajectory' for name in self._config.controller_joints()]
        with ExitStack() as stack:
            listening = import_node_module('teleop_listener').listening
            lead_from, threads = stack.enter_context(listening(measures, OPERATOR, FRAMES, topics))

            def goes_on() -> bool:
                nodes.check()
                for thread in threads:
                    thread.check()
                for line in nodes.warnings():
                    self._say(line)
                time.sleep(_PICTURE_PERIOD_S)
                return not interruption.requested

            self._wait(measures, Beginning(measures, lead_from, self._say), goes_on)
            if measures.first_command_s is not None:
                self._say(f'The robot follows, {nodes.age_s:.1f} s after the start.')
                self._measures = measures
                self._show(measures, measures.first_command_s, goes_on, stack)
            measures.end()

    def _wait(
        self, measures: TeleopMeasures, done: Callable[[], bool], goes_on: Callable[[], bool]
    ) -> None:
        """Wait, and say every few seconds what for."""
        began_s = time.monotonic()
        next_line_s = _LINE_PERIOD_S
        while not done() and goes_on():
            waited_s = time.monotonic() - began_s
            if waited_s > _PATIENCE_S:
                raise NodesError(f'No command has come: {_why(measures)}')
            if waited_s >= next_line_s:
                next_line_s += _LINE_PERIOD_S
                self._say(f'Still waiting: {_why(measures)}')

    def _show(
        self,
        measures: TeleopMeasures,
        began_s: float,
        goes_on: Callable[[], bool],
        stack: ExitStack,
    ) -> None:
        """Refresh the page and say how it goes, until the time is over."""
        viewer = None
        next_line_s = _LINE_PERIOD_S
        while goes_on() and self._measured_s < self._seconds:
            self._measured_s = time.monotonic() - began_s
            if self._port is not None and measures.body is not None:
                viewer = self._open_viewer(measures.body, measures, self._port, stack)
                self._port = None
            if viewer is not None and viewer.is_watched:
                viewer.show_operator(measures.q_body, measures.devices, measures.q_robot)
            if self._measured_s >= next_line_s:
                next_line_s += _LINE_PERIOD_S
                self._report(measures, viewer)

    def summarize(self) -> dict[str, Any] | None:
        """Say and return what the run has shown; none where it was ended too early for that."""
        if self._measures is None:
            return None
        summary = self._measures.summary(self._measured_s)
        self._say(describe(summary))
        return summary

    def _report(self, measures: TeleopMeasures, viewer: Viewer | None) -> None:
        text = f'{measures.commands()} commands, {measures.state}.'
        self._say(text)
        if viewer is not None:
            viewer.show_figures(f'The operator leads the robot with his right hand.\n\n{text}')

    def _open_viewer(
        self, body: RobotModel, measures: TeleopMeasures, port: int, stack: ExitStack
    ) -> Viewer | None:
        try:
            viewer = Viewer(port)
            stack.callback(viewer.close)
            viewer.set_body(body, measures.body_description)
            viewer.set_robot(measures.robot, self._urdf_text)
        except MissingDependencyError as error:
            self._say(f'There is no web page: {error}')
            return None
        self._say(f'Web page: {viewer.url}')
        return viewer

    def _say(self, text: str) -> None:
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)


def _why(measures: TeleopMeasures) -> str:
    if not measures.robot_states:
        return 'the robot is silent.'
    if measures.body is None:
        return 'solver_node is silent.'
    return f"teleop_node says '{measures.state or 'nothing'}'."


def describe(summary: dict[str, Any]) -> str:
    """Return the figures in a few lines."""
    error, turn = summary['tracking_error_mm'], summary['tracking_error_deg']
    lag, latency = summary['lag_error_mm'], summary['latency_ms']
    beyond = ', '.join(f'{name} {n}' for name, n in summary['limit_violations'].items())
    stops = ', '.join(f'{name} {count}' for name, count in summary['stops'].items())
    held = ''.join(f'\n  {s:.2f} s: {text}' for text, s in summary['held_back_s'].items())
    return '\n'.join(
        (
            f'{summary["commands"]} commands in {summary["seconds"]:.1f} s, '
            f'{summary["engaged_s"]:.1f} s of them engaged; stops: {stops or "none"}.',
            f'Tracking error {_number(error["mean"], "mm")} mean, {_number(error["p95"], "mm")} '
            f'95 %; {_number(turn["mean"], "deg")} mean, {_number(turn["p95"], "deg")} 95 %.',
            f'Latency from hand to robot {_number(latency["median"], "ms")} median, '
            f'{_number(latency["max"], "ms")} longest; with it the robot is '
            f'{_number(lag["mean"], "mm")} behind the hand on average.',
            f'Held back: {held or "never"}.',
            f'Limit violations: {beyond}.',
            *summary['violations_found'],
        )
    )


def _number(value: float | None, unit: str) -> str:
    return '?' if value is None else f'{value:.2f} {unit}'
