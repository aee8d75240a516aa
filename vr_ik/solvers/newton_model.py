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

"""Compiled quadratic model of the cost with its exact Hessian, made positive where it is not.

N. J. Higham, "Computing a nearest symmetric positive semidefinite matrix", 1988: nearest to a
symmetric B, in the Frobenius norm, is (B + P) / 2 with P the polar factor of B, its matrix of
absolute values. P comes from a singular value decomposition.
"""

import math

from vr_ik.kinematics.compiled import inlined_kernel, kernel
from vr_ik.kinematics.curvature import (
    add_curvature,
    share_curvature,
    share_root_turns,
    write_bends,
    write_curvatures,
    write_dense,
)
from vr_ik.kinematics.tree import FIRST_COLUMN, Ints
from vr_ik.solvers.ball_joints import map_free_balls, MAPPED
from vr_ik.solvers.box_step import factorize
from vr_ik.solvers.joint_bounds import wrap_blocked
from vr_ik.solvers.solve_state import evaluate, linearize, Problem, Work, write_bounds
from vr_ik.solvers.svd import orthogonalize
from vr_ik.types import Array

# Damping of the Hessian's diagonal, as a share of its largest entry: where it is definite, as much
# as there may be before it is projected, and without projection.
_FLOOR, _LITTLE, _MUCH = 1e-9, 1e-4, 1e4
# Where that is not enough: how much more is tried next, how it grows then, and how much more than
# enough is taken. The nearer to enough, the nearer is a step to the minimum in its trust region.
_NEXT, _MORE, _MARGIN = 1e3, 2.0, 1.5


@inlined_kernel
def write_exact_model(p: Problem, w: Work) -> None:
    """Write the exact Hessian and minus the gradient about w.q into w.matrix and w.rhs."""
    linearize(p, w)
    write_curvatures(p.body_ints, p.task_bodies, p.weights, w.residuals, w.curvatures)
    write_bends(p.column_ints, w.columns, w.composites, w.curvatures, w.bends)
    add_curvature(p.column_ints, p.paths, w.columns, w.bends, w.matrix)
    share_turns(p.body_ints, p.column_ints, p.paths, p.balls, w.columns, w.bends, w.matrix)


@inlined_kernel
def write_definite_model(p: Problem, w: Work, projected: bool) -> tuple[bool, float]:
    """Write the bounds and the exact model about w.q, and make it positive definite.

    Returns whether it is the projected one, in w.dense, and the damping that it needs.
    """
    map_free_balls(p.body_ints, p.joints, p.first_q, w.q, p.balls)
    write_exact_model(p, w)
    if wrap_blocked(p.joints, p.first_q, w.rhs, w.q):
        evaluate(p, w, w.q)
        write_exact_model(p, w)
    write_bounds(p, w)
    w.held[:] = 0.0
    scale = _largest_diagonal(p.paths, w.matrix) + 1e-12
    # A little damping costs far less than a projection, and does as well where it is enough.
    most = (_LITTLE if projected else _MUCH) * scale
    damping = definite_damping(
        p.paths, w.matrix, _FLOOR * scale, most, w.held, w.damping, w.factor
    )
    dense = damping > most
    if dense:
        write_dense(p.paths, w.matrix, w.dense)
        # What has no curvature after the projection is damped by what it had before.
        damping = _FLOOR * scale + project(w.dense, w.x)
    return dense, damping


@kernel
def _largest_diagonal(paths: Ints, matrix: Array) -> float:
    largest = 0.0
    for k in range(paths.shape[0]):
        largest = max(largest, abs(matrix[k, paths[k, 0]]))
    return largest


@kernel
def definite_damping(
    paths: Ints,
    matrix: Array,
    least: float,
    most: float,
    held: Array,
    scratch: Array,
    factor: Array,
) -> float:
    """Return a damping with which the matrix is definite; if none does, one more than `most`."""
    damping = least
    while damping <= most:
        scratch[:] = damping
        if factorize(paths, matrix, scratch, held, factor):
            # Just enough to be definite would leave a direction without curvature.
            return least if damping == least else min(_MARGIN * damping, most)
        damping = max(_MORE * damping, _NEXT * least)
    return damping


@kernel
def share_turns(
    body_ints: Ints,
    column_ints: Ints,
    paths: Ints,
    balls: Ints,
    columns: Array,
    bends: Array,
    matrix: Array,
) -> None:
    """Correct what turns along the exponential map: a floating root and mapped ball joints."""
    share_root_turns(body_ints, column_ints, paths, columns, bends, matrix)
    for ball in range(balls.shape[0]):
        if balls[ball, MAPPED] != 0:
            a = body_ints[balls[ball, 0], FIRST_COLUMN]
            b = body_ints[balls[ball, 1], FIRST_COLUMN]
            c = body_ints[balls[ball, 2], FIRST_COLUMN]
            share_curvature(column_ints, paths, columns, bends, a, b, matrix)
            share_curvature(column_ints, paths, columns, bends, a, c, matrix)
            share_curvature(column_ints, paths, columns, bends, b, c, matrix)


@kernel
def project(dense: Array, x: Array) -> float:
    """Replace a symmetric matrix (n, n) by the nearest positive semi-definite one (Higham 1988).

    Returns how far away that is: the size of the negative part. `x` (n, n) is scratch; its rows
    become orthogonal, of lengths s_r: then P is the sum of x_r x_r^T / s_r.
    """
    n = dense.shape[0]
    before = 0.0
    for i in range(n):
        for j in range(n):
            x[i, j] = dense[i, j]
            dense[i, j] *= 0.5
            before += dense[i, j] ** 2
    orthogonalize(x, x[:, :0])
    for r in range(n):
        square = 0.0
        for i in range(n):
            square += x[r, i] * x[r, i]
        if square <= 0.0:
            continue
        scale = 0.5 / math.sqrt(square)
        for i in range(n):
            factor = scale * x[r, i]
            for j in range(n):
                dense[i, j] += factor * x[r, j]
    # The positive and the negative part are orthogonal: |B|^2 is the sum of their squares.
    after = 0.0
    for i in range(n):
        for j in range(n):
            after += dense[i, j] ** 2
    return math.sqrt(max(0.0, 4.0 * before - after))
