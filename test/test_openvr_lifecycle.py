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

"""What SteamVR does to its clients: late start, quit, crash, restarts, strange errors."""

from collections.abc import Iterator
import json
import os
from pathlib import Path
import shutil
import subprocess
import sys
import threading
import time
from unittest.mock import patch

from openvr_support import device, opened, PATIENCE_S, read_until, simulated_runtime
import pytest

from vr_ik.config import TrackerConfig
from vr_ik.errors import MissingDependencyError, TrackerError
from vr_ik.simulation.runtime import SimulatedRuntime
from vr_ik.trackers.loop import LoopState, TrackerLoop
from vr_ik.trackers.openvr import from_config, OpenVrOptions, OpenVrTracker
from vr_ik.trackers.openvr_session import OpenVrSession
from vr_ik.types import DeviceKind, DeviceStatus

BACKGROUND_APPLICATION = 3


@pytest.fixture
def runtime() -> Iterator[SimulatedRuntime]:
    """Run a server with a headset."""
    with simulated_runtime() as runtime:
        runtime.add_device(DeviceKind.HMD, 'LHR-HEAD')
        yield runtime


def test_it_is_a_background_application(runtime: SimulatedRuntime) -> None:
    with opened():
        assert runtime.client_count('application_type') == BACKGROUND_APPLICATION


def test_late_start() -> None:
    tracker = OpenVrTracker(OpenVrOptions())
    with simulated_runtime(running=False) as runtime:
        runtime.add_device(DeviceKind.HMD, 'LHR-HEAD')
        for _ in range(3):
            with pytest.raises(TrackerError, match=r'\(121\).*Start SteamVR'):
                tracker.open()
        runtime.start()
        tracker.open()
        assert tracker.read(0).names == ('hmd',)
        tracker.close()
        tracker.close()


def test_quit_is_acknowledged_and_left_at_once(runtime: SimulatedRuntime) -> None:
    with opened() as tracker:
        tracker.read(0)
        runtime.quit()
        with pytest.raises(TrackerError, match='quit'):
            tracker.read(0)
        assert runtime.client_count('quits_acknowledged') == 1
        assert runtime.client_count('sessions_closed') == 1
        assert device(tracker, 'LHR-HEAD').status is DeviceStatus.DISCONNECTED
        with pytest.raises(TrackerError):
            tracker.read(0)


@pytest.mark.parametrize('vanish', [False, True])
def test_crash_without_an_event(runtime: SimulatedRuntime, vanish: bool) -> None:
    with opened() as tracker:
        tracker.read(0)
        runtime.crash(vanish=vanish)
        with pytest.raises(TrackerError, match='crashed'):
            read_until(tracker, lambda _: False)
        with pytest.raises(TrackerError):
            tracker.open()
        runtime.start()
        tracker.open()
        assert tracker.read(0).names == ('hmd',)


def test_the_only_device_is_switched_off_and_on(runtime: SimulatedRuntime) -> None:
    with opened() as tracker:
        tracker.read(0)
        runtime.disconnect(0)
        with pytest.raises(TrackerError, match='All OpenVR devices are off'):
            tracker.read(0)
        tracker.open()
        assert tracker.read(0).names == ()
        runtime.reconnect(0)
        assert tracker.read(0).names == ('hmd',)


SERVER = """
import json, time
from vr_ik.simulation.runtime import SimulatedRuntime
from vr_ik.types import DeviceKind

runtime = SimulatedRuntime()
runtime.add_device(DeviceKind.HMD, 'LHR-HEAD')
print(json.dumps(runtime.environment()), flush=True)
time.sleep(600)
"""


