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

"""How the benchmark runs the libraries that vr_ik is held against: Pink, mink, and their list.

Each takes as many of its own steps as it needs to meet the tolerances, at most `MAX_ITERATIONS`,
from its own last answer, with the weights of `bench_methods`, joint limits on and speed limits
off. The other settings are the best of those tried, on seeds that the benchmark does not use. A
step comes first and the check of the errors after it, since nearly every frame needs a step.
"""

from collections.abc import Callable, Iterable
from importlib import import_module
import math
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np

from vr_ik.evaluation.bench_judge import (
    ORIENTATION_TOLERANCE_RAD,
    PinocchioLayout,
    POSITION_TOLERANCE_M,
)
from vr_ik.evaluation.bench_methods import (
    MAX_ITERATIONS,
    Method,
    ORIENTATION_WEIGHT,
    POSITION_WEIGHT,
)
from vr_ik.evaluation.bench_peers_native import DAMPING_AND_PULL, DT_S, Placo, RoboticsToolbox
from vr_ik.evaluation.bench_workloads import Workload
from vr_ik.types import Array

_COSTS = (math.sqrt(POSITION_WEIGHT), math.sqrt(ORIENTATION_WEIGHT))


class _Differential:
    """What Pink and mink have in common: tasks, and a velocity to integrate."""

    def __init__(
        self, library: Any, error: type[Exception], configuration: Any, workload: Workload
    ) -> None:
        self._library, self._error, self._configuration = library, error, configuration
        self._damping, self._pull = DAMPING_AND_PULL[workload.name]
        self._frames: list[Any] = []
        self._tasks: list[Any] = []
        self._limits: list[Any] = []

    def solve(self, state: Array, target: Any) -> tuple[Array, int]:
        """Integrate the library's velocities until every error is within tolerance."""
        configuration = self._configuration
        configuration.update(state)
        for task, pose in zip(self._frames, target, strict=True):
            task.set_target(pose)
        for iteration in range(1, MAX_ITERATIONS + 1):
            try:
                velocity = self._library.solve_ik(
                    configuration,
                    self._tasks,
                    DT_S,
                    'daqp',
                    damping=self._damping,
                    limits=self._limits,
                )
            except self._error:
                return configuration.q, iteration
            configuration.integrate_inplace(velocity, DT_S)
            if _twists_within(task.compute_error(configuration) for task in self._frames):
                return configuration.q, iteration
        return configuration.q, MAX_ITERATIONS


class Pink(_Differential):
    """Pink with the QP solver daqp."""

    def __init__(self, workload: Workload) -> None:
        pink = import_module('pink')
        self._pin = import_module('pinocchio')
        self._layout = PinocchioLayout(workload)
        model, rest = self._layout.model, self._layout.to_pinocchio(workload.rest)
        configuration = pink.Configuration(model, model.createData(), rest)
        super().__init__(pink, pink.PinkError, configuration, workload)
        self._frames = [pink.FrameTask(link, *_COSTS) for link in workload.frames]
        self._tasks = list(self._frames)
        if self._pull:
            self._tasks.append(pink.PostureTask(cost=math.sqrt(self._pull)))
            self._tasks[-1].set_target(rest)
        # At its default gain of one half a limit is only ever approached.
        self._limits = [pink.limits.ConfigurationLimit(model, config_limit_gain=1.0)]
        self._joints = self._layout.order[workload.model.first_q :]
        self._lower, self._upper = workload.model.lower, workload.model.upper

    def prepare(self, targets: Array) -> Any:
        """Return the poses as Pinocchio's."""
        return [self._pin.SE3(target) for target in targets]

    def start(self, q: Array) -> Array:
        """Return q in Pinocchio's order."""
        return self._layout.to_pinocchio(q)

    def read(self, outcome: tuple[Array, int]) -> tuple[Array, Array, int]:
        """Return q in both orders; Pink refuses to start a hair outside the limits."""
        state, iterations = outcome[0].copy(), outcome[1]
        state[self._joints] = np.clip(state[self._joints], self._lower, self._upper)
        return state, self._layout.to_ours(outcome[0]), iterations


class Mink(_Differential):
    """Mink on MuJoCo, with the QP solver daqp."""

    def __init__(self, workload: Workload) -> None:
        mink = self._mink = import_module('mink')
        model = import_module('mujoco').MjModel.from_xml_string(_mujoco_urdf(workload))
        super().__init__(mink, mink.MinkError, mink.Configuration(model), workload)
        # MuJoCo's quaternions are wxyz.
        root = [0, 1, 2, 4, 5, 6, 3] if workload.model.floating_base else []
        joints = [model.joint(name).qposadr[0] for name in workload.model.joint_names]
        self._order = np.array(root + joints)
        self._frames = [mink.FrameTask(link, 'body', *_COSTS) for link in workload.frames]
        self._tasks = list(self._frames)
        if self._pull:
            self._tasks.append(mink.PostureTask(model, cost=math.sqrt(self._pull)))
            self._tasks[-1].set_target(self.start(workload.rest))
        self._limits = [mink.ConfigurationLimit(model, gain=1.0)]

    def prepare(self, targets: Array) -> Any:
        """Return the poses as mink's."""
        return [self._mink.SE3.from_matrix(target) for target in targets]

    def start(self, q: Array) -> Array:
        """Return q in MuJoCo's order."""
        state = np.empty(len(q))
        state[self._order] = q
        return state

    def read(self, outcome: tuple[Array, int]) -> tuple[Array, Array, int]:
        """Return q in both orders."""
        state, iterations = outcome[0].copy(), outcome[1]
        return state, state[self._order], iterations


class Peer(NamedTuple):
    """A library to be held against."""

    make: Callable[[Workload], Method]
    module: str
    distribution: str
    workloads: tuple[str, ...] = ('arm', 'body')


PEERS = {
    'pink': Peer(Pink, 'pink', 'pin-pink'),
    'placo': Peer(Placo, 'placo', 'placo'),
    'mink': Peer(Mink, 'mink', 'mink'),
    'roboticstoolbox': Peer(
        RoboticsToolbox, 'roboticstoolbox', 'roboticstoolbox-python', ('arm',)
    ),
}


def _twists_within(twists: Iterable[Array]) -> bool:
    """Tell whether errors (linear 3, angular 3) are all within tolerance."""
    for twist in twists:
        linear, angular = twist[:3], twist[3:]
        if linear @ linear > POSITION_TOLERANCE_M**2:
            return False
        if angular @ angular > ORIENTATION_TOLERANCE_RAD**2:
            return False
    return True


def _mujoco_urdf(workload: Workload) -> str:
    """Return the URDF as MuJoCo wants it: no link dropped, none massless, a floating joint."""
    robot = ElementTree.fromstring(workload.urdf)
    options = {'fusestatic': 'false', 'boundmass': '1e-3', 'boundinertia': '1e-6'}
    options |= {'balanceinertia': 'true', 'discardvisual': 'false'}
    ElementTree.SubElement(ElementTree.SubElement(robot, 'mujoco'), 'compiler', options)
    if workload.model.floating_base:
        ElementTree.SubElement(robot, 'link', name='world')
        joint = ElementTree.SubElement(robot, 'joint', name='mujoco_root', type='floating')
        ElementTree.SubElement(joint, 'parent', link='world')
        ElementTree.SubElement(joint, 'child', link=workload.model.root_link)
    return ElementTree.tostring(robot, encoding='unicode')
