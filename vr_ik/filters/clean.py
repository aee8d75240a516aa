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

"""Cleans tracking frames: refuses jumps that do not last, bridges short losses and their ends."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass

import numpy as np

from vr_ik.filters import clean_kernel, rejoin_kernel
from vr_ik.filters.coast_kernel import WAY
from vr_ik.types import Array, TrackingFrame


@dataclass(frozen=True)
class CleanLimits:
    """What counts as a glitch and how long a lost device is bridged."""

    speed_m_s: float
    turn_rad_s: float
    glitch_hold_s: float
    """How long a jump must last to be believed; 0: every pose is."""
    gap_hold_s: float
    """How long a lost device is taken to go on as it went, with less and less weight."""


class FrameCleaner:
    """Turns tracking frames into one target and one confidence per device of a fixed list."""

    def __init__(self, roles: tuple[str, ...], limits: CleanLimits) -> None:
        """Take the devices to follow, in the order of the rows that `clean` returns."""
        self._limits = np.array(astuple(limits))
        self._roles = roles
        self._names: tuple[str, ...] = ()
        self._rows = np.empty(0, np.int64)
        self.glitches = 0
        """Poses refused so far."""
        self.reset()

    def reset(self) -> None:
        """Forget all poses, as when time has jumped."""
        n = len(self._roles)
        self._memory = clean_kernel.Memory(
            np.tile(np.eye(4), (n, 1, 1)),
            np.full(n, clean_kernel.NEVER),
            np.zeros((n, 2)),
            np.zeros((n, WAY)),
            np.tile(np.eye(4), (n, 1, 1)),
            np.full(n, clean_kernel.NEVER),
        )
        self._rejoining = rejoin_kernel.Rejoining(
            np.tile(np.eye(4), (n, 1, 1)),
            np.zeros(n),
            np.zeros((n, 4)),
            np.zeros((n, 3)),
            np.zeros((n, 2)),
        )
        self._stamp_ns = clean_kernel.NEVER

    def take_over(
        self, before: 'FrameCleaner', rows: Sequence[int], rows_before: Sequence[int]
    ) -> None:
        """Go on with what another cleaner knows of the devices in these rows."""
        for mine, theirs in zip(self._memory, before._memory, strict=True):
            mine[rows] = theirs[rows_before]
        for mine, theirs in zip(self._rejoining, before._rejoining, strict=True):
            mine[rows] = theirs[rows_before]
        self._stamp_ns = before._stamp_ns
        self.glitches = before.glitches

    def clean(self, frame: TrackingFrame, targets: Array, confidence: Array) -> None:
        """Write targets (n, 4, 4) and confidence (n,) from 0 (unknown) to 1 (seen now)."""
        if frame.names != self._names:
            self._names = frame.names
            rows = [self._roles.index(n) if n in self._roles else -1 for n in frame.names]
            self._rows = np.array(rows, np.int64)
        seen = np.ascontiguousarray(frame.poses, np.float64)
        self.glitches += clean_kernel.clean(
            *self._memory, self._limits, self._rows, seen, frame.stamp_ns, targets, confidence
        )
        seconds = max(frame.stamp_ns - self._stamp_ns, 0) * 1e-9
        self._stamp_ns = frame.stamp_ns
        speeds = self._memory.speeds
        rejoin_kernel.rejoin(*self._rejoining, speeds, seconds, targets, confidence)
