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

"""Speed of the methods for chains of points: three joints, 1 mm, as in E. Stolpe 2021."""

from typing import Any

import numpy as np

from vr_ik.evaluation.chain_work import Chain, chain_solver, run_targets, targets_in_reach

ARM = Chain(joints=3, length=0.6, tolerance=1e-3, max_iterations=100)
SEED, TARGETS = 0, 30
_ROUNDS, _CALLS = 20, 50


def measure_chains() -> dict[str, Any]:
    """Return `fabrik_3_us` and `ccd_3_us`: median and 99th percentile of a solve from Python.

    Each round solves the 30 targets many times; the figures are those of the round with the
    lowest median, the one that other programs disturbed least.
    """
    targets = targets_in_reach(SEED, TARGETS, ARM.length)
    figures = {}
    for method in ('fabrik', 'ccd'):
        solve = chain_solver(method, ARM)
        rounds = [
            np.concatenate([run_targets(solve, targets, 1).us for _ in range(_CALLS)])
            for _ in range(_ROUNDS)
        ]
        median, p99 = min((float(np.median(us)), float(np.percentile(us, 99))) for us in rounds)
        figures[f'{method}_3_us'] = {'median': median, 'p99': p99}
    return figures
