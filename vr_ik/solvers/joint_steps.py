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

"""Compiled steps of one joint of a tree, within its limits."""

import math

from vr_ik.kinematics.compiled import kernel
from vr_ik.kinematics.kernels import compose
from vr_ik.kinematics.tree import KIND, MULTIPLIER, OFFSET, PARENT, Q_INDEX, REVOLUTE
from vr_ik.solvers.geometric_state import HELD, LARGEST_STEP, Problem, Work
from vr_ik.solvers.hinge_moves import best_turn
from vr_ik.solvers.joint_points import DRIVES
from vr_ik.types import Array

# A joint whose best angle differs by more from the one it gets is held by its limits [rad].
_HELD = 1e-9


@kernel
def joint_value(p: Problem, q: Array, body: int) -> float:
    """Return a body's angle [rad] or slide [m]; a mimic joint's differs from its coordinate."""
    row = p.body_floats[body]
    return row[MULTIPLIER] * q[p.body_ints[body, Q_INDEX]] + row[OFFSET]


@kernel
def joint_range(p: Problem, body: int) -> tuple[float, float]:
    """Return the limits of a body's angle [rad] or slide [m]."""
    joint = p.body_ints[body, Q_INDEX] - p.first_q
    scale, offset = p.body_floats[body, MULTIPLIER], p.body_floats[body, OFFSET]
    a = scale * p.joints[joint, 0] + offset
    b = scale * p.joints[joint, 1] + offset
    return (a, b) if scale >= 0.0 else (b, a)


@kernel
def set_joint_value(p: Problem, w: Work, body: int, value: float) -> None:
    """Set a body's angle or slide, within the limits of its coordinate to the last bit."""
    index = p.body_ints[body, Q_INDEX]
    scale = p.body_floats[body, MULTIPLIER]
    if scale == 0.0:
        return
    q = (value - p.body_floats[body, OFFSET]) / scale
    lower, upper = p.joints[index - p.first_q, 0], p.joints[index - p.first_q, 1]
    w.q[index] = min(max(q, lower), upper)


@kernel
def is_own(p: Problem, body: int) -> bool:
    """Tell whether a body can be moved without moving bodies that mimic it."""
    return p.points[body, DRIVES] != 0 and p.body_floats[body, MULTIPLIER] != 0.0


@kernel
def move(pose: Array, kind: int, value: float) -> None:
    """Turn a pose (12) about its z axis, or slide it along."""
    if kind == REVOLUTE:
        c, s = math.cos(value), math.sin(value)
        for i in range(0, 9, 3):
            x, y = pose[i], pose[i + 1]
            pose[i] = c * x + s * y
            pose[i + 1] = c * y - s * x
    else:
        pose[9] += value * pose[2]
        pose[10] += value * pose[5]
        pose[11] += value * pose[8]


@kernel
def place_body(p: Problem, w: Work, body: int) -> None:
    """Write a body's pose from its parent's, which may have moved since w.poses were written."""
    parent = p.body_ints[body, PARENT]
    pose = w.poses[body]
    if parent >= 0:
        compose(w.poses[parent], p.body_floats[body], pose)
    else:
        for i in range(12):
            pose[i] = p.body_floats[body, i]
    move(pose, p.body_ints[body, KIND], joint_value(p, w.q, body))


@kernel
def turn_joint(p: Problem, w: Work, body: int, sine: float, cosine: float, limit: float) -> float:
    """Turn a hinge to its best angle by the sums of `hinge_moves`; return how far it turned."""
    if sine * sine + cosine * cosine == 0.0:
        return 0.0
    value = joint_value(p, w.q, body)
    lower, upper = joint_range(p, body)
    best = best_turn(value, sine, cosine, lower, upper)
    free = value + math.atan2(sine, cosine)
    if abs(math.sin(0.5 * (best - free))) > _HELD:
        w.notes[HELD] = 1.0
    return _set(p, w, body, value, min(max(best, value - limit), value + limit))


@kernel
def slide_joint(p: Problem, w: Work, body: int, way: float, limit: float) -> float:
    """Slide a prismatic joint by `way` [m] as far as it goes; return how far it slid."""
    value = joint_value(p, w.q, body)
    lower, upper = joint_range(p, body)
    best = min(max(value + way, lower), upper)
    if best != value + way:
        w.notes[HELD] = 1.0
    return _set(p, w, body, value, min(max(best, value - limit), value + limit))


@kernel
def _set(p: Problem, w: Work, body: int, before: float, value: float) -> float:
    """Set a joint, carry its body along, and return the step."""
    set_joint_value(p, w, body, value)
    step = joint_value(p, w.q, body) - before
    w.notes[LARGEST_STEP] = max(w.notes[LARGEST_STEP], abs(step))
    move(w.poses[body], p.body_ints[body, KIND], step)
    return step
