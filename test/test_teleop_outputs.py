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


"""Every output of the teleoperation node, as a real process, with a robot that stands still."""

import signal
import time

from geometry_msgs.msg import PoseStamped, TwistStamped
import numpy as np
import pytest
from ros_graph import listening
from ros_recording import ALL_KEPT, LATCHED
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool
from teleop_support import ROBOTS, start, StillRobot, TeleopOperator
from trajectory_msgs.msg import JointTrajectory

from vr_ik.config_file import load_config
from vr_ik.io.packages import read_description
from vr_ik.kinematics.model import RobotModel
from vr_ik.nodes.teleop_listener import way_of
from vr_ik.simulation.robot_config import RobotConfig
from vr_ik.teleop.audit import CommandAudit, Limits
from vr_ik.teleop.node_config import TeleopNodeConfig

ROBOT = load_config(RobotConfig, ROBOTS / 'panda.yaml', 'simulated_robot_node')
PANDA = RobotModel.from_urdf(read_description(ROBOT.urdf))
ARM = [f'panda_joint{i}' for i in range(1, 8)]
UP = np.array([0.0, 0.0, 0.1])
READY = {**dict.fromkeys(ARM, 0.0), **ROBOT.initial_positions()}
SHUFFLED = [*ARM[3:], *ARM[:3]]


@pytest.mark.parametrize('output', ['commands', 'servo_pose', 'servo_twist', 'joint_states'])
def test_every_output_moves_its_robot(output: str) -> None:
    """The hand goes up by 3 cm, and so does what is commanded."""
    # Where commands have no time, a tick that is later than the horizon is a pause, and stops.
    values: dict[str, object] = {'output': output, 'urdf': ROBOT.urdf, 'horizon_s': 0.5}
    if output == 'commands':
        values['controllers'] = f'"panda_arm_controller={" ".join(SHUFFLED)}"'
    if output == 'joint_states':
        values['initial'] = f'"{ROBOT.initial}"'
    kinds: dict[str, tuple[type, str]] = {
        'commands': (Float64MultiArray, 'panda_arm_controller/commands'),
        'servo_pose': (PoseStamped, 'servo_node/pose_target_cmds'),
        'servo_twist': (TwistStamped, 'servo_node/delta_twist_cmds'),
        'joint_states': (JointState, 'joint_states'),
    }
    process = start('teleop_node', 'panda', **values)
    sent: list = []
    try:
        with listening() as listener:
            operator = TeleopOperator(listener)
            if output != 'joint_states':
                StillRobot(operator, READY)
            kind, topic = kinds[output]
            listener.node.create_subscription(
                kind, topic, lambda message: sent.append((time.monotonic(), message)), ALL_KEPT
            )
            operator.wait_for_state('disengaged')
            operator.engage()
            operator.move(0.3 * UP, 0.4)
            operator.grip = 0.0
            operator.wait_for_state('holding')
            operator.go_on(0.3)
        assert process.end() == 0, process.output()
    finally:
        process.kill()
    np.testing.assert_allclose(rise(output, sent), 0.03, atol=4e-3)


def test_a_node_that_is_ended_brings_the_moving_arm_to_rest_first() -> None:
    process = start('teleop_node', 'panda', urdf=ROBOT.urdf)
    config = TeleopNodeConfig()
    audit = CommandAudit(Limits.of(config, PANDA, ARM), config.rate_hz, config.horizon_s, 0.5)
    fastest = [0.0]

    def judge(message: JointTrajectory, info) -> None:
        point = message.points[0]
        fastest.append(max(map(abs, point.velocities)))
        way = way_of(message)
        number = info['publication_sequence_number']
        audit.add(info['source_timestamp'], way[0].q, way[0].velocity, way[1:], number)

    try:
        with listening() as listener:
            operator = TeleopOperator(listener)
            StillRobot(operator, READY)
            topic = 'panda_arm_controller/joint_trajectory'
            listener.node.create_subscription(JointTrajectory, topic, judge, ALL_KEPT)
            operator.wait_for_state('disengaged')
            operator.engage()
            operator.move(0.3 * UP, 0.2)
            process.process.send_signal(signal.SIGINT)
            operator.wait_for(lambda: process.process.poll() is not None, 'the end')
            operator.go_on(0.3)
        assert process.wait() == 0, process.output()
    finally:
        process.kill()
    audit.end()
    assert max(fastest) > 0.05
    assert fastest[-1] == 0.0
    assert not +audit.violations, (audit.violations, audit.worst)


def test_another_description_of_the_robot_stops_the_arm_for_good() -> None:
    text = read_description(ROBOT.urdf)
    process = start('teleop_node', 'panda')
    try:
        with listening() as listener:
            operator = TeleopOperator(listener)
            StillRobot(operator, READY)
            topic = 'panda_arm_controller/joint_trajectory'
            listener.node.create_subscription(JointTrajectory, topic, [].append, ALL_KEPT)
            described = listener.node.create_publisher(String, 'robot_description', LATCHED)
            enable = listener.node.create_client(SetBool, 'teleop_node/pause')
            described.publish(String(data=text))
            operator.wait_for_state('disengaged')
            operator.engage()
            operator.move(0.1 * UP, 0.2)
            described.publish(String(data=text))  # the same again is no other one
            operator.go_on(0.3)
            assert operator.state.startswith('engaged')
            described.publish(String(data=f'{text}\n'))
            operator.wait_for_state('stopped: the robot is described otherwise')
            answer = enable.call_async(SetBool.Request(data=False))
            operator.wait_for(answer.done, 'an answer')
            assert not answer.result().success
            assert 'started anew' in answer.result().message
            operator.release()
            operator.grip = 1.0
            operator.wait_for_state('disengaged: the robot is described otherwise')
        assert process.end() == 0, process.output()
    finally:
        process.kill()


def rise(output: str, sent: list) -> float:
    """Return by how much the tip was commanded to rise."""
    first, last = sent[0][1], sent[-1][1]
    if output == 'servo_pose':
        assert last.header.frame_id == 'panda_link0'
        return last.pose.position.z - tip_height(READY)
    if output == 'servo_twist':
        assert last.header.frame_id == 'panda_link0'
        stamps = np.array([m.header.stamp.sec + 1e-9 * m.header.stamp.nanosec for _, m in sent])
        speeds = np.array([m.twist.linear.z for _, m in sent])
        return float(np.sum(0.5 * (speeds[1:] + speeds[:-1]) * np.diff(stamps)))
    if output == 'commands':
        return tip_height(dict(zip(SHUFFLED, last.data, strict=True))) - tip_height(READY)
    ends = [dict(zip(m.name, m.position, strict=True)) for m in (first, last)]
    assert set(ends[0]) == set(PANDA.joint_names)
    return tip_height(ends[1]) - tip_height(ends[0])


def tip_height(positions: dict[str, float]) -> float:
    q = PANDA.configuration(positions)
    return float(PANDA.link_pose(q, 'panda_hand_tcp')[2, 3])
