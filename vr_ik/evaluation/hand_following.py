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

"""How well a robot's arms follow recorded hands.

A session of teleoperation is led along a recorded path, with a robot that is where it is commanded
to be. What is wanted of a tip is told by the record alone: the hand's motion since the clutch was
pressed, scaled and turned to the robot.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vr_ik.config_file import load_config
from vr_ik.evaluation.recordings import Recording
from vr_ik.evaluation.within_reach import pose_errors, Reach, Wanted, within_reach
from vr_ik.io.packages import read_description, share_folders
from vr_ik.kinematics.model import RobotModel
from vr_ik.math.rotations import exp_rotation, log_rotation, rotation_from_rpy
from vr_ik.simulation.robot_config import RobotConfig
from vr_ik.teleop.arm_step import ArmStep
from vr_ik.teleop.audit import CommandAudit, Limits
from vr_ik.teleop.node_config import TeleopNodeConfig
from vr_ik.teleop.retarget import heading
from vr_ik.teleop.session import TeleopSession
from vr_ik.teleop.types import ArmInput, RobotState, State, TeleopCommand, TeleopInputs
from vr_ik.types import Array

_START_NS = 10**18
_BETWEEN_NS = 10**10
"""From one path to the next, in which the robot goes back to where it began."""
_RELEASED_S = 0.25
"""So long nobody presses anew."""


@dataclass(frozen=True)
class HandPath:
    """Recorded hands, one an arm, and the head; poses (n, 4, 4) in world axes."""

    name: str
    times_s: Array
    hands: tuple[Array, ...]
    head: Array
    true_hands: tuple[Array, ...] = ()
    """Where they were at these times without a tracker's noise, if anybody knows."""

    @classmethod
    def of(cls, recording: Recording, roles: tuple[str, ...]) -> 'HandPath':
        """Take hands of a recorded person as if he stood still: seen from where his waist is."""
        body = recording.poses['waist' if 'waist' in recording.poses else 'hmd'][:, :3, 3]
        hands = tuple(recording.poses[role].copy() for role in roles)
        for hand in hands:
            hand[:, :3, 3] -= body
        times_s = np.arange(len(recording)) / recording.rate_hz
        return cls(recording.name, times_s, hands, recording.poses['hmd'])

    def parts(self, seconds: float) -> list['HandPath']:
        """Return stretches of it, each as long as an operator holds his clutch."""
        frames = max(round(seconds / float(np.diff(self.times_s).mean())), 2)
        parts = [slice(i, i + frames) for i in range(0, len(self.times_s) - frames + 1, frames)]
        return [
            replace(
                self,
                times_s=self.times_s[p],
                hands=tuple(hand[p] for hand in self.hands),
                head=self.head[p],
                true_hands=tuple(hand[p] for hand in self.true_hands),
            )
            for p in parts
        ]

    def scaled(self, scale: float) -> 'HandPath':
        """Return it with a part of the way and of the turn from the first frame on."""
        return replace(
            self,
            hands=tuple(_scaled(hand, scale) for hand in self.hands),
            true_hands=tuple(_scaled(hand, scale) for hand in self.true_hands),
        )

    def at(self, times_s: Array) -> Array:
        """Return all hands (n, hands, 4, 4) between the frames, the true ones if known."""
        hands = self.true_hands or self.hands
        last = np.clip(np.searchsorted(self.times_s, times_s) - 1, 0, len(self.times_s) - 2)
        begin, end = self.times_s[last], self.times_s[last + 1]
        share = np.clip((times_s - begin) / (end - begin), 0.0, 1.0)
        between = np.stack([hand[last] for hand in hands], axis=1)
        for h, hand in enumerate(hands):
            between[:, h, :3, 3] += share[:, None] * (hand[last + 1] - hand[last])[:, :3, 3]
            for i, (k, s) in enumerate(zip(last, share, strict=True)):
                turn = np.ascontiguousarray(hand[k + 1, :3, :3] @ hand[k, :3, :3].T)
                between[i, h, :3, :3] = exp_rotation(s * log_rotation(turn)) @ hand[k, :3, :3]
        return between


