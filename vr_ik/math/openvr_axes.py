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

"""OpenVR's axes (x right, y up, z backward) to REP-103's (x forward, y left, z up) and back."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vr_ik.types import Array

# Row i of a REP-103 vector is the component _SOURCE[i] of the OpenVR vector times _SIGN[i]:
# forward = -z, left = -x, up = y.
_SOURCE = np.array([2, 0, 1])
_SIGN = np.array([-1.0, -1.0, 1.0])
_BACK_SOURCE = np.array([1, 2, 0])
_BACK_SIGN = np.array([-1.0, 1.0, -1.0])


def vectors_from_openvr(vectors: NDArray[Any]) -> Array:
    """Turn (..., 3) OpenVR vectors (positions, velocities, turn rates) to REP-103 axes."""
    turned: Array = vectors[..., _SOURCE] * _SIGN
    return turned


def vectors_to_openvr(vectors: NDArray[Any]) -> Array:
    """Turn (..., 3) REP-103 vectors to OpenVR's axes."""
    turned: Array = vectors[..., _BACK_SOURCE] * _BACK_SIGN
    return turned


def poses_from_openvr(matrices: NDArray[Any]) -> Array:
    """
    Turn (n, 3, 4) OpenVR poses to (n, 4, 4) pose_world_from_device in REP-103 axes.

    Both the world's and the device's axes change: a headset that looks ahead in a level pose
    has the unit rotation before and after.
    """
    return _changed(matrices, _SOURCE, _SIGN)


def poses_to_openvr(poses_world_from_device: NDArray[Any]) -> Array:
    """Turn (n, 4, 4) REP-103 poses to (n, 3, 4) OpenVR poses."""
    return _changed(poses_world_from_device, _BACK_SOURCE, _BACK_SIGN)[:, :3]


def _changed(matrices: NDArray[Any], source: NDArray[Any], sign: Array) -> Array:
    poses = np.zeros((len(matrices), 4, 4))
    rotations = matrices[:, source[:, None], source]
    poses[:, :3, :3] = rotations * (sign[:, None] * sign)
    poses[:, :3, 3] = matrices[:, source, 3] * sign
    poses[:, 3, 3] = 1.0
    return poses
