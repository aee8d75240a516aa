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


"""What the teleoperation demonstration measures: from outside, by what the nodes publish."""

from collections import Counter, defaultdict, deque
from collections.abc import Sequence
import re
import threading
import time
from typing import Any

import numpy as np

from vr_ik.cli.teleop_demo import LEADING
from vr_ik.kinematics.model import RobotModel
from vr_ik.math.rotations import quaternion_from_matrix, rotation_from_rpy
from vr_ik.teleop.audit import CommandAudit, Limits
from vr_ik.teleop.braking import BrakingPoint
from vr_ik.teleop.following import Following, judge_following
from vr_ik.teleop.node_config import TeleopNodeConfig
from vr_ik.teleop.retarget import heading
from vr_ik.teleop.types import Reason, State
from vr_ik.trackers.simulated import SIMULATED_ROLES
from vr_ik.trackers.simulated_user import SimulatedUser
from vr_ik.types import Array

ROOT_FRAME = 'base_link'
FRAMES = (*SIMULATED_ROLES, ROOT_FRAME)

_KEPT_STATES = 100_000
_OPERATORS_PART = (
    Reason.NOT_ENABLED.value,
    Reason.READY.value,
    Reason.CLUTCH_HELD.value,
    'before: ',
)
"""How what is missing for a press begins, where it is the operator who is to do something."""
_NUMBERS = re.compile(r', -?\d+ mm apart')
"""In what holds an arm back: distances change all the time."""


