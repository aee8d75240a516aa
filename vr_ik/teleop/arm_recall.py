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

"""Compiled memory of an arm: the way that it came, and can go back when it is stuck.

An arm goes to its target by the nearest way. Led out of reach, or against an obstacle, it may end
in a posture from which every small motion takes the tip away from the target, even when that is
within reach again. So each arm has a trail of the postures that it went through, a small step from
one to the next. When the tip rests although one of them would bring it nearer to the target, the
joints go back along the trail to the one that brings it nearest, slowly and within all limits, and
follow from there on: nearer to the target than where they were stuck, so that they do not come
back to it.
"""

import math

from vr_ik.kinematics.compiled import inlined_kernel, kernel
from vr_ik.kinematics.objective import write_rotation_error
from vr_ik.kinematics.tree import Ints
from vr_ik.teleop.arm_work import (
    ACCELERATION,
    Arm,
    LEVER_M,
    NOTHING,
    POSITION_ERROR,
    RETURNS_TO,
    ROTATION_ERROR,
    STEPS,
    STILL_S,
    STRAIGHT,
    TWIST,
    Work,
)
from vr_ik.types import Array

# From one step of the trail to the next some joint has moved by this [rad or m].
_STEP = 0.05
# A tip that is slower rests [m/s]; it is stuck when it has rested for so long [s].
_STILL = 0.02
_STUCK_S = 0.3
# It goes back where that brings it nearer by this at least [m].
_NEARER_M = 0.005
# How fast joints go back [rad/s or m/s], and how they come to rest there [1/s].
_RETURN_SPEED = 0.6
_RETURN_GAIN = 3.0
# They are there when they are so near [rad or m].
_ARRIVED = 0.01
# How much that weighs, against a metre of a tip.
_RETURN_WEIGHT = 1.0


@kernel
def _apart(step: Array, q: Array, moves: Ints) -> float:
    """Return how far the joint is from a step of the trail that is farthest [rad or m]."""
    most = 0.0
    for j in range(q.shape[0]):
        if moves[j] != 0:
            most = max(most, abs(step[j] - q[j]))
    return most


@kernel
def lay_step(memory: Array, q: Array, moves: Ints, tip: Array) -> None:
    """Go on with the trail once a joint has moved far enough; where it meets itself, cut it."""
    head, n = memory[0], q.shape[0]
    count = int(head[STEPS])
    if _apart(memory[count], q, moves) < _STEP:
        return
    # The step that the arm goes back to keeps its place: -1 stands for none.
    for k in range(max(int(head[RETURNS_TO]), 0) + 1, count):
        if _apart(memory[k], q, moves) < _STEP:
            head[STEPS] = k
            return
    if count + 1 == memory.shape[0]:
        if head[RETURNS_TO] != NOTHING:
            return
        # Of a long trail the older half is forgotten.
        half = count // 2
        for k in range(1, count - half + 1):
            for i in range(memory.shape[1]):
                memory[k, i] = memory[k + half, i]
        count -= half
    count += 1
    for j in range(n):
        memory[count, j] = q[j]
    for i in range(12):
        memory[count, n + i] = tip[i]
    head[STEPS] = count


@kernel
def _distance_m(target: Array, tip: Array, turn: Array) -> float:
    """Return how far a tip's pose (12) is from a target (4, 4), turns included."""
    write_rotation_error(target, tip, turn)
    total = 0.0
    for i in range(3):
        total += (target[i, 3] - tip[9 + i]) ** 2 + (LEVER_M * turn[i]) ** 2
    return math.sqrt(total)


@kernel
def _rests(report: Array) -> bool:
    total = 0.0
    for i in range(3):
        total += report[TWIST + i] ** 2 + (LEVER_M * report[TWIST + 3 + i]) ** 2
    return total < _STILL * _STILL


@kernel
def _goal(memory: Array, far: float, target: Array, turn: Array, n: int) -> float:
    """Return the step that brings the tip nearest to its target; NOTHING: none is nearer."""
    nearest, goal = far - _NEARER_M, NOTHING
    for k in range(int(memory[0, STEPS]), 0, -1):
        distance = _distance_m(target, memory[k, n:], turn)
        if distance < nearest:
            nearest, goal = distance, float(k)
    return goal


@inlined_kernel
def goes_back(
    arm: Arm,
    w: Work,
    q: Array,
    moves: Ints,
    target: Array,
    report: Array,
    memory: Array,
    seconds: float,
) -> bool:
    """Tell whether an arm that follows goes back, and write its joints' wishes if it does."""
    head, n = memory[0], q.shape[0]
    far = math.hypot(report[POSITION_ERROR], LEVER_M * report[ROTATION_ERROR])
    head[STILL_S] = head[STILL_S] + seconds if _rests(report) else 0.0
    if head[STILL_S] > _STUCK_S:
        head[STILL_S] = 0.0
        if head[RETURNS_TO] != NOTHING:
            # Something is in the way: along the trail, or across it, there may be none.
            head[STRAIGHT] = 1.0 - head[STRAIGHT]
        elif far > _NEARER_M:
            head[RETURNS_TO] = _goal(memory, far, target, w.normal, n)
            head[STRAIGHT] = 1.0
    if head[RETURNS_TO] == NOTHING:
        return False
    goal, aim = int(head[RETURNS_TO]), int(head[STEPS])
    while aim > goal and (head[STRAIGHT] > 0.0 or _apart(memory[aim], q, moves) < _STEP):
        aim -= 1
    if head[STRAIGHT] == 0.0:
        head[STEPS] = aim
    # The hand may have moved meanwhile.
    nearer = _distance_m(target, memory[goal, n:], w.normal) <= far
    arrived = _apart(memory[aim], q, moves) <= _ARRIVED
    if nearer and not arrived:
        _pull(arm, w, q, moves, memory[aim], aim == goal)
        return True
    if arrived:
        head[STEPS] = goal
    head[RETURNS_TO] = NOTHING
    head[STILL_S] = 0.0
    return False


@inlined_kernel
def _pull(arm: Arm, w: Work, q: Array, moves: Ints, step: Array, last: bool) -> None:
    """Let the joints that move an arm wish to be at a step of its trail."""
    rate = _RETURN_SPEED / _apart(step, q, moves)
    if last:
        rate = min(rate, _RETURN_GAIN)
    for j in range(q.shape[0]):
        if moves[j] != 0:
            way = max(abs(step[j] - q[j]), 1e-9)
            rate = min(rate, math.sqrt(arm.joints[j, ACCELERATION] / way))
    for j in range(q.shape[0]):
        if moves[j] != 0:
            w.damping[j] = _RETURN_WEIGHT
            w.null[j] = rate * (step[j] - q[j])
