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

"""The way of a tracking frame through vr_ik, step by step: start reading here.

    frame -> clean -> smooth -> stand in -> place (at first) -> solve -> ease -> Solution

Nothing here knows of ROS: the solver node, the offline tools and the tests call it alike.
"""

from dataclasses import dataclass
import time
from typing import NamedTuple

import numpy as np

from vr_ik import frame_kernels
from vr_ik.body.easing import CALM, Easing, QUICK
from vr_ik.body.human import human_urdf
from vr_ik.body.posture import start_postures, with_bent_legs
from vr_ik.body.stand_ins import StandIns
from vr_ik.body.trust import device_trust
from vr_ik.calibration.calibration import Calibration
from vr_ik.config import SolverConfig
from vr_ik.filters.clean import FrameCleaner
from vr_ik.kinematics.model import RobotModel
from vr_ik.pipeline_parts import (
    clean_limits,
    configured_pull,
    configured_solver,
    mounts_in_use,
    placed,
    smoothers,
)
from vr_ik.solvers.base import (
    ContinuingSolver,
    GroundedSolver,
    LeapingSolver,
    RememberingSolver,
    SolveResult,
)
from vr_ik.types import Array, Status, TrackingFrame


@dataclass(frozen=True, slots=True)
class Solution:
    """The body at the time of one tracking frame."""

    stamp_ns: int
    q: Array
    """Root position and quaternion xyzw (7), then the joints in the model's order."""
    velocity: Array
    """Root linear and angular velocity in its own axes (6), then joint velocities."""
    status: Status
    position_errors: dict[str, float]
    """Distance of each device in use from where the body puts it [m]."""
    iterations: int
    solve_time_s: float


class _Guess(NamedTuple):
    """What was said of the body besides its devices."""

    targets: Array
    """Of stand-ins."""
    weights: Array
    """Of all."""
    spine_lean: float


