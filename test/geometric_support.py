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


"""Random robots for tests of solvers: URDF trees with every kind of joint."""

from dataclasses import dataclass

from hypothesis import strategies as st
import numpy as np

from vr_ik.kinematics.model import RobotModel
from vr_ik.math.rotations import log_rotation
from vr_ik.types import Array, Task

KINDS = ('revolute', 'revolute', 'revolute', 'continuous', 'prismatic', 'fixed')
# Of position and orientation.
WEIGHTS = ((1.0, 0.0), (1.0, 0.1), (0.0, 1.0), (0.0, 0.0))
NOT_FINITE = (np.nan, np.inf, -np.inf)
SPOILS = ('no', 'no', 'far', 'root', 'line', 'very far', 'nan')


@dataclass(frozen=True)
class Case:
    """A robot, tasks, a start and targets."""

    model: RobotModel
    tasks: list[Task]
    q_start: Array
    targets: Array


def random_urdf(rng: np.random.Generator, straight: bool = False) -> str:
    """Return a tree of 2 to 9 links with random joints; some at one point, some mimic another.

    A straight one has all its links on one line when its joints are at zero.
    """
    count = int(rng.integers(2, 10))
    parts = [f'<link name="l{i}"/>' for i in range(count)]
    movable: list[str] = []
    for i in range(1, count):
        # Mostly chains, with branches.
        parent = i - 1 if rng.uniform() < 0.7 else int(rng.integers(i))
        kind = str(rng.choice(KINDS))
        xyz = rng.uniform(-0.5, 0.5, 3) if rng.uniform() < 0.7 else np.zeros(3)
        rpy = rng.uniform(-3.0, 3.0, 3) if rng.uniform() < 0.5 else np.zeros(3)
        if straight:
            xyz, rpy = np.array([0.0, 0.0, abs(xyz[2])]), np.zeros(3)
        axis = np.eye(3)[rng.integers(3)] if rng.uniform() < 0.6 else rng.normal(size=3)
        lower, upper = sorted(rng.uniform(-2.5, 2.5, 2))
        if rng.uniform() < 0.1:
            upper = lower
        if kind == 'prismatic':
            lower, upper = 0.2 * lower, 0.2 * upper
        mimic = ''
        if movable and kind in ('revolute', 'prismatic') and rng.uniform() < 0.1:
            master = str(rng.choice(movable))
            mimic = f'<mimic joint="{master}" multiplier="{rng.uniform(-2, 2)}" offset="0.1"/>'
        elif kind != 'fixed':
            movable.append(f'j{i}')
        parts.append(
            f'<joint name="j{i}" type="{kind}"><parent link="l{parent}"/><child link="l{i}"/>'
            f'<origin xyz="{_text(xyz)}" rpy="{_text(rpy)}"/><axis xyz="{_text(axis)}"/>'
            f'<limit lower="{lower}" upper="{upper}" velocity="1" effort="1"/>{mimic}</joint>'
        )
    return f'<robot name="random">{"".join(parts)}</robot>'


def _text(vector: Array) -> str:
    return ' '.join(f'{value:.6f}' for value in vector)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw a robot with tasks, and targets within reach, out of it, at the root, at limits."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    floating = draw(st.booleans())
    straight = draw(st.booleans())
    model = RobotModel.from_urdf(random_urdf(rng, straight), floating_base=floating)
    links = rng.choice(model.link_names, size=draw(st.integers(1, 3)))
    tasks = []
    for link in links:
        offset = np.eye(4)
        offset[:3, 3] = rng.uniform(-0.2, 0.2, 3)
        weights = WEIGHTS[rng.choice(len(WEIGHTS), p=[0.4, 0.4, 0.1, 0.1])]
        tasks.append(Task(str(link), *weights, offset))
    q_truth = model.random(rng)
    if draw(st.booleans()):  # Every joint at a limit, where it has one.
        bound = np.where(rng.uniform(size=len(model.lower)) < 0.5, model.lower, model.upper)
        joints = q_truth[model.first_q :]
        joints[:] = np.where(np.isfinite(bound), bound, joints)
    targets = np.array([model.link_pose(q_truth, task.link) @ task.offset for task in tasks])
    q_start = model.neutral() if straight else model.random(rng)
    if model.nq > 0 and draw(st.integers(0, 9)) == 0:
        q_start[rng.integers(model.nq)] = rng.choice(NOT_FINITE)
    _spoil(rng, draw(st.sampled_from(SPOILS)), targets)
    return Case(model, tasks, q_start, targets)


def _spoil(rng: np.random.Generator, how: str, targets: Array) -> None:
    """Move one target far away, along a line, to where squares overflow; or make it no pose."""
    target = targets[rng.integers(len(targets))]
    if how == 'far':
        target[:3, 3] = rng.normal(size=3) * 10.0 ** rng.uniform(0.5, 6.0)
    elif how == 'root':
        target[:3, 3] = 0.0
    elif how == 'line':
        target[:3, 3] = (0.0, 0.0, rng.uniform(-1.0, 1.0))
    elif how == 'very far':
        target[:3, 3] = rng.normal(size=3) * 1e200
    elif how == 'nan':
        target[rng.integers(3), rng.integers(4)] = rng.choice(NOT_FINITE)


def within_limits(model: RobotModel, q: Array) -> bool:
    joints = q[model.first_q :]
    return bool((joints >= model.lower).all() and (joints <= model.upper).all())


def true_errors(
    model: RobotModel, tasks: list[Task], q: Array, targets: Array
) -> tuple[Array, Array]:
    """Return position and rotation errors of the tasks by forward kinematics."""
    positions, rotations = [], []
    for task, target in zip(tasks, targets):
        pose = model.link_pose(q, task.link) @ task.offset
        positions.append(np.linalg.norm(pose[:3, 3] - target[:3, 3]))
        rotations.append(np.linalg.norm(log_rotation(target[:3, :3] @ pose[:3, :3].T)))
    return np.array(positions), np.array(rotations)
