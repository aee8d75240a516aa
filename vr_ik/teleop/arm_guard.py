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

"""Compiled guard of distances: no velocity is taken that leaves no way to rest clear of all.

Each joint that brakes from a velocity u comes to rest within

    S(u) = u^2 / (2 a / STOP_SLOPE) + |u| longest / 2

whatever the ticks' lengths: as smoothly as in a stop, or as hard as it may. So all ways to rest
lie in a box of joint positions q + x. Two convex parts at a distance d are parted by a plane with
the normal n between their nearest points. Along it a point p of the one comes nearer by

    - n . (p(q + x) - p(q)) <= - n . J x + r

where the left side of J x is least in a corner of the box and at an end of a capsule's axis, and r
bounds what the rotations add to the linear part. What is parted after all of this has not met.
Where it cannot be shown for a capsule it may be for all its pieces, each with a plane of its own.

A velocity for which it is shown is safe to brake from. Where it cannot be shown the joints brake,
as the velocity before had left them a way to.
"""

import math

from vr_ik.kinematics.compiled import inlined_kernel, kernel
from vr_ik.kinematics.tree import FIRST_COLUMN, Ints, PARENT, Q_INDEX
from vr_ik.teleop.arm_work import (
    ACCELERATION,
    Arm,
    CLEARANCE,
    LONGEST_TICK,
    LOWER,
    Q,
    STOP_AGE,
    STOP_FROM,
    STOP_LENGTH,
    UPPER,
    V,
    Work,
)
from vr_ik.teleop.barriers import (
    end_velocity,
    fastest_end,
    segment_box_distance,
    segment_distance,
)
from vr_ik.types import Array

# A smooth stop's largest deceleration over its mean one: of the curve 3 t^2 - 2 t^3.
STOP_SLOPE = 1.5
# What is too near when the arms are engaged may come this much nearer, for room to turn in [m].
_LEEWAY_M = 2e-3
# A distance may lose so much in a tick that this is left, or half of what there is [m].
_KEPT_M = 1e-3
_LEAST_M = 1e-7
_PIECES = 4


@inlined_kernel
def raise_bases(w: Work, bases: Array) -> None:
    """Ask of what was too near to be no nearer again than it is now, until all is as it should."""
    for i in range(bases.shape[0]):
        bases[i] = min(0.0, max(bases[i], w.rooms[i] - _LEEWAY_M))


@kernel
def stop_way(speed: float, acceleration: float, longest: float) -> float:
    """Return S: how far a joint goes at most until it is at rest [rad or m]."""
    return 0.5 * speed * (STOP_SLOPE * speed / acceleration + longest)


@inlined_kernel
def _write_box(arm: Arm, w: Work, state: Array, seconds: float) -> None:
    """Write between which positions each joint stays in this tick and on its way to rest."""
    longest = arm.settings[LONGEST_TICK]
    for j in range(state.shape[1]):
        limits, q, v, u = arm.joints[j], state[Q, j], state[V, j], w.trial[j]
        way = stop_way(abs(u), limits[ACCELERATION], longest)
        if state[STOP_LENGTH, j] > 0.0:
            # What is left of a stop that has begun: the curve's integral from its share on.
            share = min(state[STOP_AGE, j] / state[STOP_LENGTH, j], 1.0)
            left = 0.5 * (1.0 - share) ** 3 * (1.0 + share) * state[STOP_LENGTH, j]
            way = max(way, left * abs(state[STOP_FROM, j]) + 0.5 * abs(u) * longest)
        end = 0.5 * seconds * (v + u) + (way if u > 0.0 else -way)
        # A joint that turns round in the tick may first go half as far as it would have gone.
        first = 0.5 * seconds * v
        w.lows[j] = max(min(end, first, 0.0), limits[LOWER] - q)
        w.highs[j] = min(max(end, first, 0.0), limits[UPPER] - q)


@kernel
def _nearer(
    body_ints: Ints,
    columns: Array,
    lows: Array,
    highs: Array,
    segment: Array,
    normal: Array,
    sign: float,
    body: int,
    until: int,
) -> float:
    """Return how far, at most, a segment on a body comes against a normal [m].

    Joints are moved one after the other, the outermost first: each turns what is beyond it about
    the axis that it has here. What carries the body `until` as well is left out.
    """
    at_start, at_end, way, rest = 0.0, 0.0, 0.0, 0.0
    while body != until:
        column, j = columns[body_ints[body, FIRST_COLUMN]], body_ints[body, Q_INDEX]
        most = max(-lows[j], highs[j])
        x, y, z = end_velocity(column, segment, 0)
        rate = sign * (normal[0] * x + normal[1] * y + normal[2] * z)
        at_start += max(-lows[j] * rate, -highs[j] * rate)
        x, y, z = end_velocity(column, segment, 1)
        rate = sign * (normal[0] * x + normal[1] * y + normal[2] * z)
        at_end += max(-lows[j] * rate, -highs[j] * rate)
        turn = math.sqrt(column[3] ** 2 + column[4] ** 2 + column[5] ** 2)
        # The points have gone `way` already, by which their lever may have grown.
        speed = fastest_end(column, segment) + turn * way
        # A turn moves them at right angles to its axis alone, however far it goes.
        x = normal[1] * column[5] - normal[2] * column[4]
        y = normal[2] * column[3] - normal[0] * column[5]
        z = normal[0] * column[4] - normal[1] * column[3]
        rest += most * math.sqrt(x * x + y * y + z * z) * (way + 0.5 * most * speed)
        way += most * speed
        body = body_ints[body, PARENT]
    return max(at_start, at_end) + rest


