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

"""The demonstration's figures, where it is known what they must be."""

import time

import numpy as np
import pytest
from rich.console import Console

from vr_ik.body.anthropometry import Proportions
from vr_ik.body.human import human_urdf
from vr_ik.cli.dashboard import Dashboard, describe, markdown
from vr_ik.cli.measures import KEPT_LATENCIES, Measures, ROOT_FRAME
from vr_ik.kinematics.model import RobotModel
from vr_ik.math.rotations import matrix_from_quaternion, pose
from vr_ik.trackers.simulated import SIMULATED_ROLES
from vr_ik.trackers.simulated_user import SimulatedUser

HEIGHT_M = 1.75
ORIGIN_NS = 1_000_000_000_000_000_000
PERIOD_NS = 10_000_000
USER = SimulatedUser(HEIGHT_M)
URDF = human_urdf(Proportions.from_height(HEIGHT_M))


@pytest.fixture
def measures() -> Measures:
    measures = Measures(USER, ORIGIN_NS)
    measures.on_description(URDF)
    return measures


def send_frame(
    measures: Measures, stamp_ns: int, roles: tuple[str, ...] = SIMULATED_ROLES
) -> None:
    q = USER.q_at((stamp_ns - ORIGIN_NS) * 1e-9)
    poses = USER.device_poses(q, roles)
    measures.on_transforms(stamp_ns, dict(zip(roles, poses, strict=True)))


def send_solution(
    measures: Measures, stamp_ns: int, q: np.ndarray, latency_ns: int = 2_000_000
) -> None:
    measures.on_joint_state(
        stamp_ns, stamp_ns + latency_ns, USER.model.joint_names, q[7:].tolist()
    )
    root = pose(matrix_from_quaternion(q[3:7]), q[:3])
    measures.on_transforms(stamp_ns, {ROOT_FRAME: root})


def send_truth(measures: Measures, frames: int, shift: np.ndarray) -> None:
    """Send frames whose solutions are the truth, moved by a vector."""
    for i in range(frames):
        stamp_ns = ORIGIN_NS + i * PERIOD_NS
        q = USER.q_at(i * PERIOD_NS * 1e-9)
        q[:3] += shift
        send_frame(measures, stamp_ns)
        send_solution(measures, stamp_ns, q)


def test_the_truth_has_no_error(measures):
    send_truth(measures, 50, np.zeros(3))
    assert measures.summary()['error_mm'] == {'tracked': 0.0, 'elbows': 0.0, 'knees': 0.0}
    assert set(measures.device_errors_mm().values()) == {0.0}


def test_a_shift_of_the_body_is_the_error_of_every_point(measures):
    shift = np.array([0.003, -0.004, 0.012])
    send_truth(measures, 50, shift)
    expected = 1e3 * float(np.linalg.norm(shift))
    for error in (*measures.summary()['error_mm'].values(), *measures.device_errors_mm().values()):
        assert error == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize('side', ['l', 'r'])
@pytest.mark.parametrize(
    ('joint', 'moved', 'unmoved', 'segment'),
    [
        ('shoulder_abduction', 'elbows', 'knees', 'upper_arm'),
        ('hip_flexion', 'knees', 'elbows', 'thigh'),
    ],
)
def test_a_limb_that_swings_is_the_error_of_its_joint(
    measures, side, joint, moved, unmoved, segment
):
    q = USER.q_at(0.0)
    q[7 + USER.model.joint_index(f'{side}_{joint}')] += 0.2
    send_frame(measures, ORIGIN_NS)
    send_solution(measures, ORIGIN_NS, q)
    errors = measures.summary()['error_mm']
    # One of the two goes along an arc of 0.2 rad around its parent joint.
    chord_mm = 1e3 * 2.0 * np.sin(0.1) * getattr(USER.proportions, segment)
    assert errors[moved] == pytest.approx(0.5 * chord_mm, rel=0.01)
    assert errors[unmoved] == 0.0
    assert errors['tracked'] > 0.0


def test_the_description_decides_on_the_solved_body():
    """A shorter model in the same posture has its eyes lower."""
    measures = Measures(USER, ORIGIN_NS)
    shorter = human_urdf(Proportions.from_height(HEIGHT_M - 0.1))
    measures.on_description(shorter)
    send_truth(measures, 1, np.zeros(3))
    model = RobotModel.from_urdf(shorter, floating_base=True)
    q = USER.q_at(0.0)
    eyes = model.link_pose(q, 'gaze')[:3, 3] - USER.model.link_pose(q, 'gaze')[:3, 3]
    expected = 1e3 * float(np.linalg.norm(eyes))
    assert measures.device_errors_mm()['hmd'] == pytest.approx(expected, abs=1e-3)


def test_latency_is_arrival_less_stamp(measures):
    q = USER.q_at(0.0)
    for i, latency_ms in enumerate(range(101)):
        send_solution(measures, ORIGIN_NS + i * PERIOD_NS, q, latency_ms * 1_000_000)
    assert measures.summary()['latency_ms'] == {'median': 50.0, 'p99': 99.0}


def test_seconds_are_of_the_clock_whatever_comes_in_them(measures):
    """A solver that falls silent after 0.1 s of 4 s has few joint states in 4 s."""
    assert measures.summary()['seconds'] == 0.0
    measures.begin(ORIGIN_NS)
    send_truth(measures, 11, np.zeros(3))
    assert measures.seconds_to_last == pytest.approx(0.1 + 0.002)
    measures.end(ORIGIN_NS + 4_000_000_000)
    assert measures.summary()['seconds'] == 4.0
    assert measures.summary()['joint_states'] == measures.joint_states == 11


