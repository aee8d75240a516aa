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

"""The controllers of a simulated robot: trajectories and plain commands, as ros2_control's."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from vr_ik.errors import VrIkError
from vr_ik.types import Array


class CommandError(VrIkError):
    """A command that a controller refuses; says why."""


@dataclass(frozen=True)
class TrajectoryPoint:
    """Where the joints shall be at a time; in the order of the trajectory's joint names."""

    seconds: float
    """From the trajectory's start."""
    positions: Sequence[float]
    velocities: Sequence[float] = ()
    """One for each joint, or none at all: then the way to the point is straight."""


@dataclass
class _Knot:
    time_s: float
    q: Array
    velocity: Array | None


@dataclass
class Controller:
    """Moves some joints on trajectories, as joint_trajectory_controller does, or right away.

    A new trajectory takes over from where the old one is at that moment, or, as is the real one's
    default, from where the joints are measured.
    """

    joints: tuple[str, ...]
    q: Array
    """Where the joints shall be now, in the order of `joints`."""
    velocity: Array = field(init=False)
    _knots: list[_Knot] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        """Begin at rest."""
        self.velocity = np.zeros(len(self.joints))

    def command(self, positions: Sequence[float]) -> None:
        """Have the joints go to positions at once, as forward_command_controller does."""
        self._knots = []
        self.q = self._checked(positions)
        self.velocity = np.zeros(len(self.joints))

    def follow(
        self,
        now_s: float,
        joints: Sequence[str],
        points: Sequence[TrajectoryPoint],
        start_s: float,
        measured: tuple[Array, Array] | None = None,
    ) -> None:
        """Follow a trajectory that begins at a time of the same clock as `now_s`.

        The way to its first point begins where the joints are `measured`, positions and
        velocities, or else where they shall be now. What is over already is left out, as is the
        way to a first point of this moment; no points at all: stay where you are.
        """
        if set(joints) != set(self.joints) or len(joints) != len(self.joints):
            wanted = ', '.join(self.joints)
            raise CommandError(f'A trajectory must have the joints {wanted}, each once.')
        order = [list(joints).index(joint) for joint in self.joints]
        knots = [self._knot(point, order, start_s) for point in points]
        times = [knot.time_s for knot in knots]
        if times != sorted(set(times)):
            raise CommandError('The points of a trajectory must be in the order of time.')
        self.update(now_s)
        start = _Knot(now_s, *((self.q, self.velocity) if measured is None else measured))
        over = [knot for knot in knots if knot.time_s <= now_s]
        self._knots = [over[-1] if over else start, *knots[len(over) :]]
        if len(knots) == len(over):
            self.velocity = np.zeros(len(self.joints))
            self._knots = []

    def update(self, now_s: float) -> None:
        """Set `q` and `velocity` to those of a time, which must not go back."""
        while len(self._knots) > 1 and self._knots[1].time_s <= now_s:
            del self._knots[0]
        if len(self._knots) > 1:
            self.q, self.velocity = _between(self._knots[0], self._knots[1], now_s)
        elif self._knots:
            self.q, self.velocity = self._knots[0].q, np.zeros(len(self.joints))

    def _knot(self, point: TrajectoryPoint, order: Sequence[int], start_s: float) -> _Knot:
        velocity = self._checked(point.velocities)[order] if len(point.velocities) else None
        return _Knot(start_s + point.seconds, self._checked(point.positions)[order], velocity)

    def _checked(self, values: Sequence[float]) -> Array:
        array = np.array(values, np.float64)
        if array.shape != (len(self.joints),):
            raise CommandError(f'{len(self.joints)} values are expected, not {array.size}.')
        if not np.isfinite(array).all():
            raise CommandError('A command has a number that is not finite.')
        return array


def _between(start: _Knot, end: _Knot, now_s: float) -> tuple[Array, Array]:
    """Return position and velocity on the way: a cubic where both velocities are known."""
    seconds = end.time_s - start.time_s
    u = (now_s - start.time_s) / seconds
    way = end.q - start.q
    if start.velocity is None or end.velocity is None:
        return start.q + u * way, way / seconds
    v0, v1 = seconds * start.velocity, seconds * end.velocity
    a, b = 3.0 * way - 2.0 * v0 - v1, v0 + v1 - 2.0 * way
    q = start.q + u * (v0 + u * (a + u * b))
    return q, (v0 + u * (2.0 * a + 3.0 * u * b)) / seconds
