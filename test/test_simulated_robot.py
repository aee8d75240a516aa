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


"""The simulated robot: its controllers by laws, its physics on real robots, its node alive."""

from hypothesis import given, strategies as st
import numpy as np
import pytest
from robots import urdf_path
from ros_graph import listening, NodeProcess, parameters
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from vr_ik.errors import ConfigError, MissingDataError
from vr_ik.io.packages import find_file, read_description
from vr_ik.nodes import qos
from vr_ik.simulation.controllers import CommandError, Controller, TrajectoryPoint
from vr_ik.simulation.robot import SimulatedRobot, STEP_S
from vr_ik.simulation.robot_config import DEFAULT_URDF, RobotConfig
from vr_ik.teleop.braking import braking_points, BrakingPoint

ROBOTS = ('panda', 'ur5_robot', 'ur10_robot', 'kinova', 'xarm7', 'baxter', 'talos_reduced')
PANDA_READY = dict(zip('1234567', (0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785), strict=True))
READY = {f'panda_joint{name}': value for name, value in PANDA_READY.items()}

numbers = st.floats(-3.0, 3.0)


def at(controller: Controller, time_s: float) -> tuple[np.ndarray, np.ndarray]:
    controller.update(time_s)
    return controller.q.copy(), controller.velocity.copy()


@given(numbers, numbers, numbers, st.floats(0.01, 2.0))
def test_a_trajectory_meets_its_points_and_its_speed_is_its_slope(a, b, speed, seconds):
    controller = Controller(('j',), np.array([a]))
    points = [TrajectoryPoint(seconds, [b], [speed]), TrajectoryPoint(2 * seconds, [a], [0.0])]
    controller.follow(0.0, ['j'], points, 0.0)
    step_s = 1e-6 * seconds
    for time_s in np.linspace(0.1, 0.9, 5) * seconds:
        before, _ = at(controller, time_s - step_s)
        _, velocity = at(controller, time_s)
        after, _ = at(controller, time_s + step_s)
        slope = (after - before) / (2 * step_s)
        np.testing.assert_allclose(velocity, slope, rtol=1e-4, atol=1e-3 / seconds)
    q, velocity = at(controller, seconds)
    np.testing.assert_allclose((q[0], velocity[0]), (b, speed), atol=1e-9)
    q, velocity = at(controller, 3 * seconds)
    assert (q[0], velocity[0]) == (a, 0.0)


@given(numbers, numbers, numbers, st.floats(0.05, 0.95))
def test_a_new_trajectory_takes_over_without_a_jump(a, b, c, when):
    controller = Controller(('j',), np.array([a]))
    controller.follow(0.0, ['j'], [TrajectoryPoint(1.0, [b], [0.0])], 0.0)
    q, velocity = at(controller, when)
    controller.follow(when, ['j'], [TrajectoryPoint(1.0, [c], [0.0])], when)
    np.testing.assert_allclose(at(controller, when + 1e-9), (q, velocity), atol=1e-6)


def test_joints_of_a_trajectory_may_be_in_any_order():
    controller = Controller(('a', 'b'), np.zeros(2))
    controller.follow(0.0, ['b', 'a'], [TrajectoryPoint(0.1, [2.0, 1.0])], 0.0)
    assert at(controller, 1.0)[0].tolist() == [1.0, 2.0]


def test_points_that_are_over_are_left_out():
    controller = Controller(('j',), np.zeros(1))
    points = [
        TrajectoryPoint(0.1, [9.0]),
        TrajectoryPoint(0.5, [5.0]),
        TrajectoryPoint(2.0, [2.0]),
    ]
    controller.follow(1.0, ['j'], points, 0.0)
    assert at(controller, 1.5)[0][0] == pytest.approx(3.0)
    controller.follow(1.5, ['j'], [TrajectoryPoint(0.1, [9.0])], 0.0)
    assert at(controller, 3.0)[0][0] == pytest.approx(3.0)


def test_points_of_this_moment_and_before_lead_the_way_by_themselves():
    """As the real controller samples: from its points, once their time has come."""
    controller = Controller(('j',), np.zeros(1))
    points = [TrajectoryPoint(0.0, [5.0]), TrajectoryPoint(1.0, [6.0])]
    controller.follow(1.0, ['j'], points, 1.0)
    assert at(controller, 1.5)[0][0] == pytest.approx(5.5)


