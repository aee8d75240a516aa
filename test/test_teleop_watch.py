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

"""What is watched beside the hands: the robot's state as it comes, its age, limits and vetoes."""

from hypothesis import given, strategies as st
import numpy as np
import pytest
from teleop_session_support import Operator, PANDA, PANDA_READY, robot_text, SECOND_NS

from vr_ik.body.anthropometry import Proportions
from vr_ik.body.human import human_urdf
from vr_ik.config import replace
from vr_ik.teleop.arm_model import arm_model
from vr_ik.teleop.frame_tree import FrameTree
from vr_ik.teleop.measured import MeasuredJoints, OperatorBody
from vr_ik.teleop.types import Reason, RobotState, State
from vr_ik.teleop.watch import RobotWatch

NOW_NS = 1000 * SECOND_NS
ARM = arm_model(PANDA, robot_text('panda'))
NAMES = ARM.model.joint_names
READY = np.array(PANDA_READY)
# On both sides of now, well within a time-out and just beyond it.
EVERY_AGE = ((0.99, True), (-0.99, True), (1.01, False), (-1.01, False))
VETOES = (Reason.HELD, Reason.ROBOT_CHANGED, Reason.ENDED)


def state_of(q: np.ndarray, age_s: float = 0.0) -> RobotState:
    return RobotState(NOW_NS - round(age_s * 1e9), dict(zip(NAMES, q.tolist(), strict=True)))


@pytest.mark.parametrize('command', (None, READY))
@pytest.mark.parametrize(('share', 'holds'), EVERY_AGE)
def test_a_robot_is_stale_by_a_stamp_too_old_or_too_far_ahead(share, holds, command) -> None:
    robot = state_of(READY, share * PANDA.robot_timeout_s)
    found = RobotWatch(PANDA, ARM).check(robot, NOW_NS, command)
    assert found.reason is (Reason.NONE if holds else Reason.ROBOT_STALE)


@pytest.mark.parametrize('joint', range(len(NAMES)))
@pytest.mark.parametrize(
    ('beyond', 'start', 'motion'),
    (
        (0.0019, True, True),
        (0.0021, False, True),
        (0.0199, False, True),
        (0.0201, False, False),
    ),
)
def test_a_robot_beyond_its_limits_is_not_driven_on(joint, beyond, start, motion) -> None:
    for limit, sign in ((ARM.model.upper, 1.0), (ARM.model.lower, -1.0)):
        q = READY.copy()
        q[joint] = limit[joint] + sign * beyond
        for command, well in ((None, start), (q, motion)):
            found = RobotWatch(PANDA, ARM).check(state_of(q), NOW_NS, command)
            assert found.reason is (Reason.NONE if well else Reason.LIMIT_VIOLATION)
            assert well or found.about == NAMES[joint]


updates = st.lists(
    st.tuples(
        st.integers(0, 100),
        st.lists(st.sampled_from('abcx'), unique=True),
        st.integers(0, 4),
        st.floats(-1.0, 1.0),
    ),
    max_size=12,
)


@given(updates)
def test_the_joints_are_as_old_as_the_oldest_of_those_that_are_led(updates) -> None:
    """Messages with some of the joints, in any order of time, and maybe with too few positions."""
    measured = MeasuredJoints('abc')
    last: dict[str, tuple[int, float]] = {}
    for stamp_ns, names, count, position in updates:
        measured.update(stamp_ns, names, [position] * count)
        last |= dict.fromkeys(names[:count], (stamp_ns, position))
    state = measured.state()
    assert (state is None) == (not last)
    if state is not None:
        assert state.positions == {name: position for name, (_, position) in last.items()}
        led = [stamp_ns for name, (stamp_ns, _) in last.items() if name in 'abc']
        assert state.stamp_ns == min(led, default=0)


