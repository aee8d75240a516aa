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


"""Compiled second start of a solve: a natural posture, where the warm start has led astray.

A pose may be far off its devices, or meet them with an arm that is twisted. What is tried again,
and when, is a vector that the kernel keeps: first some numbers, then four for each joint of the
model.
"""

import math

from vr_ik.kinematics.compiled import kernel
from vr_ik.types import Array

WAIT, PAUSE, LAST, LEAPT, COLD, TRIED = range(6)
"""What the kernel notes: calls until the next try, and from that one to the next; what was tried
last; whether that was taken; whether nothing is known yet of where limbs are; how often each has
been tried."""
ARMS = 2
FAR, DEVICES, SHORTEST, LONGEST, GAIN, STRAIN, APART, NUMBERS = range(TRIED + 1 + ARMS, TRIED + 11)
"""What is set; see `solvers.body`."""
REST, PULL, ARM, BENT, EACH = range(5)
"""Of each joint: its natural angle and the pull to it, its arm (0 or 1; -1: of none), and the
angle that it has instead in every other start (0: none)."""
NOBODY, EVERYBODY = -2, -1
"""What is due, where it is not one arm."""


@kernel
def what_is_due(retry: Array, residuals: Array, weights: Array, first_q: int, q: Array) -> int:
    """Return what to try again: an arm that is strained, or all where a device is far off.

    Each of them has its turn. Calls are counted; after tries that came to nothing the next one is
    later, lest what is out of reach, or strained with reason, costs twice the time.
    """
    retry[LEAPT] = 0.0
    is_any, due = False, NOBODY
    for turn in range(1 + ARMS):
        candidate = (int(retry[LAST]) + 2 + turn) % (1 + ARMS) - 1
        if candidate == EVERYBODY:
            is_candidate = is_far(retry, residuals, weights)
        else:
            is_candidate = strain(retry, candidate, first_q, q) > retry[STRAIN]
        if is_candidate and not is_any:
            is_any, due = True, candidate
    if not is_any:
        retry[WAIT], retry[PAUSE] = 0.0, retry[SHORTEST]
    elif retry[WAIT] > 0.0:
        retry[WAIT] -= 1.0
        due = NOBODY
    else:
        retry[WAIT] = retry[PAUSE] - 1.0
        retry[PAUSE] = min(2.0 * retry[PAUSE], retry[LONGEST])
        retry[LAST] = due
    return due


@kernel
def is_far(retry: Array, residuals: Array, weights: Array) -> bool:
    """Tell whether a device is far off; the tasks after theirs are guesses, and say nothing."""
    for task in range(int(retry[DEVICES])):
        r = residuals[task]
        square = r[3] ** 2 + r[4] ** 2 + r[5] ** 2
        if weights[task, 0] > 0.0 and square > retry[FAR] ** 2:
            return True
    return False


@kernel
def strain(retry: Array, arm: int, first_q: int, q: Array) -> float:
    """Return what the natural pulls of an arm cost; 0 for all others."""
    total = 0.0
    for j in range((retry.shape[0] - NUMBERS) // EACH):
        row = retry[NUMBERS + EACH * j :]
        if arm >= 0 and int(row[ARM]) == arm:
            away = q[first_q + j] - row[REST]
            total += 0.5 * row[PULL] * away * away
    return total


@kernel
def exchange_pulls(retry: Array, joints: Array) -> None:
    """Let joints be pulled to the natural posture alone, or back to where they were pulled.

    Where no natural posture was told they are pulled there all the time.
    """
    if retry[STRAIN] == math.inf:
        return
    for j in range(joints.shape[0]):
        row = retry[NUMBERS + EACH * j :]
        for i, k in ((REST, 2), (PULL, 3)):
            row[i], joints[j, k] = joints[j, k], row[i]


@kernel
def write_natural_start(retry: Array, due: int, joints: Array, first_q: int, q: Array) -> None:
    """Write the natural posture of what is due, where the body is; pulls are exchanged."""
    tried = TRIED + 1 + due
    retry[tried] += 1.0
    is_bent = retry[tried] % 2.0 == 1.0
    for j in range(joints.shape[0]):
        row = retry[NUMBERS + EACH * j :]
        if due == EVERYBODY or int(row[ARM]) == due:
            angle = row[BENT] if is_bent and row[BENT] > 0.0 else joints[j, 2]
            q[first_q + j] = min(max(angle, joints[j, 0]), joints[j, 1])


@kernel
def is_clear_gain(
    retry: Array, due: int, strain_here: float, cost_here: float, cost_there: float
) -> bool:
    """Tell whether a try takes enough away: of the cost or, of an arm, of what strain costs."""
    most = cost_here if due == EVERYBODY else strain_here
    return cost_there < cost_here - (1.0 - retry[GAIN]) * most


@kernel
def is_elsewhere(retry: Array, first_q: int, q: Array, other: Array) -> bool:
    """Tell whether a pose is quite another, not the same one a little farther on."""
    for j in range((retry.shape[0] - NUMBERS) // EACH):
        if abs(q[first_q + j] - other[first_q + j]) > retry[APART]:
            return True
    return False
