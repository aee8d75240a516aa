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

"""The humanoid of 13 joints as bare points, with the limits of the paper: cones, twist, hinges.

A. Aristidou and J. Lasenby, "FABRIK: a fast, iterative solver for the inverse kinematics problem",
2011, sections 4.1 to 4.3. The head is the root, and free; the trunk is in closed loops, shoulders
and hips are sub-bases. The constrained humanoid has a cone with twist at neck, shoulders, hips,
wrists and ankles and a hinge at elbows and knees, and knows the orientations of its five ends:
hands and feet are bones more, whose ends are the end effectors.
"""

from collections.abc import Iterable, Mapping
import math

import numpy as np

from vr_ik.evaluation.cmu_humanoid import DELETED, Found, JOINTS, KNOWN, Motion
from vr_ik.solvers.fabrik_limits import write_swing
from vr_ik.solvers.fabrik_tree import bone_frame, Cone, FabrikTree, Hinge
from vr_ik.types import Array

PointLimits = Mapping[str, Cone | Hinge]
"""Limits of the bones, by the names of the points in which they end."""

# CMU's Head is at the end of the neck. The trunk comes first, for its loops turn its bones.
_SOURCES = {'neck': 'Head'} | {
    joint.name: joint.source
    for part in ('shoulder', 'hip', 'elbow', 'wrist', 'knee', 'ankle')
    for joint in JOINTS
    if joint.name.endswith(part)
}
_LOOPS = (
    ('l_shoulder', 'r_shoulder'),
    ('l_hip', 'r_hip'),
    ('l_shoulder', 'r_hip'),
    ('r_shoulder', 'l_hip'),
)
# The other side of the trunk tells how its bones are turned.
_SIDES = {
    'l_shoulder': 'r_shoulder',
    'r_shoulder': 'l_shoulder',
    'l_hip': 'r_hip',
    'r_hip': 'l_hip',
}
# Hands and feet as bones: where they point in the T-pose; their length is no matter.
_ENDS = {
    'l_hand': ('l_wrist', (0.0, 1.0, 0.0)),
    'r_hand': ('r_wrist', (0.0, -1.0, 0.0)),
    'l_toes': ('l_ankle', (1.0, 0.0, 0.0)),
    'r_toes': ('r_ankle', (1.0, 0.0, 0.0)),
}
_END_M = 0.1
# Axes of the hinges in the T-pose, for which bending is positive, and how far they may bend.
_HINGES = {
    'l_wrist': (0.0, 0.0, -1.0),
    'r_wrist': (0.0, 0.0, 1.0),
    'l_ankle': (0.0, 1.0, 0.0),
    'r_ankle': (0.0, 1.0, 0.0),
}
_FOLD = 2.7
# The plane of a hinge is known where it is bent by more than this [rad].
_BENT = 0.3
_UNKNOWN = np.full(3, np.nan)
_PERCENTILES = (1.0, 99.0)
_LEAST = 0.02
_STEP = 30


def _parent(name: str) -> str:
    """Return the point from which the bone to a point comes."""
    if name in _ENDS:
        return _ENDS[name][0]
    side, part = name.split('_')
    parents = {
        'shoulder': 'neck',
        'hip': f'{side}_shoulder',
        'elbow': f'{side}_shoulder',
        'wrist': f'{side}_elbow',
        'knee': f'{side}_hip',
        'ankle': f'{side}_knee',
    }
    return parents[part]


class PointHumanoid:
    """The points in the size of a recording's skeleton; its state are the points (n, 3)."""

    def __init__(
        self, motion: Motion, limits: PointLimits | None, tolerance: float, max_iterations: int
    ) -> None:
        self._names = _names(limits is not None)
        rest = _points(motion, 0, self._names)
        self.start = np.array(list(rest.values()))
        number = {name: i for i, name in enumerate(self._names)}
        self._frames = _rest_frames(rest)
        self._tree = FabrikTree(
            self.start,
            [-1, *(number[_parent(name)] for name in self._names[1:])],
            {number[name]: limit for name, limit in (limits or {}).items()},
            [(number[a], number[b]) for a, b in _LOOPS],
            root_is_free=True,
            sides={number[a]: number[b] for a, b in _SIDES.items()} if limits else {},
        )
        self._deleted = [number[link] for link in DELETED]
        self._known = [number[link] for link in KNOWN]
        self._settings = tolerance, max_iterations

    def solve(self, state: Array, known: Array) -> Found:
        """Bring the known ends to their poses (5, 4, 4)."""
        ends = dict(zip(KNOWN, known, strict=True))
        targets = {0: ends['neck'][:3, 3]}
        for i, name in enumerate(self._names):
            if name in _ENDS:
                targets[i] = _end_pose(ends[_parent(name)], self._frames[name])
            elif name in KNOWN and len(self._names) == len(_SOURCES):
                targets[i] = ends[name][:3, 3]
        tolerance, most = self._settings
        solution = self._tree.solve(targets, state, ends['neck'][:3, :3], tolerance, most)
        return Found(solution.points, solution.iterations, solution.distance <= tolerance)

    def deleted(self, state: Array) -> Array:
        """Return where the deleted joints are (8, 3)."""
        return state[self._deleted]

    def ends(self, state: Array) -> Array:
        """Return where the known ends are (5, 3)."""
        return state[self._known]


