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

"""The parts of the teleoperation node, in the test's own process: what they hear, and what not."""

from collections.abc import Iterator
import time

from geometry_msgs.msg import TwistStamped
import numpy as np
import pytest
from ros_graph import Listener, listening
from ros_recording import ALL_KEPT, LATCHED
from sensor_msgs.msg import Joy
from teleop_session_support import PANDA_READY, robot_text
from teleop_support import MENU
from tf2_msgs.msg import TFMessage
from trajectory_msgs.msg import JointTrajectory

from vr_ik.config import replace
from vr_ik.math.rotations import pose
from vr_ik.nodes import diagnostics
from vr_ik.nodes.conversions import FrameWriter
from vr_ik.nodes.teleop_node import Driving
from vr_ik.nodes.teleop_operator import Operator
from vr_ik.teleop.node_config import TeleopNodeConfig
from vr_ik.teleop.types import ArmInput, Reason, RobotState, State, TeleopCommand, TeleopInputs
from vr_ik.types import TrackingFrame

CONFIG = TeleopNodeConfig(gripper_joints=('panda_finger_joint1',), elbow_frames=('r_elbow',))
TICK_NS = 4_000_000
RESTING = 50


@pytest.fixture
def listener() -> Iterator[Listener]:
    with listening() as listener:
        yield listener


@pytest.mark.parametrize(('ahead_s', 'seen'), ((0.0, True), (3600.0, False), (-3600.0, False)))
def test_head_and_elbow_hold_only_near_their_stamps(
    listener: Listener, ahead_s: float, seen: bool
) -> None:
    """As after a clock that was set by an hour."""
    operator = Operator(listener.node, CONFIG)
    now_ns = 10**18
    publisher = listener.node.create_publisher(TFMessage, '/tf', ALL_KEPT)
    poses = np.tile(np.eye(4), (3, 1, 1))
    devices = ('hmd', 'r_controller', 'r_elbow')
    frame = TrackingFrame(now_ns + round(ahead_s * 1e9), devices, poses)
    message = FrameWriter('vr_world', '').write(frame)

    def heard() -> bool:
        publisher.publish(message)
        return operator.newest_ns > 0

    listener.spin_until(heard, 'the devices')
    assert (operator.head(now_ns) is not None) == seen
    assert (operator.arms(now_ns)[0].elbow is not None) == seen


def test_a_tool_is_found_by_its_chain_over_both_topics(listener: Listener) -> None:
    """vr_world -> r_tracker moves, r_tracker -> mount -> tool was told once, long before."""
    static = [listener.node.create_publisher(TFMessage, '/tf_static', LATCHED) for _ in range(2)]
    up = pose(np.eye(3), np.array([0.0, 0.0, 0.1]))
    for publisher, parent, child in zip(
        static, ('me/r_tracker', 'mount'), ('mount', 'me/tool'), strict=True
    ):
        frame = TrackingFrame(1, (child,), up[None])
        publisher.publish(FrameWriter(parent, '').write(frame))
    config = replace(CONFIG, {'device_frames': ('tool',), 'frame_prefix': 'me/'})
    operator = Operator(listener.node, config)
    listener.spin_until(lambda: "'me/r_tracker'" in operator.arms(0)[0].lack, 'the missing link')
    publisher = listener.node.create_publisher(TFMessage, '/tf', ALL_KEPT)
    stamp_ns = 10**18
    message = FrameWriter('vr_world', 'me/').write(
        TrackingFrame(stamp_ns, ('r_tracker',), up[None])
    )

    def seen() -> bool:
        publisher.publish(message)
        return operator.newest_ns > 0

    listener.spin_until(seen, 'the tool')
    arm = operator.arms(stamp_ns + 1)[0]
    assert (arm.stamp_ns, arm.lack) == (stamp_ns, '')
    assert arm.pose_world_from_device is not None
    np.testing.assert_allclose(arm.pose_world_from_device[:3, 3], (0.0, 0.0, 0.3), atol=1e-12)


def test_a_menu_button_that_is_stuck_enables_nothing(listener: Listener) -> None:
    operator = Operator(listener.node, CONFIG)
    publisher = listener.node.create_publisher(Joy, 'r_controller/joy', ALL_KEPT)
    listener.spin_until(lambda: publisher.get_subscription_count() > 0, 'the subscription')
    for pressed, enabled in ((1, False), (1, False), (0, False), (1, True)):
        joy = Joy(axes=[0.0] * 6, buttons=[0] * 14)
        joy.buttons[MENU] = pressed
        # Another value each time tells that this one was heard; else it is said again.
        joy.axes[CONFIG.trigger_axis] = 1.0 if operator.arms(0)[0].trigger == 0.5 else 0.5

        def is_heard(joy: Joy = joy) -> bool:
            publisher.publish(joy)
            return operator.arms(0)[0].trigger == joy.axes[CONFIG.trigger_axis]

        listener.spin_until(is_heard, 'the button')
        assert operator.enabled is enabled


