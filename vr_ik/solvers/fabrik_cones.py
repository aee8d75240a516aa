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

"""Cones and twist limits of FABRIK for ball joints of a URDF: hinges that meet in a point.

A. Aristidou and J. Lasenby, "FABRIK: a fast, iterative solver for the inverse kinematics problem",
2011, section 4.3. A cone's axis is where the bone points when the hinges are in the middle of
their ranges; its four angles and the range of the twist are as far as the hinges within their
limits take the bone. The hinges keep their own limits too, whatever the cone allows.
"""

import itertools
import math

import numpy as np

from vr_ik.kinematics.compiled import kernel
from vr_ik.kinematics.tree import Ints, KIND, MULTIPLIER, OFFSET, PARENT, Q_INDEX, REVOLUTE, Tree
from vr_ik.math.rotations import rotation_to_axis
from vr_ik.solvers.fabrik_limits import limit_to_cone, limit_twist, write_swing
from vr_ik.solvers.fabrik_net import into_frame, out_of_frame
from vr_ik.solvers.geometric_state import centre, HELD, Problem, Work
from vr_ik.solvers.hinge_moves import turn_terms
from vr_ik.solvers.joint_points import centre_in_parent, DRIVES, JointPoints, NEXT, PREVIOUS
from vr_ik.solvers.joint_steps import place_body, turn_joint
from vr_ik.types import Array

# Columns, by the first body of a ball joint: the last one, or NONE, or LED where another body's
# row leads this one too; the bone's frame at rest in the parent of the first body; the bone's
# frame in the last body; theta_1 to theta_4 and least and largest twist [rad].
LAST, REST, BONE, ANGLES, TWIST, CONE = 0, 1, 10, 19, 23, 25
NONE, LED = -1.0, -2.0
# How finely the ranges of the hinges are sampled.
_SAMPLES = 9
# A swing nearer to half a turn tells no twist [rad].
_HALF_TURN = 0.95 * math.pi
# Share of the bone's direction that its twist has where the hinges cannot do both.
_TWIST_PULL = 0.1
_PASSES = 3


def cone_rows(
    tree: Tree, points: JointPoints, ranges: Array, placements: Array, task_bodies: Ints
) -> Array:
    """Return (n_bodies, 25) of a tree; `ranges` (n_bodies, 2) are the limits of the hinges [rad].

    A ball joint of two or three hinges with a bone beyond it gets a cone, unless it is free, or a
    task is on a body within it: stage 1 then need not tell where its last body should be.
    """
    n = len(tree.body_ints)
    rows = np.zeros((n, CONE))
    rows[:, LAST] = NONE
    for last in range(n):
        group = _ball(tree, points, last)
        bone = _bone(tree, points, placements, last)
        spans = ranges[group, 1] - ranges[group, 0]
        if (
            len(group) not in (2, 3)
            or np.linalg.norm(bone) < 1e-9
            or (spans >= 2.0 * math.pi).all()
            or not points.bodies[group, DRIVES].all()
            or np.isin(task_bodies, group[:-1]).any()
        ):
            continue
        rows[group, LAST] = LED
        rows[group[0]] = _cone(tree, group, bone, ranges[group])
    return rows


def hinge_ranges(tree: Tree, joints: Array, first_q: int) -> Array:
    """Return (n_bodies, 2): limits of each body's angle [rad], a turn at most."""
    ranges = np.zeros((len(tree.body_ints), 2))
    for body, (ints, row) in enumerate(zip(tree.body_ints, tree.body_floats, strict=True)):
        if ints[KIND] == REVOLUTE:
            lower, upper = joints[ints[Q_INDEX] - first_q, :2]
            if not upper - lower < 2.0 * math.pi:
                lower, upper = -math.pi, math.pi
            ends = row[MULTIPLIER] * np.array((lower, upper)) + row[OFFSET]
            ranges[body] = np.sort(ends)
    return ranges


