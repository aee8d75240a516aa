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


"""How well, and how late, a robot's tip has followed a hand whose true motion is known."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from vr_ik.types import Array

_SETTLING_S = 0.5
"""After a press the arm has to get going first."""
_LEAST_S = 1.0
"""Shorter stretches tell no delay."""
_SHIFTS_S = np.arange(0.0, 0.201, 0.001)
_HAND_PERIOD_S = 0.002


@dataclass(frozen=True)
class Following:
    """Errors of the tip over all stretches in which it followed; empty where there were none."""

    errors_m: Array
    """Distances from where the hand wanted it, the delay taken out."""
    errors_rad: Array
    lags_m: Array
    """Distances from where the hand wants it at the same instant."""
    delays_s: Array
    """From the hand's motion to the tip's, one a stretch; none where it could not be told."""


def judge_following(
    times_s: Array,
    tips: Array,
    hand_at: Callable[[float], Array],
    stretches: Sequence[tuple[float, float]],
    rotation_root_from_world: Array,
    scale: float,
) -> Following:
    """Compare measured tips (n, 4, 4), root frame, with the true hand, in stretches [s].

    The clutch leaves a constant offset between hand and tip in each stretch: it is taken out, and
    the delay is the one that explains the tip's way best.
    """
    parts = []
    for begin_s, end_s in stretches:
        rows = (times_s >= begin_s + _SETTLING_S) & (times_s <= end_s)
        if rows.any() and times_s[rows][-1] - times_s[rows][0] >= _LEAST_S:
            hand = _Hand(hand_at, times_s[rows], rotation_root_from_world, scale)
            parts.append(_judge(times_s[rows], tips[rows], hand))
    if not parts:
        empty = np.zeros(0)
        return Following(empty, empty, empty, empty)
    return Following(*(np.concatenate(column) for column in zip(*parts, strict=True)))


class _Hand:
    """The true hand in the robot's axes, between the times at which it was computed."""

    def __init__(
        self, hand_at: Callable[[float], Array], times_s: Array, rotation: Array, scale: float
    ) -> None:
        self._times_s = np.arange(times_s[0] - _SHIFTS_S[-1], times_s[-1] + 0.01, _HAND_PERIOD_S)
        poses = np.array([hand_at(time_s) for time_s in self._times_s])
        self._positions = scale * poses[:, :3, 3] @ rotation.T
        self._rotations = rotation @ poses[:, :3, :3]

    def positions(self, times_s: Array) -> Array:
        columns = [np.interp(times_s, self._times_s, column) for column in self._positions.T]
        return np.stack(columns, axis=1)

    def rotations(self, times_s: Array) -> Array:
        nearest = np.rint((times_s - self._times_s[0]) / _HAND_PERIOD_S).astype(int)
        return self._rotations[np.clip(nearest, 0, len(self._rotations) - 1)]


def _judge(times_s: Array, tips: Array, hand: _Hand) -> tuple[Array, Array, Array, Array]:
    """Return errors [m], errors [rad], lags [m] and the delay [s] of a stretch."""
    places = tips[:, :3, 3]

    def off(shift_s: float) -> Array:
        way = places - hand.positions(times_s - shift_s)
        centred: Array = np.linalg.norm(way - way.mean(axis=0), axis=1)
        return centred

    costs = [float(np.square(off(shift_s)).sum()) for shift_s in _SHIFTS_S]
    best = int(np.argmin(costs))
    delay_s = float(_SHIFTS_S[best])
    way = places - hand.positions(times_s - delay_s)
    lags = np.linalg.norm(places - hand.positions(times_s) - way.mean(axis=0), axis=1)
    turned = hand.rotations(times_s - delay_s).transpose(0, 2, 1) @ tips[:, :3, :3]
    left, _, right = np.linalg.svd(turned.mean(axis=0))
    mean = left @ right  # the rotation nearest to all of them
    cosines = 0.5 * (np.einsum('nij,ij->n', turned, mean) - 1.0)
    angles = np.arccos(np.clip(cosines, -1.0, 1.0))
    # At the end of what was tried there may be better ones: a tip that does not follow has none.
    is_found = best < len(_SHIFTS_S) - 1
    return off(delay_s), angles, lags, np.array([delay_s] if is_found else [])
