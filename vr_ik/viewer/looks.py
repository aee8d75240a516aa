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

"""The visible shapes of a URDF: one mesh for each link and colour."""

from collections import defaultdict
import io
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vr_ik.errors import MissingDependencyError, UrdfError
from vr_ik.io.packages import find_file
from vr_ik.types import Array

Colour = tuple[int, int, int]

_EDGE_RAD = 0.6
"""Faces that meet at more than this are an edge, less are a bent surface."""


class LinkMesh(NamedTuple):
    """What is seen of a link in one colour."""

    link: str
    vertices: Array
    """(n, 3), in the link's frame [m]."""
    faces: NDArray[np.int64]
    """(m, 3) indices of vertices."""
    colour: Colour
    """Red, green, blue, 0 to 255."""


def link_meshes(urdf_text: str) -> list[LinkMesh]:
    """Return the visuals of a URDF, those of one link and one colour joined."""
    trimesh = _trimesh()
    meshes = []
    for (link, colour), parts in _parts(urdf_text).items():
        # Renderers average normals over shared vertices: edges get vertices of their own.
        whole = trimesh.graph.smooth_shade(trimesh.util.concatenate(parts), _EDGE_RAD)
        meshes.append(LinkMesh(link, whole.vertices, whole.faces, colour))
    return meshes


def link_hulls(urdf_text: str, colour: Colour) -> list[LinkMesh]:
    """Return one convex hull a link: without inner walls, which show where it is see-through."""
    trimesh = _trimesh()
    shapes: dict[str, list[Any]] = defaultdict(list)
    for (link, _), parts in _parts(urdf_text).items():
        shapes[link] += parts
    hulls = {link: trimesh.util.concatenate(parts).convex_hull for link, parts in shapes.items()}
    return [LinkMesh(link, hull.vertices, hull.faces, colour) for link, hull in hulls.items()]


def _parts(urdf_text: str) -> dict[tuple[str, Colour], list[Any]]:
    """Return the shapes by link and colour, each moved to its place on the link."""
    scene = _load_scene(urdf_text)
    parts: dict[tuple[str, Colour], list[Any]] = defaultdict(list)
    for node in scene.graph.nodes_geometry:
        link = scene.graph.transforms.parents[node]
        pose_link_from_shape, geometry = scene.graph.get(node, link)
        solid = scene.geometry[geometry]
        red, green, blue = (int(channel) for channel in _colour(solid.visual)[:3])
        # A copy as plain triangles: spheres, boxes and cylinders refuse some transforms.
        shape = _trimesh().Trimesh(solid.vertices, solid.faces)
        parts[link, (red, green, blue)].append(shape.apply_transform(pose_link_from_shape))
    return parts


def _load_scene(urdf_text: str) -> Any:
    try:
        from yourdfpy import URDF
    except ImportError as error:
        raise MissingDependencyError(_how_to_get('yourdfpy')) from error
    text = io.BytesIO(urdf_text.encode())
    scene = URDF.load(text, build_scene_graph=True, filename_handler=_mesh_file).scene
    if not scene.graph.nodes_geometry:
        raise UrdfError('The robot description has no visual shapes to show.')
    return scene


def _colour(visual: Any) -> Any:
    """Return the colour of a shape, whether it is its own or its material's."""
    return visual.main_color if hasattr(visual, 'main_color') else visual.material.main_color


def _mesh_file(fname: str) -> str:
    return str(find_file(fname))


def _trimesh() -> Any:
    try:
        import trimesh
    except ImportError as error:
        raise MissingDependencyError(_how_to_get('trimesh')) from error
    return trimesh


def _how_to_get(package: str) -> str:
    return f"The viewer needs '{package}': pip install viser yourdfpy."
