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

"""What `vr_ik tune` tries: the ranges of P. Caserman et al. 2019, Table II and Section IV."""

import numpy as np

from vr_ik import registry
from vr_ik.config_fields import parameters
from vr_ik.errors import UnknownNameError

# Table II: first value, last value and step of each method's lambda.
_LAMBDA = {
    'jt': (0.05, 1.0, 0.05),
    'jpi': (0.05, 1.0, 0.05),
    'dls': (0.0, 1.5, 0.05),
    'svd': (0.01, 0.25, 0.01),
    'svd_dls': (0.0, 1.5, 0.05),
    'sdls': (0.002, 0.052, 0.002),
}
METHODS = tuple(_LAMBDA)
_TOLERANCES = (1e-4, 1e-3, 1e-2, 1e-1)
_ITERATIONS = tuple(range(10, 251, 10))

Value = float | int
Options = dict[str, Value]
"""Options of a solver by name."""


def start(method: str) -> Options:
    """Return the values from which the search begins: the solver's defaults."""
    options = registry.load(registry.SOLVERS, method).Options()
    return {name: getattr(options, name) for name in sweeps(method)}


def sweeps(method: str) -> dict[str, tuple[Value, ...]]:
    """Return the values to try of each option, in the order in which they are optimised.

    Where a method cannot do without damping, its smallest valid value stands for the paper's 0.
    """
    if method not in _LAMBDA:
        raise UnknownNameError('method to tune', method, METHODS)
    solver = registry.load(registry.SOLVERS, method)
    (smallest,) = [
        info.minimum or 0.0
        for name, _, info in parameters(solver.Options)
        if name == solver.PARAMETER
    ]
    first, last, step = _LAMBDA[method]
    steps = np.arange(round((last - first) / step) + 1)
    lambdas = np.maximum(np.round(first + step * steps, 6), smallest)
    return {
        solver.PARAMETER: tuple(lambdas.tolist()),
        'position_tolerance': _TOLERANCES,
        'orientation_tolerance': _TOLERANCES,
        'max_iterations': _ITERATIONS,
    }
