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

"""An operator and a robot for sessions of teleoperation, and a judge who looks from outside."""

import math

import numpy as np
from robots import PACKAGE_PATHS, urdf_path

from vr_ik.kinematics.model import RobotModel
from vr_ik.kinematics.urdf import read_urdf
from vr_ik.math.rotations import exp_rotation
from vr_ik.teleop.arm_step import ArmStep
from vr_ik.teleop.barriers import pair_distances, segment_box_distance
from vr_ik.teleop.config import TeleopConfig
from vr_ik.teleop.session import TeleopSession
from vr_ik.teleop.types import (
    ArmInput,
    Buzz,
    Reason,
    RobotState,
    State,
    TeleopCommand,
    TeleopInputs,
)
from vr_ik.types import Array

SECOND_NS = 1_000_000_000
PANDA = TeleopConfig(tip_links=('panda_hand_tcp',), gripper_joints=('panda_finger_joint1',))
PANDA_READY = (0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.8)
FORWARD = np.array([0.3, 0.1, 0.0])
STILL = np.zeros(3)
STOP_TICKS = round(PANDA.stop_time_s / 0.004) + 1

# Noise of a robot that rests at a limit [rad or m].
_BEYOND = 0.002
# What is too near at the start may come so much nearer; by more than that, parts are in each
# other [m].
_LEEWAY = 0.002
_THROUGH = -0.03

_ALLOWED = {
    (State.DISENGAGED, State.DISENGAGED),
    (State.DISENGAGED, State.ENGAGED),
    (State.ENGAGED, State.ENGAGED),
    (State.ENGAGED, State.HOLDING),
    (State.ENGAGED, State.STOPPED),
    (State.HOLDING, State.HOLDING),
    (State.HOLDING, State.ENGAGED),
    (State.HOLDING, State.STOPPED),
    (State.STOPPED, State.STOPPED),
    (State.STOPPED, State.DISENGAGED),
}


def robot_text(name: str) -> str:
    """Return the URDF of a real robot."""
    return urdf_path(name).read_text()


class Rooms:
    """How much room is left of what has to be kept, by the geometry of `barriers` alone."""

    def __init__(self, arm: ArmStep, config: TeleopConfig) -> None:
        self._arm, self._config = arm, config
        bodies, capsules = len(arm.arm.model.tree.body_ints), len(arm.collisions.bodies)
        self._poses, self._segments = np.empty((bodies, 12)), np.empty((capsules, 6))
        self._pairs = np.empty((1, len(arm.collisions.pairs)))
        self._point, self._normal = np.empty(3), np.empty(3)

    def at(self, q: Array) -> tuple[float, float, float]:
        """Return the least room [m] of tips, of pairs of parts, and of parts from boxes."""
        tree, model = self._arm.arm.model.tree, self._arm.collisions
        pair_distances(
            tree.body_ints,
            tree.body_floats,
            model.bodies,
            model.capsules,
            model.pairs,
            q[None],
            self._poses,
            self._segments,
            self._pairs,
        )
        parts = self._pairs.min(initial=math.inf) - self._config.self_distance_m
        boxes = math.inf
        for box in self._config.keep_out_boxes():
            for body, capsule, segment in zip(
                model.bodies, model.capsules, self._segments, strict=True
            ):
                if body >= 0:
                    distance = segment_box_distance(
                        segment, box.ravel(), self._point, self._normal
                    )
                    boxes = min(boxes, distance - capsule[6])
        return self._tips(q), float(parts), boxes

    def _tips(self, q: Array) -> float:
        workspace = self._config.workspace_box()
        if workspace is None:
            return math.inf
        model = self._arm.arm.model
        tips = np.array([model.link_pose(q, tip)[:3, 3] for tip in self._config.tip_links])
        return float(np.minimum(tips - workspace[0], workspace[1] - tips).min())


