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

"""Compiled distances that an arm is to keep: rows 'gradient . u >= - fastest approach'.

They lead the arm around what it must not touch, a little outside of the distances that
`arm_guard` sees to.
"""

import math

from vr_ik.kinematics.compiled import inlined_kernel, kernel
from vr_ik.kinematics.kernels import last_column
from vr_ik.kinematics.tree import (
    COLUMN_DOF,
    COLUMN_PARENT,
    FIRST_COLUMN,
    Ints,
    PARENT,
    Q_INDEX,
)
from vr_ik.teleop.arm_work import ACCELERATION, Arm, CLEARANCE, LONGEST_TICK, V, Work
from vr_ik.teleop.barriers import (
    fastest,
    fastest_end,
    segment_box_distance,
    segment_distance,
)
from vr_ik.types import Array

# Share of the joints' acceleration that is counted on for braking: the way to an obstacle bends,
# and a smooth stop takes longer than the shortest one.
_BRAKING_SHARE = 0.5
# Where hardly a joint changes a distance there is no braking; this keeps numbers finite [m/s^2].
_LEAST_BRAKING = 1e-6
# A distance is looked at closely where it is no more than this [m] and the way of a stop, with
# this deceleration [m/s^2] at least.
_NEAR_M = 0.03
# Kept beside what has to be kept, for room to go along an obstacle in [m].
MARGIN_M = 5e-3
_SLOW_BRAKING = 1.5
# How fast an arm that is led takes that margin back where it has lost some [1/s], at most [m/s].
_RECEDE_GAIN = 4.0
_RECEDE = 0.01


@inlined_kernel
def write_rows(arm: Arm, w: Work, state: Array, arms: int, seconds: float) -> int:
    """Write all rooms, and the rows of those that may hold somebody back; return their number."""
    bodies = arm.frame_bodies[2 * arms :]
    _write_twists(arm.body_ints, w.columns, state[V], w.twists)
    _write_speeds(bodies, w.segments, w.twists, w.speeds)
    count = _write_tip_rows(arm, w, state, arms, seconds)
    count = _write_pair_rows(arm, w, state, arms, seconds, bodies, count)
    return _write_box_rows(arm, w, state, arms, seconds, bodies, count)


@inlined_kernel
def _write_tip_rows(arm: Arm, w: Work, state: Array, arms: int, seconds: float) -> int:
    count = 0
    for a in range(arms):
        for wall in range(6):
            sign = 1.0 if wall < 3 else -1.0
            room = sign * (w.tips[a, 9 + wall % 3] - arm.boxes[0, wall])
            w.rooms[6 * a + wall] = room
            if room < math.inf:
                row = w.rows[count]
                for j in range(arm.joints.shape[0]):
                    row[j] = sign * w.jacobian[6 * a + wall % 3, j]
                _finish(arm, state[V], row, room, seconds)
                count += 1
    return count


@inlined_kernel
def _write_pair_rows(
    arm: Arm, w: Work, state: Array, arms: int, seconds: float, bodies: Ints, first: int
) -> int:
    count = first
    for pair in range(arm.pairs.shape[0]):
        one, two = arm.pairs[pair, 0], arm.pairs[pair, 1]
        room = segment_distance(w.segments[one], w.segments[two], w.point, w.other, w.normal)
        room -= arm.capsules[one, 6] + arm.capsules[two, 6] + arm.settings[CLEARANCE]
        w.rooms[6 * arms + pair] = room
        if room < _stop_way(w.speeds[one] + w.speeds[two], seconds, arm.settings[LONGEST_TICK]):
            row = w.rows[count]
            row[:] = 0.0
            _add_point(arm, w, bodies[one], w.point, -1.0, row)
            _add_point(arm, w, bodies[two], w.other, 1.0, row)
            _finish(arm, state[V], row, room, seconds)
            count += 1
    return count


