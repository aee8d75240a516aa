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

"""Compiled targets of what is not tracked: where pelvis and feet are by head and trunk."""

import math

import numpy as np
from numpy.typing import NDArray

from vr_ik.body.heading import LEVEL, pelvis_yaw, risen
from vr_ik.kinematics.compiled import inlined_kernel, kernel
from vr_ik.types import Array

_PELVIS = 0
"""Row of the pelvis; those of the feet come after it."""
# Shares of the body's height, and of a leg: where a head and a hip are of who lies, and sits.
# Nobody stands who lies.
_LYING_HEAD, _SITTING_HEAD = 0.2, 0.35
_LYING_HIP, _SITTING_HIP = 0.2, 0.45
# Vertical part of the pelvis' up axis of who lies, and of who does not.
_SLANTING, _UPRIGHT = 0.5, 0.8
# Part of a leg's length at which it lies with the knee hardly bent.
_LOOSE = 0.95

# Who leans is in balance: the farther the neck is before the hips, the farther are the feet, too.
_BALANCE = 0.7
_UPRIGHT_REACH_M = 0.08

# 1/rad^2 and 1/m^2: a guess gives way to what devices say, and is firmer than the pull to the
# posture.
_UPRIGHT_WEIGHT = 0.02
_FLOOR_WEIGHT = 0.02
# Of who stands, hips from one height to the other (lengths of a leg), the floor is firmer than
# the guess of the pelvis; at this speed [m/s] half as much, or it would hold back who runs.
_STANDING_WEIGHT = 0.5
_LOW_HIP, _HIGH_HIP = 0.6, 0.9
_WALKING = 0.3
# s/m^2: what holds the pelvis back, so that it does not sway with the hands, and what does besides
# where the trunk is at rest; m/s: at this speed half of it.
_INERTIA, _REST = 1e-3, 1e-2
_GOING = 0.1
# Time constant of how fast the trunk goes.
_SPEED_S = 0.15


@kernel
def fill(
    yaw: float,
    lean: float,
    pelvis_share: float,
    head: Array,
    neck: Array,
    carried: Array,
    root: Array,
    seconds: float,
    needless_by: NDArray[np.bool_],
    confidence: Array,
    aside_m: Array,
    stature: Array,
    targets: Array,
    weights: Array,
    footing: Array,
) -> float:
    """Write what `StandIns.fill` returns for a body that by head and hands faces and leans so.

    `stature` [m]: height of the floor in the world, of an ankle, of a leg above it, of the trunk
    up to the eyes, of the body. NaN in `head`, `neck` or `root`: not known. `carried`:
    see `carry`; `footing`: see `_balance`. Returns how much the body lies, from 0 to 1.
    """
    floor_m, ankle_m, leg_m, trunk_m = stature[0], stature[1], stature[2], stature[3]
    is_known = not math.isnan(root[0])
    lying, down_x, down_y = _lying(head, stature)
    standing = _standing(root, stature) if is_known else 0.0
    if is_known and _is_needless(needless_by[_PELVIS], confidence):
        # A device on the trunk knows better than head and hands how it is.
        yaw, lying = pelvis_yaw(root), 0.0
    sine, cosine = math.sin(yaw), math.cos(yaw)
    _balance(root, neck, trunk_m, pelvis_share, cosine, sine, footing)
    for row in range(weights.shape[0]):
        weights[row, 0] = weights[row, 1] = 0.0
        if math.isnan(yaw) or _is_needless(needless_by[row], confidence):
            continue
        angle = pelvis_share * lean if row == _PELVIS else 0.0
        ahead, upward = (1.0 - lying) * math.sin(angle), (1.0 - lying) * math.cos(angle)
        up = _unit(ahead * cosine - lying * down_x, ahead * sine - lying * down_y, upward)
        turn = _turned(up, lying, cosine, sine, head)
        # Where the link is if the user stands, and as far from the head as it is if he lies.
        x, y, z, held = root[0], root[1], root[2], 0.0
        from_head_m = trunk_m
        weights[row, 1] = _UPRIGHT_WEIGHT
        if row != _PELVIS:
            x, y = footing[0] - aside_m[row] * sine, footing[1] + aside_m[row] * cosine
            z = floor_m + ankle_m + _off_floor(carried, stature)
            held = standing * _firmness(root, carried, stature)
            from_head_m = trunk_m + _LOOSE * leg_m
            weights[row, 1] *= max(standing, lying)
        elif seconds > 0.0:
            going = _going(carried, _GOING)
            held = (_INERTIA + (1.0 - going) * _REST) / seconds
            # Where it would be by now, going on with the trunk: who walks does not drag it.
            ahead_s = 0.0 if math.isnan(carried[0]) else going * seconds
            x, y, z = x + ahead_s * carried[3], y + ahead_s * carried[4], z + ahead_s * carried[5]
        if not is_known:
            x, y, z, held = 0.0, 0.0, 0.0, 0.0
        weights[row, 0] = held + lying * _FLOOR_WEIGHT
        if lying > 0.0:
            share = lying * _FLOOR_WEIGHT / weights[row, 0]
            x += share * (head[0, 3] + from_head_m * down_x + aside_m[row] * turn[1] - x)
            y += share * (head[1, 3] + from_head_m * down_y + aside_m[row] * turn[4] - y)
            z += share * (floor_m + ankle_m - z)
        _place(turn, x, y, z, targets[row])
    return lying


