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

"""Ctrl-C and SIGTERM as an orderly end, whatever the main thread is doing."""

from collections.abc import Iterator
from contextlib import contextmanager
import signal
from types import FrameType, TracebackType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupted(BaseException):
    """
    A signal came.

    Not KeyboardInterrupt: where one passes through code that was compiled from text, as numba's
    is, CPython ends the process by the signal at its exit, although it has been caught.
    """


class Interruption:
    """Ends a `with` block at the first signal, in silence; the program goes on behind it."""

    def __init__(self) -> None:
        """Prepare; signals are caught inside the block only."""
        self.requested = False
        """Whether a signal has come; loops look here too, should the exception get lost."""
        self._handlers: list[object] = []
        self._deferred = False

    def __enter__(self) -> 'Interruption':
        """Begin to catch signals."""
        self._handlers = [signal.signal(number, self._interrupt) for number in SIGNALS]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        """Give the signals back; an interruption ends here."""
        for number, handler in zip(SIGNALS, self._handlers, strict=True):
            signal.signal(number, handler)  # type: ignore[arg-type]
        return isinstance(error, Interrupted)

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Only note signals in `requested`, inside a `with` block that looks there."""
        self._deferred = True
        try:
            yield
        finally:
            self._deferred = False

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        # Only the first raises: nothing may disturb the block while it cleans up behind itself.
        is_first, self.requested = not self.requested, True
        if is_first and not self._deferred:
            raise Interrupted
