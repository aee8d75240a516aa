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

"""Compiled barriers: how fast one may go toward what must not be crossed, and how near it is."""

import math

from vr_ik.kinematics.compiled import kernel
from vr_ik.kinematics.kernels import body_poses
from vr_ik.kinematics.tree import Ints
from vr_ik.types import Array

# Segments shorter than this are points [m^2].
_POINT = 1e-12
# A place on a segment is nearest to a box where the slope is so small [m^2].
_FLAT = 1e-9
_TRIES = 40
# A segment that is no farther from a box [m] may be inside: its depth is looked for, by thirds.
_TOUCHING_M = 1e-4
_THIRDS = 50


@kernel
def fastest(
    speed: float, room: float, deceleration: float, seconds: float, longest: float
) -> float:
    """Return how fast one may be at the end of a tick toward a barrier, at least 0.

    With the speed u at the end of the tick there must be room for the tick's own way and for a
    stop in ticks of any length up to `longest`:

        (speed + u) seconds / 2 + u^2 / (2 deceleration) + u longest / 2 <= room

    From there on one can always brake evenly to exactly zero without crossing: a tick that ends
    with max(0, u - deceleration * its length) keeps this inequality.
    """
    left = room - 0.5 * speed * seconds
    if left <= 0.0:
        return 0.0
    half = 0.5 * (longest + seconds)
    return deceleration * (math.sqrt(half * half + 2.0 * left / deceleration) - half)


@kernel
def braked(speed: float, change: float) -> float:
    """Return a speed after it has come nearer to zero by `change`, and not beyond."""
    if speed > change:
        return speed - change
    if speed < -change:
        return speed + change
    return 0.0


@kernel
def end_velocity(motion: Array, segment: Array, end: int) -> tuple[float, float, float]:
    """Return how fast the start (0) or end (1) of a segment goes.

    `motion` is a body's velocity at the origin (3) and its turn rate (3).
    """
    x, y = segment[0] + end * segment[3], segment[1] + end * segment[4]
    z = segment[2] + end * segment[5]
    return (
        motion[0] + motion[4] * z - motion[5] * y,
        motion[1] + motion[5] * x - motion[3] * z,
        motion[2] + motion[3] * y - motion[4] * x,
    )


@kernel
def fastest_end(motion: Array, segment: Array) -> float:
    """Return how fast the faster end of a segment goes [m/s]."""
    x, y, z = end_velocity(motion, segment, 0)
    u, v, w = end_velocity(motion, segment, 1)
    return math.sqrt(max(x * x + y * y + z * z, u * u + v * v + w * w))


@kernel
def _within_one(value: float) -> float:
    return min(max(value, 0.0), 1.0)


@kernel
def nearest_on_segments(a: Array, b: Array) -> tuple[float, float]:
    """Return where on two segments (start 3, way 3) the nearest points lie, from 0 to 1.

    C. Ericson, "Real-time collision detection", 2005, section 5.1.9.
    """
    rx, ry, rz = a[0] - b[0], a[1] - b[1], a[2] - b[2]
    aa = a[3] * a[3] + a[4] * a[4] + a[5] * a[5]
    bb = b[3] * b[3] + b[4] * b[4] + b[5] * b[5]
    ar = a[3] * rx + a[4] * ry + a[5] * rz
    br = b[3] * rx + b[4] * ry + b[5] * rz
    if aa <= _POINT:
        return 0.0, (_within_one(br / bb) if bb > _POINT else 0.0)
    if bb <= _POINT:
        return _within_one(-ar / aa), 0.0
    ab = a[3] * b[3] + a[4] * b[4] + a[5] * b[5]
    crossing = aa * bb - ab * ab
    s = _within_one((ab * br - ar * bb) / crossing) if crossing > _POINT * _POINT else 0.0
    t = (ab * s + br) / bb
    if t < 0.0:
        return _within_one(-ar / aa), 0.0
    if t > 1.0:
        return _within_one((ab - ar) / aa), 1.0
    return s, t


@kernel
def segment_distance(a: Array, b: Array, point: Array, other: Array, normal: Array) -> float:
    """Return the distance of two segments; write the nearest points and the way between them."""
    s, t = nearest_on_segments(a, b)
    total = 0.0
    for i in range(3):
        point[i] = a[i] + s * a[3 + i]
        other[i] = b[i] + t * b[3 + i]
        normal[i] = other[i] - point[i]
        total += normal[i] * normal[i]
    distance = math.sqrt(total)
    for i in range(3):
        normal[i] /= max(distance, 1e-12)
    return distance


@kernel
def _beyond(value: float, low: float, high: float) -> float:
    """Return how far a coordinate is outside an interval, with its sign; 0 inside."""
    return max(value - high, 0.0) + min(value - low, 0.0)


@kernel
def _box_slope(a: Array, box: Array, share: float) -> float:
    """Return how a point's squared distance from a box grows along a segment, halved."""
    slope = 0.0
    for i in range(3):
        slope += a[3 + i] * _beyond(a[i] + share * a[3 + i], box[i], box[3 + i])
    return slope


