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

"""Compiled step of the arms: joint velocities within all limits, one call a tick.

The limits of position, velocity and acceleration are a box for each joint that is never empty,
since it holds an even braking to zero (`barriers.fastest`); they are never exceeded. Nor are
distances, which a guard sees to (`arm_guard`); lest it has to, they are heeded as heavy penalties
where the free solution would break them. Then come the tips' targets, then the posture. Between
ticks the joints accelerate evenly.
"""

import math

from vr_ik.kinematics.compiled import inlined_kernel, kernel
from vr_ik.kinematics.tree import Ints
from vr_ik.solvers.box_step import bounded_step
from vr_ik.teleop.arm_frames import write_frames
from vr_ik.teleop.arm_guard import keeps_clear, raise_bases, STOP_SLOPE
from vr_ik.teleop.arm_rows import write_rows
from vr_ik.teleop.arm_wishes import write_errors, write_wishes
from vr_ik.teleop.arm_work import (
    ACCELERATION,
    Arm,
    carve,
    FOLLOWING,
    GUARDED,
    HORIZON,
    LONGEST_TICK,
    LOWER,
    NOTHING,
    POSE,
    Q,
    STOP_AGE,
    STOP_FROM,
    STOP_LENGTH,
    TWIST,
    UPPER,
    V,
    VELOCITY,
    Work,
)
from vr_ik.teleop.barriers import braked, fastest
from vr_ik.types import Array

# How heavily a distance weighs that would be broken, against a metre of the tip.
_HEED = 1e4
_ROUNDS = 6
# Where the guard refuses a velocity, it is asked for the half of it, and so on, so many times.
_TRIES = 3


@inlined_kernel
def _write_box(arm: Arm, w: Work, state: Array, braking: float, seconds: float) -> None:
    """Write the joints' velocity bounds at the end of the tick; the braking share is for limits.

    Even braking with the full acceleration is always within.
    """
    longest = arm.settings[LONGEST_TICK]
    for j in range(state.shape[1]):
        limits, q, v = arm.joints[j], state[Q, j], state[V, j]
        change = limits[ACCELERATION] * seconds
        slower = braking * limits[ACCELERATION]
        upper = fastest(v, limits[UPPER] - q, slower, seconds, longest)
        lower = -fastest(-v, q - limits[LOWER], slower, seconds, longest)
        rest = braked(v, change)
        w.upper[j] = max(min(upper, limits[VELOCITY], v + change), rest)
        w.lower[j] = min(max(lower, -limits[VELOCITY], v - change), rest)


@inlined_kernel
def _stopping(arm: Arm, w: Work, state: Array, j: int, seconds: float) -> float:
    """Return the velocity of a joint that comes to rest along a smooth curve, within its box.

    One that was braked harder meanwhile is not made faster again.
    """
    if state[STOP_LENGTH, j] == 0.0:
        state[STOP_FROM, j] = state[V, j]
        state[STOP_AGE, j] = 0.0
        state[STOP_LENGTH, j] = STOP_SLOPE * abs(state[V, j]) / arm.joints[j, ACCELERATION]
    velocity = 0.0
    if state[STOP_LENGTH, j] > 0.0:
        state[STOP_AGE, j] += seconds
        share = min(state[STOP_AGE, j] / state[STOP_LENGTH, j], 1.0)
        velocity = state[STOP_FROM, j] * (1.0 - share * share * (3.0 - 2.0 * share))
        if abs(velocity) > abs(state[V, j]):
            velocity = state[V, j]
    return min(max(velocity, w.lower[j]), w.upper[j])


@inlined_kernel
def _solve(arm: Arm, w: Work, rows: int) -> bool:
    """Write the best velocities within the box; break no distance that the box can save."""
    n = w.rhs.shape[0]
    for _ in range(_ROUNDS):
        if not bounded_step(
            arm.paths,
            w.matrix,
            w.damping,
            w.rhs,
            w.lower,
            w.upper,
            w.held,
            w.factor,
            w.step,
            w.scratch,
        ):
            return False
        changed = False
        for r in range(rows):
            row = w.rows[r]
            rate = 0.0
            for j in range(n):
                rate += row[j] * w.step[j]
            slack = rate + row[n]
            if row[n + 1] == 0.0 and slack < -1e-9:
                _weigh(w, row, 1.0)
                changed = True
            elif row[n + 1] > 0.0 and slack > 1e-6:
                _weigh(w, row, -1.0)
                changed = True
        if not changed:
            break
    return True


@inlined_kernel
def _weigh(w: Work, row: Array, sign: float) -> None:
    """Add a distance's penalty to the quadratic model, or take it away again."""
    n = w.rhs.shape[0]
    row[n + 1] += sign
    for j in range(n):
        scaled = sign * _HEED * row[j]
        w.rhs[j] -= scaled * row[n]
        for k in range(j + 1):
            w.matrix[j, k] += scaled * row[k]


@inlined_kernel
def _integrate(arm: Arm, w: Work, state: Array, seconds: float) -> None:
    """Move on with even acceleration to the velocities in w.step."""
    for j in range(state.shape[1]):
        q = state[Q, j] + 0.5 * seconds * (state[V, j] + w.step[j])
        # Beyond the limits by rounding only.
        state[Q, j] = min(max(q, arm.joints[j, LOWER]), arm.joints[j, UPPER])
        state[V, j] = w.step[j]


