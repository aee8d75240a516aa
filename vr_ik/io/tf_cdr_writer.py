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

import numpy as np
from numpy.typing import NDArray

from vr_ik.io.cdr_body import CdrBody
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
        self._layouts: dict[tuple[str, ...], TransformsLayout] = {}

    def encode(self, frame: TrackingFrame) -> bytes:
        """Return a tf2_msgs/msg/TFMessage in little endian CDR."""
        layout = self._layouts.get(frame.names)
        if layout is None:
            if len(self._layouts) >= _KEPT_LAYOUTS:
                self._layouts.clear()
            children = [self._frame_prefix + name for name in frame.names]
            layout = TransformsLayout([(self._parent_frame, child) for child in children])
            self._layouts[frame.names] = layout
        return layout.fill(frame.stamp_ns, frame.poses)


class TransformsLayout:
    """The bytes of a message with these children, and where in it their numbers are."""

    def __init__(self, frames: Sequence[tuple[str, str]]) -> None:
        """Lay out the transforms of (parent frame, child frame)."""
        body = CdrBody()
        body.add_uint32(len(frames))
        stamps_at, numbers_at = [], []
        for parent, child in frames:
            stamps_at.append(body.reserve(8, 4))
            body.add_string(parent)
            body.add_string(child)
            numbers_at.append(body.reserve(_NUMBERS_SIZE, 8))
        self._message = body.message()
        self._stamps_at = [at // 4 for at in stamps_at]
        self._numbers_at = np.array(numbers_at, np.int64) // 8

    def fill(self, stamp_ns: int, poses: Array) -> bytes:
        """Return the bytes with a stamp and (n, 4, 4) poses."""
        self._stamp(stamp_ns)
        _write_poses(self._message.doubles, self._numbers_at, poses)
        return self._message.bytes()

    def fill_first(self, stamp_ns: int, numbers: Array) -> bytes:
        """Return the bytes of a single transform with x y z [m], qx qy qz qw."""
        self._stamp(stamp_ns)
        at = self._numbers_at[0]
        self._message.doubles[at : at + 7] = numbers
        return self._message.bytes()

    def _stamp(self, stamp_ns: int) -> None:
        for at in self._stamps_at:
            self._message.stamp(at, stamp_ns)


@allocating_kernel
def _write_poses(body: Array, numbers_at: NDArray[np.int64], poses: Array) -> None:
    for i in range(numbers_at.size):
        at = numbers_at[i]
        body[at : at + 3] = poses[i, :3, 3]
        body[at + 3 : at + 7] = quaternion_from_matrix(poses[i, :3, :3])
