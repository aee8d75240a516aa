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

"""Reads motion capture in BVH files: a skeleton and its pose in every frame."""

from collections.abc import Iterator
from dataclasses import dataclass
import math
from pathlib import Path

import numpy as np

from vr_ik.errors import VrIkError
from vr_ik.types import Array


class BvhError(VrIkError):
    """A BVH file that cannot be read; names the file and the fault."""


@dataclass(frozen=True)
class BvhJoint:
    """One joint of the skeleton."""

    name: str
    parent: int
    """Index of the parent joint; -1 for the root."""
    offset: tuple[float, ...]
    """In the parent's axes, in the file's unit."""
    channels: tuple[str, ...]
    """Such as 'Xposition' and 'Zrotation', in the order of the columns."""


@dataclass(frozen=True)
class Bvh:
    """A skeleton and its motion; the file's unit of length and its axes (y up)."""

    joints: tuple[BvhJoint, ...]
    frame_time_s: float
    values: Array
    """(frames, channels), as in the file: positions and angles [deg]."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the joints, parents first."""
        return tuple(joint.name for joint in self.joints)

    def poses(self) -> Array:
        """Return pose_world_from_joint of every frame: (frames, joints, 4, 4)."""
        frames = len(self.values)
        poses = np.tile(np.eye(4), (frames, len(self.joints), 1, 1))
        column = 0
        for i, joint in enumerate(self.joints):
            local = np.tile(np.eye(4), (frames, 1, 1))
            local[:, :3, 3] = joint.offset
            for channel in joint.channels:
                _apply(local, channel, self.values[:, column])
                column += 1
            poses[:, i] = local if joint.parent < 0 else poses[:, joint.parent] @ local
        return poses


def _apply(local: Array, channel: str, values: Array) -> None:
    """Move or turn the local poses by one channel; a position channel replaces the offset."""
    axis = 'XYZ'.index(channel[0])
    if channel.endswith('position'):
        local[:, axis, 3] = values
        return
    angles = np.radians(values)
    after, last = (axis + 1) % 3, (axis + 2) % 3
    turn = np.tile(np.eye(3), (len(values), 1, 1))
    turn[:, after, after] = turn[:, last, last] = np.cos(angles)
    turn[:, last, after] = np.sin(angles)
    turn[:, after, last] = -np.sin(angles)
    local[:, :3, :3] = local[:, :3, :3] @ turn


def read_bvh(path: Path) -> Bvh:
    """Read a BVH file; raise `BvhError` where it is none."""
    try:
        text = path.read_text(encoding='utf-8', errors='replace')
    except OSError as error:
        raise BvhError(f"Cannot read '{path}': {error.strerror}.") from None
    hierarchy, found, motion = text.partition('MOTION')
    if not found or not hierarchy.lstrip().startswith('HIERARCHY'):
        raise BvhError(f"'{path}' is no BVH file: it has no HIERARCHY and MOTION.")
    try:
        joints = tuple(_joints(iter(hierarchy.split()[1:])))
        frame_time_s, values = _motion(motion, sum(len(joint.channels) for joint in joints))
    except ValueError as error:
        raise BvhError(f"'{path}' is broken: {error}.") from None
    except (IndexError, StopIteration, RuntimeError):  # the latter where a generator runs out
        raise BvhError(
            f"'{path}' is broken: it ends too early, or its braces do not match."
        ) from None
    return Bvh(joints, frame_time_s, values)


def _joints(tokens: Iterator[str]) -> list[BvhJoint]:
    """Parse the hierarchy; end sites are no joints."""
    joints: list[BvhJoint] = []
    open_: list[int] = []
    name = ''
    offset: tuple[float, ...] = ()
    for token in tokens:
        if token in ('ROOT', 'JOINT', 'End'):
            name = '' if token == 'End' and next(tokens) else next(tokens)
        elif token == 'OFFSET':
            offset = tuple(float(next(tokens)) for _ in range(3))
        elif token == 'CHANNELS':
            channels = tuple(next(tokens) for _ in range(int(next(tokens))))
            parent = next((i for i in reversed(open_) if i >= 0), -1)
            joints.append(BvhJoint(name, parent, offset, _checked(channels)))
            open_[-1] = len(joints) - 1
        elif token == '{':
            open_.append(-1)
        elif token == '}':
            open_.pop()
        else:
            raise ValueError(f"unexpected '{token}' in the hierarchy")
    if not joints or open_:
        raise ValueError('the hierarchy is not complete')
    return joints


def _checked(channels: tuple[str, ...]) -> tuple[str, ...]:
    for channel in channels:
        if channel[:1] not in ('X', 'Y', 'Z') or channel[1:] not in ('position', 'rotation'):
            raise ValueError(f"unknown channel '{channel}'")
    return channels


def _motion(text: str, columns: int) -> tuple[float, Array]:
    tokens = text.split()
    frames = int(tokens[tokens.index('Frames:') + 1])
    start = tokens.index('Time:') + 2
    frame_time_s = float(tokens[start - 1])
    values = np.array(tokens[start:], np.float64)
    if len(values) != frames * columns:
        raise ValueError(f'{frames} frames of {columns} values are announced, {len(values)} found')
    if not (frames > 0 and math.isfinite(frame_time_s) and frame_time_s > 0.0):
        raise ValueError('there are no frames, or their time is not positive')
    if not np.isfinite(values).all():
        raise ValueError('some values are not finite')
    return frame_time_s, values.reshape(frames, columns)
