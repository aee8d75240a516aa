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

"""Joint commands that bring the tips to their targets within all limits, tick by tick."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from vr_ik.errors import ConfigError, UnknownNameError
from vr_ik.kinematics.tree import Placement
from vr_ik.math.rotations import log_rotation
from vr_ik.teleop import arm_kernel
from vr_ik.teleop.arm_model import arm_model
from vr_ik.teleop.arm_work import (
    Arm,
    ELBOW,
    FOLLOWING,
    GUARDED,
    LOWER,
    NO_BODY,
    NOTHING,
    POSE,
    POSITION_ERROR,
    Q,
    REPORT,
    REST,
    RETURNS_TO,
    ROTATION_ERROR,
    row_count,
    SINGULARITY,
    STATE,
    STEPS,
    STILL_S,
    STOP_AGE,
    STOP_FROM,
    STOP_LENGTH,
    TRAIL,
    TWIST,
    UPPER,
    V,
    WISH,
    WISHED_TWIST,
    work_size,
)
from vr_ik.teleop.collision import no_collisions, read_collisions
from vr_ik.teleop.config import TeleopConfig
from vr_ik.teleop.elbows import find_elbows
from vr_ik.types import Array

_NO_PLACEMENT = Placement(NO_BODY, np.eye(4))


class ArmStep:
    """The commanded joints of all arms, and where they bring the tips."""

    def __init__(
        self,
        config: TeleopConfig,
        urdf_text: str,
        package_paths: Sequence[Path] = (),
        measured: Mapping[str, float] | None = None,
    ) -> None:
        """Build the chains of a robot, with the shapes of its parts, and compile the step.

        Joints that are not led are where they were measured, or else at zero.
        """
        self.arm = arm_model(config, urdf_text, measured)
        self.joint_names = self.arm.model.joint_names
        self.collisions = (
            read_collisions(urdf_text, self.arm, config.self_distance_m, package_paths)
            if config.self_distance_m > 0.0 or len(config.keep_out_boxes())
            else no_collisions()
        )
        if config.self_distance_m == 0.0:
            self.collisions = self.collisions.without_pairs()
        self._kernel_arm = _kernel_arm(config, self)
        arms, n = config.arms, len(self.joint_names)
        self._elbows = find_elbows(self.arm.model, self.arm.tips)
        self._moves = self.arm.moves.astype(np.int64)
        self._rows = row_count(
            arms,
            len(self.collisions.capsules),
            len(self.collisions.pairs),
            len(self._kernel_arm.boxes) - 1,
        )
        tree = self.arm.model.tree
        self._work = np.zeros(
            work_size(
                len(tree.body_ints),
                len(tree.column_ints),
                n,
                arms,
                len(self.collisions.capsules),
                self._rows,
            )
        )
        self._state = np.zeros((STATE, n))
        self._before = np.zeros((STATE, n))
        self._bases = np.zeros(self._rows)
        """How far below what has to be kept each distance may be: 0 but where the arms began."""
        self.wishes = np.zeros((arms, WISH))
        self.targets = np.tile(np.eye(4), (arms, 1, 1))
        self._reports = np.zeros((arms, REPORT))
        self._memories = np.zeros((arms, 1 + TRAIL, n + 12))
        self.q, self.v = self._state[Q], self._state[V]
        """Positions [rad or m] and velocities of the joints at the last tick."""
        self.reset(self.arm.model.neutral())

    @property
    def at_rest(self) -> bool:
        """Whether no joint moves."""
        return not self.v.any()

    def reset(self, q: Array) -> None:
        """Be at rest at a configuration, within the URDF's limits: the posture from now on.

        A joint that begins within the margin of a limit does not jump out of it, and may not go
        farther in. An elbow stays on the side that it begins on.
        """
        model, joints = self.arm.model, self._kernel_arm.joints
        self._state[:] = 0.0
        self._bases[:] = -np.inf
        self.q[:] = np.clip(q, model.lower, model.upper)
        lower, upper = self.arm.lower.copy(), self.arm.upper.copy()
        for elbow in self._elbows:
            j = elbow.joint
            lower[j], upper[j] = elbow.side(self.q[j], lower[j], upper[j])
        joints[:, LOWER] = np.minimum(lower, self.q)
        joints[:, UPPER] = np.maximum(upper, self.q)
        joints[:, REST] = np.clip(self.q, self.arm.lower, self.arm.upper)
        self.wishes[:, FOLLOWING] = 0.0
        self._step(0.0)
        for memory, report in zip(self._memories, self._reports, strict=True):
            memory[0, [RETURNS_TO, STILL_S, STEPS]] = NOTHING, 0.0, 1.0
            memory[1] = np.concatenate((self.q, report[POSE:TWIST]))

    def halt(self) -> None:
        """Be at rest where the joints are: nobody has followed the command for long."""
        self.v[:] = 0.0
        self._state[STOP_LENGTH] = 0.0

    def brake(self) -> None:
        """Come to rest by the shortest way from the next step on, in place of a smooth one."""
        # As if a stop had been over long ago, and the acceleration alone has kept it from that.
        self._state[STOP_FROM] = self._state[STOP_AGE] = 0.0
        self._state[STOP_LENGTH] = 1.0

    def rest_arm(self, arm: int) -> None:
        """Let an arm come to rest from the next step on."""
        self.wishes[arm, FOLLOWING] = 0.0

    def lead_arm(self, arm: int, target: Array, twist: Array, elbow: Array | None) -> None:
        """Let an arm follow: its tip to a pose (4, 4) that moves with a twist (6), root frame.

        `elbow` (3,) is the way from the operator's hand to the elbow in root axes.
        """
        self.wishes[arm, FOLLOWING] = 1.0
        self.wishes[arm, WISHED_TWIST : WISHED_TWIST + 6] = twist
        self.wishes[arm, ELBOW:] = np.nan if elbow is None else elbow
        self.targets[arm] = target

    def step(self, seconds: float) -> bool:
        """Move on by one tick; False: no command was found, and all come to rest."""
        self._before[:] = self._state
        return self._step(seconds)

    def take_back(self) -> None:
        """Be as before the last step, of which the robot has not heard."""
        self._state[:] = self._before
        self._step(0.0)

    def tip_pose(self, arm: int) -> Array:
        """Return pose_root_from_tip (4, 4) at the command."""
        row = self._reports[arm, POSE:TWIST]
        pose = np.eye(4)
        pose[:3, :3] = row[:9].reshape(3, 3)
        pose[:3, 3] = row[9:]
        return pose

    def tip_twist(self, arm: int) -> Array:
        """Return the tip's velocity (3) and turn rate (3) at the command, root axes."""
        return self._reports[arm, TWIST : TWIST + 6].copy()

    def errors(self, arm: int) -> tuple[float, float]:
        """Return how far the tip is from the target of the last step [m, rad]."""
        report = self._reports[arm]
        return float(report[POSITION_ERROR]), float(report[ROTATION_ERROR])

    def way_to_target(self, arm: int) -> Array:
        """Return the way (3) and turn (3) from the tip to the target of the last step."""
        tip, target = self.tip_pose(arm), self.targets[arm]
        turn = np.ascontiguousarray(target[:3, :3] @ tip[:3, :3].T)
        return np.concatenate(((target - tip)[:3, 3], log_rotation(turn)))

    def guarded(self, arm: int) -> int | None:
        """Return which distance the last step took speed for, by its number, if any."""
        row = float(self._reports[arm, GUARDED])
        return None if row == NOTHING else int(row)

    def goes_back(self, arm: int) -> bool:
        """Tell whether an arm was stuck and goes back to where it can follow again."""
        return bool(self._memories[arm, 0, RETURNS_TO] != NOTHING)

    def singularity(self, arm: int) -> float:
        """Return the Jacobian's smallest singular value when the arm was last led."""
        return float(self._reports[arm, SINGULARITY])

    def _step(self, seconds: float) -> bool:
        return bool(
            arm_kernel.step(
                *self._kernel_arm,
                self._moves,
                self._rows,
                self._work,
                self._state,
                self._bases,
                self.wishes,
                self.targets,
                self._reports,
                self._memories,
                seconds,
            )
        )


