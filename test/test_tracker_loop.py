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

"""Laws of the tracker loop: even pace, reconnection with back-off, no silent death."""

import threading
import time
from typing import Any

import numpy as np
import pytest

from vr_ik.errors import TrackerError
from vr_ik.trackers.loop import LoopState, Severity, TrackerLoop
from vr_ik.types import DeviceState, TrackingFrame

PATIENCE_S = 10.0


class ScriptedTracker:
    """A tracker that fails where its script says so."""

    def __init__(self) -> None:
        """Begin connected, with nothing to fail."""
        self.open_errors: list[Exception] = []
        self.read_errors: dict[int, Exception] = {}
        self.read_delays_s: dict[int, float] = {}
        self.calls: list[str] = []
        self.reads = 0
        self.threads: set[int] = set()

    def _note(self, call: str) -> None:
        self.calls.append(call)
        self.threads.add(threading.get_ident())

    def open(self) -> None:
        """Fail as often as the script says."""
        self._note('open')
        if self.open_errors:
            raise self.open_errors.pop(0)

    def read(self, stamp_ns: int) -> TrackingFrame:
        """Return a frame without devices, or fail."""
        self.reads += 1
        self.threads.add(threading.get_ident())
        time.sleep(self.read_delays_s.get(self.reads, 0.0))
        if self.reads in self.read_errors:
            raise self.read_errors[self.reads]
        return TrackingFrame(stamp_ns, (), np.empty((0, 4, 4)))

    def devices(self) -> tuple[DeviceState, ...]:
        """Return no devices."""
        return ()

    def close(self) -> None:
        """Only note the call."""
        self._note('close')


class HungTracker(ScriptedTracker):
    """A tracker that does not return from a reading until it is released."""

    def __init__(self) -> None:
        """Begin held up."""
        super().__init__()
        self.entered, self.released = threading.Event(), threading.Event()

    def read(self, stamp_ns: int) -> TrackingFrame:
        """Hang, then read."""
        self.entered.set()
        assert self.released.wait(PATIENCE_S)
        return super().read(stamp_ns)


class Run:
    """A loop over a tracker with everything it reported."""

    def __init__(self, tracker: ScriptedTracker, rate_hz: float = 200.0, **options: Any) -> None:
        """Start the loop."""
        self.frames: list[TrackingFrame] = []
        self.events: list[tuple[Severity, str]] = []
        self.loop = TrackerLoop(
            tracker,
            rate_hz,
            options.pop('on_frame', self.frames.append),
            lambda severity, text: self.events.append((severity, text)),
            **options,
        )
        self.loop.start()

    def wait_for_frames(self, count: int) -> None:
        """Wait until so many frames have come in all."""
        deadline_s = time.monotonic() + PATIENCE_S
        while len(self.frames) < count:
            assert time.monotonic() < deadline_s, (len(self.frames), self.events)
            time.sleep(0.002)

    def stop(self) -> None:
        """Stop the loop, which must not take long."""
        assert self.loop.stop()
        assert self.loop.statistics().state is LoopState.STOPPED


class FakeTime:
    """A clock and an event in one: waiting moves the clock, always a little too far."""

    def __init__(self, waits: int) -> None:
        """Stop after so many waits."""
        self.now_ns = 1_000_000_000
        self._rng = np.random.default_rng(1)
        self._waits = waits

    def monotonic_ns(self) -> int:
        """Return the fake time."""
        return self.now_ns

    def is_set(self) -> bool:
        """Return whether the waits are used up."""
        return self._waits <= 0

    def wait(self, timeout_s: float) -> bool:
        """Sleep as a machine does: up to 1 ms too long."""
        self._waits -= 1
        self.now_ns += int(timeout_s * 1e9) + int(self._rng.integers(50_000, 1_000_000))
        return self.is_set()


def read_in_fake_time(
    monkeypatch: pytest.MonkeyPatch, ticks: int, slow_read: int = 0, slow_read_ns: int = 0
) -> tuple[np.ndarray, TrackerLoop]:
    """Return the times of the frames at 100 Hz, in periods since the first deadline."""
    fake = FakeTime(ticks + 1)
    monkeypatch.setattr('vr_ik.trackers.loop.time', fake)
    start_ns = fake.now_ns
    stamps: list[int] = []

    def receive(frame: TrackingFrame) -> None:
        stamps.append(frame.stamp_ns)
        fake.now_ns += slow_read_ns if len(stamps) == slow_read else 100_000

    loop = TrackerLoop(
        ScriptedTracker(), 100.0, receive, lambda *_: None, clock_ns=fake.monotonic_ns
    )
    monkeypatch.setattr(loop, '_stop', fake)
    loop.start()
    loop._thread.join()
    return (np.array(stamps) - start_ns) / 1e7, loop


def test_frames_lie_on_the_grid_of_the_rate_without_drift(monkeypatch: pytest.MonkeyPatch) -> None:
    """Frame k comes within a sleep's error of deadline k, however many came before it."""
    ticks, loop = read_in_fake_time(monkeypatch, 1000)
    lateness = ticks - np.arange(1000)
    assert lateness.min() >= 0.0
    assert lateness.max() <= 0.1
    assert loop.statistics().frames == 1000
    assert loop.statistics().late == loop.statistics().skipped == 0