def test_one_joint_that_is_silent_makes_the_robot_stale_and_one_that_never_spoke_missing() -> None:
    """As with two broadcasters of joint states, one of which fails, or never starts."""
    measured, watch = MeasuredJoints(NAMES), RobotWatch(PANDA, ARM)
    measured.update(NOW_NS, NAMES[1:], READY[1:].tolist())
    found = watch.check(measured.state(), NOW_NS, None)
    assert (found.reason, found.about) == (Reason.ROBOT_MISSING, NAMES[0])
    measured.update(NOW_NS - SECOND_NS, NAMES[:1], READY[:1].tolist())
    assert watch.check(measured.state(), NOW_NS, None).reason is Reason.ROBOT_STALE
    measured.update(NOW_NS, NAMES[:1], READY[:1].tolist())
    assert watch.check(measured.state(), NOW_NS, None).reason is Reason.NONE


@pytest.mark.parametrize(('share', 'holds'), EVERY_AGE)
def test_a_device_holds_near_its_stamp_alone(share: float, holds: bool) -> None:
    frames = FrameTree('world', ['hmd'])
    stamp_ns = NOW_NS - round(share * 1e8)
    frames.update('world', 'hmd', stamp_ns, np.eye(4))
    assert (frames.recent('hmd', NOW_NS, 0.1) is not None) == holds
    assert frames.recent('waist', NOW_NS, 0.1) is None
    assert frames.place('hmd', NOW_NS).stamp_ns == stamp_ns


@pytest.mark.parametrize('late', ('root', 'joints'))
@pytest.mark.parametrize(('share', 'holds'), EVERY_AGE)
def test_an_elbow_holds_near_the_stamps_of_root_and_joints(late, share, holds) -> None:
    body = OperatorBody(human_urdf(Proportions.from_height(1.75)), ['r_forearm'])
    stamps_ns = {'root': NOW_NS, 'joints': NOW_NS}
    stamps_ns[late] -= round(share * 1e8)
    body.set_root(stamps_ns['root'], np.eye(4))
    names = body.model.joint_names
    body.set_joints(stamps_ns['joints'], names, [0.0] * len(names))
    assert (body.position('r_forearm', NOW_NS, 0.1) is not None) == holds


@pytest.mark.parametrize('require_enable', (True, False))
@pytest.mark.parametrize('veto', VETOES)
def test_a_veto_stops_and_refuses_whether_an_enable_is_required_or_not(
    veto: Reason, require_enable: bool
) -> None:
    config = replace(PANDA, {'require_enable': require_enable})
    operator = Operator(config, robot_text('panda'), PANDA_READY)
    operator.enabled = require_enable
    assert operator.engage().state is State.ENGAGED
    operator.move(np.array([0.3, 0.1, 0.0]), np.zeros(3), 60)
    operator.veto = veto
    command = operator.tick()
    assert (command.state, command.reason) == (State.STOPPED, veto)
    command = operator.engage()
    assert (command.state, command.reason) == (State.DISENGAGED, veto)
    operator.veto = Reason.NONE
    assert operator.engage().state is State.ENGAGED


def test_an_arm_that_its_robot_does_not_follow_takes_the_shortest_way_to_rest() -> None:
    """What is commanded in the end is where a robot goes whose drives come back."""
    ways = []
    for far in (True, False):
        operator = Operator(PANDA, robot_text('panda'), PANDA_READY)
        operator.engage()
        command = operator.move(np.array([0.5, 0.0, 0.0]), np.zeros(3), 60)
        assert command.velocities is not None
        speeds, begin = np.abs(command.velocities), operator.robot.copy()
        if far:
            operator.robot[0] += 1.1 * PANDA.robot_distance
        else:
            operator.enabled = False
        command = operator.tick()
        assert command.reason is (Reason.ROBOT_FAR if far else Reason.ENABLE_LOST)
        while command.publish:
            last = command.positions
            command = operator.tick()
        ways.append(np.abs(last - begin))
    shortest = 0.5 * speeds**2 / PANDA.acceleration
    assert speeds.max() > 0.5
    assert (ways[0] <= shortest + speeds * 0.004).all()
    assert ways[1].max() > 1.3 * ways[0].max()
