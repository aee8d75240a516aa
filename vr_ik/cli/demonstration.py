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

"""What the demonstration does with running nodes: wait for them, measure them, show them."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
import math
import os
from pathlib import Path
import time
from typing import Any, Protocol

from rich.console import Console
from rich.live import Live

from vr_ik.cli.dashboard import Dashboard, describe, markdown
from vr_ik.cli.measures import FRAMES, Measures
from vr_ik.cli.processes import NodeProcesses, NodesError
from vr_ik.cli.ros import import_node_module
from vr_ik.errors import MissingDependencyError
from vr_ik.interruption import Interruption
from vr_ik.trackers.simulated_user import SimulatedUser
from vr_ik.viewer.scene import Viewer

WORLD_FRAME = 'vr_world'

_POLL_PERIOD_S = 0.02
_HINT_AFTER_S = 4.0
_PATIENCE_S = 180.0
_PICTURE_PERIOD_S = 1.0 / 30.0
_TABLE_PERIOD_S = 0.5
_LINE_PERIOD_S = 5.0
_SILENCE_S = 5.0


class _Part(Protocol):
    def check(self) -> None:
        """Raise an error if the part has failed."""


class _Watch:
    """The clock of the loops: it ticks as long as nothing has failed or was interrupted."""

    def __init__(self, interruption: Interruption, parts: tuple[_Part, ...]) -> None:
        """Watch these parts."""
        self._interruption = interruption
        self._parts = parts

    def ticks(self, period_s: float) -> Iterator[float]:
        """Yield the seconds since the first tick, once every period."""
        start_s = time.monotonic()
        while not self._interruption.requested:
            for part in self._parts:
                part.check()
            yield time.monotonic() - start_s
            time.sleep(period_s)


class _Flow:
    """The flow of joint states, a part that fails when none come for a while."""

    def __init__(self, measures: Measures) -> None:
        """Begin to wait for the next one."""
        self._measures = measures
        self._count = measures.joint_states
        self._since_s = time.monotonic()

    def check(self) -> None:
        """Raise `NodesError` after a silence."""
        now_s, count = time.monotonic(), self._measures.joint_states
        if count != self._count:
            self._count, self._since_s = count, now_s
        elif now_s - self._since_s > _SILENCE_S:
            raise NodesError(
                f'No joint states have come for {_SILENCE_S:.0f} s, '
                'although tracker_node and solver_node are running.'
            )


class _Others:
    """Others that publish the same topics, a part that warns of them once."""

    def __init__(self, sources: Callable[[], int], say: Callable[[str], None]) -> None:
        """Ask for the number of sources, which is one where all is well."""
        self._sources = sources
        self._say = say
        self._warned = False

    def check(self) -> None:
        """Warn as soon as there are any."""
        if self._warned or (sources := self._sources()) <= 1:
            return
        self._warned = True
        domain = os.environ.get('ROS_DOMAIN_ID', '0')
        self._say(
            f'{sources} nodes publish joint_states in ROS domain {domain}: the figures are of '
            'no use. End the others, or set another ROS_DOMAIN_ID.'
        )


class Demonstration:
    """Measures and shows nodes that follow a simulated user."""

    def __init__(
        self,
        console: Console,
        seconds: float | None,
        port: int | None,
        record: Path | None = None,
    ) -> None:
        """Measure for some seconds, or on and on; without a port there is no web page.

        A bag is recorded where `record` says.
        """
        self._console = console
        self._seconds = math.inf if seconds is None else seconds
        self._port = port
        self._record = record
        self._measures: Measures | None = None

    def run(
        self, user_height_m: float, origin_s: int, nodes: NodeProcesses, interruption: Interruption
    ) -> None:
        """Wait for the nodes' first joint states, then measure and show them."""
        measures = Measures(SimulatedUser(user_height_m), origin_s * 1_000_000_000)
        with ExitStack() as stack:
            listening = import_node_module('listener').listening
            listener = stack.enter_context(listening(measures, WORLD_FRAME, FRAMES))
            parts: tuple[_Part, ...] = (nodes, listener)
            if self._record is not None:
                recording = import_node_module('recorder').recording
                parts += (stack.enter_context(recording(self._record)),)
            self._wait_for_first(measures, _Watch(interruption, parts))
            measures.begin(time.time_ns())
            self._measures = measures
            self._say(f'Joint states are coming, {nodes.age_s:.1f} s after the start.')
            try:
                viewer = self._open_viewer(measures, stack)
                # Anew: the opening of the page has held up what came meanwhile.
                measures.begin(time.time_ns())
                others = _Others(listener.sources, self._say)
                watch = _Watch(interruption, (*parts, _Flow(measures), others))
                self._show(measures, viewer, watch)
            finally:
                measures.end(time.time_ns())

    def summarize(self) -> dict[str, Any] | None:
        """Say and return what the run has shown; none where it was ended too early for that."""
        if self._measures is None:
            return None
        summary = self._measures.summary()
        self._say(describe(summary))
        return summary

    def _say(self, text: str) -> None:
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)

    def _wait_for_first(self, measures: Measures, watch: _Watch) -> None:
        hint = 'Still waiting: the machine is busy, or compiles the solver for the first time ...'
        for waited_s in watch.ticks(_POLL_PERIOD_S):
            if measures.instant is not None and measures.instant.devices:
                return  # each of the publishers has been found
            if hint and waited_s > _HINT_AFTER_S:
                self._say(hint)
                hint = ''
            if waited_s > _PATIENCE_S:
                raise NodesError(f'No joint states have come for {_PATIENCE_S:.0f} s.')

    def _open_viewer(self, measures: Measures, stack: ExitStack) -> Viewer | None:
        if self._port is None or measures.model is None:
            return None
        try:
            viewer = Viewer(self._port)
            stack.callback(viewer.close)
            viewer.set_body(measures.model, measures.description)
            viewer.set_ghost(measures.user.model, measures.user_description)
        except MissingDependencyError as error:
            self._say(f'There is no web page: {error}')
            return None
        self._say(f'Web page: {viewer.url}')
        return viewer

    def _show(self, measures: Measures, viewer: Viewer | None, watch: _Watch) -> None:
        """Refresh the page and the figures until the time is over."""
        dashboard = Dashboard(measures, viewer.url if viewer else '')
        is_terminal = self._console.is_terminal
        period_s = _TABLE_PERIOD_S if is_terminal else _LINE_PERIOD_S
        next_s = period_s
        with Live(console=self._console, auto_refresh=False) as live:
            for elapsed_s in watch.ticks(_PICTURE_PERIOD_S):
                # A run ends with a joint state: silence at its end is not taken for success.
                if measures.seconds_to_last >= self._seconds:
                    break
                now = measures.instant
                if viewer is not None and viewer.is_watched and now is not None:
                    viewer.show(now.q, now.q_true, now.devices)
                if elapsed_s >= next_s:
                    next_s += period_s
                    if viewer is not None:
                        viewer.show_figures(markdown(measures.summary()))
                    if is_terminal:
                        live.update(dashboard.table(), refresh=True)
                    else:
                        self._say(describe(measures.summary()))
