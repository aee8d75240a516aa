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

"""Reads URDF text into links and joints, with errors that name the element and the reason."""

from dataclasses import dataclass, replace
import math
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from vr_ik.errors import UrdfError
from vr_ik.math.rotations import pose, rotation_from_rpy
from vr_ik.types import Array

JOINT_TYPES = ('revolute', 'continuous', 'prismatic', 'fixed')


@dataclass(frozen=True)
class Mimic:
    """A joint that follows another: q = multiplier * q_joint + offset."""

    joint: str
    multiplier: float
    offset: float


@dataclass(frozen=True)
class Joint:
    """One URDF joint; lengths in metres, angles in radians."""

    name: str
    kind: str
    parent: str
    child: str
    pose_parent_from_joint: Array
    axis: Array
    """Unit vector in the joint's frame."""
    lower: float
    """Where other joints follow this one, its range is one in which they keep to theirs, too."""
    upper: float
    velocity: float
    mimic: Mimic | None


@dataclass(frozen=True)
class Urdf:
    """A robot description as a tree: `joints` in an order where parents come first."""

    name: str
    root: str
    links: tuple[str, ...]
    joints: tuple[Joint, ...]


def read_urdf(source: str | Path) -> Urdf:
    """Read URDF text, or the file at a path."""
    text = _text(source)
    try:
        robot = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise UrdfError(f'The URDF is not well-formed XML: {error}.') from None
    if robot.tag != 'robot':
        raise UrdfError(f"A URDF's root element is <robot>, not <{robot.tag}>.")
    links = _unique('link', [_name(element) for element in robot.findall('link')])
    if not links:
        raise UrdfError('The URDF has no <link>.')
    joints = [_joint(element) for element in robot.findall('joint')]
    _unique('joint', [joint.name for joint in joints])
    _check_links(links, joints)
    _check_mimics(joints)
    root, ordered = _order(links, _within_followers(joints))
    return Urdf(robot.get('name', 'robot'), root, links, ordered)


def _text(source: str | Path) -> str:
    if isinstance(source, str) and '<' in source:
        return source
    try:
        return Path(source).read_text(encoding='utf-8')
    except (OSError, UnicodeDecodeError) as error:
        raise UrdfError(f"Cannot read the URDF file '{source}': {error}.") from None


def _name(element: ElementTree.Element) -> str:
    name = element.get('name')
    if not name:
        raise UrdfError(f'A <{element.tag}> has no name.')
    return name


def _unique(what: str, names: list[str]) -> tuple[str, ...]:
    for i, name in enumerate(names):
        if name in names[:i]:
            raise UrdfError(f"The {what} '{name}' occurs twice.")
    return tuple(names)


def _joint(element: ElementTree.Element) -> Joint:
    name = _name(element)
    kind = element.get('type', '')
    if kind not in JOINT_TYPES:
        known = ', '.join(JOINT_TYPES)
        raise UrdfError(f"Joint '{name}': type '{kind}' is not supported. Supported: {known}.")
    origin = element.find('origin')
    xyz = _vector(name, origin, 'xyz', (0.0, 0.0, 0.0))
    roll, pitch, yaw = _vector(name, origin, 'rpy', (0.0, 0.0, 0.0))
    lower, upper, velocity = _limits(name, kind, element.find('limit'))
    return Joint(
        name=name,
        kind=kind,
        parent=_end(name, element, 'parent'),
        child=_end(name, element, 'child'),
        pose_parent_from_joint=pose(rotation_from_rpy(roll, pitch, yaw), xyz),
        axis=_axis(name, kind, element.find('axis')),
        lower=lower,
        upper=upper,
        velocity=velocity,
        mimic=_mimic(name, element.find('mimic')),
    )


def _end(joint: str, element: ElementTree.Element, tag: str) -> str:
    end = element.find(tag)
    link = end.get('link') if end is not None else None
    if not link:
        raise UrdfError(f"Joint '{joint}': <{tag} link='...'> is missing.")
    return link


def _number(joint: str, element: ElementTree.Element, name: str, default: float | None) -> float:
    text = element.get(name)
    if text is None:
        if default is None:
            raise UrdfError(f"Joint '{joint}': <{element.tag}> has no {name}.")
        return default
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise UrdfError(f"Joint '{joint}': <{element.tag} {name}='{text}'> is not a number.")
    return value


def _vector(
    joint: str,
    element: ElementTree.Element | None,
    name: str,
    default: tuple[float, float, float],
) -> Array:
    text = element.get(name) if element is not None else None
    if element is None or text is None:
        return np.array(default)
    try:
        vector = np.array([float(word) for word in text.split()])
    except ValueError:
        vector = np.empty(0)
    if vector.shape != (3,) or not np.isfinite(vector).all():
        raise UrdfError(f"Joint '{joint}': <{element.tag} {name}='{text}'> is not three numbers.")
    return vector


