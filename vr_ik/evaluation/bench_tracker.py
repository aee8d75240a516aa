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
What the tracker node costs, and how punctual it is: `python -m vr_ik.evaluation.bench_tracker`.

Sixteen moving devices of a simulated OpenVR runtime go through the real libopenvr_api, pyopenvr
and tracker_node, a process of its own, at 250 Hz to a subscriber in another process. CPU time is
the node's, all its threads included. Lateness is that of the stamps, which the node takes just
before it reads the poses, against its even grid of deadlines.
"""

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
import json
import os
from pathlib import Path
import time
from typing import Any

import numpy as np
from rich.console import Console

from vr_ik.cli.files import check_writable, write_text
from vr_ik.cli.processes import NodeProcess, NodesError
from vr_ik.cli.ros import import_node_module
from vr_ik.config import TrackerConfig
from vr_ik.math.rotations import exp_rotation, pose
from vr_ik.simulation.runtime import SimulatedRuntime
from vr_ik.trackers.loop import TrackerLoop
from vr_ik.types import Array, DeviceKind, DeviceState, TrackingFrame

RATE_HZ = 250.0
DEVICES = 16
CPU_LIMIT = 0.25
"""Share of one core that the node may take."""
LATE_LIMIT_MS = 2.0
"""How late the 99th percentile may be, on an idle machine."""

_WARM_UP_S = 3.0
_PATIENCE_S = 60.0
_STEPS = 500
_TRIGGER_AXIS = 1
# Share of a period by which a frame may be before the others' place without being very late.
_EARLY = 0.1


class Stamps:
    """Collects the stamps of whole frames, as the listener tells them."""

    def __init__(self) -> None:
        """Begin with none."""
        self.stamps_ns: list[int] = []

    def on_transforms(self, stamp_ns: int, poses: dict[str, Array]) -> None:
        """Take a frame, if all devices are in it."""
        if len(poses) == DEVICES:
            self.stamps_ns.append(stamp_ns)

    def on_joint_state(self, *_: object) -> None:
        """Expect none: nobody solves here."""

    def on_description(self, _: str) -> None:
        """Expect none: nobody has a body here."""

    def on_diagnostics(self, *_: object) -> None:
        """Pay no attention to what the node says of itself."""


def lateness_ms(stamps_ns: Sequence[int], rate_hz: float) -> Array:
    """
    Return how late each frame is [ms] against the even grid of deadlines of `TrackerLoop`.

    The grid is where most frames are. A frame is due at the first deadline that lies more than
    half a period after the frame before; what came out of turn, sooner, is held against the
    deadline just passed.
    """
    since_ns = np.asarray(stamps_ns, np.int64) - stamps_ns[0]
    ticks = since_ns.astype(np.float64) * (1e-9 * rate_hz)
    ticks -= _start_of_shortest_half(ticks % 1.0)
    passed = np.floor(ticks + _EARLY)
    due = np.concatenate((passed[:1], np.floor(ticks[:-1] + 0.5) + 1.0))
    late: Array = np.maximum(ticks - np.minimum(due, passed), 0.0) * 1e3 / rate_hz
    return late


def _start_of_shortest_half(phases: Array) -> float:
    """Return where the shortest arc begins that holds half of some points of a circle [0, 1)."""
    once = np.sort(phases)
    twice = np.concatenate((once, once + 1.0))
    half = len(once) // 2
    lengths = twice[half : half + len(once)] - once
    return float(once[lengths.argmin()])


class _Dancers:
    """A tracking source for the runtime's devices: each goes its own way, again and again."""

    def __init__(self) -> None:
        rng = np.random.default_rng(1)
        ways = rng.normal(size=(DEVICES, 2, 3))
        angles = np.linspace(0.0, 2.0 * np.pi, _STEPS, endpoint=False)
        self._poses = np.array(
            [
                [pose(exp_rotation(np.sin(a) * turn), np.cos(a) * way) for turn, way in ways]
                for a in angles
            ]
        )
        self._names = tuple(f'DEVICE-{i}' for i in range(DEVICES))
        self._step = 0

    def open(self) -> None:
        """Nothing to connect."""

    def read(self, stamp_ns: int) -> TrackingFrame:
        """Return the next step."""
        self._step = (self._step + 1) % _STEPS
        return TrackingFrame(stamp_ns, self._names, self._poses[self._step])

    def devices(self) -> tuple[DeviceState, ...]:
        """Tell nothing of them."""
        return ()

    def close(self) -> None:
        """Nothing to let go of."""


