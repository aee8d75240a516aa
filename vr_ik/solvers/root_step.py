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

"""Compiled step of a floating root: a rigid body goes where the tasks fit their targets best."""

import math

from vr_ik.kinematics.compiled import kernel
from vr_ik.kinematics.tree import FREE, KIND
from vr_ik.solvers.geometric_state import Problem, Work, write_task_poses
from vr_ik.solvers.hinge_moves import fit_rotation, to_local
from vr_ik.types import Array


@kernel
def write_root(w: Work, pose: Array) -> None:
    """Set the floating root to a pose (12)."""
    w.q[0], w.q[1], w.q[2] = pose[9], pose[10], pose[11]
    # S. W. Shepperd's quaternion: the largest component first, so that nothing is divided by zero.
    trace = pose[0] + pose[4] + pose[8]
    largest = 3
    best = trace
    for i in range(3):
        if pose[4 * i] > best:
            largest, best = i, pose[4 * i]
    if largest == 3:
        w.q[6] = 1.0 + trace
        w.q[3] = pose[7] - pose[5]
        w.q[4] = pose[2] - pose[6]
        w.q[5] = pose[3] - pose[1]
    else:
        i, j, k = largest, (largest + 1) % 3, (largest + 2) % 3
        w.q[3 + i] = 1.0 + pose[4 * i] - pose[4 * j] - pose[4 * k]
        w.q[3 + j] = pose[3 * j + i] + pose[3 * i + j]
        w.q[3 + k] = pose[3 * k + i] + pose[3 * i + k]
        w.q[6] = pose[3 * k + j] - pose[3 * j + k]
    norm = math.sqrt(w.q[3] ** 2 + w.q[4] ** 2 + w.q[5] ** 2 + w.q[6] ** 2)
    if w.q[6] < 0.0:
        norm = -norm
    for i in range(3, 7):
        w.q[i] /= norm


@kernel
def fit_root(p: Problem, w: Work) -> None:
    """Move a floating root as a rigid body so that the tasks that count are nearest to targets."""
    if p.body_ints.shape[0] == 0 or p.body_ints[0, KIND] != FREE or w.load[0] <= 0.0:
        return
    write_task_poses(p, w)
    root, new = w.poses[0], w.pose
    for i in range(9):
        w.spread[i] = 0.0
        new[i] = root[i]
    # w.other gets the centroids of the tasks, as the root sees it, and of the targets.
    mass = _add_centroids(p, w)
    _add_spread(p, w)
    fit_rotation(w.spread, new)
    for i in range(3):
        new[9 + i] = root[9 + i]
        if mass > 0.0:
            new[9 + i] = w.other[3 + i]
            for k in range(3):
                new[9 + i] -= new[3 * i + k] * w.other[k]
    for i in range(12):
        root[i] = new[i]
    write_root(w, new)


@kernel
def _add_centroids(p: Problem, w: Work) -> float:
    """Write the centroids of the tasks and of their targets to w.other; return the mass."""
    mass = 0.0
    for i in range(6):
        w.other[i] = 0.0
    for task in range(p.task_bodies.shape[0]):
        weight = w.task_weights[task, 0]
        if p.task_bodies[task] >= 0 and weight > 0.0:
            frame = w.task_poses[task]
            x, y, z = to_local(w.poses[0], frame[9], frame[10], frame[11])
            mass += weight
            w.other[0] += weight * x
            w.other[1] += weight * y
            w.other[2] += weight * z
            for i in range(3):
                w.other[3 + i] += weight * p.targets[task, i, 3]
    for i in range(6):
        w.other[i] = w.other[i] / mass if mass > 0.0 else 0.0
    return mass


@kernel
def _add_spread(p: Problem, w: Work) -> None:
    """Add the tasks' points about their centroid, and the axes of their frames, to w.spread."""
    root = w.poses[0]
    for task in range(p.task_bodies.shape[0]):
        if p.task_bodies[task] < 0:
            continue
        frame, target = w.task_poses[task], p.targets[task]
        if w.task_weights[task, 0] > 0.0:
            x, y, z = to_local(root, frame[9], frame[10], frame[11])
            x, y, z = x - w.other[0], y - w.other[1], z - w.other[2]
            for j in range(3):
                b = w.task_weights[task, 0] * (target[j, 3] - w.other[3 + j])
                w.spread[j] += x * b
                w.spread[3 + j] += y * b
                w.spread[6 + j] += z * b
        if w.task_weights[task, 1] > 0.0:
            for k in range(3):
                x, y, z = to_local(
                    root, frame[k] + root[9], frame[3 + k] + root[10], frame[6 + k] + root[11]
                )
                for j in range(3):
                    b = 0.5 * w.task_weights[task, 1] * target[j, k]
                    w.spread[j] += x * b
                    w.spread[3 + j] += y * b
                    w.spread[6 + j] += z * b
