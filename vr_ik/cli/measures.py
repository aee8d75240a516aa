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

"""What the demonstration measures: rates, delays, and errors against the simulated truth."""

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
import sys
import threading
import time
from typing import Any

import numpy as np

from vr_ik.body.human import human_urdf
from vr_ik.kinematics.model import RobotModel
from vr_ik.math.rotations import quaternion_from_matrix
from vr_ik.trackers.simulated import SIMULATED_ROLES
from vr_ik.trackers.simulated_user import SimulatedUser
from vr_ik.types import Array

ROOT_FRAME = 'base_link'
FRAMES = (*SIMULATED_ROLES, ROOT_FRAME)
"""What the demonstration needs from /tf."""
JOINT_LINKS = {'elbows': ('l_forearm', 'r_forearm'), 'knees': ('l_shin', 'r_shin')}
"""Links whose origins are the joints that no device is on."""

KEPT_LATENCIES = 20_000
"""Latencies are those of the last so many joint states: a table must not hold up the listener."""

_KEPT_HALVES = 500


@dataclass(frozen=True)
class Instant:
    """The newest instant of which everything is known."""

    stamp_ns: int
    q: Array
    q_true: Array
    devices: dict[str, Array]
    """pose_world_from_device of the devices that were seen."""


@dataclass
class Counts:
    """Totals since the beginning; frames count from the first that was solved."""

    frames: int = 0
    joint_states: int = 0
    evaluated: int = 0
    error_sums_m: dict[str, float] = field(default_factory=dict)
    seen: Counter[str] = field(default_factory=Counter)


