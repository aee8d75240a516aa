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

"""
How long a tracking frame takes through the nodes, and what that costs: `make bench-ros`.

The simulated user's tracker_node, the solver_node and a subscriber, each a process of its own, at
120 Hz. The latency of a frame is from the tracker's publish (DDS's own source time stamp) to the
subscriber's callback with the joint states; CPU time is that of the solver node, all its threads
included. It is measured with each executor that rclpy has; the first is the one in use.
"""

import argparse
from collections.abc import Sequence
import json
import math
import os
from pathlib import Path
import sys
import time
from typing import Any

from rich.console import Console

from vr_ik.cli.files import check_writable, write_text
from vr_ik.cli.processes import NodeProcesses, NodesError, running
from vr_ik.cli.ros import import_node_module
from vr_ik.errors import VrIkError
from vr_ik.evaluation.latency import figures, Times

RATE_HZ = 120.0
MEDIAN_LIMIT_MS, P99_LIMIT_MS, CPU_LIMIT_PERCENT = 1.5, 5.0, 30.0
"""On an idle machine."""
EXECUTORS = ('events', 'single_threaded')

_WARM_UP_S = 3.0
_PATIENCE_S = 60.0
_ENOUGH_FRAMES = 20


def measure(seconds: float, executor: str) -> dict[str, Any]:
    """Run the nodes for some seconds with an executor and return the figures."""
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    os.environ['VR_IK_EXECUTOR'] = executor
    times = Times()
    nodes = {'tracker_node': {'rate_hz': RATE_HZ}, 'solver_node': {}}
    with running(nodes) as processes, import_node_module('latency').probing(times):
        solver = processes.pid('solver_node')
        _wait_for_frames(processes, times)
        time.sleep(_WARM_UP_S)
        times.clear()
        cpu_s, start_s = cpu_time_s(solver), time.monotonic()
        time.sleep(seconds)
        processes.check()
        cpu_share = (cpu_time_s(solver) - cpu_s) / (time.monotonic() - start_s)
        return {**figures(times), 'solver_cpu_percent': round(100.0 * cpu_share, 1)}


def _wait_for_frames(processes: NodeProcesses, times: Times) -> None:
    deadline_s = time.monotonic() + _PATIENCE_S
    while len(times.received_ns) < _ENOUGH_FRAMES:
        processes.check()
        if time.monotonic() > deadline_s:
            raise NodesError(f'No joint states have come for {_PATIENCE_S:.0f} s.')
        time.sleep(0.05)


def cpu_time_s(pid: int) -> float:
    """Return the CPU time that a process has used, in user mode and in the kernel."""
    fields = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def _describe(executor: str, run: dict[str, Any]) -> str:
    latency, parts = run['latency_ms'], run['median_of_parts_ms']
    missed = {
        'median': latency['median'] > MEDIAN_LIMIT_MS,
        '99 %': latency['p99'] > P99_LIMIT_MS,
        'solver CPU': run['solver_cpu_percent'] > CPU_LIMIT_PERCENT,
    }
    names = ', '.join(name for name, is_missed in missed.items() if is_missed)
    lines = [
        f'executor {executor}: {run["frames"]} frames, {run["rate_hz"]:g} Hz',
        f'  latency     median {latency["median"]:.2f} ms (limit {MEDIAN_LIMIT_MS:g}), '
        f'99 % {latency["p99"]:.2f} ms (limit {P99_LIMIT_MS:g}), longest {latency["max"]:.2f} ms',
        f'  solver CPU  {run["solver_cpu_percent"]:.1f} % of one core (limit '
        f'{CPU_LIMIT_PERCENT:g} %)',
        *(f'  {name:33s} {value:.2f} ms' for name, value in parts.items()),
        f'  limits      {f"missed: {names}" if names else "all met"} (on an idle machine)',
    ]
    return '\n'.join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure with each executor, print the figures and write them to a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--seconds', type=float, default=20.0, help='how long to measure')
    parser.add_argument(
        '--json', type=Path, default=Path('bench_ros.json'), help='where to write the figures'
    )
    options = parser.parse_args(arguments)
    if not 0.0 < options.seconds < math.inf:
        parser.error(f'--seconds {options.seconds:g}: a positive number of seconds is expected')
    check_writable(options.json)
    console = Console()
    runs = {}
    for executor in EXECUTORS:
        try:
            runs[executor] = measure(options.seconds, executor)
        except VrIkError as error:
            sys.exit(f'With the executor {executor}: {error}')
        console.print(_describe(executor, runs[executor]), highlight=False, soft_wrap=True)
    machine = {'load_average': round(os.getloadavg()[0], 2), 'cores': os.cpu_count()}
    summary = {**runs[EXECUTORS[0]], 'executors': runs, 'machine': machine}
    write_text(options.json, json.dumps(summary, indent=2) + '\n')
    console.print(f"The nodes use the executor '{EXECUTORS[0]}'. Written: {options.json}")


if __name__ == '__main__':
    main()
