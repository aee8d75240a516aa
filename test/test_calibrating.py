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

"""Calibration of the running solver node: by service, by triggers, after a countdown, refined."""

from collections.abc import Iterator
from pathlib import Path
import time

import numpy as np
import pytest
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.parameter import Parameter
from rclpy.task import Future
from ros_graph import listening
from ros_recording import ALL_KEPT, Graph, Recording
from sensor_msgs.msg import Joy, JoyFeedback
from std_srvs.srv import Trigger

from vr_ik.calibration import storage
from vr_ik.calibration.trigger_hold import TriggerHold
from vr_ik.kinematics.model import RobotModel
from vr_ik.nodes.conversions import FrameWriter
from vr_ik.trackers.simulated import SIMULATED_ROLES
from vr_ik.trackers.simulated_user import SimulatedUser
from vr_ik.types import TrackingFrame

TALL_M = 1.92
PERIOD_S = 0.01


class Player:
    """A tall user, played to a solver that was told nothing of him."""

    def __init__(self, recording: Recording, **values: object) -> None:
        """Start the solver, and play until it answers."""
        self.recording = recording
        self.graph = Graph()
        self.solver = self.graph.start('solver_node', **values)
        self._user = SimulatedUser(TALL_M)
        self._origin_ns = time.time_ns()
        self._last_ns = 0
        self.user_s = 0.0
        self.flickers = ''
        """A device that is seen in every fourth frame only."""
        self._frames = 0
        node = recording.listener.node
        self._calibrate = node.create_client(Trigger, 'solver_node/calibrate')
        self._parameters = node.create_client(
            SetParametersAtomically, 'solver_node/set_parameters_atomically'
        )
        self.joys = [
            node.create_publisher(Joy, f'{side}_controller/joy', ALL_KEPT) for side in 'lr'
        ]
        self.felt: list[float] = []
        """Intensity of every pulse in the left hand."""
        node.create_subscription(
            JoyFeedback,
            'l_controller/joy/set_feedback',
            lambda message: self.felt.append(message.intensity),
            ALL_KEPT,
        )
        first = len(recording.joint_states)
        self.play_until(lambda: len(recording.joint_states) > first, 'the solver')
        self.play_until(lambda: bool(recording.descriptions), 'the description')

    def play(self, moves: bool = False) -> None:
        """Send a frame when its time has come; the user stands in the T-pose, or moves."""
        now_ns = time.time_ns()
        if now_ns - self._last_ns < PERIOD_S * 1e9:
            return
        self._last_ns = now_ns
        self.user_s += PERIOD_S if moves else 0.0
        self._frames += 1
        roles = tuple(r for r in SIMULATED_ROLES if r != self.flickers or self._frames % 4 == 0)
        poses = self._user.device_poses(self._user.q_at(self.user_s), roles)
        frame = TrackingFrame(now_ns, roles, poses)
        self.recording.tf.publish(FrameWriter('vr_world', '').write(frame))

    def play_until(self, condition, what, moves=False):
        """Go on with sending until the condition holds."""

        def holds() -> bool:
            self.play(moves)
            return condition()

        self.recording.wait(holds, what)

    def calibrate(self) -> Trigger.Response:
        """Call the service while the user holds his pose for longer than it looks back."""
        until = time.monotonic() + 0.7
        self.play_until(lambda: time.monotonic() > until, 'a held pose')
        self.play_until(self._calibrate.service_is_ready, 'the service')
        future = self.ask()
        self.play_until(future.done, 'the answer')
        return future.result()

    def ask(self) -> Future:
        """Call the service; return its answer to come."""
        return self._calibrate.call_async(Trigger.Request())

    def change(self, **values: object) -> SetParametersResult:
        """Change parameters together, and return the answer while the user goes on."""
        changed = [
            Parameter(name, value=value).to_parameter_msg() for name, value in values.items()
        ]
        self.play_until(self._parameters.service_is_ready, 'the parameters')
        request = SetParametersAtomically.Request(parameters=changed)
        future = self._parameters.call_async(request)
        self.play_until(future.done, 'the answer')
        return future.result().result

    def height_m(self) -> float:
        """Return the height of the body that was described last."""
        model = RobotModel.from_urdf(self.recording.descriptions[-1], floating_base=True)
        poses = model.link_poses(model.neutral())
        soles, gaze = (poses[model.link_index(name)][2, 3] for name in ('l_sole', 'gaze'))
        return float(gaze - soles) / 0.934


@pytest.fixture
def recording() -> Iterator[Recording]:
    """The listener."""
    with listening() as listener:
        yield Recording(listener)


def playing(recording: Recording, **values: object) -> Iterator[Player]:
    """A player; his solver must exit cleanly."""
    player = Player(recording, **values)
    try:
        yield player
        player.graph.end('solver_node')
    finally:
        player.graph.close()


@pytest.fixture
def player(recording: Recording, tmp_path: Path) -> Iterator[Player]:
    """A solver for the user 'tall', who is not known yet."""
    yield from playing(recording, user='tall', users_folder=tmp_path, refine_after_s=0.0)


@pytest.fixture
def refining(recording: Recording) -> Iterator[Player]:
    """A solver that refines early, and waits before it calibrates."""
    yield from playing(recording, refine_after_s=2.0, calibration_countdown_s=1.5)


