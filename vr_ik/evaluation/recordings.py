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

"""Recorded sessions to evaluate on: device poses over time, and what is known to be true."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tokenize import TokenError
from zipfile import BadZipFile
import zlib

import numpy as np

from vr_ik.calibration.hold import find_held
from vr_ik.config import SolverConfig
from vr_ik.errors import CalibrationError, VrIkError
from vr_ik.io.bags import read_tracking
from vr_ik.math.openvr_axes import poses_from_openvr
from vr_ik.math.rotations import poses_from_quaternions
from vr_ik.types import Array, TrackingFrame

_VIVE_ROLES = {
    'head': 'hmd',
    'hip': 'waist',
    'lHand': 'l_controller',
    'rHand': 'r_controller',
    'lForeArm': 'l_elbow',
    'rForeArm': 'r_elbow',
    'lFoot': 'l_foot',
    'rFoot': 'r_foot',
    'lKnee': 'l_knee',
    'rKnee': 'r_knee',
}
_VIVE_RATE_HZ = 90.0
# What numpy makes of damaged archives.
_BROKEN = (OSError, ValueError, KeyError, EOFError, BadZipFile, TokenError, zlib.error)


@dataclass(frozen=True)
class Recording:
    """One motion; its first frame is the pose to calibrate from, a T-pose or A-pose."""

    name: str
    rate_hz: float
    poses: Mapping[str, Array]
    """By role: (frames, 4, 4) pose_world_from_device, REP-103 axes; NaN where it was lost."""
    joints: Mapping[str, Array] = field(default_factory=dict)
    """By link of the human model: (frames, 3) true position of the joint at its origin [m]."""
    remarks: tuple[str, ...] = ()
    """What whoever reads its figures should know."""

    def __len__(self) -> int:
        """Return the number of frames."""
        return len(next(iter(self.poses.values())))

    def frames(self, roles: tuple[str, ...]) -> list[TrackingFrame]:
        """Return what a tracking source with these devices alone would have delivered."""
        poses = np.stack([self.poses[role] for role in roles], axis=1)
        # Stamps start at one: zero stands for 'no time' in ROS.
        stamps = 1 + np.round(np.arange(len(self)) * (1e9 / self.rate_hz)).astype(np.int64)
        return [
            TrackingFrame(int(stamp), roles, frame)
            for stamp, frame in zip(stamps, poses, strict=True)
        ]


def read_vive(path: Path, left_out: dict[str, str] | None = None) -> list[Recording]:
    """Read raw SteamVR recordings: arrays (frames, devices, 7), positions and quaternions xyzw.

    What is wrong with single motions is noted in `left_out` by their names, where that is given.
    """
    recordings = []
    try:
        with np.load(path) as arrays:
            names = [name for name in arrays.files if '__' not in name]
            untagged = [name for name in names if f'{name}__tags' not in arrays.files]
            if untagged or not names:
                raise ValueError(
                    f"no raw SteamVR poses: there is no '{(untagged or ['NAME'])[0]}__tags' with "
                    'the names of the devices'
                )
            for name in names:
                try:
                    recordings.append(_vive_recording(name, arrays[name], arrays[f'{name}__tags']))
                except _BROKEN as error:
                    if left_out is None:
                        raise
                    left_out[name] = f"Cannot read it in '{path}': {error}."
    except _BROKEN as error:
        raise VrIkError(f"Cannot read the recordings '{path}': {error}.") from None
    return recordings


def _vive_recording(name: str, values: Array, tags: Array) -> Recording:
    if values.ndim != 3 or values.shape[1:] != (len(tags), 7) or len(values) < 2:
        raise ValueError(
            f"'{name}' has the shape {values.shape}, not (frames, {len(tags)}, 7) with two frames "
            'or more'
        )
    unknown = sorted({str(tag) for tag in tags} - set(_VIVE_ROLES))
    if unknown:
        raise ValueError(f"'{name}' has unknown devices {', '.join(unknown)}")
    frames, devices, _ = values.shape
    rows = values.reshape(-1, 7).astype(np.float64)
    poses = poses_from_quaternions(rows[:, :3].copy(), rows[:, 3:].copy())
    poses = poses_from_openvr(poses[:, :3]).reshape(frames, devices, 4, 4)
    return Recording(
        name,
        _VIVE_RATE_HZ,
        {_VIVE_ROLES[str(tag)]: poses[:, i] for i, tag in enumerate(tags)},
    )


def read_bag(path: Path, config: SolverConfig) -> Recording:
    """Read a recorded session from the moment on at which a calibration pose was held."""
    frames, lost = read_tracking(path, config)
    not_read = [f'could not be read: {"; ".join(lost)}'] if lost else []
    try:
        begin, _ = find_held(frames)
    except CalibrationError as error:
        reasons = [f"'{path}': {error}", *(f'Of it {what}.' for what in not_read)]
        raise CalibrationError(' '.join(reasons)) from None
    at_s = (frames[begin].stamp_ns - frames[0].stamp_ns) * 1e-9
    begins = f'judged from {at_s:.1f} s after its start on, where a pose to calibrate from is held'
    frames = frames[begin:]
    roles = sorted({name for frame in frames for name in frame.names})
    poses = np.full((len(roles), len(frames), 4, 4), np.nan)
    for i, frame in enumerate(frames):
        for name, pose in zip(frame.names, frame.poses, strict=True):
            poses[roles.index(name), i] = pose
    seconds = (frames[-1].stamp_ns - frames[0].stamp_ns) * 1e-9
    rate_hz = (len(frames) - 1) / seconds if seconds > 0.0 else 1.0
    by_role = dict(zip(roles, poses, strict=True))
    return Recording(path.name, rate_hz, by_role, remarks=(begins, *not_read))
