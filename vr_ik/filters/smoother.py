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

"""What filters that smooth device poses have in common: what they remember of each device."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from vr_ik.types import Array


class Smoother(ABC):
    """Smooths the poses of a fixed number of devices, in place."""

    def __init__(self, devices: int, speeds: int) -> None:
        """Take the number of rows that `smooth` gets, and how many speeds each of them has.

        What `smooth` reads besides must have been set: it is called once, to be compiled.
        """
        self._poses = np.tile(np.eye(4), (devices, 1, 1))
        """As they left the filter last."""
        self._speeds = np.zeros((devices, speeds))
        self._known = np.zeros(devices, np.int64)
        """0 for devices of which nothing is known."""
        self.smooth(0.01, np.zeros(devices), self._poses.copy())

    def take_over(
        self, before: 'Smoother', rows: Sequence[int], rows_before: Sequence[int]
    ) -> None:
        """Go on from where another filter of the same kind has the devices in these rows."""
        if type(before) is type(self):
            self._poses[rows] = before._poses[rows_before]
            self._speeds[rows] = before._speeds[rows_before]
            self._known[rows] = before._known[rows_before]

    @abstractmethod
    def smooth(self, seconds: float, confidence: Array, poses: Array) -> None:
        """Smooth poses (n, 4, 4), so many seconds after the last; unknown devices are let go.

        0 seconds: these are the first, and what was before does not count.
        """
