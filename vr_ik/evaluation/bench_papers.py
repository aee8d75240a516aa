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

"""Speed and success where papers or users set a bar: an arm, a marker fit, random reaching.

- `dls_arm_us`: `dls` with the parameters of P. Caserman et al. 2019 on an arm with the axes and
  limits of their Table I and an adult's lengths; a smooth seeded path within the limits at 90 Hz,
  its targets 5 % further from the shoulder than the arm had them: as in their recordings, many are
  out of reach.
- `newton_58dof_us`, `lm_58dof_us`: a frame of the marker fit of K. Erleben and S. Andrews 2018,
  warm start, 10 steps at most, on the made-up body of `marker_body`; `vr_ik papers` has the
  recorded one.
- `reach_panda`, `reach_ur5`: random reachable poses within the limits, each from the middle of the
  joints' ranges, by `lm` with restarts; solved to 1 mm and 0.01 rad by Pinocchio's word.
"""

from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

import numpy as np

from vr_ik.evaluation.bench_judge import (
    Judge,
    ORIENTATION_TOLERANCE_RAD,
    POSITION_TOLERANCE_M,
)
from vr_ik.evaluation.bench_workloads import (
    kinematics_only,
    PANDA,
    required,
    robot_urdf,
    Session,
    Workload,
)
from vr_ik.evaluation.marker_body import make_marker_fit
from vr_ik.evaluation.paper_erleben import marker_solver, solve_frames
from vr_ik.evaluation.vive_limbs import Limb, make_limb
from vr_ik.kinematics.model import RobotModel
from vr_ik.solvers.base import make_solver, SolveResult
from vr_ik.types import Array, Task

ROUNDS = 3
ARM_SEED, ARM_FRAMES, ARM_RATE_HZ = 3000, 2000, 90.0
BODY_SEED, BODY_FRAMES = 3001, 400
REACH_SEED, REACH_TARGETS = 3002, 10_000
REACH = {'panda': (PANDA, 'panda_link8'), 'ur5': ('ur_description/urdf/ur5_robot.urdf', 'tool0')}
MAX_ITERATIONS, RESTARTS = 30, 200
# Bones of an adult's left arm, each on the one before [m]; x left.
_ARM = {
    'LeftArm': (0.2, 0.0, 0.5),
    'LeftForeArm': (0.28, 0.0, 0.0),
    'LeftHand': (0.26, 0.0, 0.0),
    'LeftHandFinger1': (0.09, 0.0, 0.0),
}
_STRETCHED = 1.05
# Between two random configurations of the arm's path [s].
_SEGMENT_S = 1.0


def measure_papers() -> dict[str, Any]:
    """Return the figures; times in microseconds from Python, of the quietest of some rounds."""
    figures: dict[str, Any] = {'dls_arm_us': _times(_dls_arm())}
    for solver in ('newton', 'lm'):
        figures[f'{solver}_58dof_us'] = _times(_marker_fit(solver))
    for name, (path, link) in REACH.items():
        figures[f'reach_{name}'] = reach(path, link, REACH_SEED, REACH_TARGETS)
    return figures


def _times(run_round: Callable[[], Array]) -> dict[str, float]:
    """Return median and 99th percentile of the round with the lowest median."""
    best = min((run_round() for _ in range(ROUNDS)), key=np.median)
    return {'median': float(np.median(best)), 'p99': float(np.percentile(best, 99.0))}


def paper_arm() -> Limb:
    """Return an arm with the axes and limits of Caserman et al."""
    bones = {}
    parent = 'Hips'
    for name, offset in _ARM.items():
        local = np.eye(4)
        local[:3, 3] = offset
        bones[name] = {'parent': parent, 'local': local}
        parent = name
    return make_limb(bones, 'lHand')


def _dls_arm() -> Callable[[], Array]:
    limb = paper_arm()
    solve = make_solver('dls', limb.model, [Task(limb.link, 1.0, 1.0)]).solve
    rng = np.random.default_rng(ARM_SEED)
    segments = int(ARM_FRAMES / ARM_RATE_HZ / _SEGMENT_S) + 2
    points = [limb.model.random(rng) for _ in range(segments)]
    path = required('scipy.interpolate').PchipInterpolator(
        _SEGMENT_S * np.arange(segments), points
    )
    truth = path(np.arange(ARM_FRAMES) / ARM_RATE_HZ)
    targets = np.array([limb.model.link_pose(q, limb.link)[None] for q in truth])
    shoulder = np.array(_ARM['LeftArm'])
    targets[:, 0, :3, 3] = shoulder + _STRETCHED * (targets[:, 0, :3, 3] - shoulder)
    return lambda: _track(solve, truth[0], targets)


def _track(solve: Callable[[Array, Array], SolveResult], q: Array, targets: Array) -> Array:
    """Return the time [us] of each frame, solved from the answer to the one before."""
    times = np.empty(len(targets))
    for frame, target in enumerate(targets):
        start_ns = perf_counter_ns()
        result = solve(q, target)
        times[frame] = 1e-3 * (perf_counter_ns() - start_ns)
        q = result.q
    return times


def _marker_fit(solver: str) -> Callable[[], Array]:
    fit = make_marker_fit(BODY_SEED, BODY_FRAMES)
    made = marker_solver(fit, solver, 10)
    return lambda: 1e3 * solve_frames(made, fit, 1, lambda frame, q: q)[:, 1]


def reach(path: str, link: str, seed: int, count: int) -> dict[str, float]:
    """Return the median time [us] of `lm` on random poses, and the share that it solves."""
    urdf = kinematics_only(robot_urdf(path), fixed_types=('prismatic',))
    model = RobotModel.from_urdf(urdf)
    rng = np.random.default_rng(seed)
    truth = np.array([model.random(rng) for _ in range(count)])
    targets = np.array([model.link_pose(q, link)[None] for q in truth])
    solver = make_solver(
        'lm',
        model,
        [Task(link)],
        max_iterations=MAX_ITERATIONS,
        position_tolerance=POSITION_TOLERANCE_M,
        orientation_tolerance=ORIENTATION_TOLERANCE_RAD,
        restarts=RESTARTS,
    )
    middle = 0.5 * (model.lower + model.upper)
    times, answers = np.empty(count), np.empty_like(truth)
    for i, target in enumerate(targets):
        start_ns = perf_counter_ns()
        result = solver.solve(middle, target)
        times[i] = 1e-3 * (perf_counter_ns() - start_ns)
        answers[i] = result.q
    sessions = (Session(seed, truth, targets),)
    judge = Judge(Workload('reach', model.name, urdf, model, (link,), middle, sessions))
    solved = judge.verdict(answers, targets).solved
    return {'median': float(np.median(times)), 'solved': float(solved.mean())}
