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

"""Motion capture as a recording: devices put on a BVH skeleton, whose own joints are the truth."""

from collections.abc import Mapping
import math
from pathlib import Path

import numpy as np

from vr_ik.errors import VrIkError
from vr_ik.evaluation.recordings import Recording
from vr_ik.io.bvh import read_bvh
from vr_ik.types import Array

# Names of one joint: after 'Left' in the skeletons of CMU (as converted by B. Hahne) and others,
# and last the one before '_L' in Bandai Namco's.
_PAIRS = {
    # A LeftShoulder beside a LeftArm is a collar bone.
    'upper_arm': ('Arm', 'Shoulder', 'UpperArm'),
    'forearm': ('ForeArm', 'Elbow', 'LowerArm'),
    # CMU's Hand turns about the forearm alone; what bends is FingerBase, at the same place.
    'wrist': ('FingerBase', 'Hand', 'Wrist', 'Hand'),
    'thigh': ('UpLeg', 'Hip', 'UpperLeg'),
    'shin': ('Leg', 'Knee', 'LowerLeg'),
    'ankle': ('Foot', 'Ankle', 'Foot'),
}
_SIDES = {'l': ('Left', 'L'), 'r': ('Right', 'R')}
_MIDDLE = {'base_link': ('Hips',), 'neck': ('Neck1', 'Neck'), 'head': ('Head',)}
TRUE_JOINTS = (
    'head',
    'neck',
    *(f'{side}_{part}' for part in _PAIRS for side in 'lr'),
)
"""Links of the human model whose origins have their like in the skeletons."""

# Where devices are worn: the joint's bone, and the place from the joint [m] in the calibration
# pose (x forward, y outward, z up). Goggles before the eyes, controllers in the palm, a tracker
# behind the belt and one on each instep.
_WORN: Mapping[str, tuple[str, tuple[float, float, float]]] = {
    'hmd': ('head', (0.10, 0.0, 0.07)),
    'waist': ('base_link', (-0.11, 0.0, 0.06)),
    'controller': ('wrist', (0.03, 0.08, -0.02)),
    'foot': ('ankle', (0.07, 0.0, -0.01)),
}
_LEG_RANGE_M = (0.5, 1.2)
# Metres, centimetres, inches, and the unit of CMU's skeletons.
_UNITS = (1.0, 0.01, 0.0254, 0.0254 / 0.45)
_LEVEL = math.radians(20.0)
# A foot stands where its shank is upright and its ankle about as low as in the lowest tenth of
# such frames. Ankles of those who kneel or sit on the ground are lower, and stand on nothing.
_UPRIGHT = math.cos(math.radians(40.0))
_LOWEST_PERCENT = 10.0
_STANDS_M = 0.015
_UP = np.array([0.0, 0.0, 1.0])
_OUT, _DOWN = 'out', 'down'
_BONES = {'upper_arm': _OUT, 'forearm': _OUT, 'thigh': _DOWN, 'shin': _DOWN}
_END = {'upper_arm': 'forearm', 'forearm': 'wrist', 'thigh': 'shin', 'shin': 'ankle'}


def read_mocap(path: Path) -> Recording:
    """Read a BVH file as a recording; where it does not start with a T-pose, one is put before.

    The T-pose stands on the ground of the motion, as whoever is measured does: in files that begin
    with one, it often floats or sinks.
    """
    bvh = read_bvh(path)
    if len(bvh.values) < 2:
        raise VrIkError(f"'{path}' has a single frame, and no motion.")
    columns = _columns(path, bvh.names)
    # y up, z forward and x left into x forward, y left and z up.
    axes = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    raw = bvh.poses()[:, list(columns.values())]
    poses = raw.copy()
    poses[:, :, :3, :3] = axes @ raw[:, :, :3, :3]
    poses[:, :, :3, 3] = raw[:, :, :3, 3] @ axes.T
    bones = {link: poses[:, i] for i, link in enumerate(columns)}
    unit = _unit(path, bones)
    for bone in bones.values():
        bone[:, :3, 3] *= unit
    first = {link: bone[0] for link, bone in bones.items()}
    if not _is_t_pose(first):
        stance = _t_pose(bones)
        bones = {link: np.concatenate((stance[link][None], bone)) for link, bone in bones.items()}
    _put_first_on_ground(bones)
    return Recording(
        path.stem,
        1.0 / bvh.frame_time_s,
        _devices(bones),
        {link: bones[link][:, :3, 3] for link in TRUE_JOINTS},
    )