def _ball(tree: Tree, points: JointPoints, last: int) -> list[int]:
    """Return the hinges that meet where a body's does, itself the last; none if others branch."""
    parents, kinds = tree.body_ints[:, PARENT], tree.body_ints[:, KIND]
    group: list[int] = []
    body = last
    while body >= 0 and kinds[body] == REVOLUTE:
        beyond = np.flatnonzero(parents == body)
        if group and list(beyond) != [group[0]]:
            return []
        if not group and any(points.bodies[child, PREVIOUS] != body for child in beyond):
            return []
        group.insert(0, body)
        if points.bodies[body, PREVIOUS] == parents[body]:
            return group
        body = int(parents[body])
    return []


def _bone(tree: Tree, points: JointPoints, placements: Array, last: int) -> Array:
    """Return the middle of the next points from a body's centre, in its frame."""
    start, end = points.bodies[last, NEXT], points.bodies[last + 1, NEXT]
    n = len(tree.body_ints)
    ends = [
        centre_in_parent(tree, points.centres, point) if point < n else placements[point - n, 9:12]
        for point in points.lists[start:end]
    ]
    if not ends:
        return np.zeros(3)
    return np.mean(ends, axis=0) - (0.0, 0.0, points.centres[last])


def _cone(tree: Tree, group: list[int], bone: Array, ranges: Array) -> Array:
    middle = _turned(tree, group, ranges.mean(axis=1))
    bone = bone / np.linalg.norm(bone)
    # The axes of the section are those of the hinge that is most across the bone.
    z = middle[-1] @ bone
    across = min((turned[:, 2] for turned in middle), key=lambda axis: abs(float(axis @ z)))
    x = across - (across @ z) * z
    x = x / np.linalg.norm(x) if np.linalg.norm(x) > 1e-6 else rotation_to_axis(z)[:, 0]
    rest = np.column_stack((x, np.cross(z, x), z))
    in_last = middle[-1].T @ rest
    swings, twists = [], []
    for angles in itertools.product(*(np.linspace(a, b, _SAMPLES) for a, b in ranges)):
        local = rest.T @ _turned(tree, group, np.array(angles))[-1] @ in_last
        swing, twist = _swing_and_twist(local)
        swings.append(swing)
        if math.hypot(*swing) < _HALF_TURN:
            twists.append(twist)
    most, least = np.max(swings, axis=0), np.min(swings, axis=0)
    angles = np.clip((most[0], most[1], -least[0], -least[1]), 0.0, math.pi)
    return np.concatenate(
        ([group[-1]], rest.ravel(), in_last.ravel(), angles, (min(twists), max(twists)))
    )


def _turned(tree: Tree, group: list[int], angles: Array) -> list[Array]:
    """Return the orientations of a ball joint's bodies in the parent of the first."""
    turned, rotation = [], np.eye(3)
    for body, angle in zip(group, angles, strict=True):
        c, s = math.cos(angle), math.sin(angle)
        turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        rotation = rotation @ tree.body_floats[body, :9].reshape(3, 3) @ turn
        turned.append(rotation)
    return turned


def _swing_and_twist(local: Array) -> tuple[Array, float]:
    """Return how far z has turned towards x and y, and the turn about it [rad]."""
    x, y, z = local[:, 2]
    side = math.hypot(x, y)
    swing = np.array((x, y)) * (math.atan2(side, z) / side if side > 1e-12 else 0.0)
    frame = np.zeros(9)
    write_swing(np.eye(3).ravel(), x, y, z, frame)
    turn = frame.reshape(3, 3).T @ local
    return swing, math.atan2(turn[1, 0], turn[0, 0])


@kernel
def lead_cone(p: Problem, w: Work, first: int) -> None:
    """Turn the hinges of a ball joint so that its bone goes where stage 1 wants it in its cone.

    The bodies before it are in their places.
    """
    row = p.params[first]
    last = int(row[LAST])
    place_body(p, w, first)
    _place_beyond(p, w, first, last)
    _write_goal(p, w, row, first, last)
    for _ in range(_PASSES):
        body = first
        _turn_to_goal(p, w, row, body, last)
        while body != last:
            body = _only_child(p, body)
            _turn_to_goal(p, w, row, body, last)


