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

"""UNREACHABLE is a proof: never said of what a pose meets, always beyond the bones."""

import numpy as np
import pytest
from robots import urdf_path

from vr_ik.kinematics.model import RobotModel
from vr_ik.solvers.base import make_solver
from vr_ik.types import Status, Task

NAMES = ('lm', 'newton', 'bfgs', 'dls', 'fabrik', 'ccd')


@pytest.fixture(scope='module')
def panda():
    return RobotModel.from_urdf(urdf_path('panda'))


@pytest.fixture(scope='module')
def talos():
    return RobotModel.from_urdf(urdf_path('talos_reduced'), floating_base=True)


@pytest.mark.parametrize('name', NAMES)
def test_what_some_pose_meets_is_never_called_unreachable(panda, name):
    rng = np.random.default_rng(3)
    link = panda.link_names[-1]
    solver = make_solver(name, panda, [Task(link, 1.0, 0.0)], max_iterations=1)
    for _ in range(20):
        q = rng.uniform(panda.lower, panda.upper)
        target = panda.link_poses(q)[panda.link_index(link)][None]
        assert solver.solve(panda.neutral(), target).status is not Status.UNREACHABLE


@pytest.mark.parametrize('name', NAMES)
def test_what_is_beyond_the_bones_is_called_unreachable_after_one_step(panda, name):
    solver = make_solver(name, panda, [Task(panda.link_names[-1], 1.0, 0.0)], max_iterations=1)
    target = np.eye(4)[None].copy()
    target[0, :3, 3] = (3.0, 0.0, 0.0)
    assert solver.solve(panda.neutral(), target).status is Status.UNREACHABLE


@pytest.mark.parametrize('name', NAMES)
def test_targets_of_a_moving_root_can_be_too_far_apart(talos, name):
    links = talos.link_names[-2], talos.link_names[1]
    solver = make_solver(name, talos, [Task(link, 1.0, 0.0) for link in links], max_iterations=1)
    targets = np.tile(np.eye(4), (2, 1, 1))
    targets[1, 0, 3] = 20.0
    assert solver.solve(talos.neutral(), targets).status is Status.UNREACHABLE
    targets = talos.link_poses(talos.neutral())[[talos.link_index(link) for link in links]]
    targets[:, 0, 3] += 20.0
    assert solver.solve(talos.neutral(), targets).status is not Status.UNREACHABLE