def _scaled(poses: Array, scale: float) -> Array:
    scaled, first = poses.copy(), poses[0]
    scaled[:, :3, 3] = first[:3, 3] + scale * (poses[:, :3, 3] - first[:3, 3])
    for pose in scaled:
        turn = log_rotation(np.ascontiguousarray(pose[:3, :3] @ first[:3, :3].T))
        pose[:3, :3] = exp_rotation(scale * turn) @ first[:3, :3]
    return scaled


@dataclass(frozen=True)
class Followed:
    """What came of it at every tick, (n, arms), of all stretches between a press and a stop."""

    errors_m: Array
    """How far a tip was from where its hand wanted it at that instant; no delay is taken out."""
    errors_rad: Array
    reach: Reach
    """What the quickest follower would have made of it, and where it was within reach."""
    seconds: float
    """How long the arms followed."""
    stops: int
    audit: CommandAudit


class HandFollowing:
    """A robot of config/robots that is where it was commanded to be a tick ago."""

    def __init__(self, file: Path) -> None:
        """Read the robot's parameters and its description."""
        self.config = load_config(TeleopNodeConfig, file, 'teleop_node')
        self.simulated = load_config(RobotConfig, file, 'simulated_robot_node')
        self.urdf_text = read_description(self.simulated.urdf)
        self._packages = tuple(share_folders())
        self.robot = RobotModel.from_urdf(self.urdf_text)
        self._session = TeleopSession(self.config, self.urdf_text, self._packages)
        self._arm = ArmStep(self.config, self.urdf_text, self._packages)
        self._start_ns = _START_NS

    def follow(self, path: HandPath) -> Followed:
        """Lead the arms along a path from the initial posture, and judge how they did."""
        run = _Run(self, path, self._session, self._start_ns)
        for time_s in np.arange(path.times_s[0], path.times_s[-1], 1.0 / self.config.rate_hz):
            run.tick(float(time_s))
        run.end()
        self._start_ns += round(1e9 * (path.times_s[-1] - path.times_s[0])) + _BETWEEN_NS
        parts = [self._judge(path, self._arm, stretch) for stretch in run.stretches]
        empty = np.zeros((0, self.config.arms))
        errors_m, errors_rad, reachable, quickest_m, quickest_rad = (
            np.concatenate(column)
            for column in zip((empty, empty, np.zeros(0, bool), empty, empty), *parts, strict=True)
        )
        reach = Reach(reachable, quickest_m, quickest_rad)
        seconds = len(reachable) / self.config.rate_hz
        return Followed(errors_m, errors_rad, reach, seconds, run.stops, run.audit)

    def _judge(
        self, path: HandPath, arm: ArmStep, stretch: '_Stretch'
    ) -> tuple[NDArray[Any], ...]:
        """Return the errors (n, arms) [m, rad] of a stretch, and what was within reach."""
        ticks_s = np.array(stretch.times_s)
        first, end = np.searchsorted(path.times_s, ticks_s[[0, -1]], 'right')
        frames = slice(max(int(first) - 2, 0), int(end) + 1)
        arm.reset(stretch.q)
        start = np.array([arm.tip_pose(i) for i in range(self.config.arms)])
        hands = path.at(ticks_s)

        def wanted_for(poses: Array) -> Array:
            rotation, wanted = stretch.rotation, np.tile(np.eye(4), (*poses.shape[:2], 1, 1))
            ways = (poses - hands[0])[..., :3, 3] @ rotation.T
            wanted[..., :3, 3] = start[:, :3, 3] + self.config.position_scale * ways
            turns = rotation @ poses[..., :3, :3] @ hands[0, :, :3, :3].swapaxes(1, 2)
            wanted[..., :3, :3] = turns @ rotation.T @ start[:, :3, :3]
            return wanted

        recorded = np.stack([hand[frames] for hand in path.hands], axis=1)
        wanted = Wanted(
            ticks_s=ticks_s,
            at_ticks=wanted_for(hands),
            frames_s=path.times_s[frames],
            at_frames=wanted_for(recorded),
        )
        reach = within_reach(self.config, arm, stretch.q, wanted)
        errors = pose_errors(wanted.at_ticks, np.array(stretch.tips))
        return (*errors, reach.reachable, reach.errors_m, reach.errors_rad)