def test_a_trajectory_may_begin_where_the_joints_are_measured():
    controller = Controller(('j',), np.zeros(1))
    measured = np.array([0.5]), np.array([1.0])
    controller.follow(0.0, ['j'], [TrajectoryPoint(1.0, [2.0], [0.0])], 0.0, measured)
    np.testing.assert_allclose(at(controller, 1e-9), measured, atol=1e-6)
    assert at(controller, 1.0)[0][0] == pytest.approx(2.0)


def farthest_behind(
    measured: bool, feedforward: bool, rate_hz: float = 250.0, horizon_s: float = 0.02
) -> float:
    """Return how far a joint is behind at most [rad] that swings by 0.4 rad, at 0.6 rad/s.

    Its commands come as from teleop_node, its drive is a position loop of 20 Hz.
    """
    controller, q, velocity, behind = Controller(('j',), np.zeros(1)), 0.0, 0.0, 0.0

    def place(time_s: float) -> float:
        eased = min(time_s, 1.0) ** 2 * (3.0 - 2.0 * min(time_s, 1.0))
        return float(0.4 * eased * np.sin(1.5 * time_s))

    def wanted(time_s: float) -> tuple[np.ndarray, np.ndarray]:
        slope = (place(time_s + 1e-6) - place(time_s)) / 1e-6
        return np.array([place(time_s)]), np.array([slope])

    sent = -1
    for i in range(3000):
        time_s = i * STEP_S
        if int(time_s * rate_hz + 1e-6) > sent:
            sent += 1
            point = wanted(time_s + horizon_s)
            way = [BrakingPoint(0.0, *point), *braking_points(*point, np.array([8.0]))]
            points = [
                TrajectoryPoint(horizon_s + p.seconds, p.q.tolist(), p.velocity.tolist())
                for p in way
            ]
            state = (np.array([q]), np.array([velocity])) if measured else None
            controller.follow(time_s, ['j'], points, time_s, state)
        controller.update(time_s + STEP_S)
        velocity = 2.0 * np.pi * 20.0 * (controller.q[0] - q)
        velocity += controller.velocity[0] if feedforward else 0.0
        q += STEP_S * velocity
        behind = max(behind, abs(place(time_s + STEP_S) - q))
    return behind


def test_a_stream_of_commands_is_followed_from_the_measured_state_as_far_as_docs_say():
    """The well-known trouble of streaming to joint_trajectory_controller, and what helps."""
    assert farthest_behind(measured=False, feedforward=False) < 0.005
    assert farthest_behind(measured=True, feedforward=True) < 0.004
    assert 0.04 < farthest_behind(measured=True, feedforward=False) < 0.06
    assert farthest_behind(True, False, rate_hz=100.0) < 0.015
    assert farthest_behind(True, False, rate_hz=50.0, horizon_s=0.03) < 0.015


@pytest.mark.parametrize(
    ('joints', 'point'),
    [
        (['a'], TrajectoryPoint(0.1, [1.0])),
        (['a', 'a'], TrajectoryPoint(0.1, [1.0, 1.0])),
        (['a', 'b'], TrajectoryPoint(0.1, [1.0])),
        (['a', 'b'], TrajectoryPoint(0.1, [1.0, np.nan])),
        (['a', 'b'], TrajectoryPoint(0.1, [1.0, 1.0], [1.0])),
    ],
)
def test_what_is_no_trajectory_of_its_joints_is_refused(joints, point):
    controller = Controller(('a', 'b'), np.zeros(2))
    with pytest.raises(CommandError):
        controller.follow(0.0, joints, [point], 0.0)
    assert at(controller, 1.0)[0].tolist() == [0.0, 0.0]


