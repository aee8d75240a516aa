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

"""What the compiled arm step works on: the arm as it was built, a tick's wishes, and buffers."""

from typing import NamedTuple

from vr_ik.kinematics.compiled import inlined_kernel
from vr_ik.kinematics.tree import Ints
from vr_ik.solvers.solve_values import take
from vr_ik.types import Array

# Columns of Arm.joints.
LOWER, UPPER, VELOCITY, ACCELERATION, REST = 0, 1, 2, 3, 4
# Rows of the state: position and velocity; a stop's first velocity, age and length [s].
Q, V, STOP_FROM, STOP_AGE, STOP_LENGTH = 0, 1, 2, 3, 4
STATE = 5
# Entries of Arm.settings; the longest tick is that of a step, once late ticks were caught up.
LONGEST_TICK, CLEARANCE, POSTURE_GAIN, ELBOW_GAIN, HORIZON = 0, 1, 2, 3, 4
# A report's row: errors [m, rad], smallest singular value, pose (12), twist (6), and which of the
# distances the guard took speed for, NOTHING where it took none.
POSITION_ERROR, ROTATION_ERROR, SINGULARITY, POSE, TWIST, GUARDED = 0, 1, 2, 3, 15, 21
REPORT = 22
NOTHING = -1.0
# An arm's memory (1 + TRAIL, n + 12). In its first row: the step of the trail that it goes back to
# (NOTHING: it does not), whether straight (1) or along the trail (0), for how long the tip has
# rested [s], the number of steps. Then the steps: the joints (n), the tip's pose (12).
RETURNS_TO, STRAIGHT, STILL_S, STEPS = 0, 1, 2, 3
TRAIL = 256
# A radian of the tip's turn counts as much as this many metres of its way.
LEVER_M = 0.3
# An arm's wish: following (1 or 0), twist of the target (6), way from tip to elbow (3).
FOLLOWING, WISHED_TWIST, ELBOW = 0, 1, 7
WISH = 10
# Vectors of one number a joint among the buffers.
_VECTORS = 12
# Numbers in the small buffers.
_SMALL = 28
# No elbow is led, in Arm.frame_bodies; -1 is the fixed world.
NO_BODY = -2


class Arm(NamedTuple):
    """The robot; rows as the kinematics kernels read them."""

    body_ints: Ints
    body_floats: Array
    column_ints: Ints
    paths: Ints
    """Of a dense matrix: every dof is coupled with all before it."""
    frame_bodies: Ints
    """The bodies of all tips, then of all elbows, then of all capsules."""
    frame_placements: Array
    """(tips + elbows, 12) the frames on their bodies."""
    joints: Array
    """(n, 5): lower, upper, velocity and acceleration limit, posture."""
    capsules: Array
    """(m, 7): start and way of the axis on its body, radius."""
    pairs: Ints
    """(k, 2): capsules that must keep their distance."""
    boxes: Array
    """(1 + b, 6): the corners of the workspace, then of the boxes to keep out of."""
    settings: Array


class Work(NamedTuple):
    """Buffers of one step; n joints, a arms."""

    poses: Array
    columns: Array
    pose: Array
    tips: Array
    """(a, 12)."""
    error: Array
    """(a, 6): from where the tip would coast to, to the target."""
    jacobian: Array
    """(6 a, n)."""
    gram: Array
    vector: Array
    matrix: Array
    factor: Array
    rhs: Array
    damping: Array
    lower: Array
    upper: Array
    held: Array
    step: Array
    scratch: Array
    null: Array
    """(n,): the velocity that is wished for where the tips leave freedom."""
    braked: Array
    """(n,): the velocity of a joint that goes on to brake, or begins to."""
    trial: Array
    """(n,): the velocity that is looked at: whether it leaves a way to rest."""
    lows: Array
    """(n,): how far back from here a joint may come with it until it is at rest, at most 0."""
    highs: Array
    """(n,): and how far ahead, at least 0 [rad or m]."""
    segments: Array
    """(m, 6): the capsules' axes in the root frame."""
    reaches: Array
    """(m,): how far a capsule may go on that way, at most [m]."""
    twists: Array
    """(bodies, 6): of each body, at the origin."""
    speeds: Array
    """(m,): of the capsules."""
    point: Array
    other: Array
    normal: Array
    rows: Array
    """(r, n + 2): gradient of a distance, its fastest approach, whether it is heeded."""
    rooms: Array
    """(r,): what each distance is above the one to keep [m]: walls of tips, pairs, boxes."""
    guarded: Array
    """(1,): the last of them that a velocity was refused for, or NOTHING."""


def row_count(arms: int, capsules: int, pairs: int, boxes: int) -> int:
    """Return how many distances there are to keep, at most."""
    return 6 * arms + pairs + capsules * boxes


def work_size(bodies: int, columns: int, joints: int, arms: int, capsules: int, rows: int) -> int:
    """Return how many numbers `carve` takes."""
    fixed = 36 + _SMALL
    return (
        fixed
        + 18 * bodies
        + 6 * columns
        + 18 * arms
        + (6 * arms + 2 * joints + _VECTORS) * joints
        + 8 * capsules
        + rows * (joints + 3)
    )


@inlined_kernel
def carve(work: Array, arm: Arm, arms: int, row_limit: int) -> Work:
    """Return the buffers as parts of one array."""
    n, bodies, columns = arm.joints.shape[0], arm.body_ints.shape[0], arm.column_ints.shape[0]
    capsules = arm.capsules.shape[0]
    at = 0
    poses = take(work, at, bodies, 12)
    at += 12 * bodies
    columns_ = take(work, at, columns, 6)
    at += 6 * columns
    tips = take(work, at, arms, 12)
    at += 12 * arms
    error = take(work, at, arms, 6)
    at += 6 * arms
    jacobian = take(work, at, 6 * arms, n)
    at += 6 * arms * n
    gram = take(work, at, 6, 6)
    at += 36
    matrix = take(work, at, n, n)
    at += n * n
    factor = take(work, at, n, n)
    at += n * n
    vectors = take(work, at, _VECTORS, n)
    at += _VECTORS * n
    segments = take(work, at, capsules, 6)
    at += 6 * capsules
    reaches = work[at : at + capsules]
    at += capsules
    twists = take(work, at, bodies, 6)
    at += 6 * bodies
    speeds = work[at : at + capsules]
    at += capsules
    rows = take(work, at, row_limit, n + 2)
    at += row_limit * (n + 2)
    rooms = work[at : at + row_limit]
    at += row_limit
    small = work[at : at + _SMALL]
    return Work(
        poses,
        columns_,
        small[:12],
        tips,
        error,
        jacobian,
        gram,
        small[12:18],
        matrix,
        factor,
        vectors[0],
        vectors[1],
        vectors[2],
        vectors[3],
        vectors[4],
        vectors[5],
        vectors[6],
        vectors[7],
        vectors[8],
        vectors[9],
        vectors[10],
        vectors[11],
        segments,
        reaches,
        twists,
        speeds,
        small[18:21],
        small[21:24],
        small[24:27],
        rows,
        rooms,
        small[27:28],
    )