@kernel
def nearest_to_box(a: Array, box: Array) -> float:
    """Return where on a segment (start 3, way 3) the point nearest to a box lies, from 0 to 1.

    The distance is convex along the segment, and the slope of its square piecewise linear: where
    it changes its sign is found by false position, in Illinois's variant.
    """
    low, high = 0.0, 1.0
    at_low, at_high = _box_slope(a, box, low), _box_slope(a, box, high)
    if at_low >= 0.0:
        return 0.0
    if at_high <= 0.0:
        return 1.0
    share, side = 0.0, 0
    for _ in range(_TRIES):
        share = (low * at_high - high * at_low) / (at_high - at_low)
        slope = _box_slope(a, box, share)
        if abs(slope) < _FLAT:
            break
        if slope > 0.0:
            at_low = 0.5 * at_low if side > 0 else at_low
            high, at_high, side = share, slope, 1
        else:
            at_high = 0.5 * at_high if side < 0 else at_high
            low, at_low, side = share, slope, -1
    return share


@kernel
def box_distance(point: Array, box: Array, normal: Array) -> float:
    """Return a point's distance from a box, negative inside; write the way out of it (3)."""
    total = 0.0
    for i in range(3):
        normal[i] = _beyond(point[i], box[i], box[3 + i])
        total += normal[i] * normal[i]
    if total > 0.0:
        distance = math.sqrt(total)
        for i in range(3):
            normal[i] /= distance
        return distance
    face, depth = 0, math.inf
    for i in range(3):
        normal[i] = 0.0
        if point[i] - box[i] < depth:
            face, depth = i, point[i] - box[i]
        if box[3 + i] - point[i] < depth:
            face, depth = 3 + i, box[3 + i] - point[i]
    normal[face % 3] = -1.0 if face < 3 else 1.0
    return -depth


@kernel
def _box_distance_at(a: Array, box: Array, share: float, point: Array, normal: Array) -> float:
    """Return the distance of the point of a segment at a share of it; write point and normal."""
    for i in range(3):
        point[i] = a[i] + share * a[3 + i]
    return box_distance(point, box, normal)


@kernel
def segment_box_distance(a: Array, box: Array, point: Array, normal: Array) -> float:
    """Return a segment's distance from a box; write its nearest point and the way out there.

    Inside it is the negative depth of its deepest point: no part of a segment is nearer.
    """
    distance = _box_distance_at(a, box, nearest_to_box(a, box), point, normal)
    if distance > _TOUCHING_M:
        return distance
    # With its sign the distance is convex along a segment too.
    low, high = 0.0, 1.0
    for _ in range(_THIRDS):
        third = (high - low) / 3.0
        at_low = _box_distance_at(a, box, low + third, point, normal)
        if at_low > _box_distance_at(a, box, high - third, point, normal):
            low += third
        else:
            high -= third
    return _box_distance_at(a, box, 0.5 * (low + high), point, normal)


@kernel
def write_segments(bodies: Ints, capsules: Array, poses: Array, segments: Array) -> None:
    """Write the axes (start 3, way 3) of capsules on bodies; body -1 is the fixed world."""
    for k in range(capsules.shape[0]):
        capsule, segment, body = capsules[k], segments[k], bodies[k]
        if body < 0:
            for i in range(6):
                segment[i] = capsule[i]
            continue
        pose = poses[body]
        for i in range(3):
            x, y, z = pose[3 * i], pose[3 * i + 1], pose[3 * i + 2]
            segment[i] = pose[9 + i] + x * capsule[0] + y * capsule[1] + z * capsule[2]
            segment[3 + i] = x * capsule[3] + y * capsule[4] + z * capsule[5]


@kernel
def capsule_distance(one: Array, two: Array, radii: float) -> float:
    """Return the distance between two capsules with such axes, negative where they overlap."""
    s, t = nearest_on_segments(one, two)
    total = 0.0
    for i in range(3):
        total += (one[i] + s * one[3 + i] - two[i] - t * two[3 + i]) ** 2
    return math.sqrt(total) - radii


@kernel
def pair_distances(
    body_ints: Ints,
    body_floats: Array,
    bodies: Ints,
    capsules: Array,
    pairs: Ints,
    configurations: Array,
    poses: Array,
    segments: Array,
    distances: Array,
) -> None:
    """Write the distances (configurations, pairs) between capsules [m]; poses are scratch."""
    for c in range(configurations.shape[0]):
        body_poses(body_ints, body_floats, configurations[c], poses)
        write_segments(bodies, capsules, poses, segments)
        for p in range(pairs.shape[0]):
            one, two = pairs[p, 0], pairs[p, 1]
            radii = capsules[one, 6] + capsules[two, 6]
            distances[c, p] = capsule_distance(segments[one], segments[two], radii)
