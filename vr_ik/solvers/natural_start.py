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


"""Compiled second start of a solve: a natural posture, where the warm start has led astray."""

from vr_ik.kinematics.compiled import kernel
from vr_ik.types import Array

# What to try again, and when: a vector that the kernel keeps, then the joints that bend.
WAIT, TRIES, LEAPT, FAR, LEAST, EVERY, GAIN, BENT, BENDING = range(9)


@kernel
def is_due(retry: Array, residuals: Array, weights: Array) -> bool:
    """Tell whether a device is far off and the last try long enough ago; count the calls.

    Tasks of little weight are guesses: that they are not met says nothing.
    """
    if retry.shape[0] == 0:
        return False
    retry[LEAPT] = 0.0
    far = False
    for task in range(residuals.shape[0]):
        r = residuals[task]
        square = r[3] ** 2 + r[4] ** 2 + r[5] ** 2
        far = far or (weights[task, 0] > retry[LEAST] and square > retry[FAR] ** 2)
    if not far:
        retry[WAIT] = 0.0
        return False
    if retry[WAIT] > 0.0:
        retry[WAIT] -= 1.0
        return False
    retry[WAIT] = retry[EVERY]
    return True


@kernel
def write_natural_start(joints: Array, first_q: int, retry: Array, q: Array) -> None:
    """Write the rest posture where the body is; every other time with bent elbows."""
    for j in range(joints.shape[0]):
        q[first_q + j] = min(max(joints[j, 2], joints[j, 0]), joints[j, 1])
    retry[TRIES] += 1.0
    if retry[TRIES] % 2.0 == 1.0:
        for i in range(BENDING, retry.shape[0]):
            j = int(retry[i])
            q[first_q + j] = min(max(retry[BENT], joints[j, 0]), joints[j, 1])