@inlined_kernel
def _lying(head: Array, stature: Array) -> tuple[float, float, float]:
    """Return how much a body with its head there lies, and the level way from head to feet."""
    if math.isnan(head[0, 0]):
        return 0.0, 0.0, 0.0
    x, y = _level(-head[0, 2], -head[1, 2])
    height = (head[2, 3] - stature[0]) / stature[4]
    return math.hypot(x, y) * (1.0 - risen(height, _LYING_HEAD, _SITTING_HEAD)), x, y


@inlined_kernel
def _standing(root: Array, stature: Array) -> float:
    """Return how surely the feet of a body with its pelvis there are on the floor.

    Who sits on the floor has them there, too; who lies may have them anywhere.
    """
    hip_height = _hip_height(root, stature)
    upright = risen(1.0 - 2.0 * (root[3] ** 2 + root[4] ** 2), _SLANTING, _UPRIGHT)
    return max(risen(hip_height, _LYING_HIP, _SITTING_HIP), upright)


@inlined_kernel
def _firmness(root: Array, carried: Array, stature: Array) -> float:
    """Return the weight of the floor [1/m^2] under a body with its pelvis there."""
    high = risen(_hip_height(root, stature), _LOW_HIP, _HIGH_HIP)
    firm = high * (1.0 - _going(carried, _WALKING))
    return _FLOOR_WEIGHT + firm * (_STANDING_WEIGHT - _FLOOR_WEIGHT)


@inlined_kernel
def _off_floor(carried: Array, stature: Array) -> float:
    """Return how high the feet are at least of who jumps: straight legs do not reach the floor."""
    height_m = carried[2] - stature[0] - stature[1] - stature[2]
    return height_m if height_m > 0.0 else 0.0  # NaN: no neck is known


@inlined_kernel
def _hip_height(root: Array, stature: Array) -> float:
    """Return how high the hips are above the ankles of who stands, in lengths of a leg."""
    return (root[2] - stature[0] - stature[1]) / stature[2]


@kernel
def carry(
    carried: Array, neck: Array, yaw: float, lean: float, trunk_m: float, seconds: float
) -> None:
    """Note where the pelvis (3) is below a neck on a trunk that leans so, and its speed (3).

    NaN: no neck is known; the speed is that of before.
    """
    for k in range(3):
        ahead = math.cos(yaw) if k == 0 else math.sin(yaw)
        below = math.cos(lean) if k == 2 else math.sin(lean) * ahead
        now = neck[k, 3] - trunk_m * below
        if seconds > 0.0 and not math.isnan(now - carried[k]):
            speed = (now - carried[k]) / seconds
            carried[3 + k] += (speed - carried[3 + k]) * seconds / (_SPEED_S + seconds)
        carried[k] = now