def test_seconds_go_on_until_the_end(measures):
    measures.begin(time.time_ns() - 2_000_000_000)
    before = measures.seconds
    assert 2.0 <= before <= measures.summary()['seconds'] + 1e-3
    measures.end(time.time_ns())
    assert before <= measures.seconds == measures.seconds


def test_what_arrives_after_the_end_does_not_count(measures):
    measures.begin(ORIGIN_NS)
    measures.end(ORIGIN_NS + 5 * PERIOD_NS)
    send_truth(measures, 10, np.zeros(3))
    summary = measures.summary()
    assert (summary['frames'], summary['joint_states']) == (6, 5)


def test_latency_is_that_of_the_last_joint_states(measures):
    """However long it runs, a table takes no longer."""
    for i in range(KEPT_LATENCIES + 100):
        latency_ns = 90_000_000 if i < 100 else 1_000_000
        stamp_ns = ORIGIN_NS + i * PERIOD_NS
        measures.on_joint_state(stamp_ns, stamp_ns + latency_ns, ('joint',), (0.0,))
        if i == 99:
            assert measures.summary()['latency_ms'] == {'median': 90.0, 'p99': 90.0}
    assert len(measures._latencies_ms) == KEPT_LATENCIES <= 20_000
    assert max(measures._latencies_ms) == 1.0


def test_frames_count_from_the_first_that_was_solved(measures):
    for i in range(10):
        send_frame(measures, ORIGIN_NS + i * PERIOD_NS)
    send_solution(measures, ORIGIN_NS + 7 * PERIOD_NS, USER.q_at(0.0))
    send_frame(measures, ORIGIN_NS + 10 * PERIOD_NS, SIMULATED_ROLES[1:])
    summary = measures.summary()
    assert (summary['frames'], summary['joint_states']) == (4, 1)
    assert measures.seen_shares()[SIMULATED_ROLES[0]] == pytest.approx(3 / 4)
    assert measures.seen_shares()[SIMULATED_ROLES[1]] == 1.0


def test_what_is_stamped_before_the_beginning_does_not_count(measures):
    send_truth(measures, 10, np.array([1.0, 0.0, 0.0]))
    measures.begin(ORIGIN_NS + 8 * PERIOD_NS)
    summary = measures.summary()
    assert summary['joint_states'] == summary['frames'] == 0
    assert summary['latency_ms'] == {'median': None, 'p99': None}
    assert describe(summary).startswith('0 joint states')
    send_truth(measures, 10, np.zeros(3))
    summary = measures.summary()
    assert summary['joint_states'] == summary['frames'] == 2
    assert summary['error_mm']['tracked'] == 0.0


def test_the_order_of_root_and_joints_does_not_matter(measures):
    q = USER.q_at(0.0)
    root = pose(matrix_from_quaternion(q[3:7]), q[:3])
    measures.on_transforms(ORIGIN_NS, {ROOT_FRAME: root})
    assert measures.instant is None
    measures.on_joint_state(ORIGIN_NS, ORIGIN_NS, USER.model.joint_names, q[7:].tolist())
    assert measures.instant is not None
    np.testing.assert_allclose(measures.instant.q, q, atol=1e-12)
    np.testing.assert_allclose(measures.instant.q_true, q, atol=1e-12)


def test_joints_of_another_robot_are_no_measure_of_ours(measures):
    measures.on_joint_state(ORIGIN_NS, ORIGIN_NS, ('joint_1',), (0.5,))
    measures.on_transforms(ORIGIN_NS, {ROOT_FRAME: np.eye(4)})
    assert measures.instant is None
    assert measures.summary()['error_mm'] == {'tracked': None, 'elbows': None, 'knees': None}


def test_what_never_becomes_complete_is_forgotten(measures):
    for i in range(3000):
        measures.on_joint_state(
            ORIGIN_NS + i, ORIGIN_NS + i, USER.model.joint_names, USER.q_at(0.0)[7:].tolist()
        )
        send_frame(measures, ORIGIN_NS + i)
    assert max(len(measures._joints), len(measures._devices)) <= 500


def test_the_table_shows_figures_and_devices(measures):
    dashboard = Dashboard(measures, 'http://localhost:8080')
    send_truth(measures, 3, np.array([0.0, 0.0, 0.007]))
    send_frame(measures, ORIGIN_NS + 3 * PERIOD_NS, SIMULATED_ROLES[1:])
    send_solution(measures, ORIGIN_NS + 3 * PERIOD_NS, USER.q_at(0.03))
    measures.on_diagnostics('solver_node: solver', 'solving', {'solve time, mean [ms]': '0.123'})
    console = Console(width=100, color_system=None)
    with console.capture() as captured:
        console.print(dashboard.table())
    text = captured.get()
    for part in (
        'http://localhost:8080',
        '0.123 ms',
        'solving',
        '2.0 ms median',
        *SIMULATED_ROLES,
    ):
        assert part in text
    lines = {line.split()[0]: line for line in text.splitlines() if line.split()}
    assert 'lost' in lines['hmd'] and '75.0 %' in lines['hmd']
    assert 'ok' in lines['waist'] and '100.0 %' in lines['waist']
    assert '4 joint states' in describe(measures.summary())
    assert '| joint states | 4 |' in markdown(measures.summary())
