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

from collections.abc import Iterator
from pathlib import Path

from rosbags.rosbag2 import Reader, ReaderError

from vr_ik.config import SolverConfig
from vr_ik.errors import VrIkError
from vr_ik.io.tf_cdr import DeviceReader
from vr_ik.trackers.assembly import FrameAssembler
from vr_ik.types import TrackingFrame

_TF_TYPE = 'tf2_msgs/msg/TFMessage'
_METADATA = 'metadata.yaml'


def is_bag(path: Path) -> bool:
    """Tell whether a path is the folder of a bag."""
    return (path / _METADATA).is_file()


def read_tracking(path: Path, config: SolverConfig) -> list[TrackingFrame]:
    """Return the frames in which the configured devices were tracked, as the live node sees them.

    Raises `VrIkError` for what is no bag, and for a bag without any of the devices.
    """
    reader = DeviceReader(config.world_frame, config.frame_prefix, config.trackers)
    assembler = FrameAssembler()
    frames: list[TrackingFrame] = []
    for message in _tf_messages(path):
        try:
            devices = reader.read(message)
        except VrIkError:  # as in the live node, a message that is none costs nothing but itself
            continue
        if devices.names:
            frames.extend(assembler.add(devices.names, devices.stamps_ns, devices.poses))
    if not frames:
        raise VrIkError(
            f"The bag '{path}' has no tracked devices: no transform from '{config.world_frame}' "
            f"to '{config.frame_prefix}hmd' or another role on any topic of type {_TF_TYPE}."
        )
    return frames


def _tf_messages(path: Path) -> Iterator[bytes]:
    """Yield the serialized TF messages of a bag in the order of their recording."""
    try:
        with Reader(path) as bag:
            moving = [
                connection
                for connection in bag.connections
                if connection.msgtype == _TF_TYPE and not connection.topic.endswith('tf_static')
            ]
            if moving:
                for _, _, message in bag.messages(connections=moving):
                    yield bytes(message)
    except (ReaderError, OSError, ValueError, KeyError) as error:
        reason = str(error).rstrip('.')
        raise VrIkError(f"The bag '{path}' cannot be read: {reason}.") from error
