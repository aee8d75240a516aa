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

"""What a reconstruction is compared with: devices and joints, predicted and true over time."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from vr_ik.evaluation.reconstruction import Reconstruction
from vr_ik.math.rotations import inverse_pose
from vr_ik.types import Array

GROUPS = {
    'hmd': 'head',
    'head': 'head',
    'neck': 'neck',
    'waist': 'hips',
    'thigh': 'hips',
    'controller': 'hands',
    'wrist': 'hands',
    'foot': 'feet',
    'ankle': 'feet',
    'elbow': 'elbows',
    'forearm': 'elbows',
    'knee': 'knees',
    'knee_on_thigh': 'knees_on_thigh',
    'shin': 'knees',
    'upper_arm': 'shoulders',
    'shoulder': 'shoulders',
    'chest': 'chest',
}
"""The part of the body of each device and joint, without its side."""
UPPER = ('head', 'neck', 'shoulders', 'elbows', 'hands')

_JUMP_M = 0.05
_CUSTOM = {'elbow': '{}forearm', 'knee': '{}shin'}
# Joints of the trunk are where the trunk carries them, those of limbs where their own link is.
_CARRIERS = {'neck': 'torso', 'upper_arm': '{}clavicle', 'thigh': 'base_link'}
_RIGID_ON = {'elbow': 'controller', 'forearm': 'controller', 'knee': 'foot', 'shin': 'foot'}


@dataclass(frozen=True)
class Track:
    """One device or joint."""

    name: str
    is_joint: bool
    predicted: Array
    """(n, 4, 4); of a joint the position alone counts."""
    true: Array
    valid: Array
    """(n,) whether the frame counts: the truth did not jump there."""

    @property
    def group(self) -> str:
        """The part of the body, of either side."""
        return GROUPS[_part(self.name)]


def tracks(reconstruction: Reconstruction) -> list[Track]:
    """Return the devices of a recording and its joints, where it has any."""
    return [*_device_tracks(reconstruction), *_joint_tracks(reconstruction)]


def _device_tracks(r: Reconstruction) -> Iterator[Track]:
    """Yield every device.

    One that went in is where calibration put it on its link. One that was held out is fixed to
    its link, as solved, at the first frame: of an elbow to the forearm, of a knee to the shin, as
    is the custom, and where it is really strapped to the thigh, once more to the thigh.
    """
    for role, true in r.recording.poses.items():
        if (r.recording.joints and role not in r.roles) or role not in r.calibration.mounts:
            continue
        mount = r.calibration.mounts[role]
        valid = _but_the_first(len(true)) if r.recording.joints else _steady(true)
        if role in r.roles:
            predicted = r.link(mount.link) @ mount.pose_link_from_device
            yield Track(role, False, predicted, true, valid)
            continue
        link = _CUSTOM.get(_part(role), mount.link).format(role[:2])
        yield Track(role, False, _fixed_to(r.link(link), true), true, valid)
        if mount.link.endswith('thigh'):
            on_thigh = _fixed_to(r.link(mount.link), true)
            yield Track(f'{role}_on_thigh', False, on_thigh, true, valid)


def _joint_tracks(r: Reconstruction) -> Iterator[Track]:
    """Yield every joint whose truth is known, fixed to its link, as solved, at the first frame.

    Skeletons differ in what they call a joint; what counts is that it moves alike.
    """
    for name, positions in r.recording.joints.items():
        true = np.tile(np.eye(4), (len(positions), 1, 1))
        true[:, :3, 3] = positions
        carrier = _CARRIERS.get(_part(name), name).format(name[:2])
        valid = _but_the_first(len(true))
        yield Track(name, True, _fixed_to(r.link(carrier), true), true, valid)


def untied_joint_tracks(r: Reconstruction) -> list[Track]:
    """Return every joint whose truth is known, where its link begins in the solved body."""
    return [
        replace(track, predicted=r.link(track.name))
        for track in _joint_tracks(r)
        if track.is_joint
    ]


def rigid_baseline(r: Reconstruction, track: Track) -> Track | None:
    """Return what no inverse kinematics gives: elbows rigid on the hands, knees on the feet."""
    base = _RIGID_ON.get(_part(track.name))
    carrier = r.recording.poses.get(f'{track.name[:2]}{base}')
    if base is None or carrier is None or f'{track.name[:2]}{base}' not in r.roles:
        return None
    predicted = _fixed_to(carrier, track.true)
    return Track(track.name, track.is_joint, predicted, track.true, track.valid)


def _but_the_first(frames: int) -> Array:
    """Count all frames of motion capture but the T-pose, from which nobody moved to the next."""
    return np.concatenate(([False], np.full(frames - 1, True)))


def _fixed_to(carrier: Array, true: Array) -> Array:
    """Return where the carrier takes what is rigid on it since the first frame."""
    return np.asarray(carrier @ (inverse_pose(carrier[0]) @ true[0]))


def _steady(poses: Array) -> Array:
    """Tell of each frame whether the device came there in no jump."""
    moved = np.linalg.norm(np.diff(poses[:, :3, 3], axis=0), axis=1)
    # What is not a number, because the device was lost, is no small step either.
    return np.concatenate(([True], moved <= _JUMP_M))


def _part(name: str) -> str:
    return name[2:] if name[:2] in ('l_', 'r_') else name