@pytest.mark.parametrize('name', ROBOTS)
def test_real_robots_follow_their_controllers(name):
    """A smooth motion of all joints at once, met within a milliradian or millimetre."""
    robot = SimulatedRobot(urdf_path(name).read_text())
    lower = np.maximum(robot.model.lower, -3.0)
    upper = np.minimum(robot.model.upper, 3.0)
    amplitude = np.minimum(0.2, 0.2 * (upper - lower))
    middle = np.clip(robot.q, lower + amplitude, upper - amplitude)
    start = robot.q

    def way(time_s: float) -> np.ndarray:
        blend = min(2.0 * time_s, 1.0)
        return start + blend * (middle + amplitude * np.sin(time_s) - start)

    for i in range(1, 501):
        q = way(i * STEP_S)
        robot.step(q, (q - way((i - 1) * STEP_S)) / STEP_S)
    assert robot.time_s == pytest.approx(1.0)
    np.testing.assert_allclose(robot.q, way(1.0), atol=1e-3)


def test_a_robot_at_rest_stays_where_it_is():
    robot = SimulatedRobot(read_description(DEFAULT_URDF), READY)
    start = robot.q
    for _ in range(500):
        robot.step(start, np.zeros_like(start))
    np.testing.assert_allclose(robot.q, start, atol=1e-6)
    np.testing.assert_allclose(robot.velocity, 0.0, atol=1e-6)
    assert np.abs(robot.torques).max() > 5.0  # it carries its own weight


def test_bad_parameters_are_named():
    with pytest.raises(ConfigError, match='initial'):
        RobotConfig(initial='joint1=left')
    with pytest.raises(ConfigError, match="'panda_joint4' goes from -3.0718 to -0.0698, not to 1"):
        SimulatedRobot(read_description(DEFAULT_URDF), READY | {'panda_joint4': 1.0})
    with pytest.raises(ConfigError, match='controllers'):
        RobotConfig(controllers='arm')
    with pytest.raises(ConfigError, match="'b' must be in it once"):
        RobotConfig(controllers='one=a b, two=b')
    with pytest.raises(MissingDataError, match="'nothing.urdf' of package 'nowhere'"):
        find_file('package://nowhere/nothing.urdf')
    with pytest.raises(MissingDataError, match=r'no file .*nothing.urdf'):
        find_file('/nowhere/nothing.urdf')


ARM = [f'panda_joint{i}' for i in range(1, 8)]


@pytest.fixture(scope='module')
def graph():
    """The node, and a listener to it."""
    arguments = parameters(
        controllers=f"'arm={' '.join(ARM)}, gripper=panda_finger_joint1'",
        initial=f"'{', '.join(f'{joint}={value}' for joint, value in READY.items())}'",
    )
    node = NodeProcess('simulated_robot_node', *arguments)
    try:
        with listening() as listener:
            yield listener
        assert node.end() == 0, node.output()
        assert 'Traceback' not in node.output()
    finally:
        node.kill()


def test_the_node_takes_the_topics_of_ros2_control(graph):
    states: list[JointState] = []
    texts: list[str] = []
    node = graph.node
    node.create_subscription(JointState, 'joint_states', states.append, qos.JOINT_STATES_QOS)
    node.create_subscription(
        String, 'robot_description', lambda message: texts.append(message.data), qos.LATCHED_QOS
    )
    trajectory = node.create_publisher(JointTrajectory, 'arm/joint_trajectory', qos.COMMAND_QOS)
    gripper = node.create_publisher(Float64MultiArray, 'gripper/commands', qos.COMMAND_QOS)
    graph.spin_until(lambda: bool(states and texts), 'the first state')
    assert texts[0] == read_description(DEFAULT_URDF)

    def positions() -> dict[str, float]:
        return dict(zip(states[-1].name, states[-1].position, strict=True))

    np.testing.assert_allclose([positions()[joint] for joint in ARM], list(READY.values()))
    graph.spin_until(lambda: bool(trajectory.get_subscription_count()), 'the arm controller')
    graph.spin_until(lambda: bool(gripper.get_subscription_count()), 'the gripper controller')
    target = [value + 0.1 for value in READY.values()]
    point = JointTrajectoryPoint(positions=target)
    point.time_from_start.nanosec = 300_000_000
    trajectory.publish(JointTrajectory(joint_names=ARM, points=[point]))
    gripper.publish(Float64MultiArray(data=[0.03]))

    def is_there() -> bool:
        now = positions()
        there = np.allclose([now[joint] for joint in ARM], target, atol=1e-3)
        return there and abs(now['panda_finger_joint1'] - 0.03) < 1e-4

    graph.spin_until(is_there, 'the motion')
