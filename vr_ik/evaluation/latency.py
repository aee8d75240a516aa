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

"""The times of tracking frames on their way through the nodes, and what they amount to."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vr_ik.errors import VrIkError
from vr_ik.types import Array


@dataclass
class Times:
    """When each frame was where, by its stamp; all in nanoseconds of the system's clock."""

    published_ns: dict[int, int] = field(default_factory=dict)
    """When the tracker handed the frame to DDS."""
    solved_ns: dict[int, int] = field(default_factory=dict)
    """When the solver handed its joint states to DDS."""
    received_ns: dict[int, int] = field(default_factory=dict)
    """When the subscriber's callback was called with them."""

    def clear(self) -> None:
        """Forget all frames."""
        for times in (self.published_ns, self.solved_ns, self.received_ns):
            times.clear()


def figures(times: Times) -> dict[str, Any]:
    """Return the latency from publish to receipt [ms], and the medians of its parts."""
    received_ns = dict(times.received_ns)
    stamps = sorted(received_ns.keys() & times.published_ns.keys() & times.solved_ns.keys())
    if len(stamps) < 2:
        raise VrIkError(f'{len(stamps)} frames have come all the way: measure for longer.')
    rows = np.array(
        [(s, times.published_ns[s], times.solved_ns[s], received_ns[s]) for s in stamps], np.int64
    )
    seconds = (rows[-1, 0] - rows[0, 0]) * 1e-9
    in_tracker, in_solver, to_receiver = np.diff(rows, axis=1).T * 1e-6
    return {
        'frames': len(rows),
        'rate_hz': round((len(rows) - 1) / seconds, 2),
        'latency_ms': percentiles(in_solver + to_receiver),
        'median_of_parts_ms': {
            'tracker, stamp to publish': _median(in_tracker),
            'solver, publish to publish': _median(in_solver),
            'subscriber, publish to callback': _median(to_receiver),
        },
    }


def percentiles(values: Array) -> dict[str, float]:
    """Return median, 99th percentile and maximum."""
    median, p99, largest = np.percentile(values, (50.0, 99.0, 100.0))
    return {
        name: round(float(v), 3)
        for name, v in zip(('median', 'p99', 'max'), (median, p99, largest), strict=True)
    }


def _median(values: Array) -> float:
    return round(float(np.median(values)), 3)