def _columns(path: Path, names: tuple[str, ...]) -> dict[str, int]:
    """Return the index of the skeleton's joint for each link."""
    # Some name their character first: 'mixamorig:LeftArm'.
    names = tuple(name.rsplit(':', 1)[-1] for name in names)
    columns = {}
    for link, choices in _link_names().items():
        found = [name for name in choices if name in names]
        if not found:
            raise VrIkError(f"'{path}': the skeleton has no joint {' or '.join(choices)}.")
        columns[link] = names.index(found[0])
    return columns


def _link_names() -> dict[str, tuple[str, ...]]:
    names: dict[str, tuple[str, ...]] = dict(_MIDDLE)
    for side, (word, letter) in _SIDES.items():
        for part, (*after, before) in _PAIRS.items():
            names[f'{side}_{part}'] = (*(word + name for name in after), f'{before}_{letter}')
    return names


def _unit(path: Path, bones: Mapping[str, Array]) -> float:
    """Return the metres of the file's unit, by the length of the left leg."""
    hip, knee, ankle = (bones[f'l_{part}'][0, :3, 3] for part in ('thigh', 'shin', 'ankle'))
    leg = float(np.linalg.norm(hip - knee) + np.linalg.norm(knee - ankle))
    for unit in _UNITS:
        if _LEG_RANGE_M[0] <= unit * leg <= _LEG_RANGE_M[1]:
            return unit
    raise VrIkError(f"'{path}': the legs are {leg:g} long in no unit of length that is known.")


def _left(first: Mapping[str, Array]) -> Array:
    across = (first['l_thigh'] - first['r_thigh'])[:3, 3]
    level = np.array([across[0], across[1], 0.0])
    return np.asarray(level / np.linalg.norm(level))


def _is_t_pose(first: Mapping[str, Array]) -> bool:
    """Tell whether both arms are stretched sideways, level."""
    left = _left(first)
    for side, out in (('l', left), ('r', -left)):
        arm = (first[f'{side}_wrist'] - first[f'{side}_upper_arm'])[:3, 3]
        if float(arm @ out) < math.cos(_LEVEL) * float(np.linalg.norm(arm)):
            return False
    return True


def _t_pose(bones: Mapping[str, Array]) -> dict[str, Array]:
    """Return the skeleton upright with level arms, every bone turned there the shortest way.

    Hands are straight on the forearms and soles flat: what the first frame has of that would tell
    of the motion to come. The head looks where it does there.
    """
    first = {link: bone[0] for link, bone in bones.items()}
    left = _left(first)
    ahead = np.array([left[1], -left[0], 0.0])
    up = first['neck'][:3, 3] - first['base_link'][:3, 3]
    upright = _shortest_turn(up, _UP)
    origin = first['base_link'][:3, 3]
    stance = {link: _turned(bone, upright, origin, origin) for link, bone in first.items()}
    for side, out in (('l', left), ('r', -left)):
        aims = {_OUT: out, _DOWN: -_UP}
        for chain in (('upper_arm', 'forearm', 'wrist'), ('thigh', 'shin', 'ankle')):
            _stretch(stance, side, chain, aims)
        # A hand without any rotation is in line with its forearm, unless the skeleton's maker has
        # given it axes of its own.
        stance[f'{side}_wrist'][:3, :3] = stance[f'{side}_forearm'][:3, :3]
        _flatten(stance[f'{side}_ankle'], bones[f'{side}_ankle'][_stands(bones, side)])
    head = stance['head']
    look = _shortest_turn(head[:3, :3] @ first['head'][:3, :3].T @ ahead, ahead)
    stance['head'] = _turned(head, look, head[:3, 3], head[:3, 3])
    return stance


