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

"""The benchmark's referee: Pinocchio's FK says which of the returned configurations are right."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vr_ik.evaluation.bench_workloads import required, Workload
from vr_ik.types import Array

POSITION_TOLERANCE_M = 1e-3
ORIENTATION_TOLERANCE_RAD = 1e-2
# Rounding and a QP solver's own tolerance are no failures.
_SLACK = 1e-6


@dataclass(frozen=True, eq=False)
class Verdict:
    """What one solver's answers to one session are worth, frame by frame."""

    position_errors: Array
    """(n,) distance from the target [m] of the worst frame of the model."""
    orientation_errors: Array
    """(n,) angle from the target [rad] of the worst frame of the model."""
    within_limits: NDArray[np.bool_]
    """(n,) whether every joint is."""

    @property
    def solved(self) -> NDArray[np.bool_]:
        """(n,) whether a frame counts as solved."""
        close = self.position_errors <= POSITION_TOLERANCE_M + _SLACK
        aligned = self.orientation_errors <= ORIENTATION_TOLERANCE_RAD + _SLACK
        solved: NDArray[np.bool_] = close & aligned & self.within_limits
        return solved


class PinocchioLayout:
    """A workload's model in Pinocchio, and where it keeps our coordinates."""

    def __init__(self, workload: Workload) -> None:
        pin = required('pinocchio')
        ours = workload.model
        root = (pin.JointModelFreeFlyer(),) if ours.floating_base else ()
        self.model = pin.buildModelFromXML(workload.urdf, *root)
        joints = [self.model.joints[self.model.getJointId(name)] for name in ours.joint_names]
        first = list(range(ours.first_q))
        self.order = np.array(first + [joint.idx_q for joint in joints])
        """Our coordinate i is Pinocchio's coordinate order[i]."""

    def to_pinocchio(self, q: Array) -> Array:
        """Return our q in Pinocchio's order."""
        converted = np.empty(self.model.nq)
        converted[self.order] = q
        return converted

    def to_ours(self, q: Array) -> Array:
        """Return Pinocchio's q in our order."""
        return q[self.order]


class Judge:
    """Holds a workload's answers against its targets."""

    def __init__(self, workload: Workload) -> None:
        self._pin = required('pinocchio')
        self._layout = PinocchioLayout(workload)
        self._data = self._layout.model.createData()
        self._ids = [self._layout.model.getFrameId(frame) for frame in workload.frames]

    def verdict(self, answers: Array, targets: Array) -> Verdict:
        """Judge configurations (n, nq), in our order, against targets (n, m, 4, 4)."""
        errors = np.array([self._errors(q, t) for q, t in zip(answers, targets, strict=True)])
        lower = self._layout.to_ours(self._layout.model.lowerPositionLimit)
        upper = self._layout.to_ours(self._layout.model.upperPositionLimit)
        inside = (answers >= lower - _SLACK) & (answers <= upper + _SLACK)
        # A root's quaternion has no limits, but Pinocchio gives it some.
        first = 7 if self._layout.model.nq > self._layout.model.nv else 0
        within_limits = np.logical_and.reduce(inside[:, first:], axis=1)
        return Verdict(errors[:, 0], errors[:, 1], within_limits)

    def _errors(self, q: Array, targets: Array) -> tuple[float, float]:
        """Return the worst position error [m] and the worst rotation error [rad]."""
        pin, model = self._pin, self._layout.model
        pin.framesForwardKinematics(model, self._data, self._layout.to_pinocchio(q))
        position = orientation = 0.0
        for frame, target in zip(self._ids, targets, strict=True):
            pose = self._data.oMf[frame]
            position = max(position, float(np.linalg.norm(pose.translation - target[:3, 3])))
            angle = float(np.linalg.norm(pin.log3(pose.rotation.T @ target[:3, :3])))
            orientation = max(orientation, angle)
        return position, orientation
