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

"""Calibration in the solver node: by service or triggers, after a countdown, then refined."""

from collections import deque
from collections.abc import Callable
from functools import partial
import math
from pathlib import Path
import time
from typing import NamedTuple

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from sensor_msgs.msg import Joy

from vr_ik.calibration import storage
from vr_ik.calibration.background import Refinement
from vr_ik.calibration.calibration import Calibration
from vr_ik.calibration.hold import calibrate_held, HOLD_S, remark_on
from vr_ik.calibration.trigger_hold import TriggerHold
from vr_ik.config import SolverConfig
from vr_ik.errors import CalibrationError, VrIkError
from vr_ik.nodes import triggers
from vr_ik.nodes.calibration_buzz import CalibrationBuzz
from vr_ik.nodes.qos import DEVICE_QOS
from vr_ik.trackers.openvr_input import AXIS_NAMES
from vr_ik.types import TrackingFrame

_TICK_S = 1.0
_MOTION_PERIOD_NS = 50_000_000
"""Frames for the refinement are kept so far apart: nearer ones repeat each other."""
_TRIGGER = AXIS_NAMES.index('trigger')
_FRESH_S = 1.0
"""When frames stopped so long ago, nobody knows how the user stands now."""


class Body(NamedTuple):
    """Whose body is to be solved for."""

    calibration: Calibration | None
    """None: the average of the configured size."""
    origin: str
    """Where it comes from, in words."""
    remark: str = ''
    """What to tell the user about it."""


def users_folder(config: SolverConfig) -> Path:
    """Return where the calibrations of users are kept."""
    return Path(config.users_folder) if config.users_folder else storage.default_folder()


class Calibrating:
    """Measures the user on request and hands over what it found."""

    def __init__(
        self,
        node: Node,
        config: Callable[[], SolverConfig],
        use: Callable[[Calibration], None],
    ) -> None:
        """Offer `~/calibrate` and listen to the triggers; `use` takes over a calibration."""
        self._node = node
        self._config = config
        self._use = use
        self._recent: deque[TrackingFrame] = deque()
        self._recent_s = 0.0
        """When the newest of these came, by the steady clock."""
        self._motion: list[TrackingFrame] = []
        self._calibration: Calibration | None = None
        """What is to be refined by the motion that follows."""
        self._refinement: Refinement | None = None
        self._seconds_left = 0
        self.state = ''
        """Where the body in use comes from, in words."""
        triggers.offer(node, '~/calibrate', self._asked)
        self._hold = TriggerHold()
        for side in 'lr':
            topic = f'{side}_controller/joy'
            node.create_subscription(Joy, topic, partial(self._on_joy, side), DEVICE_QOS)
        clock = Clock(clock_type=ClockType.STEADY_TIME)
        self._buzz = CalibrationBuzz(node, clock)
        self._timer = node.create_timer(_TICK_S, self._tick, clock=clock)

    def close(self) -> None:
        """End a refinement that is under way."""
        if self._refinement is not None:
            self._refinement.cancel()
            self._refinement = None

    def load(self, config: SolverConfig) -> Body:
        """Return the configured user's body, and change nothing: it may be of no use yet."""
        if not config.user:
            return Body(None, 'average body')
        storage.check_name(config.user)
        folder = users_folder(config)
        if config.user not in storage.users(folder):
            remark = (
                f"The user '{config.user}' is not calibrated yet: call ~/calibrate, or hold both "
                'triggers in a T-pose.'
            )
            return Body(None, 'average body', remark)
        return Body(storage.load(config.user, folder), f"user '{config.user}'")

    def begin(self, body: Body) -> None:
        """Go on with a body that has been loaded and is solved for from now on."""
        self.close()
        self._calibration, self._motion = None, []
        self.state = body.origin
        if body.remark:
            self._node.get_logger().warning(body.remark)
        if body.calibration is not None:
            worn = ', '.join(body.calibration.mounts)
            self._node.get_logger().info(f'The body is that of {body.origin}, who wears {worn}.')

    def note(self, frame: TrackingFrame) -> None:
        """Remember a frame, as it came, for as long as calibration may need it."""
        if self._recent and frame.stamp_ns < self._recent[-1].stamp_ns:
            self._recent.clear()
            self._motion.clear()
        self._recent.append(frame)
        self._recent_s = time.monotonic()
        while frame.stamp_ns - self._recent[0].stamp_ns > HOLD_S * 1e9:
            self._recent.popleft()
        if self._calibration is None:
            return
        if not self._motion or frame.stamp_ns - self._motion[-1].stamp_ns >= _MOTION_PERIOD_NS:
            self._motion.append(frame)
            moved_s = (frame.stamp_ns - self._motion[0].stamp_ns) * 1e-9
            if moved_s >= self._config().refine_after_s > 0.0:
                self._refinement = Refinement(self._calibration, self._motion)
                self._calibration, self._motion = None, []

    def _asked(self) -> str:
        countdown_s = self._config().calibration_countdown_s
        if countdown_s == 0.0:
            return self._calibrate()
        self._seconds_left = math.ceil(countdown_s)
        return f'Calibrating in {self._seconds_left} s: stand upright, arms level to the sides.'

    def _calibrate(self) -> str:
        """Measure the user and take it over, and let him feel in his hands what came of it."""
        try:
            calibration = self._measured()
        except VrIkError:
            self._buzz.refused()
            raise
        self._buzz.accepted()
        remark = remark_on(self._recent)
        return self._saved(calibration, f'Calibrated: {calibration.summary()}{remark}')

    def _measured(self) -> Calibration:
        silent_s = time.monotonic() - self._recent_s
        if self._recent and silent_s > _FRESH_S:
            raise CalibrationError(f'No device has been tracked for {silent_s:.1f} s.')
        calibration = calibrate_held(self._recent)
        self._use(calibration)
        self.close()
        self._calibration, self._motion = calibration, []
        self.state = 'calibrated'
        return calibration

    def _saved(self, calibration: Calibration, text: str) -> str:
        """Write the calibration where it belongs to a user; return what to tell of it."""
        config = self._config()
        if config.user:
            try:
                path = storage.save(calibration, config.user, users_folder(config))
            except CalibrationError as error:
                # It is done: whoever is told otherwise would do it again, to no avail.
                text = f'{text} It is in use, but not kept: {error}'
                self._node.get_logger().warning(text)
                return text
            text = f"{text} Saved to '{path}'."
        self._node.get_logger().info(text)
        return text

    def _try(self, action: Callable[[], object]) -> None:
        """Do what nobody waits for an answer of; a refusal goes to the log."""
        try:
            action()
        except VrIkError as error:
            self._node.get_logger().warning(f'Not calibrated: {error}')

    def _on_joy(self, side: str, joy: Joy) -> None:
        if not self._config().calibrate_by_triggers or len(joy.axes) <= _TRIGGER:
            return
        if self._hold.note(side, joy.axes[_TRIGGER], time.monotonic()):
            self._try(self._calibrate)

    def _tick(self) -> None:
        if self._seconds_left:
            self._seconds_left -= 1
            if self._seconds_left:
                self._node.get_logger().info(f'Calibrating in {self._seconds_left} s ...')
            else:
                self._try(self._calibrate)
        if self._refinement is not None and self._refinement.done():
            self._try(partial(self._end_refinement, self._refinement))

    def _end_refinement(self, refinement: Refinement) -> None:
        self._refinement = None
        refined = refinement.result()
        self._use(refined)
        self.state = 'calibrated, refined'
        self._saved(refined, f'Refined by motion: {refined.summary()}')