def _names(with_ends: bool) -> list[str]:
    return [*_SOURCES, *(_ENDS if with_ends else ())]


def _points(motion: Motion, frame: int, names: Iterable[str]) -> dict[str, Array]:
    """Return where the points are in a frame, those of hands and feet by their orientations."""
    known = dict(zip(KNOWN, motion.known(frame), strict=True))
    places: dict[str, Array] = {}
    for name in names:
        if name in _ENDS:
            parent, direction = _ENDS[name]
            pose = known[parent]
            places[name] = pose[:3, 3] + _END_M * pose[:3, :3] @ direction
        else:
            places[name] = motion.position(_SOURCES[name], frame)
    return places


def _end_pose(pose: Array, rest_frame: Array) -> Array:
    """Return the pose of a hand's or foot's end, from that of the wrist or ankle."""
    end = np.eye(4)
    end[:3, :3] = pose[:3, :3] @ rest_frame
    end[:3, 3] = pose[:3, 3] + _END_M * end[:3, 2]
    return end


def _hinge(name: str) -> str:
    """Return the point in which the bone ends that the hinge in a bone's limb moves."""
    side, part = name.split('_')
    return f'{side}_{"wrist" if part in ("elbow", "wrist", "hand") else "ankle"}'


def _rest_frames(rest: Mapping[str, Array]) -> dict[str, Array]:
    """Return the frames of the bones in the T-pose, as the tree has them."""
    frames = {'neck': np.eye(3)}
    for name in list(rest)[1:]:
        start = rest[_parent(name)]
        across = rest[_SIDES[name]] - start if name in _SIDES else np.array(_HINGES[_hinge(name)])
        frames[name] = bone_frame(rest[name] - start, across)
    return frames


def limits_of_points(motions: Iterable[Motion]) -> PointLimits:
    """Return the limits within which the recorded joints are, but for a hundredth on each side."""
    turns: dict[str, list[tuple[float, float, float]]] = {}
    for motion in motions:
        rest = _rest_frames(_points(motion, 0, _names(True)))
        for frame in range(_STEP, motion.frames, _STEP):
            frames = _recorded_frames(motion, frame, rest)
            for name in frames.keys() - {'neck'}:
                parent = _parent(name)
                if parent in frames and name not in _HINGES:
                    free = frames[parent] @ rest[parent].T @ rest[name]
                    turns.setdefault(name, []).append(_swing_and_twist(free, frames[name]))
    return {
        name: _cone(name, np.nanpercentile(values, _PERCENTILES, axis=0))
        for name, values in turns.items()
        if not name.endswith('hip')
    } | {name: Hinge(axis, 0.0, _FOLD) for name, axis in _HINGES.items()}


def _cone(name: str, ranges: Array) -> Cone:
    """Return the cone of the least and the largest angles towards x and y, and twists."""
    axis = (1.0, 0.0, 0.0) if name in _SIDES else _HINGES[_hinge(name)]
    (left, down, least), (right, up, most) = ranges
    right, up, left, down = (max(float(angle), _LEAST) for angle in (right, up, -left, -down))
    return Cone((right, up, left, down), axis, (float(least), float(most)))


def _recorded_frames(motion: Motion, frame: int, rest: Mapping[str, Array]) -> dict[str, Array]:
    """Return the frames of the bones; without those of limbs whose hinge is not bent enough."""
    known = dict(zip(KNOWN, motion.known(frame), strict=True))
    places = _points(motion, frame, rest)
    frames = {'neck': known['neck'][:3, :3]}
    for name in list(rest)[1:]:
        start = places[_parent(name)]
        bone = places[name] - start
        if name in _SIDES:
            frames[name] = bone_frame(bone, places[_SIDES[name]] - start)
        elif name in _ENDS:
            frames[name] = known[_parent(name)][:3, :3] @ rest[name]
        else:
            normal = _normal(places, _hinge(name))
            if normal is not None:
                frames[name] = bone_frame(bone, normal)
            elif name not in _HINGES:  # What is known of it is its direction.
                frames[name] = np.column_stack((_UNKNOWN, _UNKNOWN, bone / np.linalg.norm(bone)))
    return frames


def _normal(places: Mapping[str, Array], end: str) -> Array | None:
    """Return the axis about which an elbow or knee is bent, where it is bent enough."""
    middle = _parent(end)
    first = places[middle] - places[_parent(middle)]
    second = places[end] - places[middle]
    normal = np.cross(first, second)
    size = np.linalg.norm(normal)
    return None if math.atan2(size, first @ second) < _BENT else np.asarray(normal / size)


def _swing_and_twist(free: Array, frame: Array) -> tuple[float, float, float]:
    """Return the angles of a bone from rest towards x and y, and its turn about itself [rad]."""
    x, y, z = free.T @ frame[:, 2]
    swing = np.empty(9)
    write_swing(np.ascontiguousarray(free).ravel(), *frame[:, 2], swing)
    axes = swing.reshape(3, 3)
    twist = math.atan2(axes[:, 1] @ frame[:, 0], axes[:, 0] @ frame[:, 0])
    side = math.hypot(x, y)
    share = math.atan2(side, z) / max(side, 1e-12)
    return share * x, share * y, twist
