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

"""`vr_ik simulate-openvr`: the openvr backend without hardware, on a simulated runtime."""

from contextlib import AbstractContextManager
import os
import time
from typing import Annotated, Any

from rich.console import Console
import typer

from vr_ik.cli.demo import (
    DEFAULT_PORT,
    JsonFile,
    MOTION_STARTS_AFTER_S,
    Port,
    run_and_write,
    Seconds,
    WithViewer,
)
from vr_ik.cli.processes import running
from vr_ik.interruption import Interruption
from vr_ik.simulation.runtime import SimulatedRuntime
from vr_ik.trackers.loop import Severity
from vr_ik.trackers.openvr_session import load_openvr

USER_HEIGHT_M = 1.75

_POLL_PERIOD_S = 0.1


def simulate_openvr(
    seconds: Seconds = None,
    nodes: Annotated[
        bool,
        typer.Option(
            '--nodes/--no-nodes', help='Run tracker_node and solver_node, or the runtime alone.'
        ),
    ] = True,
    viewer: WithViewer = True,
    json_file: JsonFile = None,
    port: Port = DEFAULT_PORT,
) -> None:
    """Try the openvr backend without VR hardware and without SteamVR.

    A simulated user wears the devices of a simulated OpenVR runtime. The rest is what hardware
    would have: Valve's libopenvr_api and pyopenvr, tracker_node with the backend openvr, and
    solver_node. With --no-nodes only the runtime runs, for nodes that you start yourself.
    """
    load_openvr()
    if nodes:
        run_and_write(lambda: _run_graph(Console(), seconds, port if viewer else None), json_file)
    else:
        _run_runtime(Console(), seconds)


def _run_graph(console: Console, seconds: float | None, port: int | None) -> dict[str, Any] | None:
    """Run until the time is over or Ctrl-C, and return the figures, if there are any."""
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    demonstration = None
    with Interruption() as interruption, SimulatedRuntime(running=False) as runtime:
        os.environ.update(runtime.environment())
        with running(_nodes()) as processes:
            console.print('Waiting for the first joint states of tracker_node and solver_node ...')
            # Imported late, with numba and all: the nodes do the same meanwhile.
            from vr_ik.cli.demonstration import Demonstration

            demonstration = Demonstration(console, seconds, port)
            origin_s = int(time.time()) + MOTION_STARTS_AFTER_S
            with _worn(console, runtime, origin_s):
                runtime.start()
                demonstration.run(USER_HEIGHT_M, origin_s, processes, interruption)
    summary = demonstration.summarize() if demonstration is not None else None
    if summary is not None:
        summary['openvr_sessions'] = runtime.client_count('sessions_opened')
    return summary


def _run_runtime(console: Console, seconds: float | None) -> None:
    """Run the runtime alone, and say how other programs find it."""
    with (
        Interruption() as interruption,
        SimulatedRuntime() as runtime,
        _worn(console, runtime, int(time.time())),
    ):
        variables = ' '.join(f'{k}={v}' for k, v in runtime.environment().items())
        for line in (
            'A simulated OpenVR runtime is running. In another terminal:',
            f'    export {variables}',
            '    vr_ik run --config config/openvr.yaml',
        ):
            console.print(line, highlight=False, markup=False, soft_wrap=True)
        start_s = time.monotonic()
        while not interruption.requested:
            if seconds is not None and time.monotonic() - start_s >= seconds:
                break
            time.sleep(_POLL_PERIOD_S)


def _nodes() -> dict[str, dict[str, object]]:
    return {
        'tracker_node': {'backend': 'openvr'},
        'solver_node': {'user_height_m': USER_HEIGHT_M},
    }


def _worn(
    console: Console, runtime: SimulatedRuntime, origin_s: int
) -> AbstractContextManager[None]:
    """Have the simulated user wear the runtime's devices, inside a `with` block."""
    from vr_ik.config import TrackerConfig
    from vr_ik.simulation.wearer import worn

    def say(severity: Severity, text: str) -> None:
        if severity is not Severity.INFO:
            console.print(f'The simulated user: {text}')

    config = TrackerConfig(user_height_m=USER_HEIGHT_M, origin_s=float(origin_s))
    return worn(runtime, config, say)
