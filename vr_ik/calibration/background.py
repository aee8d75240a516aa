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

"""Refinement in a process of its own: it takes seconds, and no tracking frame may wait for it."""

from collections.abc import Sequence
import multiprocessing
from multiprocessing.connection import Connection
import threading

from vr_ik.calibration.calibration import Calibration
from vr_ik.calibration.refine import refine
from vr_ik.errors import CalibrationError
from vr_ik.types import TrackingFrame


class Refinement:
    """One refinement that is under way."""

    def __init__(self, calibration: Calibration, frames: Sequence[TrackingFrame]) -> None:
        """Start it and return at once."""
        context = multiprocessing.get_context('spawn')
        self._ours, theirs = context.Pipe()
        self._process = context.Process(target=_refine, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        self._calibration: Calibration | None = None
        # A pipe takes so many frames only once the process has begun to read, after a second.
        self._thread = threading.Thread(
            target=self._exchange, args=(calibration, list(frames)), daemon=True
        )
        self._thread.start()

    def done(self) -> bool:
        """Tell whether it has come to an end, good or bad."""
        return not self._thread.is_alive()

    def result(self) -> Calibration:
        """Return the better calibration once it is done; raise `CalibrationError` if it failed."""
        self._thread.join()
        self._process.join()
        if self._calibration is None:
            code = self._process.exitcode
            raise CalibrationError(f'The refinement ended with exit code {code}.')
        return self._calibration

    def cancel(self) -> None:
        """End it now."""
        self._process.terminate()
        self._thread.join()
        self._process.join()

    def _exchange(self, calibration: Calibration, frames: list[TrackingFrame]) -> None:
        try:
            self._ours.send((calibration, frames))
            self._calibration = self._ours.recv()
        except (EOFError, OSError):
            pass  # the process has ended; `result` says so


def _refine(pipe: Connection) -> None:
    pipe.send(refine(*pipe.recv()))
