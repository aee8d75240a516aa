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

"""Compiled step rules of the Jacobian methods: from the errors of the tasks to a joint step.

P. Caserman, P. Achenbach and S. Goebel, "Analysis of inverse kinematics solutions for full-body
reconstruction in virtual reality", 2019 (section IV), compare them. The formulas are those of
S. R. Buss, "Introduction to inverse kinematics with Jacobian transpose, pseudoinverse and damped
least squares methods", 2009, and of S. R. Buss and J.-S. Kim, "Selectively damped least squares
for inverse kinematics", 2005. J stands for the Jacobian of all tasks and e for their errors, both
with rows weighted by the square roots of the tasks' weights.
"""

import math

from vr_ik.kinematics.compiled import kernel
from vr_ik.kinematics.tree import Ints
from vr_ik.solvers.box_step import factorize, solve_factored
from vr_ik.solvers.task_jacobian import decompose, sum_of_lengths
from vr_ik.types import Array

# The step rules; those from TRUNCATED on need the singular value decomposition.
TRANSPOSE, PSEUDOINVERSE, DAMPED, TRUNCATED, DAMPED_SINGULAR, SELECTIVE = range(6)
# Below this share of the largest a singular value is rounding.
_NO_SINGULAR_VALUE = 1e-9
# Of the mean diagonal of J^T J: the undamped inverse is the limit of the damped one.
_VANISHING = 1e-12


@kernel
def write_normal_step(
    rule: int,
    parameter: float,
    paths: Ints,
    matrix: Array,
    rhs: Array,
    held: Array,
    factor: Array,
    scratch: Array,
    step: Array,
) -> None:
    """Write the step of a rule on J^T J, `matrix` by `paths`, and J^T e, `rhs`."""
    if rule == TRANSPOSE:
        transpose_step(paths, matrix, rhs, parameter, step)
    elif rule == PSEUDOINVERSE:
        pseudoinverse_step(paths, matrix, rhs, parameter, held, factor, scratch, step)
    else:
        damped_step(paths, matrix, rhs, parameter, held, factor, scratch, step)


@kernel
def write_dual_step(
    rule: int, parameter: float, jacobian: Array, error: Array, gram: Array, y: Array, step: Array
) -> None:
    """Write the same step on J (r, n) itself, by J J^T: for fewer rows than dofs.

    J^T (J J^T + damping^2)^-1 e is (J^T J + damping^2)^-1 J^T e.
    """
    if rule == TRANSPOSE:
        _times_transposed(jacobian, error, 1.0, step)
        numerator, denominator = _square(step), 0.0
        for row in range(y.shape[0]):
            moved = 0.0
            for dof in range(step.shape[0]):
                moved += jacobian[row, dof] * step[dof]
            denominator += moved * moved
        alpha = min(parameter, numerator / denominator) if denominator > 0.0 else parameter
        for dof in range(step.shape[0]):
            step[dof] *= alpha
        return
    trace = 0.0
    for i in range(y.shape[0]):
        for j in range(i + 1):
            total = 0.0
            for dof in range(step.shape[0]):
                total += jacobian[i, dof] * jacobian[j, dof]
            gram[i, j] = total
        trace += gram[i, i]
    square, gain = parameter * parameter, 1.0
    if rule == PSEUDOINVERSE:
        square, gain = _VANISHING * trace / max(step.shape[0], 1), parameter
    if _solve_gram(gram, square, error, y):
        _times_transposed(jacobian, y, gain, step)
    else:
        step[:] = 0.0


