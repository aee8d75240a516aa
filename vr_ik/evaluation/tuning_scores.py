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

"""How the best value of an option is found: z-scores, and cross-validation over the motions.

P. Caserman et al. 2019, Section IV: error and number of iterations are made comparable by their
z-scores, and that value is taken whose average over the motions is lowest. As nothing is fitted
but the choice itself, the average over held-out motions is the average over all of them. What the
choice is worth on a motion that had no part in it is told beside: the value that the other motions
would have chosen, and its score on this one.
"""

from typing import NamedTuple

import numpy as np

from vr_ik.types import Array


class HeldOut(NamedTuple):
    """What the other motions choose for one motion."""

    choice: int
    """Index of the chosen value."""
    score: float
    """Its score on the motion that was held out."""
    lowest: float
    """The lowest score that any value has there."""


def z_scores(values: Array) -> Array:
    """Return the values along the last axis in standard deviations from their mean; 0 if equal."""
    deviations = values - values.mean(axis=-1, keepdims=True)
    spread = values.std(axis=-1, keepdims=True)
    return np.divide(deviations, spread, out=np.zeros_like(deviations), where=spread > 0.0)


def error_scores(mm: Array, deg: Array) -> Array:
    """Return the z-score of the error: position and rotation count alike."""
    return 0.5 * (z_scores(mm) + z_scores(deg))


def scores(mm: Array, deg: Array, iterations: Array) -> Array:
    """Return the score of each value, by rows of motions: error and iterations count alike."""
    return 0.5 * (error_scores(mm, deg) + z_scores(iterations))


def best_index(by_motion: Array) -> int:
    """Return the value with the lowest average over the motions (rows); the first of equals."""
    return int(np.argmin(by_motion.mean(axis=0)))


def held_out(by_motion: Array) -> list[HeldOut]:
    """Return, for each motion, what the others choose; nothing where there are no others."""
    if len(by_motion) < 2:
        return []
    choices = []
    for i, row in enumerate(by_motion):
        choice = best_index(np.delete(by_motion, i, axis=0))
        choices.append(HeldOut(choice, float(row[choice]), float(row.min())))
    return choices
