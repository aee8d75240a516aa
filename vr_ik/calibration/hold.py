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

"""Calibration from a pose that is held for a moment, so that neither noise nor haste gets in."""

from collections.abc import Sequence

import numpy as np

from vr_ik.calibration.calibration import Calibration
from vr_ik.calibration.t_pose import calibrate_standing, NEEDED
from vr_ik.errors import CalibrationError
from vr_ik.types import Array, TrackingFrame

HOLD_S = 0.5
"""How long the pose must be held."""
_HELD_S, _HELD_FRAMES = 0.8 * HOLD_S, 5
"""What frames must span, and how many they must be, to tell that it was held."""
_STILL_M = 0.04
_LOOK_PERIOD_S = 0.1
_SEEN = 0.5
"""Share of the frames in which a device must be there."""


def calibrate_held(frames: Sequence[TrackingFrame]) -> Calibration:
    """Return the calibration from the last moment of `frames`; raise `CalibrationError` if bad."""
    if not frames:
        raise CalibrationError('No device is tracked.')
    held = _last_moment(frames)
    seen_s = (held[-1].stamp_ns - held[0].stamp_ns) * 1e-9
    if seen_s < _HELD_S or len(held) < _HELD_FRAMES:
        raise CalibrationError(
            f'Only {len(held)} frames of {seen_s:.1f} s have come; hold the pose for {HOLD_S} s.'
        )
    return calibrate_standing(
        {
            role: _steady(role, np.array(seen))
            for role, seen in _seen_poses(held).items()
            if len(seen) >= _SEEN * len(held)
        }
    )


def rarely_seen(frames: Sequence[TrackingFrame]) -> tuple[str, ...]:
    """Return the devices that `calibrate_held` leaves out, since they flicker."""
    held = _last_moment(frames)
    return tuple(role for role, seen in _seen_poses(held).items() if len(seen) < _SEEN * len(held))


def remark_on(frames: Sequence[TrackingFrame]) -> str:
    """Return a sentence about devices that `calibrate_held` leaves out; empty if there are none.

    Whoever takes a calibration over has to tell it: these devices will not be followed.
    """
    left_out = rarely_seen(frames)
    if not left_out:
        return ''
    return (
        f' Left out, since seen in less than half of {HOLD_S} s: {", ".join(left_out)}; '
        'calibrate again to follow them.'
    )


def find_held(frames: Sequence[TrackingFrame]) -> tuple[int, Calibration]:
    """Return the first frame at which a pose to calibrate from has been held, and what it gives.

    Raises `CalibrationError` with the reason that came last, where there is no such frame.
    """
    for role in NEEDED:
        if not any(role in frame.names for frame in frames):
            raise CalibrationError(f'{role} is not tracked in any frame.')
    reason = 'No device is tracked.'
    begin, looked_ns = 0, 0
    for end, frame in enumerate(frames):
        if frame.stamp_ns - looked_ns < _LOOK_PERIOD_S * 1e9:
            continue
        looked_ns = frame.stamp_ns
        while frame.stamp_ns - frames[begin].stamp_ns > HOLD_S * 1e9:
            begin += 1
        try:
            return end, calibrate_held(frames[begin : end + 1])
        except CalibrationError as error:
            reason = str(error)
    raise CalibrationError(f'No T-pose or A-pose is held anywhere. At the end: {reason}')


def _last_moment(frames: Sequence[TrackingFrame]) -> list[TrackingFrame]:
    """Return the frames in which the pose must have been held."""
    since_ns = frames[-1].stamp_ns - int(HOLD_S * 1e9)
    return [frame for frame in frames if frame.stamp_ns >= since_ns]


def _seen_poses(held: Sequence[TrackingFrame]) -> dict[str, list[Array]]:
    """Return all poses of each device that was seen at least once."""
    poses: dict[str, list[Array]] = {}
    for frame in held:
        for name, pose in zip(frame.names, frame.poses, strict=True):
            poses.setdefault(name, []).append(pose)
    return poses


def _steady(role: str, poses: Array) -> Array:
    """Return the pose in the middle of those held, or say that the device moved."""
    positions = poses[:, :3, 3]
    middle = np.median(positions, axis=0)
    away = np.linalg.norm(positions - middle, axis=1)
    # A glitch of a frame is no movement.
    moved_m = float(np.percentile(away, 90))
    if moved_m > _STILL_M:
        raise CalibrationError(f'{role} moved by {100.0 * moved_m:.0f} cm; hold the pose still.')
    return np.asarray(poses[int(np.argmin(away))])