@dataclass
class _Stretch:
    """The ticks between a press and a stop."""

    q: Array
    """Where the joints were at the press."""
    rotation: Array
    """From the operator's axes to the robot's."""
    times_s: list[float]
    tips: list[Array]


class _Run:
    """One way along a path, with stops and presses anew."""

    def __init__(
        self, following: HandFollowing, path: HandPath, session: TeleopSession, start_ns: int
    ) -> None:
        self._config, self._path, self._session = following.config, path, session
        self._origin_ns = start_ns - round(1e9 * path.times_s[0])
        self._enabled = True
        robot = following.robot
        start = robot.posture(following.simulated.initial_positions())
        self._positions = dict(zip(robot.joint_names, start.tolist(), strict=True))
        config = following.config
        self.audit = CommandAudit(
            Limits.of(config, robot, session.joint_names),
            config.rate_hz,
            config.horizon_s,
            config.longest_tick_s,
        )
        self.stops, self.stretches = 0, list[_Stretch]()
        self._state, self._released_s = State.DISENGAGED, path.times_s[0]

    def tick(self, time_s: float) -> None:
        """Go through a tick; a stop is left by a release, and followed by a press anew."""
        if self._state is State.STOPPED:
            self._released_s = time_s
        pressed = time_s > self._released_s + _RELEASED_S
        q = np.array([self._positions[name] for name in self._session.joint_names])
        frame = int(np.searchsorted(self._path.times_s, time_s, 'right')) - 1
        command = self._step(time_s, frame, float(pressed))
        self.stops += command.state is State.STOPPED and self._state is not State.STOPPED
        if command.state is State.ENGAGED:
            if self._state is not State.ENGAGED:
                self.stretches.append(_Stretch(q, self._rotation(frame), [], []))
            self.stretches[-1].times_s.append(time_s)
            self.stretches[-1].tips.append(
                np.array([report.pose_root_from_tip for report in command.arms])
            )
        self._state = command.state

    def end(self) -> None:
        """Let go, and wait until the arms are at rest; then take the enable away."""
        for i in range(round(2.0 * self._config.stop_time_s * self._config.rate_hz)):
            self._step(self._path.times_s[-1] + i / self._config.rate_hz, -1, 0.0)
        self.audit.end()
        self._enabled = False
        for k in range(2):
            self._step(self._path.times_s[-1] + (i + 1 + k) / self._config.rate_hz, -1, 0.0)

    def _step(self, time_s: float, frame: int, clutch: float) -> TeleopCommand:
        now_ns = self._origin_ns + round(1e9 * time_s)
        stamp_ns = self._origin_ns + round(1e9 * self._path.times_s[frame])
        arms = tuple(ArmInput(hand[frame], stamp_ns, clutch) for hand in self._path.hands)
        robot = RobotState(now_ns, self._positions)
        inputs = TeleopInputs(arms, self._enabled, self._path.head[frame], robot)
        command = self._session.step(now_ns, inputs, now_ns)
        if command.positions is not None and command.velocities is not None:
            self.audit.add(now_ns, command.positions, command.velocities)
            q = command.positions.tolist()
            self._positions.update(zip(command.joint_names, q, strict=True))
        return command

    def _rotation(self, frame: int) -> Array:
        yaw = np.radians(self._config.operator_yaw_deg) - heading(self._path.head[frame])
        rotation: Array = rotation_from_rpy(0.0, 0.0, float(yaw))
        return rotation