@kernel
def _solve_gram(gram: Array, square: float, error: Array, y: Array) -> bool:
    """Write (gram + square)^-1 e by Cholesky, in place; False where that is not defined."""
    n = y.shape[0]
    for i in range(n):
        for j in range(i + 1):
            total = gram[i, j] + (square if i == j else 0.0)
            for k in range(j):
                total -= gram[i, k] * gram[j, k]
            if i > j:
                gram[i, j] = total / gram[j, j]
            elif total > 0.0:
                gram[i, i] = math.sqrt(total)
            else:
                return False
    for i in range(n):
        y[i] = error[i]
        for k in range(i):
            y[i] -= gram[i, k] * y[k]
        y[i] /= gram[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            y[i] -= gram[k, i] * y[k]
        y[i] /= gram[i, i]
    return True


@kernel
def _times_transposed(jacobian: Array, rows: Array, factor: float, out: Array) -> None:
    """Write factor J^T rows."""
    out[:] = 0.0
    for row in range(jacobian.shape[0]):
        share = factor * rows[row]
        if share != 0.0:
            for dof in range(out.shape[0]):
                out[dof] += share * jacobian[row, dof]


@kernel
def _square(vector: Array) -> float:
    total = 0.0
    for value in vector:
        total += value * value
    return total


@kernel
def write_singular_step(
    rule: int,
    parameter: float,
    jacobian: Array,
    error: Array,
    rotation: Array,
    x: Array,
    values: Array,
    along: Array,
    shares: Array,
    speeds: Array,
    scratch: Array,
    near_zero: float,
    step: Array,
) -> None:
    """Write the step of a rule on the singular values of J (r, n); see `decompose`."""
    decompose(jacobian, rotation, x, values)
    wide = jacobian.shape[0] <= jacobian.shape[1]
    left = rotation if wide else x
    right = x if wide else rotation
    for i in range(values.shape[0]):
        total = 0.0
        for row in range(error.shape[0]):
            total += left[i, row] * error[row]
        along[i] = total
        shares[i] = sum_of_lengths(left[i])
    if rule == TRUNCATED:
        truncated_step(values, along, right, parameter, step)
    elif rule == DAMPED_SINGULAR:
        damped_singular_step(values, along, right, parameter, step)
    else:
        for dof in range(speeds.shape[0]):
            speeds[dof] = sum_of_lengths(jacobian[:, dof])
        selective_step(values, along, right, shares, speeds, parameter, scratch, near_zero, step)


@kernel
def transpose_step(paths: Ints, matrix: Array, rhs: Array, gain: float, step: Array) -> None:
    """Write alpha J^T e, with alpha the gain, but at most what is best for the linear model.

    That is alpha = <e, J J^T e> / <J J^T e, J J^T e> (Buss 2009, the Jacobian transpose method):
    a fixed gain alone diverges on trees where many tasks add up.
    """
    numerator = 0.0
    denominator = 0.0
    for k in range(rhs.shape[0]):
        depth = paths[k, 0]
        product = 0.5 * matrix[k, depth] * rhs[k]
        for a in range(depth):
            product += matrix[k, a] * rhs[paths[k, a + 1]]
        numerator += rhs[k] * rhs[k]
        denominator += 2.0 * product * rhs[k]
    alpha = min(gain, numerator / denominator) if denominator > 0.0 else gain
    for k in range(rhs.shape[0]):
        step[k] = alpha * rhs[k]


@kernel
def damped_step(
    paths: Ints,
    matrix: Array,
    rhs: Array,
    damping: float,
    held: Array,
    factor: Array,
    scratch: Array,
    step: Array,
) -> None:
    """Write (J^T J + damping^2)^-1 J^T e; zero where that is not defined."""
    for k in range(rhs.shape[0]):
        scratch[k] = damping * damping
    ok = factorize(paths, matrix, scratch, held, factor)
    for k in range(rhs.shape[0]):
        step[k] = rhs[k] if ok else 0.0
    if ok:
        solve_factored(paths, factor, step)


@kernel
def pseudoinverse_step(
    paths: Ints,
    matrix: Array,
    rhs: Array,
    gain: float,
    held: Array,
    factor: Array,
    scratch: Array,
    step: Array,
) -> None:
    """Write gain J^+ e, with J^+ the limit of the damped inverse when damping vanishes."""
    n = rhs.shape[0]
    trace = 0.0
    for k in range(n):
        trace += matrix[k, paths[k, 0]]
    damping = math.sqrt(_VANISHING * trace / max(n, 1))
    damped_step(paths, matrix, rhs, damping, held, factor, scratch, step)
    for k in range(n):
        step[k] *= gain


@kernel
def truncated_step(
    values: Array, along: Array, right: Array, threshold: float, step: Array
) -> None:
    """Write sum of v_i <u_i, e> / s_i over the singular values s_i above threshold * the largest.

    The pseudo-inverse, made stable by the threshold. `values` holds the s_i, `along` the <u_i, e>
    and `right` the v_i by rows.
    """
    largest = _largest(values)
    step[:] = 0.0
    for i in range(values.shape[0]):
        if values[i] > max(threshold, _NO_SINGULAR_VALUE) * largest:
            _add(right[i], along[i] / values[i], step)


@kernel
def damped_singular_step(
    values: Array, along: Array, right: Array, damping: float, step: Array
) -> None:
    """Write sum of v_i <u_i, e> s_i / (s_i^2 + damping^2): damped least squares, by SVD."""
    largest = _largest(values)
    step[:] = 0.0
    for i in range(values.shape[0]):
        if values[i] > _NO_SINGULAR_VALUE * largest:
            _add(right[i], along[i] * values[i] / (values[i] ** 2 + damping * damping), step)


@kernel
def selective_step(
    values: Array,
    along: Array,
    right: Array,
    shares: Array,
    speeds: Array,
    max_step: float,
    scratch: Array,
    near_zero: float,
    step: Array,
) -> None:
    """Write the selectively damped step (Buss and Kim 2005, section 4).

    `shares` (r,) is N_i, the sum over all tasks of the length of their part of u_i; `speeds` (n,)
    the sum of how fast joint j moves them; a pose counts as one, as Caserman et al. have it. No
    joint moves by more than max_step. Singular values, and errors along them, that are no larger
    than near_zero are left out.
    """
    step[:] = 0.0
    nothing = max(near_zero, _NO_SINGULAR_VALUE * _largest(values))
    for i in range(values.shape[0]):
        if values[i] <= nothing or abs(along[i]) <= near_zero:
            continue
        moved = 0.0
        for j in range(step.shape[0]):
            moved += abs(right[i, j]) * speeds[j]
            scratch[j] = right[i, j] * along[i] / values[i]
        moved /= values[i]
        _clamp_largest(scratch, max_step * min(1.0, shares[i] / moved if moved > 0.0 else 1.0))
        _add(scratch, 1.0, step)
    _clamp_largest(step, max_step)


@kernel
def _largest(values: Array) -> float:
    largest = 0.0
    for value in values:
        largest = max(largest, abs(value))
    return largest


@kernel
def _add(vector: Array, factor: float, total: Array) -> None:
    for j in range(total.shape[0]):
        total[j] += factor * vector[j]


@kernel
def _clamp_largest(vector: Array, bound: float) -> None:
    """Scale so that no entry is larger than `bound` (Buss and Kim's ClampMaxAbs)."""
    largest = _largest(vector)
    if largest > bound:
        for j in range(vector.shape[0]):
            vector[j] *= bound / largest
