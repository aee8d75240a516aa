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

"""Compiled small steps of the pipeline: in NumPy each of them takes longer than it is worth."""

import numpy as np
from numpy.typing import NDArray

from vr_ik.kinematics.compiled import kernel
from vr_ik.types import Array

# A device that is still there has more say than the posture: when it is let go, that is at once,
# and the body is led over gently.
_LEAST_TRUST = 0.1
NO_CHANGE, LOSS, GAIN = range(3)
"""What may become of the devices that there are; a gain counts for more."""


@kernel
def weigh(confidence: Array, full: Array, weights: Array) -> bool:
    """Write the weights (n, 2) of the devices by their confidence; return whether there is any."""
    is_any = False
    for i in range(confidence.shape[0]):
        is_any = is_any or confidence[i] > 0.0
        trust = max(confidence[i], _LEAST_TRUST) if confidence[i] > 0.0 else 0.0
        for k in range(2):
            weights[i, k] = trust * full[i, k]
    return is_any


@kernel
def note_seen(confidence: Array, seen: NDArray[np.bool_]) -> int:
    """Note which devices there are; return whether there are others than before, and how."""
    change = NO_CHANGE
    for i in range(confidence.shape[0]):
        is_seen = confidence[i] > 0.0
        if is_seen and not seen[i]:
            change = GAIN
        elif seen[i] and not is_seen and change == NO_CHANGE:
            change = LOSS
        seen[i] = is_seen
    return change
