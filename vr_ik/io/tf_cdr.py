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
hundred times what the solver needs. The layout is described in `tf_kernels`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from vr_ik.errors import VrIkError
from vr_ik.io.tf_kernels import Bytes, decode, decode_many, hold_only, Integers
from vr_ik.math.rotations import poses_from_quaternions
from vr_ik.types import Array

CDR_LITTLE_ENDIAN = b'\x00\x01'
"""First bytes of a message in the layout that this file reads."""


class DevicePoses(NamedTuple):
    """The usable poses of one TF message."""

    names: list[str]
    stamps_ns: list[int]
    poses: Array
    """(n, 4, 4) pose_world_from_device."""
    rejected: list[str]
    """Devices whose transform is no pose: not a finite number, or no unit quaternion."""


class Transforms(NamedTuple):
    """The usable transforms of one TF message."""

    parents: list[str]
    children: list[str]
    stamps_ns: list[int]
    poses: Array
    """(n, 4, 4) pose_parent_from_child."""
    rejected: list[str]
    """Children whose transform is no pose."""


class JoinedMessages(NamedTuple):
    """The bodies of many messages, one after the other, for kernels that read all at once."""

    bodies: Bytes
    starts: Integers
    """Multiples of eight, so that the numbers of a body are aligned in memory, too."""
    ends: Integers

    @classmethod
    def of(cls, messages: Sequence[bytes]) -> 'JoinedMessages':
        """Join messages; the body of one that is not in little endian CDR is empty."""
        parts: list[bytes] = []
        sizes = np.zeros(len(messages), np.int64)
        for i, message in enumerate(messages):
            if message[:2] == CDR_LITTLE_ENDIAN:
                sizes[i] = len(message) - 4
                parts.append(message[4:] + bytes(-sizes[i] % 8))
        room = -(-sizes // 8) * 8
        starts = np.cumsum(room) - room
        return cls(np.frombuffer(bytearray().join(parts), np.uint8), starts, starts + sizes)


class FrameNames:
    """Names of frames as the kernels compare them: end to end, as CDR stores them."""

    def __init__(self, names: Sequence[str]) -> None:
        """Join the names."""
        encoded = [name.encode() + b'\x00' for name in names]
        self.bytes = np.frombuffer(b''.join(encoded), np.uint8)
        self.ends = np.cumsum([len(name) for name in encoded], dtype=np.int64)


class DeviceReader:
    """Picks the tracked devices out of TF messages."""

    def __init__(self, world_frame: str, frame_prefix: str, roles: Sequence[str]) -> None:
        """Look for children `frame_prefix + role` of `world_frame`."""
        self._roles = tuple(roles)
        self._world = FrameNames([world_frame]).bytes
        self._frames = FrameNames([frame_prefix + role for role in roles])

    def read(self, message: bytes) -> DevicePoses:
        """
        Return the devices in a serialized message.

        Raises `VrIkError` for bytes that are no TF message in plain little endian CDR.
        """
        body, doubles = _body_of(message)
        found, roles, good, stamps_ns, numbers, _ = decode(
            body, doubles, self._world, self._frames.bytes, self._frames.ends
        )
        _check_whole(found, message)
        names = [self._roles[role] for role in roles]
        rejected: list[str] = []
        if not good.all():
            rejected = [name for name, is_good in zip(names, good, strict=True) if not is_good]
            names = [name for name, is_good in zip(names, good, strict=True) if is_good]
            stamps_ns, numbers = stamps_ns[good], numbers[good]
        poses = poses_from_quaternions(numbers[:, :3], numbers[:, 3:])
        return DevicePoses(names, stamps_ns.tolist(), poses, rejected)

    def read_many(self, messages: JoinedMessages) -> list[DevicePoses | None]:
        """Return the same of many messages at once; None for one that is no TF message."""
        bodies, starts, ends = messages
        counts, roles, good, stamps_ns, numbers = decode_many(
            bodies,
            bodies.view(np.float64),
            starts,
            ends,
            self._world,
            self._frames.bytes,
            self._frames.ends,
        )
        poses = poses_from_quaternions(numbers[:, :3], numbers[:, 3:])
        names = [self._roles[role] for role in roles.tolist()]
        stamps: list[int] = stamps_ns.tolist()
        bad = set(np.flatnonzero(~good).tolist())
        read: list[DevicePoses | None] = []
        start = 0
        for count in counts.tolist():
            if count < 0:
                read.append(None)
                continue
            end = start + count
            if bad and not bad.isdisjoint(range(start, end)):
                rows = [row for row in range(start, end) if row not in bad]
                rejected = [names[row] for row in range(start, end) if row in bad]
                read.append(
                    DevicePoses(
                        [names[row] for row in rows],
                        [stamps[row] for row in rows],
                        poses[rows],
                        rejected,
                    )
                )
            else:
                read.append(DevicePoses(names[start:end], stamps[start:end], poses[start:end], []))
            start = end
        return read


class TransformReader:
    """Reads transforms of TF messages, of some children or of all, whatever their parents."""

    def __init__(self, children: Sequence[str] = ()) -> None:
        """Look for these children; without any, for all."""
        self._any_parent = FrameNames([]).bytes
        self._children = FrameNames(children)

    def read(self, message: bytes) -> Transforms:
        """
        Return the transforms in a serialized message.

        Raises `VrIkError` for bytes that are no TF message in plain little endian CDR.
        """
        body, doubles = _body_of(message)
        found, _, good, stamps_ns, numbers, places = decode(
            body, doubles, self._any_parent, self._children.bytes, self._children.ends
        )
        _check_whole(found, message)
        numbers = numbers[good]
        return Transforms(
            [_string(body, at) for at in places[good, 0].tolist()],
            [_string(body, at) for at in places[good, 1].tolist()],
            stamps_ns[good].tolist(),
            poses_from_quaternions(numbers[:, :3], numbers[:, 3:]),
            [_string(body, at) for at in places[~good, 1].tolist()],
        )


class LinkReader:
    """Tells TF messages of a body's links, as solvers and state publishers send them."""

    def __init__(self, world_frame: str, frame_prefix: str, links: Sequence[str]) -> None:
        """Look for transforms among `frame_prefix + link` and from `world_frame` to them."""
        children = [frame_prefix + link for link in links]
        self._parents = FrameNames([world_frame, *children])
        self._children = FrameNames(children)

    def hold_only_links(self, messages: JoinedMessages) -> list[bool]:
        """Return of each message whether it holds links of the body and nothing else."""
        bodies, starts, ends = messages
        parents, children = self._parents, self._children
        only = hold_only(
            bodies, starts, ends, parents.bytes, parents.ends, children.bytes, children.ends
        )
        return list(only.tolist())


def _body_of(message: bytes) -> tuple[Bytes, Array]:
    """Return the body of a message, as bytes and as numbers."""
    if message[:2] != CDR_LITTLE_ENDIAN:
        raise VrIkError('A TF message is not in little endian CDR.')
    # The copy starts at the body, which aligns its numbers in memory as in the layout.
    body = np.frombuffer(message[4:], np.uint8).copy()
    return body, body[: len(body) // 8 * 8].view(np.float64)


def _check_whole(found: int, message: bytes) -> None:
    if found < 0:
        raise VrIkError(f'A TF message of {len(message)} bytes is cut off or damaged.')


def _string(body: Bytes, at: int) -> str:
    """Return the string at a place, which is known to be within the body."""
    size = int(body[at : at + 4].view(np.uint32)[0])
    return bytes(body[at + 4 : at + 4 + max(size - 1, 0)]).decode(errors='replace')