@inlined_kernel
def _catch_up(arm: Arm, w: Work, state: Array, seconds: float) -> float:
    """Brake for what a tick is longer than the horizon; return what is left of the tick.

    Until then the robot had a command to follow. Since then it has braked by itself, as each
    command's way to rest is told (`braking.braking_points`): to go on from where it would have
    been without that would be to ask for a jump.
    """
    late = seconds - arm.settings[HORIZON]
    if late <= 0.0:
        return seconds
    for j in range(state.shape[1]):
        w.step[j] = braked(state[V, j], arm.joints[j, ACCELERATION] * late)
        state[STOP_AGE, j] += late
    # A joint that stops within that time stops at its own, not at the end of it.
    for j in range(state.shape[1]):
        moving = min(late, abs(state[V, j]) / arm.joints[j, ACCELERATION])
        q = state[Q, j] + 0.5 * moving * (state[V, j] + w.step[j])
        state[Q, j] = min(max(q, arm.joints[j, LOWER]), arm.joints[j, UPPER])
        state[V, j] = w.step[j]
    return seconds - late


@inlined_kernel
def _follow(
    arm: Arm,
    w: Work,
    state: Array,
    bases: Array,
    moves: Ints,
    wishes: Array,
    targets: Array,
    reports: Array,
    memories: Array,
    seconds: float,
) -> bool:
    """Write the velocities of arms that follow, and of the others, which come to rest."""
    if not write_wishes(arm, w, state, moves, wishes, targets, reports, memories, seconds):
        return False
    _write_box(arm, w, state, 1.0 / STOP_SLOPE, seconds)
    for j in range(state.shape[1]):
        w.braked[j] = braked(state[V, j], arm.joints[j, ACCELERATION] * seconds)
        led = _is_led(moves, wishes, j)
        # A stop that was begun is the way to rest that was found clear: it is the one to go on.
        if not led or state[STOP_LENGTH, j] > 0.0:
            w.braked[j] = _stopping(arm, w, state, j, seconds)
        if not led:
            w.lower[j] = w.upper[j] = w.braked[j]
            w.rhs[j] = (w.matrix[j, j] + w.damping[j]) * w.braked[j]
    rows = write_rows(arm, w, state, wishes.shape[0], seconds)
    raise_bases(w, bases)
    if not _solve(arm, w, rows):
        return False
    for j in range(state.shape[1]):
        if not math.isfinite(w.step[j]):
            return False
    if _guard(arm, w, state, bases, wishes.shape[0], seconds):
        for j in range(state.shape[1]):
            if _is_led(moves, wishes, j):
                state[STOP_LENGTH, j] = 0.0
    return True


@inlined_kernel
def _is_led(moves: Ints, wishes: Array, j: int) -> bool:
    """Tell whether a joint moves the tip of an arm that follows."""
    led = False
    for a in range(wishes.shape[0]):
        led = led or (moves[a, j] != 0 and wishes[a, FOLLOWING] > 0.0)
    return led


@inlined_kernel
def _guard(arm: Arm, w: Work, state: Array, bases: Array, arms: int, seconds: float) -> bool:
    """Take as much of the velocities w.step as leaves a way to rest; False: none, all brake."""
    share = 1.0
    for _ in range(_TRIES):
        for j in range(state.shape[1]):
            w.trial[j] = w.braked[j] + share * (w.step[j] - w.braked[j])
        if keeps_clear(arm, w, state, bases, arms, seconds):
            for j in range(state.shape[1]):
                w.step[j] = w.trial[j]
            return True
        share *= 0.5
    for j in range(state.shape[1]):
        w.step[j] = w.braked[j]
    return False


@inlined_kernel
def _stop(arm: Arm, w: Work, state: Array, seconds: float) -> None:
    """Write velocities that bring every joint to rest."""
    _write_box(arm, w, state, 1.0, seconds)
    for j in range(state.shape[1]):
        w.step[j] = _stopping(arm, w, state, j, seconds)


@inlined_kernel
def _write_reports(w: Work, state: Array, wishes: Array, targets: Array, reports: Array) -> None:
    for a in range(wishes.shape[0]):
        report = reports[a]
        write_errors(w, a, targets[a], report)
        report[GUARDED] = w.guarded[0]
        for i in range(12):
            report[POSE + i] = w.tips[a, i]
        for i in range(6):
            total = 0.0
            for j in range(state.shape[1]):
                total += w.jacobian[6 * a + i, j] * state[V, j]
            report[TWIST + i] = total


@kernel
def step(
    body_ints: Ints,
    body_floats: Array,
    column_ints: Ints,
    paths: Ints,
    frame_bodies: Ints,
    frame_placements: Array,
    joints: Array,
    capsules: Array,
    pairs: Ints,
    boxes: Array,
    settings: Array,
    moves: Ints,
    rows: int,
    work: Array,
    state: Array,
    bases: Array,
    wishes: Array,
    targets: Array,
    reports: Array,
    memories: Array,
    seconds: float,
) -> bool:
    """Move the state on by one tick and write the reports; False: it came to a stop by failure.

    With no arm following every joint comes to rest. No time passes in 0 seconds: that has to be
    the first step after the state was set, for all that depends on it to be known.
    """
    arm = Arm(
        body_ints,
        body_floats,
        column_ints,
        paths,
        frame_bodies,
        frame_placements,
        joints,
        capsules,
        pairs,
        boxes,
        settings,
    )
    arms = wishes.shape[0]
    w = carve(work, arm, arms, rows)
    w.guarded[0] = NOTHING
    followed = False
    for a in range(arms):
        followed = followed or wishes[a, FOLLOWING] > 0.0
    well = True
    if seconds > 0.0:
        left = _catch_up(arm, w, state, seconds)
        if followed:
            if left < seconds:
                write_frames(arm, w, state[Q], arms)
            well = _follow(arm, w, state, bases, moves, wishes, targets, reports, memories, left)
        if not followed or not well:
            _stop(arm, w, state, left)
        _integrate(arm, w, state, left)
    write_frames(arm, w, state[Q], arms)
    _write_reports(w, state, wishes, targets, reports)
    return well