def _axis(joint: str, kind: str, element: ElementTree.Element | None) -> Array:
    if kind == 'fixed':  # Exporters write a zero axis there.
        return np.array([1.0, 0.0, 0.0])
    axis = _vector(joint, element, 'xyz', (1.0, 0.0, 0.0))
    norm = float(np.linalg.norm(axis))
    if norm < 1e-9:
        raise UrdfError(f"Joint '{joint}': its axis is zero.")
    return axis / norm


def _limits(
    joint: str, kind: str, element: ElementTree.Element | None
) -> tuple[float, float, float]:
    """Return lower, upper and velocity limit; infinite where there is none."""
    if kind == 'fixed':
        return 0.0, 0.0, 0.0
    if kind == 'continuous':
        velocity = math.inf if element is None else _number(joint, element, 'velocity', math.inf)
        return -math.inf, math.inf, velocity
    if element is None:
        raise UrdfError(f"Joint '{joint}': a {kind} joint needs a <limit>.")
    lower = _number(joint, element, 'lower', 0.0)
    upper = _number(joint, element, 'upper', 0.0)
    if lower > upper:
        raise UrdfError(f"Joint '{joint}': lower limit {lower} is above upper limit {upper}.")
    velocity = _number(joint, element, 'velocity', math.inf)
    if velocity < 0.0:
        raise UrdfError(f"Joint '{joint}': its velocity limit {velocity} is negative.")
    return lower, upper, velocity


def _mimic(joint: str, element: ElementTree.Element | None) -> Mimic | None:
    if element is None:
        return None
    master = element.get('joint')
    if not master:
        raise UrdfError(f"Joint '{joint}': <mimic> does not name a joint.")
    multiplier = _number(joint, element, 'multiplier', 1.0)
    offset = _number(joint, element, 'offset', 0.0)
    if not (math.isfinite(multiplier) and math.isfinite(offset)):
        raise UrdfError(
            f"Joint '{joint}': <mimic> has multiplier {multiplier} and offset {offset}; "
            'both must be finite.'
        )
    return Mimic(master, multiplier, offset)


def _check_links(links: tuple[str, ...], joints: list[Joint]) -> None:
    parents: dict[str, str] = {}
    for joint in joints:
        for link in (joint.parent, joint.child):
            if link not in links:
                raise UrdfError(f"Joint '{joint.name}' names link '{link}', which is not there.")
        if joint.child in parents:
            both = f"'{parents[joint.child]}' and '{joint.name}'"
            raise UrdfError(f"Link '{joint.child}' is the child of two joints: {both}.")
        parents[joint.child] = joint.name


def _check_mimics(joints: list[Joint]) -> None:
    by_name = {joint.name: joint for joint in joints}
    for joint in joints:
        if joint.mimic is None or joint.kind == 'fixed':
            continue
        master = by_name.get(joint.mimic.joint)
        if master is None or master.kind == 'fixed' or master.mimic is not None:
            raise UrdfError(
                f"Joint '{joint.name}' mimics '{joint.mimic.joint}', "
                'which is not a joint that moves by itself.'
            )


def _within_followers(joints: list[Joint]) -> list[Joint]:
    """Return the joints with the ranges of those that others mimic narrowed to the others'.

    A follower whose limits leave its master no room has wrong ones, and is passed over: the
    PR2's grippers have fingers that mimic with multiplier -1 and a range of 0 to 0.548.
    """
    by_name = {joint.name: joint for joint in joints}
    for joint in joints:
        if joint.mimic is None or joint.kind == 'fixed' or joint.mimic.multiplier == 0.0:
            continue
        master = by_name[joint.mimic.joint]
        ends = [
            (end - joint.mimic.offset) / joint.mimic.multiplier
            for end in (joint.lower, joint.upper)
        ]
        lower, upper = max(master.lower, min(ends)), min(master.upper, max(ends))
        if lower < upper:
            by_name[master.name] = replace(master, lower=lower, upper=upper)
    return list(by_name.values())


def _order(links: tuple[str, ...], joints: list[Joint]) -> tuple[str, tuple[Joint, ...]]:
    """Return the root link and the joints depth first, so that parents come first."""
    children = {joint.child for joint in joints}
    roots = [link for link in links if link not in children]
    if len(roots) != 1:
        found = ', '.join(roots) if roots else 'none (the joints form a loop)'
        raise UrdfError(f'A URDF has one root link; found: {found}.')
    below: dict[str, list[Joint]] = {link: [] for link in links}
    for joint in joints:
        below[joint.parent].append(joint)
    ordered: list[Joint] = []
    stack = below[roots[0]][::-1]
    while stack:
        joint = stack.pop()
        ordered.append(joint)
        stack.extend(below[joint.child][::-1])
    if len(ordered) != len(joints):
        connected = {joint.name for joint in ordered}
        loose = next(joint.name for joint in joints if joint.name not in connected)
        raise UrdfError(f"Joint '{loose}' is not connected to root link '{roots[0]}'.")
    return roots[0], tuple(ordered)
