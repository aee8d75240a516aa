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

"""Capsules around the parts of a robot, fitted to the collision shapes of its URDF."""

from collections.abc import Sequence
import math
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np

from vr_ik.errors import UrdfError
from vr_ik.io.packages import file_in
from vr_ik.math.rotations import pose, rotation_from_rpy
from vr_ik.teleop.mesh import mesh_points
from vr_ik.types import Array

# Corners of the polygons that stand for the ends of a cylinder.
_RIM = 16
# Two capsules on one body become one where that takes up no more room than this share more, or
# than this [m^3]: fingers need not be told apart.
_MERGE_SHARE = 0.3
_MERGE_ROOM = 2e-4


class Capsule(NamedTuple):
    """All points within `radius` of the segment from `start` to `end` [m]."""

    start: Array
    end: Array
    radius: float

    @property
    def volume(self) -> float:
        """The room it takes up [m^3]."""
        length = float(np.linalg.norm(self.end - self.start))
        return math.pi * self.radius**2 * (length + 4.0 / 3.0 * self.radius)

    def moved(self, pose_to_from_here: Array) -> 'Capsule':
        """Return it in another frame."""
        rotation, position = pose_to_from_here[:3, :3], pose_to_from_here[:3, 3]
        start, end = rotation @ self.start + position, rotation @ self.end + position
        return Capsule(start, end, self.radius)


def fit_capsule(centres: Array, radii: Array) -> Capsule:
    """Return a capsule around spheres (points, where their radii are 0), as small as may be.

    The axis is one of the frame's or of the spread's, through the middle of what it sees.
    """
    middle = centres - centres.mean(axis=0)
    axes = np.concatenate((np.eye(3), np.linalg.svd(middle, full_matrices=False)[2]))
    return min((_along(axis, centres, radii) for axis in axes), key=lambda fit: fit.volume)


def _along(axis: Array, centres: Array, radii: Array) -> Capsule:
    basis = np.linalg.svd(axis[None])[2]
    basis[0] = axis
    seen = centres @ basis.T
    low, high = (seen - radii[:, None]).min(axis=0), (seen + radii[:, None]).max(axis=0)
    middle = 0.5 * (low + high)
    aside = np.linalg.norm(seen[:, 1:] - middle[1:], axis=1)
    radius = float((aside + radii).max())
    # A sphere within the tube is within the capsule if its centre is near enough to the segment.
    spare = np.sqrt(np.maximum((radius - radii) ** 2 - aside**2, 0.0))
    first, last = float((seen[:, 0] + spare).min()), float((seen[:, 0] - spare).max())
    if first > last:
        first = last = 0.5 * (first + last)
    ends = [np.array([along, middle[1], middle[2]]) @ basis for along in (first, last)]
    return Capsule(ends[0], ends[1], radius)


def merged(capsules: Sequence[Capsule]) -> list[Capsule]:
    """Return capsules of one body, with those put together that hardly take up more room so."""
    left = list(capsules)
    while len(left) > 1:
        couples = [(i, k) for i in range(len(left)) for k in range(i)]
        first, second = min(couples, key=lambda ik: _waste(left[ik[0]], left[ik[1]]))
        one, two = left[first], left[second]
        if _waste(one, two) > max(_MERGE_SHARE * (one.volume + two.volume), _MERGE_ROOM):
            break
        left = [c for i, c in enumerate(left) if i not in (first, second)] + [_both(one, two)]
    return left


def _waste(one: Capsule, two: Capsule) -> float:
    """Return how much more room one capsule for both takes up [m^3]."""
    return _both(one, two).volume - one.volume - two.volume


def _both(one: Capsule, two: Capsule) -> Capsule:
    centres = np.array([one.start, one.end, two.start, two.end])
    return fit_capsule(centres, np.repeat([one.radius, two.radius], 2))


def link_capsules(
    urdf_text: str, package_paths: Sequence[Path]
) -> tuple[dict[str, list[Capsule]], list[str]]:
    """Return each link's capsules in its own frame, and the mesh files that were not found."""
    capsules: dict[str, list[Capsule]] = {}
    missing = []
    for link in ElementTree.fromstring(urdf_text).findall('link'):
        name = link.get('name', '')
        for element in link.findall('collision'):
            geometry = element.find('geometry')
            shape = None if geometry is None or not len(geometry) else geometry[0]
            if shape is None:
                continue
            capsule = _shape_capsule(name, shape, package_paths)
            if capsule is None:
                missing.append(shape.get('filename', shape.tag))
            else:
                placed = capsule.moved(_origin(name, element.find('origin')))
                capsules.setdefault(name, []).append(placed)
    return capsules, missing


def _shape_capsule(
    link: str, shape: ElementTree.Element, package_paths: Sequence[Path]
) -> Capsule | None:
    """Return the capsule around a shape; None where its mesh cannot be read."""
    if shape.tag == 'sphere':
        return Capsule(np.zeros(3), np.zeros(3), _numbers(link, shape, 'radius', 1)[0])
    if shape.tag == 'box':
        signs = np.array(np.meshgrid(*[(-0.5, 0.5)] * 3)).reshape(3, -1).T
        points = signs * _numbers(link, shape, 'size', 3)
    elif shape.tag == 'cylinder':
        points = _rims(
            _numbers(link, shape, 'radius', 1)[0], _numbers(link, shape, 'length', 1)[0]
        )
    elif shape.tag == 'mesh':
        path = file_in(shape.get('filename', ''), package_paths)
        read = None if path is None else mesh_points(path)
        if read is None:
            return None
        points = read * (_numbers(link, shape, 'scale', 3) if shape.get('scale') else np.ones(3))
    else:
        return None
    return fit_capsule(points, np.zeros(len(points)))


def _rims(radius: float, length: float) -> Array:
    """Return points around the two ends of a cylinder along z: polygons that enclose them."""
    angles = 2.0 * math.pi * np.arange(_RIM) / _RIM
    corner = radius / math.cos(math.pi / _RIM)
    rim = np.column_stack((corner * np.cos(angles), corner * np.sin(angles), np.zeros(_RIM)))
    half = np.array([0.0, 0.0, 0.5 * length])
    return np.concatenate((rim + half, rim - half))


def _origin(link: str, element: ElementTree.Element | None) -> Array:
    if element is None:
        return np.eye(4)
    xyz = _numbers(link, element, 'xyz', 3) if element.get('xyz') else np.zeros(3)
    rpy = _numbers(link, element, 'rpy', 3) if element.get('rpy') else np.zeros(3)
    return pose(rotation_from_rpy(*rpy), xyz)


def _numbers(link: str, element: ElementTree.Element, name: str, count: int) -> Array:
    text = element.get(name, '')
    try:
        values = np.array([float(word) for word in text.split()])
    except ValueError:
        values = np.empty(0)
    if values.shape != (count,) or not np.isfinite(values).all():
        raise UrdfError(
            f"Link '{link}': <collision> has <{element.tag} {name}='{text}'>; "
            f'{count} numbers are needed.'
        )
    return values
