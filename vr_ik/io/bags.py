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

"""Reads tracking frames from bags (rosbag2: MCAP or sqlite3) that anybody recorded from /tf."""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from vr_ik.config import SolverConfig
from vr_ik.errors import VrIkError
from vr_ik.frame_solver import FrameSolver
from vr_ik.io.bag_files import Bag, is_bag
from vr_ik.io.bag_topics import TF_TYPE, Topic, typestore
from vr_ik.io.tf_cdr import CDR_LITTLE_ENDIAN, DeviceReader, JoinedMessages
from vr_ik.types import TrackingFrame

__all__ = ['in_our_layout', 'is_bag', 'no_devices', 'read_tracking', 'tf_topic', 'unused']

_TF = '/tf'
_AT_ONCE = 4096
_LOOKED_THROUGH = 1000
_LISTED = 20


class Tracking(NamedTuple):
    """The tracked devices of a bag."""

    frames: list[TrackingFrame]
    lost: tuple[str, ...]
    """What could not be read, in words."""


def read_tracking(path: Path, config: SolverConfig) -> Tracking:
    """Return the frames in which the configured devices were tracked, as the live node sees them.

    Raises `VrIkError` for what is no bag, and for a bag without any of the devices.
    """
    reader = DeviceReader(config.world_frame, config.frame_prefix, config.trackers)
    solver = FrameSolver()
    frames: list[TrackingFrame] = []
    unread = rejected = 0
    with Bag(path) as bag:
        tf = tf_topic(path, bag.topics).name
        messages = (in_our_layout(data) for topic, _, data in bag.messages() if topic.name == tf)
        while several := list(islice(messages, _AT_ONCE)):
            for devices in reader.read_many(JoinedMessages.of(several)):
                if devices is None:  # as live, a message that is none costs itself alone
                    unread += 1
                else:
                    rejected += len(devices.rejected)
                    frames.extend(solver.frames(devices))
    if not frames:
        raise no_devices(path, config)
    late = solver.assembler.late
    return Tracking(frames, (*bag.lost, *unused(tf, unread, rejected, late)))


def unused(
    tf: str = _TF, unread: int = 0, rejected: int = 0, late: int = 0, unsolved: int = 0
) -> list[str]:
    """Return what of the messages on a topic could not be used, in words."""
    counts = {
        f'{unread} messages on {tf}, which are damaged': unread,
        f'{rejected} transforms of devices, which are no poses': rejected,
        f'{late} transforms of devices, whose frame was over already': late,
        f'{unsolved} frames, in which the solver failed': unsolved,
    }
    return [text for text, count in counts.items() if count]


def in_our_layout(message: bytes) -> bytes:
    """Return a TF message in little endian CDR, whatever machine has recorded it."""
    if message[:2] == CDR_LITTLE_ENDIAN:
        return message
    try:
        content = typestore().deserialize_cdr(message, TF_TYPE)
    except Exception:  # bytes of whatever kind, which the library's generated code trips over
        return b''
    return bytes(typestore().serialize_cdr(content, TF_TYPE))


def no_devices(path: Path, config: SolverConfig) -> VrIkError:
    """Return an error for a bag without devices that says what is there, and what should be."""
    pairs: set[tuple[str, str]] = set()
    with Bag(path) as bag:
        tf = tf_topic(path, bag.topics).name
        messages = (data for topic, _, data in bag.messages() if topic.name == tf)
        for message in islice(messages, _LOOKED_THROUGH):
            pairs.update(_frame_pairs(message))
    there = ', '.join(f"'{parent}' to '{child}'" for parent, child in sorted(pairs)[:_LISTED])
    roles = ', '.join(config.frame_prefix + role for role in config.trackers)
    return VrIkError(
        f"The bag '{path}' has no tracked devices: no transform from '{config.world_frame}' to "
        f"'{config.frame_prefix}hmd' or another of {roles}. On {tf} there are {there or 'none'}. "
        'Other names are set by world_frame and frame_prefix in a parameter file (--config).'
    )


def _frame_pairs(message: bytes) -> set[tuple[str, str]]:
    try:
        content: Any = typestore().deserialize_cdr(message, TF_TYPE)
    except Exception:  # bytes of whatever kind, which the library's generated code trips over
        return set()
    return {(t.header.frame_id, t.child_frame_id) for t in content.transforms}


def tf_topic(path: Path, topics: Sequence[Topic]) -> Topic:
    """Return the topic that moving frames are on: /tf, or else the only one of its type."""
    moving = {t.name: t for t in topics if t.type == TF_TYPE and not t.name.endswith('tf_static')}
    if _TF in moving or len(moving) == 1:
        return moving.get(_TF) or next(iter(moving.values()))
    if moving:
        raise VrIkError(
            f"The bag '{path}' has no topic {_TF}, but several others of type {TF_TYPE}: "
            f'{", ".join(sorted(moving))}. Record one user a bag.'
        )
    listed = ', '.join(sorted({t.name for t in topics})) or 'none at all'
    raise VrIkError(
        f"The bag '{path}' has no tracked devices: no topic {_TF} of type {TF_TYPE}. "
        f'Its topics: {listed}.'
    )
