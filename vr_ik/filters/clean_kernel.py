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

"""Compiled part of the cleaning: which poses are believed, and how far they are still trusted."""

import math
from typing import NamedTuple

from vr_ik.filters.coast_kernel import forget_way, go_on, note_way
from vr_ik.filters.pose_kernels import copy_pose
from vr_ik.kinematics.compiled import inlined_kernel, kernel
from vr_ik.kinematics.tree import Ints
from vr_ik.types import Array

NEVER = -(2**62)
"""Stamp [ns] of what has not been seen."""

# A device may move this far between frames whatever their distance in time: noise and jitter.
_SLACK_M = 0.05
_SLACK_RAD = math.radians(15.0)
# Farther away from the origin there is no device; what is beyond the range of floats is worse.
_FARTHEST_M = 1e6
# How fast a device gains speed in the hand of a quick person [m/s^2, rad/s^2].
_ACCELERATION = 200.0
_TURN_ACCELERATION = 1500.0


class Memory(NamedTuple):
    """Of each device: the last pose that was believed, and the first of a jump that may be."""

    poses: Array
    """(n, 4, 4)"""
    stamps_ns: Ints
    speeds: Array
    """(n, 2): [m/s] and [rad/s] when it was believed; 0 after a jump."""
    ways: Array
    """(n, WAY): how it went when it was believed; see `coast_kernel`."""
    jump_poses: Array
    jump_stamps_ns: Ints


@inlined_kernel
def _is_possible_at_all(pose: Array) -> bool:
    """Tell whether a pose has numbers, and is on this earth."""
    possible = True
    for r in range(4):
        for c in range(4):
            possible = possible and abs(pose[r, c]) < _FARTHEST_M
    return possible


@inlined_kernel
def _moved(before: Array, after: Array) -> tuple[float, float]:
    """Return the distance [m] and the angle [rad] between two poses."""
    square = trace = 0.0
    for r in range(3):
        square += (after[r, 3] - before[r, 3]) ** 2
        for c in range(3):
            trace += after[r, c] * before[r, c]
    return math.sqrt(square), math.acos(min(1.0, max(-1.0, 0.5 * (trace - 1.0))))


@inlined_kernel
def _is_possible(
    distance: float, angle: float, seconds: float, speed: float, turn_speed: float, limits: Array
) -> bool:
    """Tell whether a device of that speed can have moved so far in that time."""
    fastest = min(speed + _ACCELERATION * seconds, limits[0])
    fastest_turn = min(turn_speed + _TURN_ACCELERATION * seconds, limits[1])
    return (
        distance <= _SLACK_M + fastest * seconds and angle <= _SLACK_RAD + fastest_turn * seconds
    )


@inlined_kernel
def _believe(
    memory: Memory, i: int, pose: Array, now_ns: int, speed: float, turn_speed: float
) -> None:
    copy_pose(pose, memory.poses[i])
    memory.stamps_ns[i] = now_ns
    memory.jump_stamps_ns[i] = NEVER
    memory.speeds[i, 0], memory.speeds[i, 1] = speed, turn_speed


@inlined_kernel
def _take(memory: Memory, i: int, pose: Array, now_ns: int, limits: Array) -> int:
    """Believe a pose or refuse it; return how many were refused."""
    if memory.stamps_ns[i] == NEVER:
        # It may be in the middle of a quick motion: any speed that is possible at all.
        _believe(memory, i, pose, now_ns, math.inf, math.inf)
        return 0
    seconds = max(now_ns - memory.stamps_ns[i], 0) * 1e-9
    distance, angle = _moved(memory.poses[i], pose)
    is_gated = limits[2] > 0.0
    if not is_gated or _is_possible(
        distance, angle, seconds, memory.speeds[i, 0], memory.speeds[i, 1], limits
    ):
        # A frame that is told twice says nothing about the speed.
        speed, turning = memory.speeds[i, 0], memory.speeds[i, 1]
        if seconds > 0.0:
            speed, turning = distance / seconds, angle / seconds
            note_way(memory.poses[i], pose, seconds, memory.ways[i])
        _believe(memory, i, pose, now_ns, speed, turning)
        return 0
    started = memory.jump_stamps_ns[i]
    waited_s = 0.0 if started == NEVER else (now_ns - started) * 1e-9
    distance, angle = _moved(memory.jump_poses[i], pose)
    if started == NEVER or not _is_possible(distance, angle, waited_s, 0.0, 0.0, limits):
        copy_pose(pose, memory.jump_poses[i])
        memory.jump_stamps_ns[i] = now_ns
    elif waited_s >= limits[2]:
        # What is known of the speed does not outlive a jump.
        forget_way(memory.ways[i])
        _believe(memory, i, pose, now_ns, 0.0, 0.0)
        return 0
    return 1


@inlined_kernel
def _confidence(stamp_ns: int, now_ns: int, hold_s: float) -> float:
    if stamp_ns == NEVER:
        return 0.0
    age_s = (now_ns - stamp_ns) * 1e-9
    if age_s <= 0.0:
        return 1.0
    return max(0.0, 1.0 - age_s / hold_s) if hold_s > 0.0 else 0.0


@kernel
def clean(
    poses: Array,
    stamps_ns: Ints,
    speeds: Array,
    ways: Array,
    jump_poses: Array,
    jump_stamps_ns: Ints,
    limits: Array,
    rows: Ints,
    seen: Array,
    now_ns: int,
    targets: Array,
    confidence: Array,
) -> int:
    """Take the poses `seen` (m, 4, 4) of the devices `rows` (m,); return how many were refused.

    The first six are a `Memory`; `limits` are those of `CleanLimits`, in its order. A row of -1
    is nobody's. Writes targets (n, 4, 4) and confidence (n,) of all devices.
    """
    memory = Memory(poses, stamps_ns, speeds, ways, jump_poses, jump_stamps_ns)
    refused = 0
    for k in range(rows.shape[0]):
        if rows[k] >= 0 and _is_possible_at_all(seen[k]):
            refused += _take(memory, rows[k], seen[k], now_ns, limits)
    for i in range(stamps_ns.shape[0]):
        copy_pose(poses[i], targets[i])
        confidence[i] = _confidence(stamps_ns[i], now_ns, limits[3])
        if confidence[i] < 1.0:
            go_on(ways[i], (now_ns - stamps_ns[i]) * 1e-9, targets[i])
    return refused
