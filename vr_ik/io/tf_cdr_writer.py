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
Writes tracking frames straight as the bytes of TF messages.

Turning sixteen transforms from Python objects into a message takes longer than all the rest that
the tracker node does in a frame. The devices of one frame are nearly always those of the frame
before: the bytes are laid out once (see `tf_cdr`), then only stamp and numbers are written.
"""

from collections.abc import Sequence
import struct

import numpy as np
from numpy.typing import NDArray

from vr_ik.io.tf_cdr import CDR_LITTLE_ENDIAN
from vr_ik.kinematics.compiled import allocating_kernel
from vr_ik.math.rotations import quaternion_from_matrix
from vr_ik.types import Array, TrackingFrame

# Devices come and go in few combinations; should they not, memory stays bounded.
_KEPT_LAYOUTS = 64
_NUMBERS_SIZE = 56


class FrameEncoder:
    """Writes the devices of tracking frames as children of one frame."""

    def __init__(self, parent_frame: str, frame_prefix: str) -> None:
        """Write children `frame_prefix + name` of `parent_frame`."""
        self._parent_frame = parent_frame
        self._frame_prefix = frame_prefix
        self._layouts: dict[tuple[str, ...], _Layout] = {}

    def encode(self, frame: TrackingFrame) -> bytes:
        """Return a tf2_msgs/msg/TFMessage in little endian CDR."""
        layout = self._layouts.get(frame.names)
        if layout is None:
            if len(self._layouts) >= _KEPT_LAYOUTS:
                self._layouts.clear()
            children = [self._frame_prefix + name for name in frame.names]
            layout = self._layouts[frame.names] = _Layout(self._parent_frame, children)
        return layout.fill(frame.stamp_ns, frame.poses)


class _Layout:
    """The bytes of a message with these children, and where in it their numbers are."""

    def __init__(self, parent_frame: str, children: Sequence[str]) -> None:
        body = bytearray(struct.pack('<I', len(children)))
        stamps_at, numbers_at = [], []
        for child in children:
            _align(body, 4)
            stamps_at.append(len(body))
            body += bytes(8)
            for text in (parent_frame, child):
                _align(body, 4)
                encoded = text.encode() + b'\x00'
                body += struct.pack('<I', len(encoded)) + encoded
            _align(body, 8)
            numbers_at.append(len(body))
            body += bytes(_NUMBERS_SIZE)
        # Numbers are aligned to the body's start; it gets a whole number of float64 in memory.
        self._size = len(body)
        _align(body, 8)
        self._body = np.frombuffer(body, '<f8').copy()
        self._stamps = self._body.view('<i4')
        self._stamps_at = np.array(stamps_at, np.int64) // 4
        self._numbers_at = np.array(numbers_at, np.int64) // 8

    def fill(self, stamp_ns: int, poses: Array) -> bytes:
        """Return the bytes with a stamp and (n, 4, 4) poses."""
        seconds, nanoseconds = divmod(stamp_ns, 1_000_000_000)
        self._stamps[self._stamps_at] = seconds
        self._stamps[self._stamps_at + 1] = nanoseconds
        _write_poses(self._body, self._numbers_at, poses)
        return CDR_LITTLE_ENDIAN + b'\x00\x00' + self._body.tobytes()[: self._size]


def _align(body: bytearray, size: int) -> None:
    body += bytes(-len(body) % size)


@allocating_kernel
def _write_poses(body: Array, numbers_at: NDArray[np.int64], poses: Array) -> None:
    for i in range(numbers_at.size):
        at = numbers_at[i]
        body[at : at + 3] = poses[i, :3, 3]
        body[at + 3 : at + 7] = quaternion_from_matrix(poses[i, :3, :3])
