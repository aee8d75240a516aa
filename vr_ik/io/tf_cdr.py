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
Reads tracked devices straight from the bytes of TF messages.

TF carries everybody's transforms, and turning all of them into Python objects costs about a
hundred times what the solver needs. The layout read here is plain CDR, little endian, of
tf2_msgs/msg/TFMessage, as DDS puts it on the wire and as bags store it:
uint32 count, then for each transform int32 sec, uint32 nanosec, string frame_id,
string child_frame_id (uint32 length with the final zero, then the bytes), 7 x float64
(x y z, qx qy qz qw), each number aligned to its size.
"""

from collections.abc import Sequence
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vr_ik.errors import VrIkError
from vr_ik.kinematics.compiled import allocating_kernel
from vr_ik.math.rotations import poses_from_quaternions
from vr_ik.types import Array

CDR_LITTLE_ENDIAN = b'\x00\x01'
"""First bytes of a message in the layout that this file reads."""
NORM_TOLERANCE = 0.01
"""How far the squared norm of a quaternion may be from 1: what tf2 itself tolerates."""
FARTHEST_M = 1e4
"""A device farther from the world's origin than this is a mistake, not a pose."""

Bytes = NDArray[np.uint8]


class DevicePoses(NamedTuple):
    """The usable poses of one TF message."""

    names: list[str]
    stamps_ns: list[int]
    poses: Array
    """(n, 4, 4) pose_world_from_device."""
    rejected: list[str]
    """Devices whose transform is no pose: not a finite number, or no unit quaternion."""


class DeviceReader:
    """Picks the tracked devices out of TF messages."""

    def __init__(self, world_frame: str, frame_prefix: str, roles: Sequence[str]) -> None:
        """Look for children `frame_prefix + role` of `world_frame`."""
        self._roles = tuple(roles)
        self._world = _with_zero(world_frame)
        frames = [_with_zero(frame_prefix + role) for role in roles]
        self._frames = np.concatenate(frames)
        self._frame_ends = np.cumsum([len(frame) for frame in frames])

    def read(self, message: bytes) -> DevicePoses:
        """
        Return the devices in a serialized message.

        Raises `VrIkError` for bytes that are no TF message in plain little endian CDR.
        """
        if message[:2] != CDR_LITTLE_ENDIAN:
            raise VrIkError('A TF message is not in little endian CDR.')
        # The copy starts at the body, which aligns its numbers in memory as in the layout.
        body = np.frombuffer(message[4:], np.uint8).copy()
        doubles = body[: len(body) // 8 * 8].view(np.float64)
        found, roles, good, stamps_ns, numbers = _decode(
            body, doubles, self._world, self._frames, self._frame_ends
        )
        if found < 0:
            raise VrIkError(f'A TF message of {len(message)} bytes is cut off or damaged.')
        names = [self._roles[role] for role in roles]
        rejected: list[str] = []
        if not good.all():
            rejected = [name for name, is_good in zip(names, good, strict=True) if not is_good]
            names = [name for name, is_good in zip(names, good, strict=True) if is_good]
            stamps_ns, numbers = stamps_ns[good], numbers[good]
        poses = poses_from_quaternions(numbers[:, :3], numbers[:, 3:])
        return DevicePoses(names, stamps_ns.tolist(), poses, rejected)


def _with_zero(text: str) -> Bytes:
    """Return a string as CDR stores it."""
    return np.frombuffer(text.encode() + b'\x00', np.uint8)


@allocating_kernel
def _decode(
    body: Bytes, doubles: Array, world: Bytes, frames: Bytes, frame_ends: NDArray[np.int64]
) -> tuple[int, NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64], Array]:
    """
    Return how many devices were found (-1: damaged), their roles, fitness, stamps, numbers.

    `doubles` is the body again, as numbers.
    """
    # A transform takes at least 72 bytes: a count beyond that is damage, not a size to allocate.
    count = _uint32(body, 0) if body.size >= 4 else 1
    damaged = count > body.size // 72
    count = min(count, body.size // 72)
    roles = np.empty(count, np.int64)
    good = np.empty(count, np.bool_)
    stamps_ns = np.empty(count, np.int64)
    numbers = np.empty((count, 7))
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
        if not _string_is(body, frame_id, world):
            continue
        role = _find(body, child, frames, frame_ends)
        if role < 0:
            continue
        roles[found] = role
        seconds = np.int64(np.int32(_uint32(body, frame_id - 8)))
        stamps_ns[found] = seconds * 1_000_000_000 + _uint32(body, frame_id - 4)
        for i in range(7):
            numbers[found, i] = doubles[first_number // 8 + i]
        good[found] = _is_pose(numbers[found])
        found += 1
    if damaged:
        found = -1
    return found, roles[:found], good[:found], stamps_ns[:found], numbers[:found]


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
def _find(body: Bytes, at: int, texts: Bytes, ends: NDArray[np.int64]) -> int:
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