class Judge:
    """Checks the stream of commands against the URDF and the parameters alone.

    Limits are judged by differences of the published positions, over ticks of any length.
    """

    def __init__(self, config: TeleopConfig, urdf_text: str, joint_names: tuple[str, ...]) -> None:
        model = RobotModel.from_urdf(urdf_text)
        columns = [model.joint_index(name) for name in joint_names]
        self.lower, self.upper = model.lower[columns], model.upper[columns]
        self.velocity = config.velocity_scale * model.velocity_limits[columns]
        self.acceleration = config.acceleration
        self.config = config
        self.state = State.DISENGAGED
        self._before: tuple[Array, Array, float] | None = None
        """Positions, velocities and length of the tick before; none while nobody commands."""
        self._stopped_s = 0.0
        self.rooms: Rooms | None = None
        """Who looks at distances, where they are to be judged."""
        self._bases = np.zeros(3)
        joints = {joint.name: joint for joint in read_urdf(urdf_text).joints}
        self._gripper_speeds = {
            name: config.velocity_scale * joints[name].velocity
            for name in config.gripper_joints
            if name
        }
        self._grippers: dict[str, float] = {}
        """As last commanded, however long ago."""

    def check(
        self,
        command: TeleopCommand,
        seconds: float,
        measured: Array,
        fingers: dict[str, float],
        fresh: bool,
    ) -> None:
        """Check one command, so many seconds after the one before."""
        for joint, position in command.gripper.items():
            way = abs(position - self._grippers.get(joint, fingers.get(joint, math.nan)))
            assert way <= self._gripper_speeds[joint] * seconds + 1e-12, 'the gripper jumped'
        self._grippers |= command.gripper
        assert (self.state, command.state) in _ALLOWED
        if command.state is State.ENGAGED and self.state is not State.ENGAGED:
            assert fresh, 'engaged without a fresh press'
        if command.state is State.DISENGAGED:
            assert not command.publish
        self._check_stop(command, seconds)
        if command.publish:
            self._check_motion(command, seconds, measured)
        elif self._before is not None:
            self._check_end(seconds)
        self.state = command.state

    def _check_motion(self, command: TeleopCommand, seconds: float, measured: Array) -> None:
        q, v = command.positions, command.velocities
        assert q is not None and v is not None
        assert np.isfinite(q).all() and np.isfinite(v).all()
        assert (q >= self.lower).all() and (q <= self.upper).all()
        if self._before is None:
            start = np.clip(measured, self.lower, self.upper)
            assert np.abs(start - measured).max() <= _BEYOND, 'engaged a robot beyond its limits'
            self._before = start, np.zeros_like(q), seconds
            self._note_start(start)
        self._check_rooms(q)
        q_before, v_before, seconds_before = self._before
        mean = (q - q_before) / seconds
        assert (np.abs(mean) <= self.velocity * (1.0 + 1e-9) + 1e-9).all()
        assert (np.abs(v) <= self.velocity * (1.0 + 1e-9) + 1e-9).all()
        change = np.abs(mean - v_before) / (0.5 * (seconds + seconds_before))
        rounding = 1e-12 / min(seconds, seconds_before) ** 2
        assert (change <= self.acceleration * (1.0 + 1e-6) + rounding).all()
        self._before = q, mean, seconds

    def _note_start(self, q: Array) -> None:
        """Take what is too near at the start for what may be; not what goes through each other."""
        if self.rooms is not None:
            self._bases = np.minimum(0.0, np.array(self.rooms.at(q)) - _LEEWAY)
            self._bases[self._bases < _THROUGH] = -math.inf

    def _check_rooms(self, q: Array) -> None:
        if self.rooms is not None:
            assert (np.array(self.rooms.at(q)) >= self._bases - 1e-6).all(), 'came too near'

    def _check_end(self, seconds: float) -> None:
        """What is published last must be at rest, unless no tick came to publish it."""
        assert self._before is not None
        _, mean, seconds_before = self._before
        if seconds <= self.config.longest_wait_s:
            change = np.abs(mean) / (0.5 * (seconds + seconds_before))
            rounding = 1e-12 / min(seconds, seconds_before) ** 2
            assert (change <= self.acceleration * (1.0 + 1e-6) + rounding).all()
        self._before = None

    def _check_stop(self, command: TeleopCommand, seconds: float) -> None:
        if command.state is not State.STOPPED:
            self._stopped_s = 0.0
            return
        assert command.reason is not Reason.NONE
        if self.state is State.STOPPED:
            self._stopped_s += seconds
            assert not (command.publish and self._before is None), 'published after the stop'
        if self._stopped_s > self.config.stop_time_s + self.config.longest_tick_s:
            assert not command.publish