@kernel
def _place_beyond(p: Problem, w: Work, body: int, last: int) -> None:
    """Place the bodies of a ball joint beyond one that has moved."""
    while body != last:
        body = _only_child(p, body)
        place_body(p, w, body)


@kernel
def _only_child(p: Problem, body: int) -> int:
    child = body + 1
    while p.body_ints[child, PARENT] != body:
        child += 1
    return child


@kernel
def _write_goal(p: Problem, w: Work, row: Array, first: int, last: int) -> None:
    """Write the frame of the bone within cone and twist to w.other."""
    rest, swing, frame = w.other, w.spread, w.pose
    parent = p.body_ints[first, PARENT]
    for i in range(3):
        for k in range(3):
            rest[3 * i + k] = row[REST + 3 * i + k]
            if parent >= 0:
                rest[3 * i + k] = 0.0
                for m in range(3):
                    rest[3 * i + k] += w.poses[parent, 3 * i + m] * row[REST + 3 * m + k]
    _write_product(w.wanted[last], row[BONE:ANGLES], swing)
    x, y, z = _direction(p, w, last)
    if x == 0.0 and y == 0.0 and z == 0.0:
        x, y, z = swing[2], swing[5], swing[8]
    a, b, c = into_frame(rest, x, y, z)
    u, v, t = limit_to_cone(a, b, c, row[ANGLES:TWIST])
    if a * u + b * v + c * t < 1.0 - 1e-9:
        w.notes[HELD] = 1.0
    x, y, z = out_of_frame(rest, u, v, t)
    write_swing(swing, x, y, z, frame)
    write_swing(rest, x, y, z, swing)
    limit_twist(swing, frame, row[TWIST], row[TWIST + 1], rest)


@kernel
def _write_product(pose: Array, frame: Array, out: Array) -> None:
    """Write a frame (9) of a body at a pose (12) in the world."""
    for i in range(3):
        for k in range(3):
            out[3 * i + k] = 0.0
            for m in range(3):
                out[3 * i + k] += pose[3 * i + m] * frame[3 * m + k]


@kernel
def _direction(p: Problem, w: Work, last: int) -> tuple[float, float, float]:
    """Return the unit vector from a body's centre to the next points where stage 1 wants them."""
    n = p.body_ints.shape[0]
    ox, oy, oz = centre(p, w.poses[last], last)
    x, y, z = 0.0, 0.0, 0.0
    for k in range(p.points[last, NEXT], p.points[last + 1, NEXT]):
        point = p.lists[k]
        if point < n:
            weight = w.load[point]
            a, b, c = centre(p, w.wanted[point], point)
        else:
            weight = max(p.weights[point - n, 0], 0.0)
            target, shift = p.targets[point - n], w.shifts[point - n]
            a, b, c = target[0, 3] + shift[0], target[1, 3] + shift[1], target[2, 3] + shift[2]
        if weight > 0.0:
            x, y, z = x + weight * (a - ox), y + weight * (b - oy), z + weight * (c - oz)
    size = math.sqrt(x * x + y * y + z * z)
    if not size > 0.0:
        return 0.0, 0.0, 0.0
    return x / size, y / size, z / size


@kernel
def _turn_to_goal(p: Problem, w: Work, row: Array, body: int, last: int) -> None:
    """Turn one hinge so that the bone's frame comes nearest to w.other; carry the bone along."""
    frame, goal = w.spread, w.other
    _write_product(w.poses[last], row[BONE:ANGLES], frame)
    sine, cosine = 0.0, 0.0
    for i in range(3):
        s, c = turn_terms(
            w.poses[body], frame[i], frame[3 + i], frame[6 + i], goal[i], goal[3 + i], goal[6 + i]
        )
        weight = 1.0 if i == 2 else _TWIST_PULL
        sine, cosine = sine + weight * s, cosine + weight * c
    turn_joint(p, w, body, sine, cosine, math.inf)
    _place_beyond(p, w, body, last)
