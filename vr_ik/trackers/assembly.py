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

"""Puts single stamped device poses, as TF carries them, together to tracking frames."""

from collections.abc import Sequence

import numpy as np

from vr_ik.types import Array, TrackingFrame

SAME_FRAME_NS = 1_000_000
"""Poses of different devices stamped less than this apart belong to one frame."""
BACKWARDS_NS = 1_000_000_000
"""A stamp older by this much is a restart (a bag that loops); a smaller step is a latecomer."""
WHOLE_FRAMES = 100
"""After so many frames that came in one message each, the source counts as such again."""


class FrameAssembler:
    """
    Decides which poses form a frame, and when a frame is complete.

    A source that sends each frame in one message, as our tracker node does, is the normal case:
    every message is handed over at once, whichever devices are missing in it. Once a message
    adds a device to a frame that was handed over already, the source is known to split its
    frames over messages (as single TF broadcasters do). From then on a frame waits until the
    devices of the frame before have come, or until a newer stamp shows that they will not.
    No frame is handed over twice.
    """

    def __init__(self) -> None:
        """Begin with nothing known about the source."""
        self.late = 0
        """Poses dropped because their frame, or a newer one, had been handed over already."""
        self.repeated = 0
        """Poses dropped because the device's pose of that instant was known already."""
        self.splits_frames = False
        """Whether the source spreads a frame over several messages."""
        self._stamp_ns = -BACKWARDS_NS
        self._names: list[str] = []
        self._poses: list[Array] = []
        """(n, 4, 4) each, together in the order of the names."""
        self._handed_over = True
        self._expected: frozenset[str] = frozenset()
        self._whole_frames = 0

    def add(
        self, names: Sequence[str], stamps_ns: Sequence[int], poses: Array
    ) -> list[TrackingFrame]:
        """Take the (n, 4, 4) poses of one message; return the frames now complete, in order."""
        complete: list[TrackingFrame] = []
        begun_by_this_message = False
        if self._is_whole(names, stamps_ns):
            # The normal case in one go: what the loop would do device by device.
            self._hand_over(complete)
            self._begin(stamps_ns[0])
            self._names, self._poses = list(names), [poses]
            names, stamps_ns, poses = (), (), poses[:0]
        for name, stamp_ns, pose in zip(names, stamps_ns, poses, strict=True):
            newer_ns = stamp_ns - self._stamp_ns
            if self._begins_next(name, newer_ns):
                self._hand_over(complete)
                self._begin(stamp_ns)
                begun_by_this_message = True
            elif newer_ns <= -SAME_FRAME_NS:
                self.late += 1
                continue
            elif name in self._names:
                self.repeated += 1
                continue
            elif not begun_by_this_message:
                self._note_split()
            self._names.append(name)
            self._poses.append(pose[None])
        if not self.splits_frames or self._expected.issubset(self._names):
            self._hand_over(complete)
        return complete

    def _is_whole(self, names: Sequence[str], stamps_ns: Sequence[int]) -> bool:
        """Tell whether all poses of a message have one stamp, and a new one."""
        if not stamps_ns or stamps_ns.count(stamps_ns[0]) != len(stamps_ns):
            return False
        newer_ns = stamps_ns[0] - self._stamp_ns
        is_new = newer_ns >= SAME_FRAME_NS or newer_ns <= -BACKWARDS_NS
        return is_new and len(set(names)) == len(names)

    def _begins_next(self, name: str, newer_ns: int) -> bool:
        if name in self._names and newer_ns > 0:
            return True
        return newer_ns >= SAME_FRAME_NS or newer_ns <= -BACKWARDS_NS

    def _begin(self, stamp_ns: int) -> None:
        self._whole_frames += 1
        if self._whole_frames > WHOLE_FRAMES:
            self.splits_frames = False
        self._expected = frozenset(self._names)
        self._stamp_ns = stamp_ns
        self._names = []
        self._poses = []
        self._handed_over = False

    def _note_split(self) -> None:
        """Learn that a message adds to a frame which an earlier message began."""
        self.splits_frames = True
        self._whole_frames = 0
        self.late += self._handed_over

    def _hand_over(self, complete: list[TrackingFrame]) -> None:
        if not self._handed_over:
            self._handed_over = True
            poses = self._poses[0] if len(self._poses) == 1 else np.concatenate(self._poses)
            complete.append(TrackingFrame(self._stamp_ns, tuple(self._names), poses))