def _kernel_arm(config: TeleopConfig, step: ArmStep) -> Arm:
    """Return the robot as the kernel reads it."""
    arm, collisions = step.arm, step.collisions
    model, n = arm.model, len(step.joint_names)
    tips = [model.placement(tip) for tip in arm.tips]
    elbows = [_elbow(config, step, i) for i in range(config.arms)]
    workspace = config.workspace_box()
    if workspace is None:
        workspace = np.array([[-np.inf] * 3, [np.inf] * 3])
    boxes = np.concatenate((workspace.reshape(1, 6), config.keep_out_boxes().reshape(-1, 6)))
    paths = np.array([[k, *range(k), *([0] * (n - 1 - k))] for k in range(n)], np.int64)
    settings = (
        # Of a longer tick the kernel takes what is over the horizon for a stop, of its own length.
        min(config.longest_tick_s, config.horizon_s),
        config.self_distance_m,
        config.posture_gain,
        config.elbow_gain,
        config.horizon_s,
    )
    return Arm(
        model.tree.body_ints,
        model.tree.body_floats,
        model.tree.column_ints,
        paths.reshape(n, n),
        np.array([*(p.body for p in tips + elbows), *collisions.bodies], np.int64),
        np.array([p.row for p in tips + elbows]),
        np.column_stack((arm.lower, arm.upper, arm.velocity, arm.acceleration, np.zeros(n))),
        collisions.capsules,
        collisions.pairs,
        boxes,
        np.array(settings),
    )


def _elbow(config: TeleopConfig, step: ArmStep, i: int) -> Placement:
    link = str(config.of_arm('elbow_links', i))
    if not link:
        return _NO_PLACEMENT
    model = step.arm.model
    if link not in model.link_names:
        raise UnknownNameError('link in elbow_links', link, model.link_names)
    placement = model.placement(link)
    if placement.body < 0:
        raise ConfigError(f"No joint that is led moves the elbow link '{link}'.")
    return placement
