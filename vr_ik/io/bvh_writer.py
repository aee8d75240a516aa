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
Writes the motion of a human model as a BVH file: centimetres, y up, x left, z forward.

Hinges of the URDF that meet in a point are one joint with the channels Z, X, Y, in this order.
The root has position channels, the others have constant offsets.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
import math
from pathlib import Path

import numpy as np

from vr_ik.errors import VrIkError
from vr_ik.kinematics.model import RobotModel
from vr_ik.kinematics.urdf import Joint, read_urdf, Urdf
from vr_ik.types import Array

CM_PER_M = 100.0
AXES = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
"""rotation_bvh_from_world: x forward, y left, z up into x left, y up, z forward."""

_MIDDLE = {
    'base_link': 'Hips',
    'lumbar': 'Spine',
    'torso': 'Spine1',
    'neck': 'Neck',
    'head': 'Head',
}
_SIDES = {'l_': 'Left', 'r_': 'Right'}
_LIMBS = {
    'clavicle': 'Shoulder',
    'upper_arm': 'Arm',
    'forearm': 'ForeArm',
    'wrist': 'Hand',
    'thigh': 'UpLeg',
    'shin': 'Leg',
    'ankle': 'Foot',
}


def bvh_name(link: str) -> str:
    """Return the name of a link's joint as animation programs know it; others stay as they are."""
    if link[:2] in _SIDES and link[2:] in _LIMBS:
        return _SIDES[link[:2]] + _LIMBS[link[2:]]
    return _MIDDLE.get(link, link)


@dataclass
class Bone:
    """A joint of the BVH file: a link of the model that is not merely part of a ball joint."""

    link: str
    offset: Array
    """Of its origin on the parent's link [m], in the parent's axes."""
    children: list['Bone'] = field(default_factory=list)
    ends: list[Array] = field(default_factory=list)
    """Where links without joints of their own sit on it [m]."""


def write_bvh(path: Path, urdf_text: str, q: Array, frame_time_s: float) -> None:
    """Write configurations (frames, nq) of a model with a floating base; raise `VrIkError`."""
    urdf = read_urdf(urdf_text)
    model = RobotModel(urdf, floating_base=True)
    root = skeleton(urdf)
    lines = ['HIERARCHY', *_hierarchy(root, ''), 'MOTION', f'Frames: {len(q)}']
    lines.append(f'Frame Time: {frame_time_s:.9f}')
    values = _channels(root, model, q)
    lines += [' '.join(f'{value:.7f}' for value in row) for row in values]
    try:
        path.write_text('\n'.join(lines) + '\n', encoding='utf-8')
    except OSError as error:
        raise VrIkError(f"'{path}' cannot be written: {error.strerror}.") from error


def skeleton(urdf: Urdf) -> Bone:
    """Return the bones of a model, from its root on."""
    by_parent: dict[str, list[Joint]] = {}
    for joint in urdf.joints:
        by_parent.setdefault(joint.parent, []).append(joint)
    root = Bone(urdf.root, np.zeros(3))
    _grow(root, urdf.root, by_parent)
    return root


def _grow(bone: Bone, link: str, by_parent: dict[str, list[Joint]]) -> None:
    for joint in by_parent.get(link, []):
        if joint.kind == 'prismatic':
            raise VrIkError(f"The joint '{joint.name}' slides: a BVH file has no such joints.")
        offset = joint.pose_parent_from_joint[:3, 3]
        if joint.kind == 'fixed' and joint.child not in by_parent:
            bone.ends.append(offset)
            continue
        child = Bone(_last_of_ball_joint(joint, by_parent), offset)
        bone.children.append(child)
        _grow(child, child.link, by_parent)


def _last_of_ball_joint(joint: Joint, by_parent: dict[str, list[Joint]]) -> str:
    """Return the link behind all hinges that share their point with this one."""
    link = joint.child
    while len(following := by_parent.get(link, [])) == 1:
        if following[0].kind == 'fixed' or following[0].pose_parent_from_joint[:3, 3].any():
            break
        link = following[0].child
    return link


