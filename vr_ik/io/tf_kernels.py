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

"""
Kernels that read TF messages: plain CDR, little endian, of tf2_msgs/msg/TFMessage.

The layout, as DDS puts it on the wire and as bags store it: uint32 count, then for each transform
int32 sec, uint32 nanosec, string frame_id, string child_frame_id (uint32 length with the final
zero, then the bytes), 7 x float64 (x y z, qx qy qz qw), each number aligned to its size. A `body`
is a message without the four bytes of its encapsulation; numbers are aligned to its start.
"""

import math

import numpy as np
from numpy.typing import NDArray

from vr_ik.kinematics.compiled import allocating_kernel
from vr_ik.types import Array

NORM_TOLERANCE = 0.01
"""How far the squared norm of a quaternion may be from 1: what tf2 itself tolerates."""
FARTHEST_M = 1e4
"""A device farther from the world's origin than this is a mistake, not a pose."""

Bytes = NDArray[np.uint8]
Integers = NDArray[np.int64]


@allocating_kernel
def decode(
    body: Bytes, doubles: Array, world: Bytes, frames: Bytes, frame_ends: Integers
) -> tuple[int, Integers, NDArray[np.bool_], Integers, Array, Integers]:
    """
    Return how many frames were found (-1: damaged), which, their fitness, stamps and numbers.

    And where in the body the names of parent and child are. `doubles` is the body again, as
    numbers. Without bytes in `world` all parents will do, and without `frames` all children.
    """
    # A transform takes at least 72 bytes: a count beyond that is damage, not a size to allocate.
    count = _uint32(body, 0) if body.size >= 4 else 1
    damaged = count > body.size // 72
    count = min(count, body.size // 72)
    roles = np.empty(count, np.int64)
    good = np.empty(count, np.bool_)
    stamps_ns = np.empty(count, np.int64)
    numbers = np.empty((count, 7))
    places = np.empty((count, 2), np.int64)
    at = 4
    found = 0
    for _ in range(count):
        frame_id = _aligned(at, 4) + 8
        child = _aligned(_string_end(body, frame_id), 4)
        first_number = _aligned(_string_end(body, child), 8)
        at = first_number + 56
        if at > body.size:
            damaged = True
            break
        if world.size and not _string_is(body, frame_id, world):
            continue
        role = _find(body, child, frames, frame_ends)
        if role < 0 and frame_ends.size:
            continue
        roles[found] = role
        places[found, 0], places[found, 1] = frame_id, child
        seconds = np.int64(np.int32(_uint32(body, frame_id - 8)))
        stamps_ns[found] = seconds * 1_000_000_000 + _uint32(body, frame_id - 4)
        for i in range(7):
            numbers[found, i] = doubles[first_number // 8 + i]
        good[found] = _is_pose(numbers[found])
        found += 1
    if damaged:
        found = -1
    return found, roles[:found], good[:found], stamps_ns[:found], numbers[:found], places[:found]


@allocating_kernel
def decode_many(
    bodies: Bytes,
    doubles: Array,
    starts: Integers,
    ends: Integers,
    world: Bytes,
    frames: Bytes,
    frame_ends: Integers,
) -> tuple[Integers, Integers, NDArray[np.bool_], Integers, Array]:
    """
    Decode messages that lie one after the other, each at a multiple of eight bytes.

    Returns the number of devices in each (-1: damaged), and of all of them together what
    `decode` returns.
    """
    most = bodies.size // 72
    counts = np.empty(starts.size, np.int64)
    roles = np.empty(most, np.int64)
    good = np.empty(most, np.bool_)
    stamps_ns = np.empty(most, np.int64)
    numbers = np.empty((most, 7))
    total = 0
    for i in range(starts.size):
        body = bodies[starts[i] : ends[i]]
        own_doubles = doubles[starts[i] // 8 : ends[i] // 8]
        found, its_roles, its_good, its_stamps, its_numbers, _ = decode(
            body, own_doubles, world, frames, frame_ends
        )
        counts[i] = found
        for k in range(max(found, 0)):
            roles[total] = its_roles[k]
            good[total] = its_good[k]
            stamps_ns[total] = its_stamps[k]
            numbers[total] = its_numbers[k]
            total += 1
    return counts, roles[:total], good[:total], stamps_ns[:total], numbers[:total]


@allocating_kernel
def hold_only(
    bodies: Bytes,
    starts: Integers,
    ends: Integers,
    parents: Bytes,
    parent_ends: Integers,
    children: Bytes,
    child_ends: Integers,
) -> NDArray[np.bool_]:
    """Return of each message whether it has transforms between these frames, and no other."""
    result = np.empty(starts.size, np.bool_)
    for i in range(starts.size):
        body = bodies[starts[i] : ends[i]]
        count = _uint32(body, 0) if body.size >= 4 else 0
        result[i] = 0 < count <= body.size // 72
        at = 4
        for _ in range(count if result[i] else 0):
            frame_id = _aligned(at, 4) + 8
            child = _aligned(_string_end(body, frame_id), 4)
            at = _aligned(_string_end(body, child), 8) + 56
            if (
                at > body.size
                or _find(body, child, children, child_ends) < 0
                or _find(body, frame_id, parents, parent_ends) < 0
            ):
                result[i] = False
                break
    return result


@allocating_kernel
def _aligned(at: int, size: int) -> int:
    return (at + size - 1) // size * size


@allocating_kernel
def _uint32(body: Bytes, at: int) -> int:
    return (
        np.int64(body[at])
        | np.int64(body[at + 1]) << 8
        | np.int64(body[at + 2]) << 16
        | np.int64(body[at + 3]) << 24
    )


@allocating_kernel
def _string_end(body: Bytes, at: int) -> int:
    """Return where a string ends; beyond the body where its length is cut off."""
    if at + 4 > body.size:
        return at + 4
    return at + 4 + _uint32(body, at)


@allocating_kernel
def _string_is(body: Bytes, at: int, text: Bytes) -> bool:
    if _uint32(body, at) != text.size:
        return False
    for i in range(text.size):
        if body[at + 4 + i] != text[i]:
            return False
    return True


@allocating_kernel
def _find(body: Bytes, at: int, texts: Bytes, ends: Integers) -> int:
    """Return which of the texts, given end to end, the string at `at` is; -1 if none."""
    start = 0
    for i in range(ends.size):
        if _string_is(body, at, texts[start : ends[i]]):
            return i
        start = ends[i]
    return -1


@allocating_kernel
def _is_pose(numbers: Array) -> bool:
    """Return whether x y z [m], qx qy qz qw form a pose; no comparison with NaN is true."""
    for i in range(3):
        if not abs(numbers[i]) < FARTHEST_M:
            return False
    q = numbers[3:]
    norm = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]
    return abs(norm - 1.0) < NORM_TOLERANCE and math.isfinite(norm)
