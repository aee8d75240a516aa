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

"""What the tests on the simulated OpenVR runtime share."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
import os
import time
from unittest.mock import patch

from vr_ik.simulation.runtime import SimulatedRuntime
from vr_ik.trackers.openvr import OpenVrOptions, OpenVrTracker
from vr_ik.types import DeviceState, TrackingFrame

PATIENCE_S = 20.0


@contextmanager
def simulated_runtime(*, running: bool = True) -> Iterator[SimulatedRuntime]:
    """Make a runtime that this process and its children find."""
    runtime = SimulatedRuntime(running=running)
    with runtime, patch.dict(os.environ, runtime.environment()):
        yield runtime


@contextmanager
def opened(options: OpenVrOptions | None = None) -> Iterator[OpenVrTracker]:
    """Connect a tracker to the runtime."""
    tracker = OpenVrTracker(options or OpenVrOptions())
    tracker.open()
    try:
        yield tracker
    finally:
        tracker.close()


def read_until(tracker: OpenVrTracker, done: Callable[[TrackingFrame], bool]) -> TrackingFrame:
    """Read until a frame is as wanted; fail when it never is."""
    deadline_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline_s:
        frame = tracker.read(0)
        if done(frame):
            return frame
        time.sleep(0.002)
    raise AssertionError('no such frame')


def device(tracker: OpenVrTracker, serial: str) -> DeviceState:
    """Return the state of the device of this serial."""
    (found,) = (state for state in tracker.devices() if state.serial == serial)
    return found