@inlined_kernel
def _write_box_rows(
    arm: Arm, w: Work, state: Array, arms: int, seconds: float, bodies: Ints, first: int
) -> int:
    count, i = first, 6 * arms + arm.pairs.shape[0]
    for box in range(1, arm.boxes.shape[0]):
        for k in range(arm.capsules.shape[0]):
            w.rooms[i] = math.inf
            if bodies[k] >= 0:
                room = segment_box_distance(w.segments[k], arm.boxes[box], w.point, w.normal)
                room -= arm.capsules[k, 6]
                w.rooms[i] = room
                if room < _stop_way(w.speeds[k], seconds, arm.settings[LONGEST_TICK]):
                    row = w.rows[count]
                    row[:] = 0.0
                    _add_point(arm, w, bodies[k], w.point, 1.0, row)
                    _finish(arm, state[V], row, room, seconds)
                    count += 1
            i += 1
    return count


@inlined_kernel
def _add_point(arm: Arm, w: Work, body: int, at: Array, sign: float, row: Array) -> None:
    """Add how fast a point on a body goes along w.normal."""
    add_motion(arm.body_ints, arm.column_ints, w.columns, body, at, w.normal, sign, row)


@kernel
def _stop_way(speed: float, seconds: float, longest: float) -> float:
    """Return a distance within which something at this speed may have to brake [m]."""
    return _NEAR_M + speed * (0.5 * longest + seconds) + speed * speed / (2.0 * _SLOW_BRAKING)


@kernel
def add_motion(
    body_ints: Ints,
    column_ints: Ints,
    columns: Array,
    body: int,
    at: Array,
    way: Array,
    sign: float,
    row: Array,
) -> None:
    """Add to a row how fast a point on a body goes along `way`, for each joint's velocity."""
    if body < 0:
        return
    # way . (v + omega x at) = way . v + (at x way) . omega
    mx = at[1] * way[2] - at[2] * way[1]
    my = at[2] * way[0] - at[0] * way[2]
    mz = at[0] * way[1] - at[1] * way[0]
    column = last_column(body_ints, body)
    while column >= 0:
        c = columns[column]
        rate = way[0] * c[0] + way[1] * c[1] + way[2] * c[2] + mx * c[3] + my * c[4] + mz * c[5]
        row[column_ints[column, COLUMN_DOF]] += sign * rate
        column = column_ints[column, COLUMN_PARENT]


@kernel
def _write_twists(body_ints: Ints, columns: Array, velocities: Array, twists: Array) -> None:
    """Write each body's velocity at the origin (3) and its turn rate (3)."""
    for body in range(body_ints.shape[0]):
        parent = body_ints[body, PARENT]
        c = columns[body_ints[body, FIRST_COLUMN]]
        v = velocities[body_ints[body, Q_INDEX]]
        for i in range(6):
            twists[body, i] = v * c[i] + (twists[parent, i] if parent >= 0 else 0.0)


@kernel
def _write_speeds(bodies: Ints, segments: Array, twists: Array, speeds: Array) -> None:
    """Write how fast the faster end of each capsule's axis goes [m/s]."""
    for k in range(bodies.shape[0]):
        speeds[k] = fastest_end(twists[bodies[k]], segments[k]) if bodies[k] >= 0 else 0.0


@inlined_kernel
def _finish(arm: Arm, velocities: Array, row: Array, room: float, seconds: float) -> None:
    """Write how fast a row's distance may shrink at the end of the tick.

    What began too near comes no nearer; it is not driven away without the operator. Of a margin
    that was lost since, some is taken back: without any, no turn can be shown to be safe, and an
    arm would be stuck at what it touches.
    """
    n = arm.joints.shape[0]
    approach, braking = 0.0, _LEAST_BRAKING
    for j in range(n):
        approach -= row[j] * velocities[j]
        braking += _BRAKING_SHARE * abs(row[j]) * arm.joints[j, ACCELERATION]
    longest = arm.settings[LONGEST_TICK]
    row[n] = fastest(approach, room - MARGIN_M, braking, seconds, longest)
    if 0.0 <= room < MARGIN_M:
        row[n] -= min(_RECEDE_GAIN * (MARGIN_M - room), _RECEDE)
    row[n + 1] = 0.0
