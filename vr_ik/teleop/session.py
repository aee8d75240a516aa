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

"""A session of teleoperation: one step a tick from the operator's hands to joint commands.

inputs -> watch (clock, robot, hands) -> safety -> clutch -> retarget -> arm step -> command
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from vr_ik.teleop.arm_step import ArmStep
from vr_ik.teleop.clutch import Clutch
from vr_ik.teleop.config import TeleopConfig
from vr_ik.teleop.gripper import Gripper
from vr_ik.teleop.hand import Hand
from vr_ik.teleop.haptics import Haptics
from vr_ik.teleop.holding import Holding
from vr_ik.teleop.readiness import Readiness
from vr_ik.teleop.retarget import Retarget
from vr_ik.teleop.safety import after, Event
from vr_ik.teleop.types import (
    ArmInput,
    ArmReport,
    Reason,
    RobotState,
    State,
    TeleopCommand,
    TeleopInputs,
)
from vr_ik.teleop.watch import ALL_WELL, Finding, RobotWatch, TickClock
from vr_ik.types import Array

_ACTIVE = (State.ENGAGED, State.HOLDING)
_WAITING = (State.DISENGAGED, State.HOLDING)


class TeleopSession:
    """Leads one or two arms. Deterministic; `step` never raises, whatever comes in.

    The commanded joints keep within the limits of position, velocity and acceleration from tick
    to tick, in every state: between two ticks a joint accelerates evenly, so that positions and
    velocities of the commands fit together.
    """

    def __init__(
        self,
        config: TeleopConfig,
        urdf_text: str,
        package_paths: Sequence[Path] = (),
        measured: Mapping[str, float] | None = None,
    ) -> None:
        """Build the robot and compile what is needed; raises `VrIkError` for bad input.

        Meshes of 'package://name/...' are looked for in `package_paths` (`io.packages` has them).
        Joints that are not led are taken to stay where they were `measured`, or else at zero.
        """
        self.config = config
        self._arm = ArmStep(config, urdf_text, package_paths, measured)
        self.joint_names = self._arm.joint_names
        """The joints that are commanded, in the order of the commands."""
        self.notes = self._arm.collisions.notes()
        """What the operator should know of how distances are watched."""
        self.state = State.DISENGAGED
        self._finding = ALL_WELL
        self._clock = TickClock(config)
        self._watch = RobotWatch(config, self._arm.arm)
        arms = range(config.arms)
        self._hands = [Hand(config) for _ in arms]
        self._clutches = [Clutch(config.clutch_threshold) for _ in arms]
        self._retargets = [Retarget(config) for _ in arms]
        self._grippers = [Gripper(config, arm, urdf_text) for arm in arms]
        self._readiness = Readiness(config.device_frames)
        self._haptics = Haptics(config.arms)
        self._holdings = [Holding(config, self._arm, arm) for arm in arms]
        self._twist = np.zeros(6)

    @property
    def idle(self) -> bool:
        """Whether nothing is commanded until a clutch is pressed anew."""
        stopped = self.state is State.STOPPED and self._arm.at_rest
        return stopped or self.state is State.DISENGAGED

    def is_outdated(self, positions: Mapping[str, float]) -> bool:
        """Tell whether joints that are not led are elsewhere than they are taken to be."""
        return self._watch.others_away(positions) is not ALL_WELL

    def keep_grippers(self, before: 'TeleopSession') -> None:
        """Take over what another session has commanded the grippers of the same arms to do."""
        for gripper, other in zip(self._grippers, before._grippers, strict=True):
            gripper.command = other.command

    def step(
        self, now_ns: int, inputs: TeleopInputs, steady_ns: int | None = None
    ) -> TeleopCommand:
        """Go through one tick, at `now_ns` on the clock of all stamps.

        `steady_ns` is the same instant on a clock that never jumps; where there is none, a jump
        of the one clock is taken for a pause.
        """
        arms = _arm_inputs(inputs.arms, self.config.arms)
        self._clock.tick(now_ns, now_ns if steady_ns is None else steady_ns)
        for hand, arm in zip(self._hands, arms, strict=True):
            hand.update(arm, now_ns)
        fresh = [c.update(a.clutch) for c, a in zip(self._clutches, arms, strict=True)]
        self._watch.observe(None if self.state in _ACTIVE else inputs.robot)
        faults = list(self._faults(now_ns, inputs))
        if self.state in _ACTIVE and faults:
            event = self._stop(faults[0])
        else:
            event = self._pressed(now_ns, inputs, fresh, faults)
        self.state = after(self.state, event)
        if self.state in _WAITING:
            missing = [list(self._missing(i, inputs, faults)) for i in range(len(arms))]
            self._readiness.update(faults, missing, self._clock.seconds)
        moved = self._move(now_ns, arms, inputs.robot)
        return self._command(moved, arms)

    def take_back(self) -> None:
        """Forget that the last step has moved the arms: its command was not published.

        The robot has gone on, or braked, by the command before; the next step begins there.
        """
        self._arm.take_back()
        self._clock.take_back()

    def _faults(self, now_ns: int, inputs: TeleopInputs) -> Iterator[Finding]:
        """Yield what speaks against moving, or against beginning to; the worst first."""
        if self._clock.finding is not ALL_WELL:
            yield self._clock.finding
        if inputs.veto is not Reason.NONE:
            yield Finding(inputs.veto)
        active = self.state in _ACTIVE
        if self.config.require_enable and inputs.enabled is not True:
            yield Finding(Reason.ENABLE_LOST if active else Reason.NOT_ENABLED)
        robot = self._watch.check(inputs.robot, now_ns, self._arm.q if active else None)
        if robot is not ALL_WELL:
            yield robot
        for i, (hand, clutch) in enumerate(zip(self._hands, self._clutches, strict=True)):
            if clutch.engaged and not clutch.known:
                yield self._about_device(Reason.CLUTCH_SILENT, i)
            if clutch.engaged and hand.fault is not Reason.NONE:
                yield self._about_hand(i)

    def _refusals(
        self, i: int, inputs: TeleopInputs, faults: Sequence[Finding]
    ) -> Iterator[Finding]:
        """Yield what speaks against engaging one arm, beside what does against moving."""
        if self._hands[i].fault is not Reason.NONE:
            yield self._about_hand(i)
        if self._facing(inputs) is None:
            yield Finding(Reason.HEAD_LOST, self.config.head_frame)
        if inputs.unheard:
            yield Finding(Reason.NOT_HEARD, inputs.unheard)
        # Of a robot that is not known well nobody can tell whether it rests.
        unrest = self._watch.unrest() if self._begins and not faults else ALL_WELL
        if unrest is not ALL_WELL:
            yield unrest

    def _missing(
        self, i: int, inputs: TeleopInputs, faults: Sequence[Finding]
    ) -> Iterator[Finding]:
        """Yield what one arm still lacks for a press to engage it."""
        yield from self._refusals(i, inputs, faults)
        clutch = self._clutches[i]
        if not clutch.known:
            yield self._about_device(Reason.CLUTCH_SILENT, i)
        elif clutch.pressed:
            yield self._about_device(Reason.CLUTCH_HELD, i)

    @property
    def _begins(self) -> bool:
        """Whether the next arm to be engaged is the first one."""
        return self.state is State.DISENGAGED and not any(c.engaged for c in self._clutches)

    def _about_device(self, reason: Reason, arm: int) -> Finding:
        return Finding(reason, self.config.device_frames[arm])

    def _about_hand(self, arm: int) -> Finding:
        """Return what is wrong with the pose of a device."""
        hand, frame = self._hands[arm], self.config.device_frames[arm]
        return Finding(hand.fault, f'{frame}: {hand.lack}' if hand.lack else frame)

    def _stop(self, fault: Finding) -> Event:
        """Let go of every clutch; it takes a fresh press to go on."""
        self._finding = fault
        self._readiness.stopped(fault)
        for i, clutch in enumerate(self._clutches):
            clutch.engaged = False
            self._haptics.loss(i)
        if fault.reason is Reason.ROBOT_FAR:
            # Whatever is commanded now is where the robot goes once it can follow again.
            self._arm.brake()
        return Event.FAULT

    def _pressed(
        self, now_ns: int, inputs: TeleopInputs, fresh: Sequence[bool], faults: Sequence[Finding]
    ) -> Event:
        """Engage the arms whose clutch is pressed anew, or refuse; return the tick's event."""
        event = None
        if self.state is not State.STOPPED:
            for i in map(int, np.flatnonzero(fresh)):
                event = self._engage(i, now_ns, inputs, faults)
        if event is not None:
            return event
        stopped = self.state is State.STOPPED
        # A silent device, such as the other hand's, is no obstacle: it has to be released first.
        if any(c.pressed and c.known if stopped else c.engaged for c in self._clutches):
            return Event.STEADY
        return Event.RELEASED if self._arm.at_rest else Event.EASED

    def _engage(
        self, i: int, now_ns: int, inputs: TeleopInputs, faults: Sequence[Finding]
    ) -> Event | None:
        head, begins = self._facing(inputs), self._begins
        refusals = [*faults, *self._refusals(i, inputs, faults)]
        if head is None or refusals:
            self._finding = refusals[0]
            self._readiness.refused(self._finding)
            self._haptics.loss(i)
            return None
        if begins:
            self._arm.reset(self._watch.positions)
        pose_world_from_hand, _ = self._hands[i].at(now_ns)
        self._retargets[i].capture(pose_world_from_hand, self._arm.tip_pose(i), head)
        self._grippers[i].hold()
        self._clutches[i].engaged = True
        self._finding = ALL_WELL
        self._readiness.forget()
        return Event.PRESSED

    def _facing(self, inputs: TeleopInputs) -> Array | None:
        """Return the pose whose x axis is forward; None where it has to be known, and is not."""
        if self.config.operator_yaw == 'fixed':
            return np.eye(4)
        head = inputs.pose_world_from_head
        return head if head is not None and np.isfinite(head).all() else None

    def _move(self, now_ns: int, arms: Sequence[ArmInput], robot: RobotState | None) -> bool:
        """Move the command on by one tick; return whether there is one to publish."""
        if self.idle:
            return False
        if self._clock.finding.reason is Reason.PAUSED:
            # The robot has long come to rest by itself; to brake now would be to move it again.
            self._arm.halt()
            return False
        for i, clutch in enumerate(self._clutches):
            if clutch.engaged:
                self._aim(i, now_ns, arms[i])
                self._grippers[i].step(self._clock.seconds, arms[i].trigger, robot)
            else:
                self._arm.rest_arm(i)
        if not self._arm.step(self._clock.seconds):
            self.state = after(self.state, self._stop(Finding(Reason.SOLVER_FAILED)))
        return True

    def _aim(self, i: int, now_ns: int, arm: ArmInput) -> None:
        """Tell an arm where its tip and elbow are wanted now."""
        hand, twist = self._hands[i].at(now_ns)
        retarget, config = self._retargets[i], self.config
        target = retarget.target(hand, self._clock.seconds)
        rotation = retarget.rotation_root_from_world
        self._twist[:3] = config.position_scale * (rotation @ twist[:3])
        self._twist[3:] = config.rotation_scale * (rotation @ twist[3:])
        elbow = None
        if arm.elbow is not None and np.shape(arm.elbow) == (3,):
            elbow = rotation @ (arm.elbow - hand[:3, 3])
        self._arm.lead_arm(i, target, self._twist, elbow)

    def _command(self, moved: bool, arms: Sequence[ArmInput]) -> TeleopCommand:
        for clutch, holding in zip(self._clutches, self._holdings, strict=True):
            holding.update(clutch.engaged, self._clock.seconds)
        reports = tuple(self._report(i) for i in range(len(arms)))
        grippers = {g.joint: g.command for g in self._grippers if moved and g.command is not None}
        return TeleopCommand(
            self.state,
            self._readiness.reason if self.state in _WAITING else self._finding.reason,
            self._detail(),
            self.joint_names,
            self._arm.q.copy() if moved else None,
            self._arm.v.copy() if moved else None,
            grippers,
            reports,
            self._haptics.take(reports),
        )

    def _detail(self) -> str:
        """Return in words what is missing, why it stopped, or what holds arms back."""
        if self.state in _WAITING:
            return self._readiness.text
        held = [
            f'{tip} cannot follow ({holding.text})'
            for tip, holding in zip(self.config.tip_links, self._holdings, strict=True)
            if holding.text
        ]
        return '; '.join(held) or self._finding.text

    def _report(self, i: int) -> ArmReport:
        following = self._clutches[i].engaged
        tip = self._arm.tip_pose(i)
        position_error, rotation_error = self._arm.errors(i) if following else (0.0, 0.0)
        return ArmReport(
            following,
            self._arm.targets[i].copy() if following else tip,
            tip,
            self._arm.tip_twist(i),
            position_error,
            rotation_error,
            self._arm.singularity(i),
            self._holdings[i].text,
            following and self._arm.goes_back(i),
        )


def _arm_inputs(arms: Sequence[ArmInput], count: int) -> list[ArmInput]:
    """Return one input an arm; those that are missing are lost and released."""
    return [*arms[:count], *(ArmInput() for _ in range(count - len(arms)))]