@pytest.mark.parametrize(('slow_periods', 'skipped'), [(0.8, 0), (1.2, 0), (1.8, 1), (7.2, 6)])
def test_missed_deadlines_are_skipped_and_counted_not_made_up_for(
    monkeypatch: pytest.MonkeyPatch, slow_periods: float, skipped: int
) -> None:
    """After a slow read the frames are back on the grid, with no burst to catch up."""
    ticks, loop = read_in_fake_time(monkeypatch, 50, 5, int(slow_periods * 1e7))
    assert loop.statistics().skipped == skipped
    assert np.diff(ticks).min() >= 0.5
    lateness = ticks[6:] - (np.arange(6, 50) + skipped)
    assert 0.0 <= lateness.min() <= lateness.max() <= 0.1


def test_waits_with_back_off_until_the_source_is_there() -> None:
    """Each failed attempt is followed by close; the same reason is reported once."""
    tracker = ScriptedTracker()
    tracker.open_errors = [TrackerError('SteamVR is not running.')] * 3
    run = Run(tracker)
    run.wait_for_frames(3)
    run.stop()
    assert tracker.calls == ['open', 'close'] * 4
    warnings = [text for severity, text in run.events if severity is Severity.WARNING]
    assert warnings == ['Waiting for the tracker. SteamVR is not running.']
    assert run.events[-1] == (Severity.INFO, 'The tracker is connected.')
    assert run.loop.statistics().losses == 0


@pytest.mark.parametrize('error', [TrackerError('Quit.'), ZeroDivisionError('a bug')])
def test_a_lost_tracker_is_closed_opened_and_read_again(error: Exception) -> None:
    """An expected loss and a bug in a plug-in end the same way: reported, and tried again."""
    tracker = ScriptedTracker()
    tracker.read_errors[3] = error
    run = Run(tracker)
    run.wait_for_frames(10)
    run.stop()
    assert tracker.calls == ['open', 'close', 'open', 'close']
    assert run.loop.statistics().losses == 1
    reported = [text for severity, text in run.events if severity is not Severity.INFO]
    assert len(reported) == 1
    assert str(error) in reported[0]
    assert len(tracker.threads) == 1, 'a tracker is used from one thread only'


def test_an_error_of_the_receiver_is_told_once_and_is_no_loss_of_the_tracker() -> None:
    """An exception in on_frame neither ends the thread nor disconnects."""
    frames: list[TrackingFrame] = []

    def receive(frame: TrackingFrame) -> None:
        frames.append(frame)
        if 2 <= len(frames) <= 4:
            raise ValueError('no network')

    tracker = ScriptedTracker()
    run = Run(tracker, on_frame=receive)
    run.frames = frames
    run.wait_for_frames(6)
    assert run.loop.statistics().state is LoopState.RUNNING
    run.stop()
    assert tracker.calls == ['open', 'close']
    assert run.loop.statistics().losses == 0
    told = [text for severity, text in run.events if severity is Severity.ERROR]
    assert told == ['A frame could not be published: ValueError: no network']


def test_a_loop_takes_the_place_of_another_once_its_tracker_is_closed() -> None:
    """Nobody waits for a tracker that hangs but the new loop, and that one says so."""
    hung, others = HungTracker(), [ScriptedTracker(), ScriptedTracker()]
    first = Run(hung)
    assert hung.entered.wait(PATIENCE_S)
    second = Run(others[0], before=first.loop)
    third = Run(others[1], before=second.loop)
    deadline_s = time.monotonic() + PATIENCE_S
    while third.loop.statistics().state is not LoopState.WAITING:
        assert time.monotonic() < deadline_s
        time.sleep(0.002)
    assert 'has not returned' in third.loop.statistics().reason
    assert others[1].calls == []
    hung.released.set()
    third.wait_for_frames(3)
    third.stop()
    assert hung.calls == ['open', 'close']
    assert others[0].calls == []
    assert first.frames == second.frames == []
    assert third.events[-1] == (Severity.INFO, 'The tracker is connected.')


def test_stop_is_quick_while_it_waits_and_harmless_before_start() -> None:
    """A stop during back-off does not wait for the back-off to end."""
    tracker = ScriptedTracker()
    tracker.open_errors = [TrackerError('no')] * 1000
    run = Run(tracker)
    while run.loop.statistics().state is not LoopState.WAITING:
        time.sleep(0.001)
    assert run.loop.statistics().reason == 'no'
    run.stop()
    idle = TrackerLoop(ScriptedTracker(), 10.0, run.frames.append, lambda *_: None)
    assert idle.stop()


def test_a_clock_that_stands_still_makes_no_frames() -> None:
    """Paused simulation time, or none yet (0), gives nothing to publish."""
    stamps = iter([0, 0, 5, 5, 5, 7] + [7] * 100000)
    run = Run(ScriptedTracker(), clock_ns=lambda: next(stamps))
    run.wait_for_frames(2)
    time.sleep(0.05)
    run.stop()
    assert [frame.stamp_ns for frame in run.frames] == [5, 7]


def test_the_rate_can_be_changed_while_running() -> None:
    """A loop that stayed at 2 Hz would not give these frames within the patience."""
    run = Run(ScriptedTracker(), rate_hz=2.0)
    run.wait_for_frames(1)
    run.loop.rate_hz = 250.0
    run.wait_for_frames(100)
    run.stop()
