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

"""The points of a mesh file: STL, OBJ and Collada, as far as their extent goes."""

from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from vr_ik.types import Array

_STL_HEADER = 84
_STL_TRIANGLE = np.dtype([('normal', '<f4', 3), ('points', '<f4', (3, 3)), ('colour', '<u2')])


def mesh_points(path: Path) -> Array | None:
    """Return all corners (n, 3) [m] of a mesh; None where the file cannot be read as one."""
    readers = {'.stl': _stl_points, '.obj': _obj_points, '.dae': _dae_points}
    reader = readers.get(path.suffix.lower())
    try:
        points = None if reader is None else reader(path)
    except (OSError, ValueError, ElementTree.ParseError):
        return None
    if points is None or not len(points) or not np.isfinite(points).all():
        return None
    return np.unique(points, axis=0)


def _stl_points(path: Path) -> Array:
    data = path.read_bytes()
    triangles = int.from_bytes(data[_STL_HEADER - 4 : _STL_HEADER], 'little')
    if len(data) == _STL_HEADER + triangles * _STL_TRIANGLE.itemsize:
        table = np.frombuffer(data, _STL_TRIANGLE, triangles, _STL_HEADER)
        return table['points'].reshape(-1, 3).astype(float)
    return _lines_of_numbers(data.decode('ascii', 'replace'), 'vertex')


def _obj_points(path: Path) -> Array:
    return _lines_of_numbers(path.read_text(errors='replace'), 'v')


def _lines_of_numbers(text: str, first_word: str) -> Array:
    words = (line.split() for line in text.splitlines())
    rows = [line[1:4] for line in words if line and line[0] == first_word]
    return np.array(rows, float).reshape(-1, 3)


def _dae_points(path: Path) -> Array:
    """Read the points of all geometries where the scene's nodes place them.

    The file's up axis is passed over, as ROS's own tools do.
    """
    root = ElementTree.fromstring(path.read_bytes())
    space = {'c': root.tag[1:].partition('}')[0]}
    unit = root.find('.//c:asset/c:unit', space)
    metre = 1.0 if unit is None else float(unit.get('meter', '1'))
    points = []
    for geometry in root.findall('.//c:library_geometries/c:geometry', space):
        url = f'#{geometry.get("id")}'
        local = [
            np.array((array.text or '').split(), float).reshape(-1, 3)
            for source in _position_sources(geometry, space)
            for array in source.findall('c:float_array', space)
        ]
        for matrix in _instances(root, url, space):
            points += [p @ matrix[:3, :3].T + matrix[:3, 3] for p in local]
    return metre * np.concatenate(points) if points else np.empty((0, 3))


def _position_sources(
    geometry: ElementTree.Element, space: dict[str, str]
) -> list[ElementTree.Element]:
    inputs = geometry.findall('.//c:vertices/c:input', space)
    wanted = {i.get('source', '')[1:] for i in inputs if i.get('semantic') == 'POSITION'}
    return [s for s in geometry.findall('.//c:source', space) if s.get('id') in wanted]


def _instances(root: ElementTree.Element, url: str, space: dict[str, str]) -> list[Array]:
    """Return the pose and scale (4, 4) of each use of a geometry in the scene."""
    found: list[Array] = []

    def visit(node: ElementTree.Element, above: Array) -> None:
        here = above
        for child in node:
            here = here @ _transform(child)
        for use in node.findall('c:instance_geometry', space):
            if use.get('url') == url:
                found.append(here)
        for below in node.findall('c:node', space):
            visit(below, here)

    for scene in root.findall('.//c:library_visual_scenes/c:visual_scene', space):
        for node in scene.findall('c:node', space):
            visit(node, np.eye(4))
    return found


def _transform(element: ElementTree.Element) -> Array:
    """Return the motion of one element of a node; nothing for what is none."""
    kind = element.tag.rpartition('}')[2]
    matrix = np.eye(4)
    if kind not in ('matrix', 'translate', 'scale', 'rotate'):
        return matrix
    numbers = np.array((element.text or '').split(), float)
    if kind == 'matrix':
        return numbers.reshape(4, 4)
    if kind == 'translate':
        matrix[:3, 3] = numbers
    elif kind == 'scale':
        matrix[:3, :3] = np.diag(numbers)
    else:
        x, y, z = numbers[:3] / np.linalg.norm(numbers[:3])
        cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        angle = np.radians(numbers[3])
        matrix[:3, :3] += np.sin(angle) * cross + (1.0 - np.cos(angle)) * cross @ cross
    return matrix
