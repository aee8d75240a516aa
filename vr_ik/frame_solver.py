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

"""From device poses to solutions: what the solver node and `vr_ik solve` do with every message."""

from collections.abc import Iterator

import numpy as np

from vr_ik.config import SolverConfig
from vr_ik.io.tf_cdr import DevicePoses
from vr_ik.io.tf_cdr_writer import FrameEncoder
from vr_ik.pipeline import Pipeline, Solution
from vr_ik.trackers.assembly import FrameAssembler
from vr_ik.types import TrackingFrame


class FrameSolver:
    """Puts poses together to frames and solves them as they come, whatever time does."""

    def __init__(self) -> None:
        """Begin with the first frame."""
        self.assembler = FrameAssembler()
        self.restarts = 0
        """How often time has gone back, as when a bag is played in a loop."""
        self.back_s = 0.0
        """By how much it did so with the last frame; nearly always 0."""
        self.mistake = ''
        """Why the last frame has no solution, in words; nearly always empty."""
        self._last_stamp_ns = 0

    def frames(self, devices: DevicePoses) -> list[TrackingFrame]:
        """Take the devices of one message; return the frames now complete, in order."""
        if not devices.names:
            return []
        return self.assembler.add(devices.names, devices.stamps_ns, devices.poses)

    def solve(self, pipeline: Pipeline, frame: TrackingFrame) -> Solution | None:
        """Solve a frame, anew where time went back; None, and a `mistake`, where that fails."""
        self.back_s, self.mistake = 0.0, ''
        if frame.stamp_ns < self._last_stamp_ns:
            self.restarts += 1
            self.back_s = (self._last_stamp_ns - frame.stamp_ns) * 1e-9
            pipeline.reset()
        self._last_stamp_ns = frame.stamp_ns
        try:
            return pipeline.process(frame)
        except Exception as error:  # a plug-in's mistake must not end what goes on
            pipeline.reset()
            self.mistake = f'{type(error).__name__}: {error}'
            return None

    def totals(self) -> dict[str, object]:
        """Return what was counted of the messages, for diagnostics."""
        return {
            'transforms late': self.assembler.late,
            'transforms repeated': self.assembler.repeated,
            'frames over several messages': self.assembler.splits_frames,
            'restarts of time': self.restarts,
        }


def made_up_frames(config: SolverConfig) -> Iterator[tuple[TrackingFrame, bytes]]:
    """Yield two frames and their TF messages, to be taken all the way before a real one."""
    encoder = FrameEncoder(config.world_frame, config.frame_prefix)
    poses = np.tile(np.eye(4), (len(config.trackers), 1, 1))
    for stamp_ns in (1, 10_000_001):
        frame = TrackingFrame(stamp_ns, config.trackers, poses)
        yield frame, bytes(encoder.encode(frame))
