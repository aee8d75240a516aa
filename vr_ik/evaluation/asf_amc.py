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

"""Reads Acclaim skeletons (ASF) and motions (AMC): bones, hierarchy, angles; as a tree and its q.

A bone's rotation is C M C^-1, where C = Rz Ry Rx of its 'axis' and M = Rz Ry Rx of its angles; it
turns about the end of its parent. Only this, the usual XYZ order, is understood.
"""

from dataclasses import dataclass
import math
from pathlib import Path

import numpy as np

from vr_ik.errors import VrIkError
from vr_ik.kinematics.model import RobotModel
from vr_ik.kinematics.urdf import Joint, Urdf
from vr_ik.math.rotations import pose, quaternion_from_matrix, rotation_from_rpy
from vr_ik.types import Array

ROOT = 'root'
_ROOT_ORDER = ['tx', 'ty', 'tz', 'rx', 'ry', 'rz']
_AXES = {'rx': (1.0, 0.0, 0.0), 'ry': (0.0, 1.0, 0.0), 'rz': (0.0, 0.0, 1.0)}
# The same rotation as a chain of hinges: the one that is applied last comes first.
_CHAIN = ('rz', 'ry', 'rx')


@dataclass(frozen=True, eq=False)
class Bone:
    """One bone; lengths in the file's unit."""

    name: str
    parent: str
    end: Array
    """Vector from the bone's beginning to its end, in the axes of the root."""
    rotation: Array
    """(3, 3): C, the axes about which its angles turn."""
    dofs: tuple[str, ...]
    """Of 'rx', 'ry' and 'rz', in the order of the motion's values."""


@dataclass(frozen=True, eq=False)
class Skeleton:
    """The bones, parents before children."""

    bones: tuple[Bone, ...]
    length_unit: float
    """What the file's header says: lengths divided by it are inches."""
    angle_unit: float
    """Radians of one unit of angle."""

    def model(
        self,
        metres_per_unit: float,
        fixed: tuple[str, ...] = (),
        limits: dict[str, tuple[float, float]] | None = None,
    ) -> RobotModel:
        """Return a tree with a floating root and a link of each bone's name; `fixed` do not move.

        A joint is named after its bone and dof, such as 'lfemur_rx'; without limits [rad] it turns
        freely.
        """
        ends = {ROOT: np.zeros(3)}
        joints: list[Joint] = []
        for bone in self.bones:
            dofs = () if bone.name in fixed else bone.dofs
            start = pose(np.eye(3), metres_per_unit * ends[bone.parent])
            joints += _bone_joints(bone, dofs, start, limits or {})
            ends[bone.name] = bone.end
        links = (ROOT, *(joint.child for joint in joints))
        return RobotModel(Urdf('skeleton', ROOT, links, tuple(joints)), floating_base=True)


def _bone_joints(
    bone: Bone, dofs: tuple[str, ...], start: Array, limits: dict[str, tuple[float, float]]
) -> list[Joint]:
    chain = [dof for dof in _CHAIN if dof in dofs]
    if not chain:
        return [_joint(bone.name, 'fixed', bone.parent, bone.name, start)]
    turned = pose(bone.rotation, np.zeros(3))
    joints = []
    parent, placement = bone.parent, start @ turned
    for dof in chain:
        name = f'{bone.name}_{dof}'
        lower, upper = limits.get(name, (-math.inf, math.inf))
        joints.append(_joint(name, 'revolute', parent, name, placement, dof, lower, upper))
        parent, placement = name, np.eye(4)
    return [*joints, _joint(bone.name, 'fixed', parent, bone.name, turned.T)]


def _joint(
    name: str,
    kind: str,
    parent: str,
    child: str,
    placement: Array,
    dof: str = 'rx',
    lower: float = 0.0,
    upper: float = 0.0,
) -> Joint:
    axis = np.array(_AXES[dof])
    return Joint(name, kind, parent, child, placement, axis, lower, upper, math.inf, None)


def read_asf(path: Path) -> Skeleton:
    """Read a skeleton."""
    sections = _sections(path)
    units = dict(line.split()[:2] for line in sections['units'])
    root = {words[0]: words[1:] for words in map(str.split, sections[ROOT])}
    order = [word.lower() for word in root.get('order', [])]
    if order != _ROOT_ORDER or root.get('axis', ['XYZ']) != ['XYZ']:
        raise VrIkError(f"'{path}': the root's order must be TX TY TZ RX RY RZ and its axis XYZ.")
    angle_unit = math.radians(1.0) if units.get('angle', 'deg') == 'deg' else 1.0
    parents = _parents(path, sections['hierarchy'])
    found = {bone.name: bone for bone in _bones(path, sections['bonedata'], parents, angle_unit)}
    missing = [name for name in parents if name not in found]
    if missing:
        raise VrIkError(f"'{path}': the hierarchy names '{missing[0]}', which has no bone data.")
    bones = tuple(found[name] for name in parents)
    return Skeleton(bones, float(units.get('length', 1.0)), angle_unit)