@inlined_kernel
def _going(carried: Array, half_m_s: float) -> float:
    """Return how much the trunk is on its way, from 0 at rest to 1; at that speed by half.

    Without a neck nobody knows that it rests.
    """
    if math.isnan(carried[0]):
        return 1.0
    square = carried[3] ** 2 + carried[4] ** 2 + carried[5] ** 2
    return square / (square + half_m_s**2)


@inlined_kernel
def _balance(
    root: Array,
    neck: Array,
    trunk_m: float,
    pelvis_share: float,
    cosine: float,
    sine: float,
    footing: Array,
) -> None:
    """Write where the feet of a body that faces this way are in balance: `root`, moved forward."""
    for k in range(7):
        footing[k] = root[k]
    reach_m = cosine * (neck[0, 3] - root[0]) + sine * (neck[1, 3] - root[1])
    if math.isnan(reach_m):
        # No neck: the pelvis leans by its share of what the trunk does.
        up_x = 2.0 * (root[3] * root[5] + root[4] * root[6])
        up_y = 2.0 * (root[4] * root[5] - root[3] * root[6])
        up_z = 1.0 - 2.0 * (root[3] ** 2 + root[4] ** 2)
        pitch = math.atan2(cosine * up_x + sine * up_y, up_z)
        reach_m = trunk_m * math.sin(min(max(pitch / pelvis_share, 0.0), 0.5 * math.pi))
    forward_m = _BALANCE * max(reach_m - _UPRIGHT_REACH_M, 0.0)
    footing[0] += forward_m * cosine
    footing[1] += forward_m * sine


@inlined_kernel
def _turned(
    up: tuple[float, float, float], lying: float, cosine: float, sine: float, head: Array
) -> tuple[float, float, float, float, float, float, float, float, float]:
    """Return the rotation, by rows, of a link with this up, which faces ahead or as the head does.

    Who stands faces ahead, who lies as the head does: to the ceiling, the floor or the side.
    """
    x, y, z = (1.0 - lying) * cosine, (1.0 - lying) * sine, 0.0
    if lying > 0.0:
        x, y, z = x + lying * head[0, 0], y + lying * head[1, 0], z + lying * head[2, 0]
    along = x * up[0] + y * up[1] + z * up[2]
    x, y, z = _unit(x - along * up[0], y - along * up[1], z - along * up[2])
    left = (up[1] * z - up[2] * y, up[2] * x - up[0] * z, up[0] * y - up[1] * x)
    return x, left[0], up[0], y, left[1], up[1], z, left[2], up[2]


@inlined_kernel
def _unit(x: float, y: float, z: float) -> tuple[float, float, float]:
    length = max(math.sqrt(x * x + y * y + z * z), 1e-9)
    return x / length, y / length, z / length


@inlined_kernel
def _level(x: float, y: float) -> tuple[float, float]:
    """Return a direction in the plane, of unit length; 0 where it says little."""
    length = math.hypot(x, y)
    if not length > LEVEL:
        return 0.0, 0.0
    return x / length, y / length


@inlined_kernel
def _is_needless(needless_by: NDArray[np.bool_], confidence: Array) -> bool:
    is_needless = False
    for device in range(confidence.shape[0]):
        is_needless = is_needless or (needless_by[device] and confidence[device] > 0.0)
    return is_needless


@inlined_kernel
def _place(
    turn: tuple[float, float, float, float, float, float, float, float, float],
    x: float,
    y: float,
    z: float,
    target: Array,
) -> None:
    """Write the pose of a link that is at (x, y, z), turned so."""
    for column in range(3):
        target[0, column] = turn[column]
        target[1, column] = turn[3 + column]
        target[2, column] = turn[6 + column]
    target[0, 3], target[1, 3], target[2, 3] = x, y, z