def _flatten(foot: Array, standing: Array) -> None:
    """Turn a foot so that up is what mostly is while it stands, where it ever does."""
    if len(standing):
        up_in_foot = np.median(standing[:, 2, :3], axis=0)
        foot[:3, :3] = _shortest_turn(foot[:3, :3] @ up_in_foot, _UP) @ foot[:3, :3]


def _stands(bones: Mapping[str, Array], side: str) -> Array:
    """Tell of each frame whether that foot stands on the ground."""
    ankle = bones[f'{side}_ankle'][:, :3, 3]
    shank = bones[f'{side}_shin'][:, :3, 3] - ankle
    upright = shank[:, 2] > _UPRIGHT * np.linalg.norm(shank, axis=1)
    if not upright.any():
        return upright
    lowest = np.percentile(ankle[upright, 2], _LOWEST_PERCENT)
    return np.asarray(upright & (ankle[:, 2] <= lowest + _STANDS_M))


def _put_first_on_ground(bones: Mapping[str, Array]) -> None:
    """Lift or lower the first frame to where the lower foot stands in the others, unless it is."""
    motion = {link: bone[1:] for link, bone in bones.items()}
    ankles = {side: motion[f'{side}_ankle'][:, 2, 3] for side in 'lr'}
    standing = [heights[_stands(motion, side)] for side, heights in ankles.items()]
    # Those who never stand are where their feet are.
    heights_m = [of_foot for of_foot in standing if len(of_foot)] or list(ankles.values())
    ground_m = min(float(np.median(of_foot)) for of_foot in heights_m)
    lift_m = ground_m - min(float(bones[f'{side}_ankle'][0, 2, 3]) for side in 'lr')
    if abs(lift_m) > _STANDS_M:
        for bone in bones.values():
            bone[0, 2, 3] += lift_m


def _stretch(
    stance: dict[str, Array], side: str, chain: tuple[str, ...], aims: Mapping[str, Array]
) -> None:
    """Turn the bones of a limb, one after the other, into the directions of the T-pose."""
    for i, part in enumerate(chain):
        link = f'{side}_{part}'
        if part not in _END:
            continue
        pivot = stance[link][:3, 3].copy()
        along = stance[f'{side}_{_END[part]}'][:3, 3] - pivot
        turn = _shortest_turn(along, aims[_BONES[part]])
        for moved in chain[i:]:
            name = f'{side}_{moved}'
            stance[name] = _turned(stance[name], turn, pivot, pivot)


def _turned(bone: Array, turn: Array, pivot: Array, to: Array) -> Array:
    out = bone.copy()
    out[:3, :3] = turn @ bone[:3, :3]
    out[:3, 3] = to + turn @ (bone[:3, 3] - pivot)
    return out


def _shortest_turn(start: Array, end: Array) -> Array:
    """Return the rotation of the shortest way from one direction to another."""
    a, b = start / np.linalg.norm(start), end / np.linalg.norm(end)
    v, cosine = np.cross(a, b), float(a @ b)
    if cosine < -1.0 + 1e-9:  # half a turn, about whatever is across
        across = np.cross(a, np.eye(3)[int(np.argmin(np.abs(a)))])
        return np.asarray(2.0 * np.outer(across, across) / (across @ across) - np.eye(3))
    skew = np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])
    return np.asarray(np.eye(3) + skew + skew @ skew / (1.0 + cosine))


def _devices(bones: Mapping[str, Array]) -> dict[str, Array]:
    """Return the poses of devices that are rigid on the bones; frame 0 is the T-pose."""
    left = _left({link: bone[0] for link, bone in bones.items()})
    axes = np.column_stack((np.cross(left, _UP), left, _UP))
    devices = {}
    for part, (kind, (x, y, z)) in _WORN.items():
        for side, outward in (('l_', 1.0), ('r_', -1.0)) if kind in _PAIRS else (('', 1.0),):
            bone = bones[side + kind]
            worn = np.eye(4)
            worn[:3, :3] = axes
            worn[:3, 3] = bone[0, :3, 3] + axes @ np.array([x, outward * y, z])
            devices[side + part] = bone @ (np.linalg.inv(bone[0]) @ worn)
    return devices