@kernel
def _reach(
    body_ints: Ints, columns: Array, lows: Array, highs: Array, segment: Array, body: int
) -> float:
    """Return how far the points of a segment on a body go at most [m]."""
    way = 0.0
    while body >= 0:
        column, j = columns[body_ints[body, FIRST_COLUMN]], body_ints[body, Q_INDEX]
        turn = math.sqrt(column[3] ** 2 + column[4] ** 2 + column[5] ** 2)
        way += max(-lows[j], highs[j]) * (fastest_end(column, segment) + turn * way)
        body = body_ints[body, PARENT]
    return way


@kernel
def _carrier(body_ints: Ints, body: int, other: int) -> int:
    """Return the body that carries both; -1 is the world."""
    while body != other:
        # A parent comes before its children, and the world before all.
        if body > other:
            body = body_ints[body, PARENT]
        else:
            other = body_ints[other, PARENT]
    return body


@kernel
def _write_piece(segment: Array, piece: int, out: Array) -> None:
    for i in range(3):
        out[3 + i] = segment[3 + i] / _PIECES
        out[i] = segment[i] + piece * out[3 + i]


@kernel
def _least(room: float, base: float) -> float:
    """Return what has to be left of a distance at least [m]."""
    spare = room - base
    return room - max(spare - _KEPT_M, 0.5 * spare, _LEAST_M)


@inlined_kernel
def keeps_clear(arm: Arm, w: Work, state: Array, bases: Array, arms: int, seconds: float) -> bool:
    """Tell whether a tick to the velocities w.trial and any way to rest keep all distances."""
    bodies = arm.frame_bodies[2 * arms :]
    _write_box(arm, w, state, seconds)
    for k in range(bodies.shape[0]):
        w.reaches[k] = _reach(arm.body_ints, w.columns, w.lows, w.highs, w.segments[k], bodies[k])
    return (
        _tips_keep_clear(arm, w, bases, arms)
        and _pairs_keep_clear(arm, w, bases, arms, bodies)
        and _boxes_keep_clear(arm, w, bases, arms, bodies)
    )


@inlined_kernel
def _tips_keep_clear(arm: Arm, w: Work, bases: Array, arms: int) -> bool:
    kept = True
    for a in range(arms):
        for i in range(3):
            w.vector[i], w.vector[3 + i] = w.tips[a, 9 + i], 0.0
        for wall in range(6):
            room = w.rooms[6 * a + wall]
            if not room < math.inf:
                continue
            for i in range(3):
                w.normal[i] = 0.0
            w.normal[wall % 3] = 1.0 if wall < 3 else -1.0
            lost = _moves_against(arm, w, w.vector, 1.0, arm.frame_bodies[a], -1)
            if room - lost < _least(room, bases[6 * a + wall]):
                w.guarded[0] = 6 * a + wall
                kept = False
    return kept


@inlined_kernel
def _moves_against(arm: Arm, w: Work, segment: Array, sign: float, body: int, until: int) -> float:
    """Return how far a segment on a body comes against w.normal."""
    return _nearer(arm.body_ints, w.columns, w.lows, w.highs, segment, w.normal, sign, body, until)


@inlined_kernel
def _pairs_keep_clear(arm: Arm, w: Work, bases: Array, arms: int, bodies: Ints) -> bool:
    for pair in range(arm.pairs.shape[0]):
        one, two, room = arm.pairs[pair, 0], arm.pairs[pair, 1], w.rooms[6 * arms + pair]
        least = _least(room, bases[6 * arms + pair])
        if room - w.reaches[one] - w.reaches[two] >= least:
            continue
        carrier = _carrier(arm.body_ints, bodies[one], bodies[two])
        radii = arm.capsules[one, 6] + arm.capsules[two, 6] + arm.settings[CLEARANCE]
        if _pair_room(arm, w, one, w.segments[two], two, bodies, carrier) - radii >= least:
            continue
        # In pieces goes the one that may be far from the other's body.
        for k in range(_PIECES):
            _write_piece(w.segments[two], k, w.vector)
            if _pair_room(arm, w, one, w.vector, two, bodies, carrier) - radii < least:
                w.guarded[0] = 6 * arms + pair
                return False
    return True


@inlined_kernel
def _pair_room(
    arm: Arm, w: Work, one: int, piece: Array, two: int, bodies: Ints, carrier: int
) -> float:
    """Return what is left at least of the distance from a capsule's axis to a piece of another."""
    room = segment_distance(w.segments[one], piece, w.point, w.other, w.normal)
    room -= _moves_against(arm, w, w.segments[one], -1.0, bodies[one], carrier)
    return room - _moves_against(arm, w, piece, 1.0, bodies[two], carrier)


@inlined_kernel
def _boxes_keep_clear(arm: Arm, w: Work, bases: Array, arms: int, bodies: Ints) -> bool:
    i = 6 * arms + arm.pairs.shape[0] - 1
    for box in range(1, arm.boxes.shape[0]):
        for k in range(bodies.shape[0]):
            i += 1
            if not w.rooms[i] < math.inf:
                continue
            least = _least(w.rooms[i], bases[i])
            if w.rooms[i] - w.reaches[k] >= least:
                continue
            for p in range(_PIECES):
                _write_piece(w.segments[k], p, w.vector)
                room = segment_box_distance(w.vector, arm.boxes[box], w.point, w.normal)
                room -= arm.capsules[k, 6]
                if room - _moves_against(arm, w, w.vector, 1.0, bodies[k], -1) < least:
                    w.guarded[0] = i
                    return False
    return True
