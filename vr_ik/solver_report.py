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

"""How the solved frames are: counted and judged alike by the live node and by `vr_ik solve`."""

from collections import Counter, defaultdict

from vr_ik.health import Health, Level
from vr_ik.pipeline import Solution
from vr_ik.types import Status

LOW_RATE_HZ = 20.0
"""Below it motion is no longer smooth."""
FAR_M = 0.1
"""A device that is so far from the body on the average is not worn by it."""
BETTER_REPORTS = 3
"""Reports in a row that must be better before a better level is shown."""


class SolverReport:
    """Sums over solved frames, in which there is nothing of the machine that solved them."""

    def __init__(self) -> None:
        """Begin with no frame."""
        self._statuses: Counter[Status] = Counter()
        self._frames_of: Counter[str] = Counter()
        self._error_of: defaultdict[str, float] = defaultdict(float)
        self._worst_error_m = 0.0

    @property
    def frames(self) -> int:
        """Number of frames so far."""
        return self._statuses.total()

    def note(self, solution: Solution) -> None:
        """Count a solved frame."""
        self._statuses[solution.status] += 1
        for device, error_m in solution.position_errors.items():
            self._frames_of[device] += 1
            self._error_of[device] += error_m
            self._worst_error_m = max(self._worst_error_m, error_m)

    def add(self, other: 'SolverReport') -> None:
        """Count the frames of another report, too."""
        self._statuses.update(other._statuses)
        self._frames_of.update(other._frames_of)
        for device, error_m in other._error_of.items():
            self._error_of[device] += error_m
        self._worst_error_m = max(self._worst_error_m, other._worst_error_m)

    def mean_errors_m(self) -> dict[str, float]:
        """Return how far each device is from where the body has it, on the average."""
        return {name: self._error_of[name] / frames for name, frames in self._frames_of.items()}

    def values(self, seconds: float) -> dict[str, object]:
        """Return the figures of the frames so far, which came in so many seconds."""
        device, error_m = self._worst_device()
        worst = f'{device}, {1e3 * error_m:.1f} mm on the average' if device else 'none'
        mean_m = sum(self._error_of.values()) / max(self._frames_of.total(), 1)
        return {
            'rate [1/s]': self.frames / seconds,
            'error, mean [mm]': 1e3 * mean_m,
            'worst error [mm]': 1e3 * self._worst_error_m,
            'worst device': worst,
            'devices': ', '.join(self._frames_of) or 'none',
            **{f'frames {status.name.lower()}': self._statuses[status] for status in Status},
        }

    def findings(self, seconds: float) -> list[Health]:
        """Return what is not well with the frames so far by themselves, the gravest first."""
        frames, failed = self.frames, self._statuses[Status.FAILED]
        if not frames:
            return [Health(Level.WARN, 'no tracking frames')]
        if failed > frames / 2:
            return [Health(Level.ERROR, Status.FAILED.text)]
        device, error_m = self._worst_device()
        far = f'{device} is {error_m:.2g} m off: calibrate, or look where it is worn'
        warnings = {
            f'{failed} of {frames} frames failed': failed > 0,
            far: error_m > FAR_M,
            f'only {frames / seconds:.0f} frames a second': frames / seconds < LOW_RATE_HZ,
            **{
                status.text: self._statuses[status] > frames / 2
                for status in (Status.UNREACHABLE, Status.STALLED)
            },
        }
        return [Health(Level.WARN, text) for text, is_so in warnings.items() if is_so]

    def _worst_device(self) -> tuple[str, float]:
        """Return the device that is farthest from the body on the average, and how far [m]."""
        means = self.mean_errors_m()
        device = max(means, key=means.__getitem__, default='')
        return device, means.get(device, 0.0)
