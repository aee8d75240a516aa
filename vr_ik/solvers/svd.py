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

"""Compiled singular value decomposition by one-sided Jacobi rotations; allocates nothing.

M. R. Hestenes, "Inversion of matrices by biorthogonalization and related results", 1958. For the
small matrices of inverse kinematics it is faster than a general library, accurate in its small
singular values too, and it starts from any rotation that is nearly right: that of the step before.
"""

import math

from vr_ik.kinematics.compiled import kernel
from vr_ik.types import Array

_MAX_SWEEPS = 30
# Two vectors count as orthogonal when the cosine between them, squared, is below this ...
_ORTHOGONAL = 1e-22
# ... and a vector as zero when its share of the whole, squared, is below this.
_ZERO = 1e-30


@kernel
def orthogonalize(x: Array, companion: Array) -> None:
    """Rotate the rows of `x` (r, p) until they are orthogonal, and `companion` (r, k) with them.

    With A the matrix x on entry and an identity as companion (or any rotation R, x being R A),
    companion^T x = A all the time: at the end the rows' lengths are the singular values, the
    rows' directions one side of the decomposition and the companion's rows the other.
    """
    rows = x.shape[0]
    total = 0.0
    for i in range(rows):
        total += _dot(x[i], x[i])
    for _ in range(_MAX_SWEEPS):
        rotated = False
        for i in range(rows - 1):
            for j in range(i + 1, rows):
                if _rotate_pair(x, companion, i, j, _ZERO * total):
                    rotated = True
        if not rotated:
            return


@kernel
def _rotate_pair(x: Array, companion: Array, i: int, j: int, zero: float) -> bool:
    """Make rows i and j orthogonal; False where they are already, or one of them is nothing."""
    a = _dot(x[i], x[i])
    b = _dot(x[j], x[j])
    c = _dot(x[i], x[j])
    if not c * c > _ORTHOGONAL * a * b or min(a, b) <= zero:
        return False
    zeta = (b - a) / (2.0 * c)
    tangent = math.copysign(1.0 / (abs(zeta) + math.sqrt(1.0 + zeta * zeta)), zeta)
    cosine = 1.0 / math.sqrt(1.0 + tangent * tangent)
    _turn(x[i], x[j], cosine, tangent * cosine)
    _turn(companion[i], companion[j], cosine, tangent * cosine)
    return True


@kernel
def _dot(a: Array, b: Array) -> float:
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i] * b[i]
    return total


@kernel
def _turn(a: Array, b: Array, cosine: float, sine: float) -> None:
    for i in range(a.shape[0]):
        first, second = a[i], b[i]
        a[i] = cosine * first - sine * second
        b[i] = sine * first + cosine * second