def read_amc(path: Path, skeleton: Skeleton) -> dict[str, Array]:
    """Return the values of each bone by frame, (frames, dofs), angles in radians.

    Those of the root are x, y, z in the file's unit of length and three angles.
    """
    frames: list[dict[str, list[float]]] = []
    for line in _lines(path):
        words = line.split()
        if len(words) == 1 and words[0].isdigit():
            frames.append({})
        elif frames:
            frames[-1][words[0]] = [float(word) for word in words[1:]]
    widths = {ROOT: 6, **{bone.name: len(bone.dofs) for bone in skeleton.bones if bone.dofs}}
    motion = {}
    for name, width in widths.items():
        rows = [frame.get(name, []) for frame in frames]
        bad = next((i for i, row in enumerate(rows, start=1) if len(row) != width), None)
        if bad is not None or not rows:
            raise VrIkError(
                f"'{path}': frame {bad or 1} does not have {width} values of '{name}'."
            )
        motion[name] = np.array(rows)
        motion[name][:, 3 if name == ROOT else 0 :] *= skeleton.angle_unit
    return motion


def configurations(
    skeleton: Skeleton, motion: dict[str, Array], model: RobotModel, metres_per_unit: float
) -> Array:
    """Return the motion as configurations (frames, nq) of a model of the skeleton."""
    root = motion[ROOT]
    q = np.tile(model.neutral(), (len(root), 1))
    q[:, :3] = metres_per_unit * root[:, :3]
    q[:, 3:7] = [quaternion_from_matrix(rotation_from_rpy(*angles)) for angles in root[:, 3:]]
    column = {name: model.first_q + i for i, name in enumerate(model.joint_names)}
    for bone in skeleton.bones:
        for i, dof in enumerate(bone.dofs):
            if f'{bone.name}_{dof}' in column:
                q[:, column[f'{bone.name}_{dof}']] = motion[bone.name][:, i]
    return q


def _lines(path: Path) -> list[str]:
    """Return the lines that say something; these files hold comments in any encoding."""
    try:
        text = path.read_text(encoding='latin-1')
    except OSError as error:
        raise VrIkError(f"Cannot read '{path}': {error}.") from None
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith('#')]


def _sections(path: Path) -> dict[str, list[str]]:
    """Return the lines of each section; a section begins with a colon and its name."""
    sections: dict[str, list[str]] = {}
    name = ''
    for line in _lines(path):
        if line.startswith(':'):
            name = line[1:].split()[0].lower()
            sections[name] = []
        elif name:
            sections[name].append(line)
    for needed in ('units', ROOT, 'bonedata', 'hierarchy'):
        if needed not in sections:
            raise VrIkError(f"'{path}' is not a skeleton: it has no section :{needed}.")
    return sections


def _parents(path: Path, lines: list[str]) -> dict[str, str]:
    """Return each bone's parent, in an order where parents come first."""
    below: dict[str, list[str]] = {}
    for words in map(str.split, lines):
        if words[0] not in ('begin', 'end'):
            below.setdefault(words[0], []).extend(words[1:])
    parents: dict[str, str] = {}
    stack = [ROOT]
    while stack:
        name = stack.pop()
        for child in below.get(name, []):
            if child in parents:
                raise VrIkError(f"'{path}': the bone '{child}' has two parents.")
            parents[child] = name
        stack.extend(reversed(below.get(name, [])))
    return parents


def _bones(path: Path, lines: list[str], parents: dict[str, str], angle_unit: float) -> list[Bone]:
    bones = []
    fields: dict[str, list[str]] = {}
    for words in map(str.split, lines):
        if words[0] == 'begin':
            fields = {}
        elif words[0] != 'end':
            fields[words[0]] = words[1:]
        elif fields:
            bones.append(_bone(path, fields, parents, angle_unit))
    return bones


def _bone(
    path: Path, fields: dict[str, list[str]], parents: dict[str, str], angle_unit: float
) -> Bone:
    name = ' '.join(fields.get('name', ['without a name']))
    try:
        direction = np.array([float(word) for word in fields['direction']])
        x, y, z = (angle_unit * float(word) for word in fields['axis'][:3])
        end = float(fields['length'][0]) * direction
        dofs = tuple(word.lower() for word in fields.get('dof', []) if word.lower() in _AXES)
        if fields['axis'][3:] != ['XYZ'] or end.shape != (3,):
            raise ValueError('its axis is not in XYZ order, or its direction not a vector')
    except (KeyError, ValueError, IndexError) as error:
        raise VrIkError(f"'{path}': the bone '{name}' cannot be read: {error}.") from None
    return Bone(name, parents.get(name, ROOT), end, rotation_from_rpy(x, y, z), dofs)
