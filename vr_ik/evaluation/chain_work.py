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

"""A bare chain of joints as work for every method, with seeded targets, and how it is timed.

A chain of n joints has n - 1 bones of the same length, starts straight along z from the origin,
and its last joint is the end effector. Methods for chains of points get it as such; the others
get it as a URDF whose every joint but the last is a ball, of three hinges without limits.
"""

from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import Any, NamedTuple

import numpy as np

from vr_ik.kinematics.model import RobotModel
from vr_ik.solvers.base import make_solver
from vr_ik.solvers.ccd_chain import ccd_chain, free_joints
from vr_ik.solvers.chains import chain_from_points
from vr_ik.solvers.fabrik_chain import fabrik_chain
from vr_ik.solvers.ftl_chain import ftl_chain
from vr_ik.solvers.target_triangle_chain import target_triangle_chain
from vr_ik.solvers.triangulation_chain import triangulation_chain
from vr_ik.types import Array, Task

Solve = Callable[[Array], tuple[int, float]]
"""Brings the chain from its start to a target; returns iterations and the distance left [m]."""

POINT_METHODS = ('fabrik', 'ccd', 'ftl', 'triangulation', 'target_triangle')
"""Those that work on chains of points."""

_AXES = ('0 0 1', '0 1 0', '1 0 0')


class Chain(NamedTuple):
    """What the chain is, and when its end effector counts as arrived."""

    joints: int
    length: float
    """[m]"""
    tolerance: float
    """[m]"""
    max_iterations: int


class Outcome(NamedTuple):
    """One solve of each target."""

    iterations: Array
    distances: Array
    """[m]"""
    us: Array


def chain_solver(method: str, chain: Chain, **options: Any) -> Solve:
    """Return the method, ready for this chain; options are for those that need a URDF."""
    if method not in POINT_METHODS:
        return _tree_solver(method, chain, options)
    bones = np.linspace(0.0, chain.length, chain.joints)
    points = chain_from_points(np.column_stack((0.0 * bones, 0.0 * bones, bones)))
    out, spare, tolerance, most = np.empty_like(points), points.copy(), *chain[2:]
    joints = free_joints(chain.joints - 1)
    solves: dict[str, Solve] = {
        'fabrik': lambda target: fabrik_chain(points, target, tolerance, most, out),
        'ccd': lambda target: ccd_chain(points, target, joints, tolerance, most, False, out),
        'ftl': lambda target: ftl_chain(points, target, tolerance, most, spare, out),
        'triangulation': lambda target: triangulation_chain(points, target, out),
        'target_triangle': lambda target: target_triangle_chain(
            points, target, tolerance, most, out
        ),
    }
    return solves[method]


def _tree_solver(method: str, chain: Chain, options: dict[str, Any]) -> Solve:
    model = RobotModel.from_urdf(chain_urdf(chain))
    solver = make_solver(
        method,
        model,
        [Task(f'joint{chain.joints}', 1.0, 0.0)],
        position_tolerance=chain.tolerance,
        max_iterations=chain.max_iterations,
        **options,
    )
    q, pose = model.neutral(), np.eye(4)[None].copy()

    def solve(target: Array) -> tuple[int, float]:
        pose[0, :3, 3] = target
        result = solver.solve(q, pose)
        return result.iterations, float(result.position_errors[0])

    return solve


def chain_urdf(chain: Chain) -> str:
    """Return the chain as a robot, of balls without limits; its end is link joint<n>."""
    bone = chain.length / (chain.joints - 1)
    parts, last = ['<link name="joint1"/>'], 'joint1'
    for i in range(1, chain.joints):
        for k, axis in enumerate(_AXES):
            parts.append(_joint('continuous', last, f'ball{i}{"xyz"[k]}', 0.0, axis))
            last = f'ball{i}{"xyz"[k]}'
        parts.append(_joint('fixed', last, f'joint{i + 1}', bone, '0 0 1'))
        last = f'joint{i + 1}'
    return f'<robot name="chain">{"".join(parts)}</robot>'


def _joint(kind: str, parent: str, child: str, z: float, axis: str) -> str:
    return (
        f'<link name="{child}"/><joint name="to_{child}" type="{kind}"><parent link="{parent}"/>'
        f'<child link="{child}"/><origin xyz="0 0 {z!r}"/><axis xyz="{axis}"/></joint>'
    )


def directions(rng: np.random.Generator, count: int) -> Array:
    """Return unit vectors (count, 3), uniform over the sphere."""
    vectors = rng.normal(size=(count, 3))
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1)[:, None])


def targets_in_reach(seed: int, count: int, length: float) -> Array:
    """Return targets (count, 3), uniform in all the volume that a chain of that length reaches."""
    rng = np.random.default_rng(seed)
    return directions(rng, count) * length * np.cbrt(rng.uniform(size=(count, 1)))


def targets_of_poses(seed: int, count: int, chain: Chain) -> Array:
    """Return targets (count, 3): where the end effector is when every bone points anywhere."""
    bones = directions(np.random.default_rng(seed), count * (chain.joints - 1))
    ends: Array = bones.reshape(count, -1, 3).sum(axis=1) * chain.length / (chain.joints - 1)
    return ends


def run_targets(solve: Solve, targets: Sequence[Array] | Array, rounds: int) -> Outcome:
    """Solve every target; of several rounds, the time of the quietest counts for each target."""
    times = np.empty((rounds, len(targets)))
    iterations, distances = np.empty(len(targets)), np.empty(len(targets))
    for row in times:
        for i, target in enumerate(targets):
            began_ns = perf_counter_ns()
            outcome = solve(target)
            row[i] = 1e-3 * (perf_counter_ns() - began_ns)
            iterations[i], distances[i] = outcome
    return Outcome(iterations, distances, times.min(axis=0))