class Operator:
    """Holds the devices, and lets the time go on; the robot does what it is told."""

    def __init__(
        self, config: TeleopConfig, urdf_text: str, ready: tuple[float, ...] | None = None
    ) -> None:
        self.config = config
        self.session = TeleopSession(config, urdf_text, PACKAGE_PATHS)
        self.judge = Judge(config, urdf_text, self.session.joint_names)
        model = RobotModel.from_urdf(urdf_text)
        start = model.neutral()[[model.joint_index(name) for name in self.session.joint_names]]
        self.robot = np.array(start if ready is None else ready)
        self.steady_ns, self.offset_ns = 5 * SECOND_NS, 1000 * SECOND_NS
        self.hands = [np.eye(4) for _ in range(config.arms)]
        for hand in self.hands:
            hand[:3, 3] = (0.3, 0.0, 1.2)
        self.clutches = [0.0] * config.arms
        self.trigger = 0.0
        opened = config.gripper_open
        self.fingers = {
            name: opened[min(i, len(opened) - 1)]
            for i, name in enumerate(config.gripper_joints)
            if name
        }
        """Where the joints of the grippers are measured."""
        self.others: dict[str, float] = {}
        """Where joints that are not led are measured."""
        self.object_m = 0.0
        """Grippers close no farther than this."""
        self.enabled = True
        self.veto = Reason.NONE
        self.tracked = True
        self.head: Array | None = np.eye(4)
        self.robot_age_s = 0.0
        self.robot_known = True
        self.frame_ticks = 1
        """The tracker has a frame every so many ticks."""
        self._ticks = 0
        self._frame: tuple[int, list[Array]] = (0, [])
        self._pressed_before = [True] * config.arms
        self.unheard = ''
        self.reasons: set[Reason] = set()
        """All that were ever given for a stop or a refusal."""

    @property
    def now_ns(self) -> int:
        """The time on the clock that may jump."""
        return self.steady_ns + self.offset_ns

    def tick(self, seconds: float = 0.004, pose: Array | None = None) -> TeleopCommand:
        """Let one tick go by and have the command judged; `pose` stands in for the first hand."""
        self.steady_ns += round(seconds * SECOND_NS)
        seconds = round(seconds * SECOND_NS) / SECOND_NS
        if self._ticks % self.frame_ticks == 0:
            self._frame = self.now_ns, [hand.copy() for hand in self.hands]
        self._ticks += 1
        frame_ns, poses = self._frame
        if pose is not None:
            poses = [pose, *poses[1:]]
        arms = tuple(
            ArmInput(hand if self.tracked else None, frame_ns, clutch, self.trigger)
            for hand, clutch in zip(poses, self.clutches, strict=True)
        )
        stamp_ns = self.now_ns - round(self.robot_age_s * SECOND_NS)
        positions = dict(zip(self.session.joint_names, self.robot.tolist(), strict=True))
        positions |= self.fingers | self.others
        fingers = self.fingers.copy()
        robot = RobotState(stamp_ns, positions) if self.robot_known else None
        measured = self.robot.copy()
        inputs = TeleopInputs(arms, self.enabled, self.head, robot, self.veto, self.unheard)
        command = self.session.step(self.now_ns, inputs, self.steady_ns)
        threshold = self.config.clutch_threshold
        pressed = [not clutch < threshold for clutch in self.clutches]
        fresh = any(p and not b for p, b in zip(pressed, self._pressed_before, strict=True))
        self._pressed_before = pressed
        self.judge.check(command, seconds, measured, fingers, fresh)
        if any(why is Buzz.LOSS for _, why in command.haptics):
            self.reasons.add(command.reason)
        if command.publish:
            self.robot = np.array(command.positions)
        for joint, position in command.gripper.items():
            self.fingers[joint] = max(position, self.object_m)
        return command

    def move(
        self, velocity: Array, turn: Array, ticks: int, seconds: float = 0.004
    ) -> TeleopCommand:
        """Move all hands with a velocity [m/s] and turn rate [rad/s] in world axes."""
        command = None
        for _ in range(ticks):
            for hand in self.hands:
                hand[:3, 3] += seconds * velocity
                hand[:3, :3] = exp_rotation(seconds * turn) @ hand[:3, :3]
            command = self.tick(seconds)
        assert command is not None
        return command

    def rest(self, ticks: int) -> TeleopCommand:
        """Keep all hands still."""
        return self.move(np.zeros(3), np.zeros(3), ticks)

    def engage(self) -> TeleopCommand:
        """Release every clutch, and press it again."""
        self.clutches = [0.0] * self.config.arms
        self.rest(200)
        self.clutches = [1.0] * self.config.arms
        return self.rest(1)


def moving_operator() -> Operator:
    """Return someone who has engaged a Panda and moves it."""
    operator = Operator(PANDA, robot_text('panda'), PANDA_READY)
    assert operator.engage().state is State.ENGAGED
    assert np.any(operator.move(FORWARD, STILL, 60).velocities)
    return operator


def hand_path(seconds: float, period_s: float = 0.004, seed: int = 0) -> Array:
    """Return the offsets of a hand at work, (n, 6): position [m] and turn [rad], from rest.

    Sums of waves, as of reaching and stirring.
    """
    rng = np.random.default_rng(seed)
    rates = rng.uniform(1.0, 4.0, (6, 3))
    phases = rng.uniform(0.0, 2.0 * math.pi, (6, 3))
    sizes = np.repeat((0.06, 0.12), 3)[:, None] * rng.uniform(0.3, 1.0, (6, 3))
    times = period_s * np.arange(round(seconds / period_s))
    share = np.minimum(times, 1.0)
    share *= share * (3.0 - 2.0 * share)
    waves = np.sin(rates * times[:, None, None] + phases) - np.sin(phases)
    return np.asarray(share[:, None] * (sizes * waves).sum(axis=2))
