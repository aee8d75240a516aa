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

_ASTRAY_M = 0.03


@kernel
def weigh(confidence: Array, full: Array, weights: Array) -> bool:
    """Write the weights (n, 2) of the devices by their confidence; return whether there is any."""
    is_any = False
    for i in range(confidence.shape[0]):
        is_any = is_any or confidence[i] > 0.0
        for k in range(2):
            weights[i, k] = confidence[i] * full[i, k]
    return is_any


@kernel
def is_astray(confidence: Array, errors_m: Array) -> bool:
    """Tell whether a device is far from its place on the body."""
    for i in range(confidence.shape[0]):
        if confidence[i] * errors_m[i] > _ASTRAY_M:
            return True
    return False


@kernel
def note_seen(confidence: Array, known: NDArray[np.bool_]) -> bool:
    """Note which devices have been there; return whether one of them is no more."""
    is_one_lost = False
    for i in range(confidence.shape[0]):
        if confidence[i] > 0.0:
            known[i] = True
        elif known[i]:
            is_one_lost = True
    return is_one_lost