def _connect_devices(runtime: SimulatedRuntime) -> tuple[list[int], list[int]]:
    """Return the indices of all devices, then those of the controllers."""
    axes = (1, 3, 0, 0, 0)
    hmd = runtime.add_device(DeviceKind.HMD, 'HEAD')
    controllers = [
        runtime.add_device(DeviceKind.CONTROLLER, f'HAND-{hand}', hand=hand, axis_types=axes)
        for hand in ('left', 'right')
    ]
    trackers = [
        runtime.add_device(DeviceKind.TRACKER, f'TRACKER-{i}', battery=0.5)
        for i in range(DEVICES - 3)
    ]
    return [hmd, *controllers, *trackers], controllers


@contextmanager
def _moving(runtime: SimulatedRuntime) -> Iterator[tuple[str, ...]]:
    """Move sixteen devices and two triggers at the node's rate; give their frames."""
    indices, controllers = _connect_devices(runtime)

    def move(frame: TrackingFrame) -> None:
        runtime.set_poses(indices, frame.poses)
        pull = abs(float(frame.poses[0, 0, 3])) % 1.0
        for controller in controllers:
            runtime.set_input(controller, axes={_TRIGGER_AXIS: (pull, 0.0)})

    loop = TrackerLoop(_Dancers(), RATE_HZ, move, lambda _, text: print(text))
    loop.start()
    trackers = [f'TRACKER-{i}' for i in range(DEVICES - 3)]
    try:
        yield ('hmd', 'l_controller', 'r_controller', *trackers)
    finally:
        loop.stop()


def measure(seconds: float) -> dict[str, Any]:
    """Run the node for some seconds and return the figures."""
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    observer, world_frame = Stamps(), TrackerConfig().world_frame
    with SimulatedRuntime() as runtime, _moving(runtime) as frames:
        os.environ.update(runtime.environment())
        node = NodeProcess('tracker_node', {'backend': 'openvr', 'rate_hz': RATE_HZ})
        try:
            with import_node_module('listener').listening(observer, world_frame, frames):
                _wait_for_frames(node, observer)
                time.sleep(_WARM_UP_S)
                first, cpu_s, start_s = len(observer.stamps_ns), _cpu_s(node.pid), time.monotonic()
                time.sleep(seconds)
                node.check()
                elapsed_s = time.monotonic() - start_s
                cpu_share = (_cpu_s(node.pid) - cpu_s) / elapsed_s
                stamps_ns = observer.stamps_ns[first:]
        finally:
            node.ask_to_end()
            node.wait()
    return _figures(stamps_ns, elapsed_s, cpu_share)


def _wait_for_frames(node: NodeProcess, observer: Stamps) -> None:
    deadline_s = time.monotonic() + _PATIENCE_S
    while not observer.stamps_ns:
        node.check()
        if time.monotonic() > deadline_s:
            raise NodesError(f'No tracking frames have come for {_PATIENCE_S:.0f} s.')
        time.sleep(0.05)


def _cpu_s(pid: int) -> float:
    """Return the CPU time that a process has used, in user mode and in the kernel."""
    fields = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def _figures(stamps_ns: Sequence[int], elapsed_s: float, cpu_share: float) -> dict[str, Any]:
    late_ms = lateness_ms(stamps_ns, RATE_HZ)
    median_ms, p99_ms = np.percentile(late_ms, (50.0, 99.0))
    return {
        'rate_hz': RATE_HZ,
        'devices': DEVICES,
        'seconds': round(elapsed_s, 2),
        'frames': len(stamps_ns),
        'cpu_share': round(cpu_share, 4),
        'late_ms': {
            'median': round(float(median_ms), 3),
            'p99': round(float(p99_ms), 3),
            'max': round(float(late_ms.max()), 3),
        },
        'load_average': round(os.getloadavg()[0], 2),
        'cores': os.cpu_count(),
    }


def _describe(figures: dict[str, Any]) -> str:
    late, share = figures['late_ms'], figures['cpu_share']
    return (
        f'{figures["devices"]} devices at {figures["rate_hz"]:g} Hz: {figures["frames"]} frames '
        f'in {figures["seconds"]:.1f} s\n'
        f'CPU       {100 * share:.1f} % of one core (limit {100 * CPU_LIMIT:.0f} %)\n'
        f'lateness  median {late["median"]:.2f} ms, 99 % {late["p99"]:.2f} ms '
        f'(limit {LATE_LIMIT_MS:g} ms), longest {late["max"]:.2f} ms\n'
        f'machine   {figures["cores"]} cores, load average {figures["load_average"]}'
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print the figures and write them to a file if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--seconds', type=float, default=20.0, help='how long to measure')
    parser.add_argument('--json', type=Path, metavar='FILE', help='write the figures to a file')
    options = parser.parse_args(arguments)
    if options.json is not None:
        check_writable(options.json)
    figures = measure(options.seconds)
    Console().print(_describe(figures), highlight=False)
    if options.json is not None:
        write_text(options.json, json.dumps(figures, indent=2) + '\n')


if __name__ == '__main__':
    main()
