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

"""Compiled solution of a damped quadratic model within bounds, on the sparse tree pattern.

The matrix holds, in row k, the couplings of dof k with its ancestors (root first) and then its
diagonal; see `kinematics.tree`. It is factorised as L^T D L from the leaves to the root, which
fills nothing in (R. Featherstone, "Rigid Body Dynamics Algorithms", 2008, section 6.5); since an
ancestor's own ancestors come first in every path, the inner loops run over contiguous memory.
"""

from vr_ik.kinematics.compiled import kernel
from vr_ik.kinematics.tree import Ints
from vr_ik.types import Array

_MAX_SWEEPS = 40
# Exchanging all wrong dofs at once is quick but may go round in circles; one at a time ends.
_BLOCK_SWEEPS = 8
# What a dof is held at, in the array `held`.
FREE, AT_LOWER, AT_UPPER = 0.0, -1.0, 1.0


@kernel
def factorize(paths: Ints, matrix: Array, damping: Array, held: Array, factor: Array) -> bool:
    """Write the factor of matrix + diag(damping) over the free dofs; False if it is not definite.

    A row of the factor holds its part of the unit triangle L, then 1 / D.
    """
    n = paths.shape[0]
    for k in range(n):
        depth = paths[k, 0]
        if held[k] != FREE:
            for a in range(depth):
                factor[k, a] = 0.0
            factor[k, depth] = 1.0
            continue
        for a in range(depth):
            factor[k, a] = matrix[k, a] if held[paths[k, a + 1]] == FREE else 0.0
        factor[k, depth] = matrix[k, depth] + damping[k]
    for k in range(n - 1, -1, -1):
        depth = paths[k, 0]
        row = factor[k]
        if not row[depth] > 0.0:
            return False
        inverse = 1.0 / row[depth]
        row[depth] = inverse
        for a in range(depth):
            scale = inverse * row[a]
            ancestor = factor[paths[k, a + 1]]
            for c in range(a + 1):
                ancestor[c] -= scale * row[c]
        for a in range(depth):
            row[a] *= inverse
    return True


@kernel
def solve_factored(paths: Ints, factor: Array, x: Array) -> None:
    """Solve L^T D L x = b in place."""
    n = paths.shape[0]
    for k in range(n - 1, -1, -1):
        depth = paths[k, 0]
        for a in range(depth):
            x[paths[k, a + 1]] -= factor[k, a] * x[k]
        x[k] *= factor[k, depth]
    for k in range(n):
        depth = paths[k, 0]
        value = x[k]
        for a in range(depth):
            value -= factor[k, a] * x[paths[k, a + 1]]
        x[k] = value


@kernel
def subtract_product(paths: Ints, matrix: Array, damping: Array, x: Array, out: Array) -> None:
    """Subtract (matrix + diag(damping)) x from `out`."""
    for k in range(paths.shape[0]):
        depth = paths[k, 0]
        total = (matrix[k, depth] + damping[k]) * x[k]
        for a in range(depth):
            total += matrix[k, a] * x[paths[k, a + 1]]
            out[paths[k, a + 1]] -= matrix[k, a] * x[k]
        out[k] -= total


@kernel
def bounded_step(
    paths: Ints,
    matrix: Array,
    damping: Array,
    rhs: Array,
    lower: Array,
    upper: Array,
    held: Array,
    factor: Array,
    step: Array,
    scratch: Array,
) -> bool:
    """Write the step s that minimises 1/2 s^T (M + diag(damping)) s - rhs^T s within bounds.

    A primal active set: dofs that the free solution drives past a bound are held there, and held
    dofs whose multiplier has the wrong sign are released. `held` says at the end which dofs the
    bounds hold. Returns False when the matrix is not definite.
    """
    n = paths.shape[0]
    for k in range(n):
        held[k] = FREE
        if lower[k] >= 0.0 and rhs[k] < 0.0:
            held[k] = AT_LOWER
        elif upper[k] <= 0.0 and rhs[k] > 0.0:
            held[k] = AT_UPPER
    for sweep in range(_MAX_SWEEPS):
        if not _solve_free(paths, matrix, damping, rhs, lower, upper, held, factor, step, scratch):
            return False
        if sweep >= _BLOCK_SWEEPS:
            if not _exchange_last(paths, matrix, damping, rhs, lower, upper, held, step, scratch):
                break
            continue
        if _hold_violating(lower, upper, held, step):
            continue
        if not _release_wrong(paths, matrix, damping, rhs, held, step, scratch):
            break
    for k in range(n):
        step[k] = min(max(step[k], lower[k]), upper[k])
    return True


@kernel
def _solve_free(
    paths: Ints,
    matrix: Array,
    damping: Array,
    rhs: Array,
    lower: Array,
    upper: Array,
    held: Array,
    factor: Array,
    step: Array,
    scratch: Array,
) -> bool:
    """Solve for the free dofs while the held ones sit at their bounds."""
    n = paths.shape[0]
    moved = False
    for k in range(n):
        scratch[k] = 0.0
        if held[k] != FREE:
            scratch[k] = lower[k] if held[k] == AT_LOWER else upper[k]
            moved = moved or scratch[k] != 0.0
        step[k] = rhs[k]
    if moved:
        subtract_product(paths, matrix, damping, scratch, step)
    for k in range(n):
        if held[k] != FREE:
            step[k] = scratch[k]
    if not factorize(paths, matrix, damping, held, factor):
        return False
    solve_factored(paths, factor, step)
    return True


@kernel
def _hold_violating(lower: Array, upper: Array, held: Array, step: Array) -> bool:
    any_new = False
    for k in range(held.shape[0]):
        if held[k] == FREE:
            if step[k] < lower[k]:
                held[k] = AT_LOWER
                any_new = True
            elif step[k] > upper[k]:
                held[k] = AT_UPPER
                any_new = True
    return any_new


@kernel
def _release_wrong(
    paths: Ints,
    matrix: Array,
    damping: Array,
    rhs: Array,
    held: Array,
    step: Array,
    scratch: Array,
) -> bool:
    """Free the held dofs that the model pulls back inside."""
    n = held.shape[0]
    any_held = False
    for k in range(n):
        any_held = any_held or held[k] != FREE
        scratch[k] = rhs[k]
    if not any_held:
        return False
    subtract_product(paths, matrix, damping, step, scratch)
    released = False
    for k in range(n):
        if held[k] * scratch[k] < -1e-12:
            held[k] = FREE
            released = True
    return released


@kernel
def _exchange_last(
    paths: Ints,
    matrix: Array,
    damping: Array,
    rhs: Array,
    lower: Array,
    upper: Array,
    held: Array,
    step: Array,
    scratch: Array,
) -> bool:
    """Hold or free the last dof that is wrong (K. G. Murty's rule, which cannot cycle)."""
    for k in range(held.shape[0]):
        scratch[k] = rhs[k]
    subtract_product(paths, matrix, damping, step, scratch)
    for k in range(held.shape[0] - 1, -1, -1):
        if held[k] != FREE:
            if held[k] * scratch[k] < -1e-12:
                held[k] = FREE
                return True
        elif step[k] < lower[k]:
            held[k] = AT_LOWER
            return True
        elif step[k] > upper[k]:
            held[k] = AT_UPPER
            return True
    return False