def _bones(bone: Bone) -> Iterator[tuple[Bone, Bone | None]]:
    """Yield every bone with its parent, in the order of the file."""
    waiting: list[tuple[Bone, Bone | None]] = [(bone, None)]
    while waiting:
        current, parent = waiting.pop()
        yield current, parent
        waiting += [(child, current) for child in reversed(current.children)]


def _hierarchy(bone: Bone, indent: str) -> Iterator[str]:
    inner = indent + '  '
    yield f'{indent}{"JOINT" if indent else "ROOT"} {bvh_name(bone.link)}'
    yield f'{indent}{{'
    yield inner + _offset(bone.offset)
    turns = 'Zrotation Xrotation Yrotation'
    if indent:
        yield f'{inner}CHANNELS 3 {turns}'
    else:
        yield f'{inner}CHANNELS 6 Xposition Yposition Zposition {turns}'
    for child in bone.children:
        yield from _hierarchy(child, inner)
    if not bone.children:
        end = max(bone.ends, key=lambda at: float(np.linalg.norm(at)), default=np.zeros(3))
        yield from (f'{inner}End Site', f'{inner}{{', f'{inner}  {_offset(end)}', f'{inner}}}')
    yield f'{indent}}}'


def _offset(offset: Array) -> str:
    return 'OFFSET ' + ' '.join(f'{value:.7f}' for value in CM_PER_M * (AXES @ offset))


def _channels(root: Bone, model: RobotModel, q: Array) -> Array:
    """Return the values (frames, channels) of all joints [cm, deg]."""
    links = np.array([model.link_poses(row) for row in q])
    columns: list[Array] = [CM_PER_M * links[:, model.link_index(root.link), :3, 3] @ AXES.T]
    for bone, parent in _bones(root):
        rotation = links[:, model.link_index(bone.link), :3, :3]
        if parent is not None:
            before = links[:, model.link_index(parent.link), :3, :3]
            rotation = np.swapaxes(before, 1, 2) @ rotation
        columns.append(np.degrees(zxy_angles(AXES @ rotation @ AXES.T)))
    return np.concatenate(columns, axis=1)


def zxy_angles(rotations: Array) -> Array:
    """Return z, x, y (n, 3) [rad] with R = Rz Rx Ry, going on evenly from frame to frame.

    Every rotation has two such triples. The one nearer to the frame before is taken, so that an
    elbow bends beyond a right angle with x alone, where the other triple would turn all three.
    """
    r = rotations
    x = np.arcsin(np.clip(r[:, 2, 1], -1.0, 1.0))
    z = np.arctan2(-r[:, 0, 1], r[:, 1, 1])
    y = np.arctan2(-r[:, 2, 0], r[:, 2, 2])
    # With x at a right angle, z and y turn about one axis: only their sum or difference is known.
    locked = np.hypot(r[:, 2, 0], r[:, 2, 2]) < 1e-9
    together = np.arctan2(r[:, 1, 0], r[:, 0, 0])
    angles = np.zeros((len(r), 3))
    last = np.zeros(3)
    for i in range(len(r)):
        if locked[i]:
            signed = math.copysign(1.0, x[i])
            angles[i] = last[0], x[i], signed * (together[i] - last[0])
            choices = angles[i][None]
        else:
            choices = np.array(
                ((z[i], x[i], y[i]), (z[i] + math.pi, math.pi - x[i], y[i] + math.pi))
            )
        choices = last + np.remainder(choices - last + math.pi, 2.0 * math.pi) - math.pi
        last = angles[i] = choices[np.abs(choices - last).sum(axis=1).argmin()]
    return angles


def bone_names(root: Bone) -> Sequence[str]:
    """Return the links of all bones, in the order of the file."""
    return [bone.link for bone, _ in _bones(root)]