def test_the_service_measures_the_user_and_saves_him(player: Player, tmp_path: Path) -> None:
    """A bad pose is refused with the reason and changes nothing; a good one is kept on disk."""
    assert 'not calibrated yet' in player.solver.output()
    before = player.recording.descriptions[-1]
    player.user_s = 8.0
    refused = player.calibrate()
    assert not refused.success and refused.message
    assert player.recording.descriptions[-1] == before and not storage.users(tmp_path)
    player.play_until(lambda: len(player.felt) >= 3, 'what a refusal feels like')
    no = player.felt[:]
    player.user_s = 0.0
    known = len(player.recording.descriptions)
    answer = player.calibrate()
    assert answer.success, answer.message
    player.play_until(lambda: len(player.felt) > len(no), 'what it feels like to be measured')
    (yes,) = player.felt[len(no) :]
    assert len(no) == 3 and yes > max(no) > 0.0
    assert 'Left out' not in answer.message
    player.play_until(lambda: len(player.recording.descriptions) > known, 'the new body')
    assert abs(player.height_m() - TALL_M) < 0.03 * TALL_M
    saved = storage.load('tall', tmp_path)
    assert abs(saved.proportions.height - TALL_M) < 0.03 * TALL_M
    assert set(saved.mounts) == set(SIMULATED_ROLES)
    player.recording.listener.spin_for(1.2)
    stale = player.ask()
    player.recording.wait(stale.done, 'the answer')
    assert not stale.result().success
    assert 'No device has been tracked for' in stale.result().message


def test_a_device_that_flickers_is_named_in_the_answer(player: Player, tmp_path: Path) -> None:
    """It is not followed: nobody should have to find out by looking."""
    player.flickers = 'l_foot'
    answer = player.calibrate()
    assert answer.success, answer.message
    assert 'l_foot' in answer.message.split('Left out')[1]
    assert 'l_foot' not in storage.load('tall', tmp_path).mounts
    # A name that no file can have is refused before anybody stands in a pose.
    refused = player.change(user='../tall')
    assert not refused.successful and "'../tall' cannot be a user's name" in refused.reason


def test_a_body_that_cannot_be_kept_is_in_use(player: Player, tmp_path: Path) -> None:
    """It was measured: who is told that it was not would try again, in vain."""
    (tmp_path / 'file').touch()
    assert player.change(users_folder=str(tmp_path / 'file')).successful
    known = len(player.recording.descriptions)
    answer = player.calibrate()
    assert answer.success and 'in use, but not kept' in answer.message
    player.play_until(lambda: len(player.recording.descriptions) > known, 'the new body')
    assert abs(player.height_m() - TALL_M) < 0.03 * TALL_M


def test_both_triggers_calibrate(player: Player, tmp_path: Path) -> None:
    """They must be held; then the user is measured once."""
    until = time.monotonic() + 5.0

    def pull() -> bool:
        for joy in player.joys:
            joy.publish(Joy(axes=[0.0, 0.0, 0.0, 0.0, 1.0, 0.0]))
        return bool(storage.users(tmp_path)) or time.monotonic() > until

    player.play_until(pull, 'the triggers')
    assert storage.users(tmp_path) == ('tall',)


def test_after_a_countdown_the_user_is_measured_and_motion_refines_it(refining: Player) -> None:
    """The answer comes at once; the better body comes while the user moves.

    A change of parameters that is refused in between, of the size and of something bad, leaves the
    calibration as it was.
    """
    bodies = len(refining.recording.descriptions)
    answer = refining.calibrate()
    assert answer.success and 'in 2 s' in answer.message
    assert len(refining.recording.descriptions) == bodies
    refining.play_until(lambda: len(refining.recording.descriptions) > bodies, 'the countdown')
    assert abs(refining.height_m() - TALL_M) < 0.03 * TALL_M
    refused = refining.change(user_height_m=1.5, solver_options='nonsense=1')
    assert not refused.successful and 'nonsense' in refused.reason
    line = 'solver_node: solver'
    refining.recording.diagnostics.clear()
    refining.play_until(lambda: line in refining.recording.diagnostics, 'diagnostics')
    values = {item.key: item.value for item in refining.recording.diagnostics[line].values}
    assert values['calibration'] == 'calibrated'
    refining.user_s = 3.0
    refining.play_until(
        lambda: 'Refined by motion' in refining.solver.output(), 'the refinement', moves=True
    )
    states = refining.recording.joint_states
    assert all(np.isfinite(state.position).all() for state in states)


def hold(*events: tuple[str, float, float]) -> list[bool]:
    """Return the answers to events (side, pull, time)."""
    watch = TriggerHold()
    return [watch.note(*event) for event in events]


def test_triggers_ask_once_each_time_both_are_held() -> None:
    """Neither one alone, nor a short pull, nor a controller that went silent is enough."""
    both = [(side, 1.0, 0.1 * i) for i in range(30) for side in 'lr']
    assert sum(hold(*both)) == 1
    assert sum(hold(*both, ('l', 0.0, 3.0), ('r', 0.0, 3.0), *_later(both, 4.0))) == 2
    assert not any(hold(*[event for event in both if event[0] == 'l']))
    assert not any(hold(*both[:18]))
    assert not any(hold(('r', 1.0, 0.0), *[('l', 1.0, 0.1 * i) for i in range(30)]))


def _later(
    events: list[tuple[str, float, float]], seconds: float
) -> list[tuple[str, float, float]]:
    return [(side, pull, at_s + seconds) for side, pull, at_s in events]