def test_the_server_is_killed() -> None:
    server = subprocess.Popen([sys.executable, '-c', SERVER], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        environment = json.loads(server.stdout.readline())
        with patch.dict(os.environ, environment), opened() as tracker:
            assert tracker.read(0).names == ('hmd',)
            server.kill()
            server.wait()
            with pytest.raises(TrackerError, match='crashed'):
                read_until(tracker, lambda _: False)
    finally:
        server.kill()
        server.communicate()
    shutil.rmtree(environment['VR_OVERRIDE'])


def test_the_loop_rides_it_all_out() -> None:
    frames: list[tuple[str, ...]] = []
    events: list[str] = []
    tracker = OpenVrTracker(OpenVrOptions())
    loop = TrackerLoop(
        tracker,
        rate_hz=250.0,
        on_frame=lambda frame: frames.append(frame.names),
        on_event=lambda _, text: events.append(text),
    )

    def wait_for(state: LoopState) -> None:
        deadline_s = time.monotonic() + PATIENCE_S
        while loop.statistics().state is not state:
            assert time.monotonic() < deadline_s, events
            time.sleep(0.005)

    with simulated_runtime(running=False) as runtime:
        runtime.add_device(DeviceKind.HMD, 'LHR-HEAD')
        loop.start()
        wait_for(LoopState.WAITING)
        for end in (runtime.quit, runtime.crash, lambda: runtime.crash(vanish=True)):
            runtime.start()
            wait_for(LoopState.RUNNING)
            end()
            wait_for(LoopState.WAITING)
        assert loop.stop()
    assert loop.statistics().losses == 3
    assert set(frames) == {('hmd',)}
    assert runtime.client_count('sessions_opened') == runtime.client_count('sessions_closed') == 3


@pytest.mark.parametrize('code', [987_654, 4_000_000_000])
def test_unknown_init_codes(runtime: SimulatedRuntime, code: int) -> None:
    runtime.fail_init(code)
    tracker = OpenVrTracker(OpenVrOptions())
    with pytest.raises(TrackerError, match='not ready: Unknown error'):
        tracker.open()
    runtime.fail_init(0)
    tracker.open()
    tracker.close()


def test_known_init_codes_have_a_text(runtime: SimulatedRuntime) -> None:
    runtime.fail_init(108)
    with pytest.raises(TrackerError, match=r'Hmd Not Found \(108\)'):
        OpenVrTracker(OpenVrOptions()).open()


def test_no_runtime_at_all(tmp_path: Path) -> None:
    registry = tmp_path / 'openvrpaths.vrpath'
    missing = pytest.raises(TrackerError, match=r"no '.*openvrpaths.vrpath'. Is SteamVR")
    with patch.dict(os.environ, {'VR_PATHREG_OVERRIDE': str(registry)}), missing:
        OpenVrTracker(OpenVrOptions()).open()


def test_a_runtime_without_the_settings(runtime: SimulatedRuntime) -> None:
    runtime.hide(['IVRSettings'])
    with opened() as tracker:
        assert tracker.read(0).names == ('hmd',)


def test_a_runtime_of_another_age(runtime: SimulatedRuntime) -> None:
    runtime.hide(['IVRSystem'])
    tracker = OpenVrTracker(OpenVrOptions())
    with pytest.raises(TrackerError, match='IVRSystem_023'):
        tracker.open()
    runtime.hide([])
    tracker.open()
    tracker.close()


def test_openvr_is_not_installed() -> None:
    missing = pytest.raises(MissingDependencyError, match='pip install openvr')
    with patch.dict(sys.modules, {'openvr': None}), missing:
        from_config(TrackerConfig())


def test_one_session_a_process(runtime: SimulatedRuntime) -> None:
    with opened() as first:
        with pytest.raises(TrackerError, match='already'):
            OpenVrTracker(OpenVrOptions()).open()
        assert first.read(0).names == ('hmd',)


def test_a_closed_session_reaches_nothing(runtime: SimulatedRuntime) -> None:
    session = OpenVrSession()
    session.close()
    session.close()
    for call in (
        lambda: session.poses(1, 0.0),
        lambda: session.text(0, 1002),
        lambda: session.controller_state(0),
        lambda: list(session.events()),
        session.acknowledge_quit,
    ):
        with pytest.raises(TrackerError, match='closed'):
            call()
    assert session.tracker_setting('/devices/x') == ''


def test_a_slow_runtime_does_not_stall_others(runtime: SimulatedRuntime) -> None:
    with opened() as tracker:
        tracker.read(0)
        runtime.slow_down(poses_s=1.0)
        reader = threading.Thread(target=tracker.read, args=(0,))
        reader.start()
        for _ in range(1000):
            assert [state.name for state in tracker.devices()] == ['hmd']
        tracker.vibrate('hmd', 1.0, 0.0)
        assert reader.is_alive()
        reader.join()
        runtime.slow_down()


RESTARTS = """
import os, resource
from vr_ik.errors import TrackerError
from vr_ik.simulation.runtime import SimulatedRuntime
from vr_ik.trackers.openvr import OpenVrOptions, OpenVrTracker
from vr_ik.types import DeviceKind

def footprint():
    pages = int(open('/proc/self/statm').read().split()[1])
    counts = [len(os.listdir(f'/proc/self/{kind}')) for kind in ('task', 'fd')]
    mapped = open('/proc/self/maps').read().count(str(runtime.folder))
    return pages * resource.getpagesize(), *counts, mapped

with SimulatedRuntime() as runtime:
    os.environ.update(runtime.environment())
    runtime.add_device(DeviceKind.HMD, 'LHR-HEAD')
    runtime.add_device(DeviceKind.CONTROLLER, 'LHR-L', hand='left')
    tracker = OpenVrTracker(OpenVrOptions())
    for restart in range(15):
        tracker.open()
        for _ in range(50):
            assert tracker.read(0).names == ('hmd', 'l_controller')
        runtime.quit() if restart % 2 else runtime.crash()
        try:
            while True:
                tracker.read(0)
        except TrackerError:
            runtime.start()
        if restart == 4:
            before = footprint()
    print(*before, *footprint())
"""


def test_ten_restarts_leave_nothing_behind() -> None:
    # In a process of its own: other tests' threads and memory would blur the picture.
    result = subprocess.run(
        [sys.executable, '-c', RESTARTS], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    memory, threads, files, mapped, *after = map(int, result.stdout.split())
    assert after[1:] == [threads, files, mapped]
    assert after[0] - memory < 500_000
