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

"""Recentering: moves the world so that the user stands at its origin and looks along x."""

from dataclasses import replace
import math

import numpy as np

from vr_ik.errors import TrackerError
from vr_ik.math.rotations import pose, rotation_from_rpy
from vr_ik.types import Array, TrackingFrame

CENTER_DEVICES = ('hmd', 'waist', 'chest')
"""What tells where the user is: the first of these that is tracked."""


class Recentering:
    """
    A shift and a turn about the vertical between a tracking source's world and ours.

    Frames come from one thread; `recenter` may be called from another one. The tracking
    source itself is left as it is: other programs may use it at the same time.
    """

    def __init__(self) -> None:
        """Begin with the source's own world."""
        self._pose_world_from_source: Array | None = None
        self._last = TrackingFrame(0, (), np.empty((0, 4, 4)))

    def apply(self, frame: TrackingFrame) -> TrackingFrame:
        """Return a frame of the source in our world."""
        self._last = frame
        world = self._pose_world_from_source
        if world is None:
            return frame
        twists = frame.twists
        if twists is not None:
            turned = twists.reshape(-1, 2, 3) @ world[:3, :3].T
            twists = turned.reshape(-1, 6)
        return replace(frame, poses=world @ frame.poses, twists=twists)

    def apply_to_pose(self, pose_source_from_device: Array) -> Array:
        """Return a pose of the source in our world."""
        world = self._pose_world_from_source
        return pose_source_from_device if world is None else world @ pose_source_from_device

    def reset(self) -> bool:
        """Go back to the source's own world; tell whether it was left."""
        was_set = self._pose_world_from_source is not None
        self._pose_world_from_source = None
        return was_set

    def recenter(self) -> str:
        """
        Put the origin below the user, x along his heading; heights stay as they are.

        Returns the device that was taken for the user; raises `TrackerError` if none is tracked.
        """
        frame = self._last
        for device in CENTER_DEVICES:
            if device in frame.names:
                user = frame.poses[frame.names.index(device)]
                self._pose_world_from_source = _leveled_inverse(user)
                return device
        raise TrackerError(f'Not recentered: none of {", ".join(CENTER_DEVICES)} is tracked.')


def _leveled_inverse(pose_source_from_user: Array) -> Array:
    """Return pose_world_from_source that takes the user to x = y = 0 with heading 0."""
    r = pose_source_from_user[:3, :3]
    # The turn about z that comes closest to r: for a level head its heading, and well-defined
    # for one that looks straight up or down.
    yaw = math.atan2(r[1, 0] - r[0, 1], r[0, 0] + r[1, 1])
    turn = rotation_from_rpy(0.0, 0.0, -yaw)
    below = pose_source_from_user[:3, 3] * (1.0, 1.0, 0.0)
    return pose(turn, -turn @ below)
