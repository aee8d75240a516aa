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

"""`vr_ik simulate-openvr`: the user in the runtime, and the whole graph from outside."""

import json
import os
from pathlib import Path
import signal
import subprocess
import time
from unittest.mock import patch

from demo_support import command, environment, PATIENCE_S
import numpy as np
from openvr_support import device, opened, read_until, simulated_runtime
import pytest

from vr_ik.config import TrackerConfig
from vr_ik.simulation.wearer import Wearer, worn
from vr_ik.trackers.openvr_input import AXIS_NAMES
from vr_ik.trackers.simulated import SIMULATED_ROLES, SimulatedTracker
from vr_ik.trackers.simulated_user import SimulatedUser

ROOT = Path(__file__).parent.parent


def test_the_runtime_shows_the_user_as_the_simulated_backend_does():
    """Frame by frame: names by SteamVR's roles, poses, velocities, and who is lost."""
    source = SimulatedTracker(TrackerConfig(dropouts_per_minute=120.0, origin_s=1.0))
    with simulated_runtime() as runtime, opened() as tracker:
        wearer = Wearer(runtime, source.devices())
        lost = set()
        for stamp_ns in range(1_000_000_000, 9_000_000_000, 20_000_000):
            expected = source.read(stamp_ns)
            wearer.wear(expected)
            frame = tracker.read(stamp_ns)
            order = [frame.names.index(name) for name in expected.names]
            assert len(frame.names) == len(expected.names)
            np.testing.assert_allclose(frame.poses[order], expected.poses, atol=1e-6)
            assert frame.twists is not None and expected.twists is not None
            np.testing.assert_allclose(frame.twists[order], expected.twists, atol=1e-5)
            lost |= set(SIMULATED_ROLES) - set(frame.names)
        assert lost


def test_base_stations_batteries_and_triggers():
    source = SimulatedTracker(TrackerConfig(origin_s=1.0))
    with simulated_runtime() as runtime, opened() as tracker:
        wearer = Wearer(runtime, source.devices())
        wearer.wear(source.read(1_000_000_000))
        read_until(tracker, lambda _: device(tracker, 'SIM-BASE-2').static_pose is not None)
        assert device(tracker, 'SIM-L_CONTROLLER').battery == pytest.approx(0.9)
        pulls: dict[str, list[float]] = {'l_controller': [], 'r_controller': []}
        for stamp_ns in range(1_000_000_000, 5_000_000_000, 100_000_000):
            wearer.wear(source.read(stamp_ns))
            for entry in tracker.read(stamp_ns).inputs:
                pulls[entry.name].append(entry.axes[AXIS_NAMES.index('trigger')])
        assert all(min(pull) == 0.0 and max(pull) > 0.9 for pull in pulls.values())
        assert not np.any(np.array(pulls['l_controller']) * pulls['r_controller'])


def test_the_user_moves_by_the_clock():
    """What is read is the true motion of now, and not of a while before or after."""
    origin_s = int(time.time()) - 5
    config = TrackerConfig(
        position_noise_mm=0.0,
        rotation_noise_deg=0.0,
        glitches_per_minute=0.0,
        dropouts_per_minute=0.0,
        origin_s=float(origin_s),
    )
    events = []
    user = SimulatedUser(config.user_height_m)
    with (
        simulated_runtime() as runtime,
        worn(runtime, config, lambda *event: events.append(event)),
        opened() as tracker,
    ):
        read_until(tracker, lambda frame: len(frame.names) == len(SIMULATED_ROLES))
        shifts_s = np.linspace(-0.5, 0.5, 11)
        errors_m = np.zeros(len(shifts_s))
        for _ in range(50):
            now_s = time.time() - origin_s
            frame = tracker.read(0)
            for i, shift_s in enumerate(shifts_s):
                truth = user.device_poses(user.q_at(now_s + shift_s), frame.names)
                errors_m[i] += np.linalg.norm((frame.poses - truth)[:, :3, 3], axis=1).sum()
            time.sleep(0.01)
    assert shifts_s[errors_m.argmin()] == pytest.approx(0.0)
    assert [severity.value for severity, _ in events] == ['info']


def test_the_whole_graph_on_the_openvr_backend(tmp_path):
    """Joint states come of poses that went through libopenvr_api, and meet the truth."""
    file = tmp_path / 'figures.json'
    result = subprocess.run(
        command('simulate-openvr', '--seconds', '3', '--no-viewer', '--json', str(file)),
        capture_output=True,
        text=True,
        env=environment(),
        cwd=ROOT,
        timeout=PATIENCE_S,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    figures = json.loads(file.read_text())
    assert figures['openvr_sessions'] == 1
    assert figures['joint_states'] > 0
    assert figures['frames'] > 0
    assert 0.0 < figures['error_mm']['tracked'] < 20.0


def test_the_runtime_alone_tells_how_to_find_it():
    """What it prints leads another process to its devices; a signal ends it."""
    process = subprocess.Popen(
        command('simulate-openvr', '--no-nodes'),
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
        cwd=ROOT,
    )
    try:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(3)]
        (export,) = (line for line in lines if 'export' in line)
        variables = dict(part.split('=', 1) for part in export.split()[1:])
        with patch.dict(os.environ, variables), opened() as tracker:
            read_until(tracker, lambda frame: set(frame.names) == set(SIMULATED_ROLES))
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0
        assert not Path(variables['VR_OVERRIDE']).exists()
    finally:
        process.kill()
        process.communicate()
