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

"""How the benchmark runs Placo and the Robotics Toolbox, which are C++; see `bench_peers`."""

from importlib import import_module
import tempfile
from typing import Any

import numpy as np

from vr_ik.evaluation.bench_judge import ORIENTATION_TOLERANCE_RAD, POSITION_TOLERANCE_M
from vr_ik.evaluation.bench_methods import MAX_ITERATIONS, ORIENTATION_WEIGHT, POSITION_WEIGHT
from vr_ik.evaluation.bench_workloads import Workload
from vr_ik.types import Array

# Libraries that think in velocities take whole steps when one second passes.
DT_S = 1.0
# By workload: damping, and pull to the rest posture [1/rad^2]. The pull keeps an arm's spare joint
# from the limits; a person's straight knees do worse with it.
DAMPING_AND_PULL = {'arm': (1e-4, 1e-6), 'body': (1e-6, 0.0)}


class Placo:
    """Placo with soft tasks and a regularisation."""

    def __init__(self, workload: Workload) -> None:
        placo, model = import_module('placo'), workload.model
        self._robot = placo.RobotWrapper('', placo.Flags.ignore_collisions, workload.urdf)
        self._solver = solver = placo.KinematicsSolver(self._robot)
        solver.mask_fbase(not model.floating_base)
        solver.enable_joint_limits(True)
        solver.enable_velocity_limits(False)
        solver.dt = DT_S
        self._frames = [solver.add_frame_task(link, np.eye(4)) for link in workload.frames]
        for link, task in zip(workload.frames, self._frames, strict=True):
            task.configure(link, 'soft', POSITION_WEIGHT, ORIENTATION_WEIGHT)
        self._positions = [task.position() for task in self._frames]
        self._orientations = [task.orientation() for task in self._frames]
        damping, pull = DAMPING_AND_PULL[workload.name]
        solver.add_regularization_task(damping)
        if pull:
            posture = solver.add_joints_task()
            posture.set_joints(dict(zip(model.joint_names, workload.posture, strict=True)))
            posture.configure('posture', 'soft', pull)
        joints = [self._robot.get_joint_offset(name) for name in model.joint_names]
        self._order = np.array(list(range(model.first_q)) + joints)
        self._blank = self._robot.state.q.copy()

    def prepare(self, targets: Array) -> list[Array]:
        """Return one array per pose."""
        return [np.array(target) for target in targets]

    def start(self, q: Array) -> Array:
        """Return q in Placo's order, where every robot has a floating base."""
        state = self._blank.copy()
        state[self._order] = q
        return state

    def solve(self, state: Array, target: list[Array]) -> tuple[Array, int]:
        """Take Placo's steps until every error is within tolerance."""
        robot, solver = self._robot, self._solver
        robot.state.q = state
        robot.update_kinematics()
        for task, pose in zip(self._frames, target, strict=True):
            task.T_world_frame = pose
        for iteration in range(1, MAX_ITERATIONS + 1):
            try:
                solver.solve(True)
            except RuntimeError:  # Placo's word for a QP without a solution.
                return robot.state.q, iteration
            robot.update_kinematics()
            if self._is_met():
                return robot.state.q, iteration
        return robot.state.q, MAX_ITERATIONS

    def _is_met(self) -> bool:
        for position, orientation in zip(self._positions, self._orientations, strict=True):
            position.update()
            if position.error_norm() > POSITION_TOLERANCE_M:
                return False
            orientation.update()
            if orientation.error_norm() > ORIENTATION_TOLERANCE_RAD:
                return False
        return True

    def read(self, outcome: tuple[Array, int]) -> tuple[Array, Array, int]:
        """Return q in both orders."""
        state, iterations = outcome[0].copy(), outcome[1]
        return state, state[self._order], iterations


class RoboticsToolbox:
    """Peter Corke's toolbox: its Levenberg-Marquardt in C++, for one chain."""

    def __init__(self, workload: Workload) -> None:
        rtb, (link,) = import_module('roboticstoolbox'), workload.frames
        with tempfile.NamedTemporaryFile('w', suffix='.urdf') as file:
            file.write(workload.urdf)
            file.flush()
            self._chain = rtb.Robot.URDF(file.name).ets(end=link)
        # Whatever is within this one tolerance is within both of ours.
        ratio = POSITION_TOLERANCE_M / ORIENTATION_TOLERANCE_RAD
        self._mask = np.array([1.0, 1.0, 1.0, ratio**2, ratio**2, ratio**2])
        self._tolerance = 0.5 * POSITION_TOLERANCE_M**2
        self._lower, self._upper = workload.model.lower, workload.model.upper

    def prepare(self, targets: Array) -> Array:
        """Return the only pose."""
        return np.ascontiguousarray(targets[0])

    def start(self, q: Array) -> Array:
        """Return q as it is."""
        return q.copy()

    def solve(self, state: Array, target: Array) -> Any:
        """Search once, from the state."""
        return self._chain.ik_LM(
            target,
            q0=state,
            ilimit=MAX_ITERATIONS,
            slimit=1,
            tol=self._tolerance,
            mask=self._mask,
            joint_limits=True,
            k=1.0,
            method='chan',
        )

    def read(self, outcome: Any) -> tuple[Array, Array, int]:
        """Return q, and for the next frame q within the limits, which the search ignores."""
        return np.clip(outcome.q, self._lower, self._upper), outcome.q, int(outcome.iterations)
