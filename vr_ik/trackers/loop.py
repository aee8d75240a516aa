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

"""The thread that reads a tracker at an even pace and reconnects it when it is lost."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
import threading
import time

from vr_ik.errors import TrackerError
from vr_ik.types import Tracker, TrackingFrame

FIRST_BACK_OFF_S = 0.1
LAST_BACK_OFF_S = 2.0
"""Waits between attempts to connect: doubled from the first to the last."""
HAND_OVER_S = 0.2
"""How long the tracker of the loop before may take to return from a call, in silence."""
LATE_NS = 2_000_000
"""A tick that begins more than this after its deadline counts as late."""


class LoopState(Enum):
    """What the loop is doing."""

    STOPPED = 'stopped'
    CONNECTING = 'connecting'
    WAITING = 'waiting'
    RUNNING = 'running'


class Severity(Enum):
    """How an event is to be logged."""

    INFO = 'info'
    WARNING = 'warning'
    ERROR = 'error'


@dataclass(frozen=True, slots=True)
class LoopStatistics:
    """Counts since the start, and what the loop is doing now."""

    frames: int
    late: int
    """Ticks begun over 2 ms after their deadline."""
    skipped: int
    """Deadlines passed over, because a read took longer than a period."""
    losses: int
    """How often a connected tracker was lost."""
    state: LoopState
    reason: str
    """Why it waits; empty while all is well."""


class TrackerLoop:
    """
    Opens, reads and closes a tracker in a thread of its own, until it is stopped.

    Ticks lie on a fixed grid of deadlines, so that the rate does not drift; deadlines that
    have passed are skipped, never made up for in a burst. A clock that stands still (paused
    simulation time) makes no frames.
    """

    def __init__(
        self,
        tracker: Tracker,
        rate_hz: float,
        on_frame: Callable[[TrackingFrame], None],
        on_event: Callable[[Severity, str], None],
        clock_ns: Callable[[], int] = time.time_ns,
        before: 'TrackerLoop | None' = None,
    ) -> None:
        """
        Prepare the loop; `on_frame` and `on_event` are called from its thread.

        It takes the place of the loop `before`: stops it and waits, in its own thread, until
        that one's tracker is closed, since both may need the same device.
        """
        self._tracker = tracker
        self._on_frame = on_frame
        self._on_event = on_event
        self._clock_ns = clock_ns
        self._before = before
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name='tracker_loop', daemon=True)
        self._state = LoopState.STOPPED
        self._reason = ''
        self._fault = ''
        self._frames = self._late = self._skipped = self._losses = 0
        self._back_off_s = FIRST_BACK_OFF_S
        self.rate_hz = rate_hz
        """Ticks per second; may be changed at any time."""

    def start(self) -> None:
        """Start the thread."""
        if self._before is not None:
            self._before.stop(timeout_s=0.0)
        self._thread.start()

    def stop(self, timeout_s: float = 2.0) -> bool:
        """Stop the thread and wait for it; false if the tracker does not return from a call."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def statistics(self) -> LoopStatistics:
        """Return the counts and the state; callable from any thread."""
        return LoopStatistics(
            self._frames, self._late, self._skipped, self._losses, self._state, self._reason
        )

    def _run(self) -> None:
        self._wait_for_the_one_before()
        while not self._stop.is_set():
            if self._connect():
                self._read_until_lost()
            self._close()
            if self._stop.wait(self._back_off_s):
                break
            self._back_off_s = min(2.0 * self._back_off_s, LAST_BACK_OFF_S)
        self._state = LoopState.STOPPED

    def _wait_for_the_one_before(self) -> None:
        if self._before is not None and not self._before.stop(HAND_OVER_S):
            reason = 'The one before it has not returned from a call yet.'
            self._wait_because(reason, Severity.WARNING)
            self._before._thread.join()
        self._before = None

    def _connect(self) -> bool:
        # While it waits, the loop stays in that state through the attempts to connect.
        if self._state is LoopState.STOPPED:
            self._state = LoopState.CONNECTING
        try:
            self._tracker.open()
        except TrackerError as error:
            self._wait_because(str(error), Severity.WARNING)
        except Exception as error:  # a plug-in may fail in any way; it must not end the thread
            self._wait_because(f'It {_unexpected("opened", error)}', Severity.ERROR)
        else:
            return True
        return False

    def _read_until_lost(self) -> None:
        try:
            self._read_on_time()
        except TrackerError as error:
            self._losses += 1
            self._wait_because(str(error), Severity.WARNING)
        except Exception as error:  # as above: a failing plug-in counts as a lost tracker
            self._losses += 1
            self._wait_because(f'It {_unexpected("read", error)}', Severity.ERROR)

    def _close(self) -> None:
        try:
            self._tracker.close()
        except Exception as error:  # it should not, but a plug-in's mistake must not end us
            self._on_event(Severity.ERROR, f'The tracker {_unexpected("closed", error)}')

    def _read_on_time(self) -> None:
        rate_hz = self.rate_hz
        start_ns = time.monotonic_ns()
        tick = 0
        last_stamp_ns = 0
        while True:
            deadline_ns = start_ns + round(tick * 1e9 / rate_hz)
            if self._stop.wait(max(0, deadline_ns - time.monotonic_ns()) * 1e-9):
                return
            self._late += time.monotonic_ns() - deadline_ns > LATE_NS
            stamp_ns = self._clock_ns()
            if stamp_ns != last_stamp_ns:
                last_stamp_ns = stamp_ns
                self._deliver(self._tracker.read(stamp_ns))
            if rate_hz != self.rate_hz:
                rate_hz, start_ns, tick = self.rate_hz, deadline_ns, 0
            # A deadline that has just passed is run at once; one half a period old is skipped.
            elapsed_ticks = (time.monotonic_ns() - start_ns) * 1e-9 * rate_hz
            next_tick = max(tick + 1, int(elapsed_ticks + 0.5))
            self._skipped += next_tick - tick - 1
            tick = next_tick

    def _deliver(self, frame: TrackingFrame) -> None:
        if self._stop.is_set():  # during a read that took longer than `stop` waited for it
            return
        if self._state is not LoopState.RUNNING:
            self._state = LoopState.RUNNING
            self._reason = ''
            self._fault = ''
            self._back_off_s = FIRST_BACK_OFF_S
            self._on_event(Severity.INFO, 'The tracker is connected.')
        self._frames += 1
        try:
            self._on_frame(frame)
        except Exception as error:  # it is not the tracker's fault, which stays connected
            self._report(f'A frame {_unexpected("published", error)}')

    def _report(self, fault: str) -> None:
        """Tell what went wrong with a frame, once for each new fault."""
        if fault != self._fault:
            self._on_event(Severity.ERROR, fault)
        self._fault = fault

    def _wait_because(self, reason: str, severity: Severity) -> None:
        """Enter the waiting state, and say so once for each new reason."""
        if self._state is not LoopState.WAITING or reason != self._reason:
            self._on_event(severity, f'Waiting for the tracker. {reason}')
        self._state = LoopState.WAITING
        self._reason = reason


def _unexpected(action: str, error: Exception) -> str:
    return f'could not be {action}: {type(error).__name__}: {error}'