class TeleopMeasures:
    """Listens to the nodes; commands are judged by the limits, the robot by the true hand."""

    def __init__(
        self, config: TeleopNodeConfig, urdf_text: str, user: SimulatedUser, origin_ns: int = 0
    ) -> None:
        """Judge a robot led by a user; see `begin`."""
        self.config = config
        self.robot = RobotModel.from_urdf(urdf_text)
        self.q_robot = self.robot.neutral()
        self._robot_ns = 0
        self._user, self._origin_ns = user, origin_ns
        self._lock = threading.Lock()
        self._audits: dict[tuple[str, ...], CommandAudit] = {}
        self._states: deque[tuple[int, Array]] = deque(maxlen=_KEPT_STATES)
        self._engaged: list[tuple[float, float]] = []
        self._engaged_since_s: float | None = None
        self._stops: Counter[str] = Counter()
        self._held, self._held_since_s = '', 0.0
        self._over = False
        self._held_back_s: defaultdict[str, float] = defaultdict(float)
        """What held the arms back -> for how long, in the order in which it came."""
        self.state = ''
        self.body: RobotModel | None = None
        self.body_description = ''
        self.q_body = np.zeros(0)
        self.devices: dict[str, Array] = {}
        self.first_command_s: float | None = None
        """When the first command came, by the monotonic clock."""
        self.robot_states = 0

    def begin(self, origin_ns: int) -> None:
        """Take when the user begins to move, by the system's clock."""
        with self._lock:
            self._origin_ns = origin_ns

    @property
    def operator_awaited(self) -> bool:
        """Whether nothing is missing for the arm to be led but what the operator does."""
        begin = f'{State.DISENGAGED.value}: '
        missing = self.state.removeprefix(begin).split('; ')
        awaited = all(text.startswith(_OPERATORS_PART) for text in missing)
        return self.state.startswith(begin) and awaited and self.body is not None

    def on_transforms(self, poses: dict[str, Array]) -> None:
        """Take devices, or the operator's root."""
        root = poses.pop(ROOT_FRAME, None)
        if poses:
            self.devices = poses
        if root is not None and self.body is not None:
            self.q_body[:3] = root[:3, 3]
            self.q_body[3:7] = quaternion_from_matrix(root[:3, :3])

    def on_body_description(self, urdf_text: str) -> None:
        """Take the operator's body."""
        body = RobotModel.from_urdf(urdf_text, floating_base=True)
        self.q_body, self.body_description, self.body = body.neutral(), urdf_text, body

    def on_body(self, names: Sequence[str], positions: Sequence[float]) -> None:
        """Take the joints of the operator's body."""
        if self.body is not None and tuple(names) == self.body.joint_names:
            self.q_body[7:] = positions

    def on_robot(self, stamp_ns: int, names: Sequence[str], positions: Sequence[float]) -> None:
        """Take the joints of the robot."""
        q = self.robot.configuration(dict(zip(names, positions, strict=True)))
        with self._lock:
            self.q_robot, self._robot_ns = q, stamp_ns
            self.robot_states += 1
            if self._engaged_since_s is not None:
                self._states.append((stamp_ns, q))

    def on_command(
        self,
        sent_ns: int,
        number: int | None,
        joints: Sequence[str],
        way: Sequence[BrakingPoint],
    ) -> None:
        """Judge a command; what comes after the end is nobody's first one."""
        with self._lock:
            if self._over:
                return
            self.first_command_s = self.first_command_s or time.monotonic()
            key = tuple(joints)
            if key not in self._audits:
                config = self.config
                limits = Limits.of(config, self.robot, key)
                # A tick that is no pause, and a command that is sent as late as it may be.
                silence_s = config.longest_tick_s + config.horizon_s
                self._audits[key] = CommandAudit(
                    limits, config.rate_hz, config.horizon_s, silence_s
                )
            # On a busy machine states are heard late: where the robot was then tells nothing.
            measured = None
            if abs(sent_ns - self._robot_ns) < 1e9 * self.config.longest_tick_s:
                measured = self.q_robot[[self.robot.joint_index(joint) for joint in key]]
            self._audits[key].add(sent_ns, way[0].q, way[0].velocity, way[1:], number, measured)

    def on_state(self, text: str) -> None:
        """Take a change of the state, and count stops by their reasons."""
        with self._lock:
            was_stopped = self.state.startswith(State.STOPPED.value)
            self.state = text
            state, _, detail = text.partition(': ')
            now_s = time.time() - self._origin_ns * 1e-9
            self._end_holding(now_s)
            if state == State.ENGAGED.value and detail != Reason.NONE.value:
                self._held, self._held_since_s = _NUMBERS.sub('', detail), now_s
            if state == State.STOPPED.value and not was_stopped:
                self._stops[_reason(detail)] += 1
            if state == State.ENGAGED.value:
                self._engaged_since_s = self._engaged_since_s or now_s
            else:
                self._end_stretch(now_s)

    def end(self) -> None:
        """Count no longer; whoever commands no more must have come to rest."""
        with self._lock:
            now_s = time.time() - self._origin_ns * 1e-9
            self._end_stretch(now_s)
            self._end_holding(now_s)
            self._over = True
            for audit in self._audits.values():
                audit.end()

    def commands(self) -> int:
        """Return how many commands have come so far."""
        return sum(audit.commands for audit in self._audits.values())

    def summary(self, seconds: float) -> dict[str, Any]:
        """Return the figures of a run that is over, as `--json` writes them."""
        following = self._following()
        violations: Counter[str] = Counter()
        for audit in self._audits.values():
            violations.update(audit.violations)
        return {
            'robot': self.robot.name,
            'seconds': round(seconds, 3),
            'commands': self.commands(),
            'commands_not_heard': sum(audit.missed for audit in self._audits.values()),
            'tracking_error_mm': _figures(1e3 * following.errors_m),
            'tracking_error_deg': _figures(np.degrees(following.errors_rad)),
            'lag_error_mm': _figures(1e3 * following.lags_m),
            'latency_ms': _latency(1e3 * following.delays_s),
            'limit_violations': {
                name: violations[name] for name in ('position', 'velocity', 'acceleration')
            },
            'violations_found': [text for a in self._audits.values() for text in a.found],
            'limits_used': self._limits_used(),
            'command_clock_error': max(
                (abs(round(audit.clock_error, 5)) for audit in self._audits.values()), default=0.0
            ),
            'stops': dict(self._stops),
            'held_back_s': {text: round(s, 2) for text, s in self._held_back_s.items()},
            'engaged_s': round(sum(end - begin for begin, end in self._engaged), 3),
        }

    def _end_holding(self, now_s: float) -> None:
        if self._held:
            self._held_back_s[self._held] += now_s - self._held_since_s
            self._held = ''

    def _end_stretch(self, now_s: float) -> None:
        if self._engaged_since_s is not None:
            self._engaged.append((self._engaged_since_s, now_s))
            self._engaged_since_s = None

    def _limits_used(self) -> dict[str, float]:
        """Return the largest shares of the limits of velocity and acceleration."""
        names = ('velocity', 'acceleration')
        audits = self._audits.values()
        return {
            name: round(max((a.worst[name] for a in audits), default=0.0), 4) for name in names
        }

    def _following(self) -> Following:
        """Compare the first arm's tip, which the right hand leads, with the true hand."""
        arm = self.config.device_frames.index(LEADING)
        tip = self.config.tip_links[arm]
        stamps, configurations = zip(*self._states, strict=True) if self._states else ((), ())
        times_s: Array = 1e-9 * (np.array(stamps, np.int64) - self._origin_ns).astype(float)
        tips = np.array([self.robot.link_pose(q, tip) for q in configurations]).reshape(-1, 4, 4)
        # He looks the same way all the time.
        head = self._pose_at('hmd', 0.0)
        rotation = rotation_from_rpy(0.0, 0.0, -heading(head))
        return judge_following(
            times_s,
            tips,
            lambda time_s: self._pose_at(LEADING, time_s),
            self._engaged,
            rotation,
            self.config.position_scale,
        )

    def _pose_at(self, role: str, time_s: float) -> Array:
        pose: Array = self._user.device_poses(self._user.q_at(time_s), (role,))[0]
        return pose


def _reason(detail: str) -> str:
    """Return the name of the reason that a text begins with."""
    matches = [reason for reason in Reason if detail.startswith(reason.value)]
    return matches[0].name.lower() if matches else detail


def _figures(values: Array) -> dict[str, float | None]:
    if not len(values):
        return {'mean': None, 'p95': None}
    mean, p95 = float(values.mean()), float(np.percentile(values, 95.0))
    return {'mean': round(mean, 3), 'p95': round(p95, 3)}


def _latency(values: Array) -> dict[str, float | None]:
    if not len(values):
        return {'median': None, 'max': None}
    return {'median': round(float(np.median(values)), 3), 'max': round(float(values.max()), 3)}