class Pipeline:
    """Turns tracking frames, one after the other, into poses of the human model."""

    def __init__(self, config: SolverConfig, calibration: Calibration | None = None) -> None:
        """Build the user's body, the tasks of the devices to follow, and the solver.

        Without a calibration the body is the average one of the configured size.
        """
        if calibration is None:
            calibration = Calibration.nominal(config.user_height_m, config.arm_span_m or None)
        self.urdf = human_urdf(calibration.proportions, config.model)
        self.model = RobotModel.from_urdf(self.urdf, floating_base=True)
        self.mounts = mounts_in_use(config, calibration, self.model)
        self.roles = tuple(self.mounts)
        """Devices that are followed where present, in the order of the solver's tasks."""
        self._stand_ins = StandIns(calibration, self.model, config, self.roles)
        weights = np.array((config.position_weight, config.orientation_weight))
        factors = config.weight_factors()
        self._full_weights = np.array(
            [weights * device_trust(role) * factors.get(role, 1.0) for role in self.roles]
        )
        guesses = self._stand_ins.links
        self._solver = configured_solver(config, self.model, self.mounts.values(), guesses)
        # Asked once: whether something keeps a protocol takes as long as a step of the solver.
        self._leaping = self._solver if isinstance(self._solver, LeapingSolver) else None
        self._grounded = self._solver if isinstance(self._solver, GroundedSolver) else None
        self._floor_m = calibration.floor_m
        self._posture_pull = configured_pull(config, self._solver)
        self._easing = Easing(self.model)
        self._cleaner = FrameCleaner(self.roles, clean_limits(config))
        self._smoothers = smoothers(config, self.roles)
        self._targets = np.tile(np.eye(4), (len(self.mounts) + len(guesses), 1, 1))
        self.targets = self._targets[: len(self.roles)]
        """Cleaned poses of the devices in the last frame, in the order of `roles`."""
        rest = slice(len(self.roles), None)
        self._of_stand_ins = self._targets[rest], self._solver.weights[rest]
        self.confidence = np.zeros(len(self.roles))
        """From 0 (unknown) to 1 (seen now), for each of them."""
        self.reset()

    @property
    def glitches(self) -> int:
        """Device poses refused so far because they jumped."""
        return self._cleaner.glitches

    @property
    def q_fits(self) -> Array:
        """The pose that fits the last frame; what is shown may be on the way to it."""
        return self._wanted_q

    def reset(self) -> None:
        """Forget the past: the next frame is solved from a standing start."""
        self._cleaner.reset()
        self._stand_ins.reset()
        self._easing.reset()
        if isinstance(self._solver, RememberingSolver):
            self._solver.reset()
        self._q = self._wanted_q = self.model.neutral()
        """What was shown last, and what fits the devices; the way to it may take a while."""
        self._stamp_ns: int | None = None
        self._seen_ns = 0
        """When there was any device last."""
        self._seen = np.zeros(len(self.roles), bool)
        """Which devices there were in the last frame."""
        self._in_use: list[tuple[int, str]] = []
        """Their rows and names."""
        self._before: Pipeline | None = None
        """What has solved until now."""

    def take_over(self, before: 'Pipeline') -> None:
        """Go on from where another pipeline is, so that a change of settings is no jump.

        The body may have other lengths; with other joints there is nothing to go on from.
        """
        if before.model.joint_names != self.model.joint_names:
            return
        self._q, self._wanted_q = before._q, before._wanted_q
        self._stamp_ns, self._seen_ns = before._stamp_ns, before._seen_ns
        self._stand_ins.take_over(before._stand_ins)
        both = [role for role in self.roles if role in before.roles]
        rows = [self.roles.index(role) for role in both]
        rows_before = [before.roles.index(role) for role in both]
        self._seen[rows] = before._seen[rows_before]
        self._note_in_use()
        self._cleaner.take_over(before._cleaner, rows, rows_before)
        for smoother in self._smoothers:
            for old in before._smoothers:
                smoother.take_over(old, rows, rows_before)
        if before._stamp_ns is not None:
            self._before = before
            if isinstance(self._solver, ContinuingSolver):
                self._solver.take_over(before._solver)

    def process(self, frame: TrackingFrame) -> Solution:
        """Solve one frame; time must not run backwards between calls (else `reset` first)."""
        if self._is_found_again(frame):
            self.reset()
        seconds = self._seconds_since(frame.stamp_ns)
        self._cleaner.clean(frame, self.targets, self.confidence)
        before = _Guess(
            self._targets[len(self.roles) :].copy(),
            self._solver.weights.copy(),
            self._stand_ins.spine_lean,
        )
        is_any = frame_kernels.weigh(self.confidence, self._full_weights, self._solver.weights)
        if is_any:
            self._seen_ns = frame.stamp_ns
        elif self._stamp_ns is None:
            still = np.zeros(self.model.nv)
            return Solution(frame.stamp_ns, self._q, still, Status.FAILED, {}, 0, 0.0)
        for smoother in self._smoothers:
            smoother.smooth(seconds, self.confidence, self.targets)
        change = frame_kernels.note_seen(self.confidence, self._seen)
        self._stand_ins.follow(self.targets, self.confidence, seconds)
        if self._stamp_ns is None:
            self._note_in_use()
            self._q = self._wanted_q = self._standing_start()
        else:
            self._stand_in(seconds, self._wanted_q[:7], False)
            self._set_posture(seconds, self._stand_ins.spine_lean)
        started = time.perf_counter()
        result = self._solved(frame, before, change, seconds)
        solve_time_s = time.perf_counter() - started
        q, velocity = self._wanted_q, np.zeros(self.model.nv)
        if seconds > 0.0:
            q, way = self._easing.shown(q, self._q, seconds)
            velocity = way / seconds
        self._q, self._stamp_ns = q, frame.stamp_ns
        status = result.status if is_any else Status.FAILED
        errors = self._errors(result)
        return Solution(
            frame.stamp_ns, q, velocity, status, errors, result.iterations, solve_time_s
        )

    def _solved(
        self, frame: TrackingFrame, before: '_Guess', change: int, seconds: float
    ) -> SolveResult:
        """Find the pose that fits, and how to get there from the one that has been shown."""
        q_before, pace = self._wanted_q, QUICK
        has_leapt = False
        if change and self._stamp_ns is not None:
            q_before = self._as_before(before, seconds)
            self._note_in_use()
            pace = CALM if change == frame_kernels.LOSS else QUICK
            result = self._at_rest_elsewhere(seconds)
        else:
            result = self._solver.solve(self._wanted_q, self._targets)
            has_leapt = self._leaping is not None and self._leaping.has_leapt
        if has_leapt:
            result = self._at_rest(result.q)
        self._wanted_q = result.q
        if self._before is not None:
            self._go_on_from(self._before, frame)
            self._before = None
        elif change or has_leapt:
            self._easing.begin(self._wanted_q, q_before, pace)
        return result

    def _at_rest(self, q: Array) -> SolveResult:
        """Return where another pose comes to rest: what is eased in must not go on by itself."""
        self._set_posture(0.0, self._stand_ins.spine_lean)
        return self._settled(q)

    def _at_rest_elsewhere(self, seconds: float) -> SolveResult:
        """Return where the body comes to rest after a change, and what is guessed by it, too."""
        result, root = self._at_rest(self._wanted_q), self._wanted_q[:7]
        for _ in range(_LEAPS):
            if np.abs((result.q[:7] - root)[:3]).max() <= _LEAP_M:
                break
            # What is not tracked goes by where the pelvis is, and that is elsewhere now.
            root = result.q[:7]
            self._stand_in(seconds, root, True)
            result = self._at_rest(self._wanted_q)
        return result

    def _as_before(self, guess: '_Guess', seconds: float) -> Array:
        """Return the pose that would fit this frame, were the same devices known as before."""
        now = self._targets.copy(), self._solver.weights.copy()
        self._targets[len(self.roles) :], self._solver.weights[:] = guess.targets, guess.weights
        self._set_posture(seconds, guess.spine_lean)
        result = self._solver.solve(self._wanted_q, self._targets)
        self._targets[:], self._solver.weights[:] = now
        return result.q

    def _go_on_from(self, before: 'Pipeline', frame: TrackingFrame) -> None:
        """Show for this one frame what another pipeline would show, and then less and less."""
        try:
            before.process(frame)
        except Exception:  # it may be a plug-in's mistake for which it is exchanged
            return
        self._easing.take_over(before._easing)
        if not np.array_equal(self._wanted_q, before._wanted_q):
            self._wanted_q = self._at_rest(self._wanted_q).q
        self._easing.begin(self._wanted_q, before._wanted_q, QUICK)

    def _stand_in(self, seconds: float, root: Array | None, has_leapt: bool) -> None:
        """Set the targets of what is not tracked and yet known to be so or so.

        It goes by where the pelvis was in the last frame, or where it is now after a leap.
        """
        targets, weights = self._of_stand_ins
        self._stand_ins.fill(self.confidence, root, seconds, targets, weights, has_leapt)

    def _set_posture(self, seconds: float, spine_lean: float) -> None:
        """Say where joints go that devices leave free."""
        if self._posture_pull is None:
            return
        self._posture_pull.lean(spine_lean)
        if seconds > 0.0:
            self._posture_pull.from_pose(self._wanted_q, seconds)
        else:
            self._posture_pull.to_rest()

    def _standing_start(self) -> Array:
        """Return a pose for the first frame, which no frame before it has brought near.

        From several postures the solver finds its way to the arms' true bend at least once, from
        the first of them analytically, where it can; then the pelvis is known, and with it where
        feet may be.
        """
        self._stand_in(0.0, None, False)
        row = int(np.argmax(self.confidence > 0.0))
        mount = self.mounts[self.roles[row]]
        postures = start_postures(self.model)
        starts = [placed(self.model, joints, mount, self.targets[row]) for joints in postures]
        q = min(map(self._at_rest, starts), key=lambda result: result.cost).q
        self._stand_in(0.0, q[:7], True)
        starts = [q, with_bent_legs(self.model, q)]
        return min(map(self._at_rest, starts), key=lambda result: result.cost).q

    def _settled(self, q: Array) -> SolveResult:
        """Solve the frame until it has come to rest, for longer than a frame may take."""
        result = self._solver.solve(q, self._targets)
        for _ in range(_FIRST_SOLVES):
            result = self._solver.solve(result.q, self._targets)
        return result

    def _note_in_use(self) -> None:
        self._in_use = [(row, role) for row, role in enumerate(self.roles) if self._seen[row]]
        if self._grounded is not None:
            # Whose foot is tracked may stand on anything.
            tracked = {role for _, role in self._in_use}
            guessed = [side for side in 'lr' if f'{side}_foot' not in tracked]
            self._grounded.stand_on(self._floor_m, guessed)

    def _errors(self, result: SolveResult) -> dict[str, float]:
        """Return how far each device in use is from where the body puts it [m]."""
        errors_m = self._errors_shown() if self._easing.is_on else result.position_errors.tolist()
        return {role: errors_m[row] for row, role in self._in_use}

    def _errors_shown(self) -> list[float]:
        """Return how far each device is from where the shown pose puts it [m]."""
        placed = [
            self.model.link_pose(self._q, mount.link) @ mount.pose_link_from_device
            for mount in self.mounts.values()
        ]
        errors_m: list[float] = np.linalg.norm((self.targets - placed)[:, :3, 3], axis=1).tolist()
        return errors_m

    def _is_found_again(self, frame: TrackingFrame) -> bool:
        """Tell whether a device is there after so long a time that the body may be anywhere."""
        if self._stamp_ns is None or frame.stamp_ns - self._seen_ns <= _LONGEST_PAUSE_NS:
            return False
        return not set(self.roles).isdisjoint(frame.names)

    def _seconds_since(self, stamp_ns: int) -> float:
        """Return the time from the last solved frame to this one; 0 where there is none.

        Frames under one stamp are not of one moment: some time has passed, and nothing may leap.
        """
        if self._stamp_ns is None:
            return 0.0
        return max((stamp_ns - self._stamp_ns) * 1e-9, _SHORTEST_S)


_FIRST_SOLVES = 5
_SHORTEST_S = 1e-3
# A pelvis that a change of devices takes so far has not walked there. What is guessed by it takes
# it a little farther, so many times at most.
_LEAP_M = 0.02
_LEAPS = 5
# After a longer silence the body is looked for anew, not moved there slowly.
_LONGEST_PAUSE_NS = 1_000_000_000