class Measures:
    """Listens to the nodes and compares what comes with a simulated user's true motion."""

    def __init__(self, user: SimulatedUser, origin_ns: int) -> None:
        """Measure against a user who started to move at a time of the system's clock."""
        self.user = user
        self.user_description = human_urdf(user.proportions)
        self._origin_ns = origin_ns
        self._lock = threading.Lock()
        self._begin_ns = 0
        self._end_ns = sys.maxsize
        self._last_ns: int | None = None
        self._counts = Counts()
        self._latencies_ms: deque[float] = deque(maxlen=KEPT_LATENCIES)
        # An instant arrives in three messages; by stamp: what has come of it so far.
        self._roots: dict[int, Array] = {}
        self._joints: dict[int, Array] = {}
        self._devices: dict[int, dict[str, Array]] = {}
        self._joint_names: tuple[str, ...] = ()
        self.model: RobotModel | None = None
        """The solved body, as the solver describes it."""
        self.description = ''
        self.instant: Instant | None = None
        self.solver: dict[str, str] = {}
        """The solver's last diagnostics."""
        self._warm_up()

    def begin(self, now_ns: int) -> None:
        """Count anew, from what is stamped after this time: the start of all parts is over."""
        with self._lock:
            self._begin_ns = now_ns
            self._last_ns = None
            self._counts = Counts()
            self._latencies_ms.clear()
            self._devices.clear()

    def end(self, now_ns: int) -> None:
        """Count no longer: what comes after this time is left out."""
        with self._lock:
            self._end_ns = now_ns

    @property
    def seconds(self) -> float:
        """The time since the beginning, until the end, whatever has come in it; 0 before it."""
        if not self._begin_ns:
            return 0.0
        return (min(time.time_ns(), self._end_ns) - self._begin_ns) * 1e-9

    @property
    def seconds_to_last(self) -> float:
        """The time from the beginning to the last joint state; 0 where none has come."""
        last_ns = self._last_ns
        return 0.0 if last_ns is None else (last_ns - self._begin_ns) * 1e-9

    @property
    def joint_states(self) -> int:
        """How many joint states have come since the beginning."""
        return self._counts.joint_states

    def on_description(self, urdf_text: str) -> None:
        """Take the description of the solved body."""
        with self._lock:
            if urdf_text != self.description:
                # Nearly always the user's own, which is at hand; to build one would take a while.
                same = urdf_text == self.user_description
                model = self.user.model if same else RobotModel.from_urdf(urdf_text, True)
                self.model, self.description = model, urdf_text

    def on_diagnostics(self, name: str, message: str, values: dict[str, str]) -> None:
        """Take a line of diagnostics; the solver's is of interest."""
        if name.endswith('solver_node: solver'):
            self.solver = {'status': message, **values}

    def on_transforms(self, stamp_ns: int, poses: dict[str, Array]) -> None:
        """Take a tracking frame of the tracker, or the body's root of the solver."""
        if not self._begin_ns <= stamp_ns <= self._end_ns:
            return
        with self._lock:
            root = poses.pop(ROOT_FRAME, None)
            if root is not None:
                _keep(self._roots, stamp_ns, root)
                self._evaluate(stamp_ns)
            if poses:
                _keep(self._devices, stamp_ns, poses)
                if self._last_ns is not None:
                    self._count_frame(poses)

    def on_joint_state(
        self, stamp_ns: int, received_ns: int, names: Sequence[str], positions: Sequence[float]
    ) -> None:
        """Take a solved frame."""
        if stamp_ns < self._begin_ns or received_ns > self._end_ns:
            return
        with self._lock:
            if self._last_ns is None:
                # Frames that came while the solver was getting ready do not count.
                for frame_ns, poses in self._devices.items():
                    if frame_ns >= stamp_ns:
                        self._count_frame(poses)
            self._last_ns = received_ns
            self._joint_names = tuple(names)
            self._counts.joint_states += 1
            self._latencies_ms.append((received_ns - stamp_ns) * 1e-6)
            _keep(self._joints, stamp_ns, np.array(positions))
            self._evaluate(stamp_ns)

    def summary(self) -> dict[str, Any]:
        """Return the figures of the run so far, as `--json` writes them; none is unknown."""
        with self._lock:
            latencies_ms = list(self._latencies_ms)
            summary: dict[str, Any] = {
                'seconds': round(self.seconds, 3),
                'frames': self._counts.frames,
                'joint_states': self._counts.joint_states,
                'latency_ms': None,
                'error_mm': {
                    name: self._mean_error_mm(name) for name in ('tracked', *JOINT_LINKS)
                },
            }
        # Sorted outside: the listener need not wait for it.
        summary['latency_ms'] = _percentiles(latencies_ms)
        return summary

    def device_errors_mm(self) -> dict[str, float | None]:
        """Return the mean error of each device's place on the body."""
        with self._lock:
            return {role: self._mean_error_mm(role) for role in SIMULATED_ROLES}

    def seen_shares(self) -> dict[str, float]:
        """Return in which share of the frames each device was."""
        with self._lock:
            frames = max(self._counts.frames, 1)
            return {role: self._counts.seen[role] / frames for role in SIMULATED_ROLES}

    def _warm_up(self) -> None:
        """Call every kernel once: loading them later would hold up what is being measured."""
        quaternion_from_matrix(np.eye(3))
        q = self.user.q_at(0.0)
        self._errors_m(self.user.model, q, q)

    def _count_frame(self, poses: dict[str, Array]) -> None:
        self._counts.frames += 1
        self._counts.seen.update(poses.keys())

    def _mean_error_mm(self, name: str) -> float | None:
        if not self._counts.evaluated:
            return None
        return round(1e3 * self._counts.error_sums_m[name] / self._counts.evaluated, 3)

    def _evaluate(self, stamp_ns: int) -> None:
        """Compare an instant with the truth, once its root and its joints have come."""
        model = self.model
        if model is None or self._joint_names != model.joint_names:
            return
        if not (stamp_ns in self._roots and stamp_ns in self._joints):
            return
        root, joints = self._roots.pop(stamp_ns), self._joints.pop(stamp_ns)
        q = np.concatenate((root[:3, 3], quaternion_from_matrix(root[:3, :3]), joints))
        q_true = self.user.q_at((stamp_ns - self._origin_ns) * 1e-9)
        self._counts.evaluated += 1
        for name, error_m in self._errors_m(model, q, q_true).items():
            sums = self._counts.error_sums_m
            sums[name] = sums.get(name, 0.0) + error_m
        self.instant = Instant(stamp_ns, q, q_true, self._devices.pop(stamp_ns, {}))

    def _errors_m(self, model: RobotModel, q: Array, q_true: Array) -> dict[str, float]:
        """Return the mean distances of the tracked points and of each group of joints."""
        solved, true = model.link_poses(q), self.user.model.link_poses(q_true)

        def distance(link: str, point: Array) -> float:
            here = solved[model.link_index(link)] @ point
            return float(np.linalg.norm(here - true[self.user.model.link_index(link)] @ point))

        mounts = [self.user.mounts[role] for role in SIMULATED_ROLES]
        errors = {
            role: distance(mount.link, mount.pose_link_from_device[:, 3])
            for role, mount in zip(SIMULATED_ROLES, mounts, strict=True)
        }
        errors['tracked'] = sum(errors.values()) / len(errors)
        origin = np.array([0.0, 0.0, 0.0, 1.0])
        for group, links in JOINT_LINKS.items():
            errors[group] = sum(distance(link, origin) for link in links) / len(links)
        return errors


def _percentiles(values: list[float]) -> dict[str, float | None]:
    if not values:
        return {'median': None, 'p99': None}
    median, p99 = np.percentile(np.array(values), (50.0, 99.0))
    return {'median': round(float(median), 3), 'p99': round(float(p99), 3)}


def _keep(halves: dict[int, Any], stamp_ns: int, value: Any) -> None:
    """Remember by stamp; forget the oldest where the other half never came."""
    halves[stamp_ns] = value
    if len(halves) > _KEPT_HALVES:
        del halves[next(iter(halves))]
