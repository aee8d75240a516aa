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

from vr_ik.calibration.calibration import Calibration
from vr_ik.calibration.refine import refine
from vr_ik.errors import CalibrationError
from vr_ik.types import TrackingFrame


class Refinement:
    """One refinement that is under way."""

    def __init__(self, calibration: Calibration, frames: Sequence[TrackingFrame]) -> None:
        """Start it."""
        context = multiprocessing.get_context('spawn')
        self._result, sender = context.Pipe(duplex=False)
        self._process = context.Process(
            target=_refine, args=(sender, calibration, list(frames)), daemon=True
        )
        self._process.start()
        sender.close()

    def done(self) -> bool:
        """Tell whether it has come to an end, good or bad."""
        return self._result.poll() or not self._process.is_alive()

    def result(self) -> Calibration:
        """Return the better calibration once it is done; raise `CalibrationError` if it failed."""
        try:
            calibration: Calibration = self._result.recv()
        except EOFError:
            self._process.join()
            code = self._process.exitcode
            raise CalibrationError(f'The refinement ended with exit code {code}.') from None
        self._process.join()
        return calibration

    def cancel(self) -> None:
        """End it now."""
        self._process.terminate()
        self._process.join()


def _refine(sender: Connection, calibration: Calibration, frames: list[TrackingFrame]) -> None:
    sender.send(refine(calibration, frames))