def test_the_diagnostics_warn_until_a_press_would_be_taken(listener: Listener) -> None:
    driving = Driving(listener.node, CONFIG, robot_text('panda'))
    robot = Robot(driving)
    for enabled, level in ((False, diagnostics.WARN), (True, diagnostics.OK)):
        for _ in range(RESTING):
            driving.report.note(0, robot.tick(0.0, 0.0, enabled), False, 0.0, 0.0)
        line = driving.report.line(enabled)
        expected = Reason.READY if enabled else Reason.NOT_ENABLED
        assert line.message.startswith(f'disengaged: {expected.value}')
        assert line.level == level


@pytest.mark.parametrize(
    ('output', 'kind', 'topic'),
    (
        ('joint_trajectory', JointTrajectory, '/joint_trajectory_controller/joint_trajectory'),
        ('servo_twist', TwistStamped, '/servo_node/delta_twist_cmds'),
    ),
)
def test_commands_that_nobody_would_hear_are_known_by_their_topic(
    listener: Listener, output: str, kind: type, topic: str
) -> None:
    config = replace(CONFIG, {'output': output})
    driving = Driving(listener.node, config, robot_text('panda'))
    assert driving.output.unheard() == topic
    listener.node.create_subscription(kind, topic, [].append, ALL_KEPT)
    listener.spin_until(lambda: not driving.output.unheard(), 'a controller')


class Robot:
    """A Panda at rest before a session, with something between its fingers."""

    def __init__(self, driving: Driving) -> None:
        self._driving = driving
        self._now_ns = 10**18
        joints = dict(zip(driving.session.joint_names, PANDA_READY, strict=True))
        self.positions = {**joints, 'panda_finger_joint1': 0.02}

    def engage(self, trigger: float) -> TeleopCommand:
        """Press the clutch afresh, with the trigger somewhere."""
        for k in range(RESTING + 1):
            command = self.tick(float(k == RESTING), trigger)
        assert command.state is State.ENGAGED
        return command

    def tick(self, clutch: float, trigger: float, enabled: bool = True) -> TeleopCommand:
        """Hold the hand still for a tick."""
        self._now_ns += TICK_NS
        arm = ArmInput(np.eye(4), self._now_ns, clutch, trigger)
        state = RobotState(self._now_ns, self.positions)
        inputs = TeleopInputs((arm,), enabled, np.eye(4), state)
        return self._driving.session.step(self._now_ns, inputs)


def test_a_command_that_was_computed_too_late_is_not_sent(listener: Listener) -> None:
    driving = Driving(listener.node, CONFIG, robot_text('panda'))
    command = Robot(driving).engage(0.0)
    heard: list[JointTrajectory] = []
    topic = 'joint_trajectory_controller/joint_trajectory'
    listener.node.create_subscription(JointTrajectory, topic, heard.append, ALL_KEPT)

    def sent() -> bool:
        assert driving.send(0, time.monotonic_ns(), command)
        return bool(heard)

    listener.spin_until(sent, 'a command in time')
    listener.spin_for(0.2)
    heard.clear()
    for late_s in (1.0, 1.01 * CONFIG.horizon_s):
        assert not driving.send(0, time.monotonic_ns() - round(late_s * 1e9), command)
    listener.spin_for(0.2)
    assert heard == []


def test_parameters_that_change_let_go_of_nothing_that_is_held(listener: Listener) -> None:
    """The trigger goes through where the fingers are, but not to where they are commanded."""
    driving = Driving(listener.node, CONFIG, robot_text('panda'))
    robot = Robot(driving)
    robot.engage(0.5)  # where the fingers are
    for _ in range(200):
        command = robot.tick(1.0, 1.0)
    assert command.gripper == {'panda_finger_joint1': pytest.approx(0.0)}
    driving.begin_anew(CONFIG)
    robot.engage(0.5)
    for _ in range(50):
        command = robot.tick(1.0, 0.3)
    assert command.gripper == {'panda_finger_joint1': pytest.approx(0.0)}


def test_the_diagnostics_count_what_was_sent_apart_from_what_was_too_late(
    listener: Listener,
) -> None:
    driving = Driving(listener.node, CONFIG, robot_text('panda'))
    command = Robot(driving).engage(0.0)
    for sent in (True, False, True):
        driving.report.note(0, command, sent, 0.0, 0.0)
    values = {value.key: value.value for value in driving.report.line(enabled=True).values}
    assert values['commands'] == '2'
    assert values['commands too late to be sent'] == '1'
