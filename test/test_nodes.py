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

"""The nodes as real processes: tracker and solver, with the test as the third that listens."""

from collections.abc import Iterator
import math
import signal
import time

from conftest import DOMAIN_ID, reserve_domain
from geometry_msgs.msg import TransformStamped
import numpy as np
import pytest
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from rclpy.serialization import serialize_message
from ros_graph import listening, NodeProcess, parameters
from ros_recording import Graph, HEIGHT_M, Recording, Sender, stamp_ns
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from vr_ik.body.anthropometry import Proportions
from vr_ik.body.mounts import device_mounts
from vr_ik.kinematics.model import RobotModel
from vr_ik.trackers.simulated import SIMULATED_ROLES
from vr_ik.trackers.simulated_user import SimulatedUser

STEADY_USER = {
    'user_height_m': HEIGHT_M,
    'dropouts_per_minute': 0.0,
    'glitches_per_minute': 0.0,
}
"""Parameters of a tracker that never loses a device."""


@pytest.fixture(scope='module')
def recording() -> Iterator[Recording]:
    """The listener."""
    with listening() as listener:
        yield Recording(listener)


@pytest.fixture(scope='module')
def graph() -> Iterator[Graph]:
    """The nodes; what still runs in the end must exit cleanly."""
    graph = Graph()
    try:
        yield graph
        graph.end('tracker_node', signal.SIGTERM)
        graph.end('solver_node', signal.SIGINT)
    finally:
        graph.close()


@pytest.fixture
def sender(recording: Recording, graph: Graph) -> Sender:
    """A sender to a solver that is ready."""
    return Sender(recording, graph)


def test_every_frame_gives_one_joint_state_that_meets_the_ground_truth(
    recording: Recording, graph: Graph
) -> None:
    """In order, with the frame's stamp, and with every tracked point within 1 cm."""
    origin_s = float(math.ceil(time.time()))
    graph.end('tracker_node')
    graph.start('solver_node', user_height_m=HEIGHT_M)
    graph.start('tracker_node', **STEADY_USER, origin_s=origin_s)
    first_frame, first_state = len(recording.frames), len(recording.joint_states)

    def stamps_known_to_both() -> tuple[list[int], list[int]]:
        """Return the stamps sent and answered since listener and solver know the tracker."""
        sent = [stamp_ns(frame[0].header) for frame in recording.frames[first_frame:]]
        answered = [stamp_ns(state.header) for state in recording.joint_states[first_state:]]
        since = max(min(sent, default=0), min(answered, default=0))
        return [t for t in sent if t >= since], [t for t in answered if t >= since]

    recording.wait(lambda: min(map(len, stamps_known_to_both())) > 300, '300 frames')
    recording.wait(lambda: len(recording.diagnostics) >= 8, 'diagnostics of all')
    graph.end('tracker_node')
    recording.wait(lambda: len(set(map(len, stamps_known_to_both()))) == 1, 'the last frame')
    recording.listener.spin_for(0.2)
    sent, answered = stamps_known_to_both()
    assert answered == sent
    states = recording.joint_states[first_state:]
    assert {stamp_ns(state.header) for state in states} <= set(recording.roots)
    # The first frame is solved from a standing start, wherever in his motion the user is.
    assert tracked_errors_m(recording, states[1:], origin_s).max() < 0.01
    check_diagnostics(recording)


def tracked_errors_m(
    recording: Recording, states: list[JointState], origin_s: float
) -> np.ndarray:
    """Return the distances of tracked points from the truth by forward kinematics."""
    model = RobotModel.from_urdf(recording.descriptions[-1], floating_base=True)
    assert list(states[0].name) == list(model.joint_names)
    user = SimulatedUser(HEIGHT_M)
    mounts = device_mounts(Proportions.from_height(HEIGHT_M))
    errors_m = []
    for state in states:
        stamp = stamp_ns(state.header)
        truth = user.device_poses(user.q_at(stamp * 1e-9 - origin_s), SIMULATED_ROLES)
        root = recording.roots[stamp].transform
        p, q = root.translation, root.rotation
        solved = np.array([p.x, p.y, p.z, q.x, q.y, q.z, q.w, *state.position])
        for role, true_pose in zip(SIMULATED_ROLES, truth, strict=True):
            pose = model.link_pose(solved, mounts[role].link) @ mounts[role].pose_link_from_device
            errors_m.append(np.linalg.norm(pose[:3, 3] - true_pose[:3, 3]))
    return np.array(errors_m)


def check_diagnostics(recording: Recording) -> None:
    """Both nodes report their own state, and the tracker that of each device."""
    names = set(recording.diagnostics)
    assert {'solver_node: solver', 'tracker_node: source'} <= names
    assert {f'tracker_node: {role}' for role in SIMULATED_ROLES} <= names
    hmd = recording.diagnostics['tracker_node: hmd']
    assert hmd.hardware_id == 'SIM-HMD'


@pytest.mark.parametrize('killed', ['tracker_node', 'solver_node'])
def test_either_node_can_be_killed_and_started_again(
    recording: Recording, graph: Graph, killed: str
) -> None:
    """After kill -9 and a restart joint states come again, for new frames, and are right."""
    origin_s = float(math.ceil(time.time()))
    graph.end('tracker_node')
    parameters_of = {
        'solver_node': {'user_height_m': HEIGHT_M},
        'tracker_node': {**STEADY_USER, 'origin_s': origin_s},
    }
    for name, values in parameters_of.items():
        graph.start(name, **values)
    recording.wait_for_joint_states(20)
    graph.end(killed, signal.SIGKILL)
    dead_ns = time.time_ns()
    graph.start(killed, **parameters_of[killed])

    def recovered() -> list[JointState]:
        """Return the joint states since this test, too, hears the node that came back."""
        heard = [stamp_ns(frame[0].header) for frame in recording.frames]
        since = min((stamp for stamp in heard if stamp > dead_ns), default=math.inf)
        return [state for state in recording.joint_states if stamp_ns(state.header) >= since]

    recording.wait(lambda: len(recovered()) >= 30, 'joint states after the restart')
    states = recovered()
    stamps = [stamp_ns(state.header) for state in states]

    def frames() -> set[int]:
        return {stamp_ns(frame[0].header) for frame in recording.frames}

    # A joint state may be here before the frame that it answers.
    recording.wait(lambda: set(stamps) <= set(recording.roots) & frames(), 'roots and frames')
    assert stamps == sorted(set(stamps))
    assert set(stamps) <= frames()
    # The first frames may be solved from a standing start, far from where the user is.
    assert tracked_errors_m(recording, states[20:], origin_s).max() < 0.01


@pytest.mark.parametrize(
    'numbers',
    [(math.nan, 0.0, 0.0, 0.0, 1.0), (0.0, 0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0, math.inf)],
)
def test_bad_transforms_never_reach_the_joint_states(
    sender: Sender, recording: Recording, numbers: tuple[float, ...]
) -> None:
    """NaN, zero quaternions and foreign transforms: no crash, no NaN out, the rest is solved."""
    before = sender.solve(sender.message())
    message = sender.message()
    bad = message.transforms[0].transform
    bad.translation.x = numbers[0]
    bad.rotation.x, bad.rotation.y, bad.rotation.z, bad.rotation.w = numbers[1:]
    during = sender.solve(message)
    foreign = TransformStamped()
    foreign.header.frame_id, foreign.child_frame_id = 'map', 'hmd'
    recording.tf.publish(TFMessage(transforms=[foreign]))
    recording.tf.publish(TFMessage())
    after = sender.solve(sender.message())
    for state in (during, after):
        assert np.isfinite(state.velocity).all()
        np.testing.assert_allclose(state.position, before.position, atol=0.1)
    assert 'Dropped a transform of hmd' in sender.solver.output()


def test_bytes_that_are_no_transforms_are_dropped(sender: Sender, recording: Recording) -> None:
    """Of any encoding, cut anywhere: the node goes on, and counts them."""
    before = rejected(recording)
    sender.solve(sender.message())
    whole = serialize_message(sender.message())
    for head in (b'\0\x07', b'\0\0', b'\0\x01', b'\xff\xff'):
        for end in (2, 4, 10, len(whole) - 3):
            recording.tf.publish(head + whole[2:end])
    sender.solve(sender.message())
    # Not by the log, which tells of such things once in a few seconds.
    recording.wait(lambda: rejected(recording) > before, 'the count of them')


def rejected(recording: Recording) -> int:
    """Return how many transforms and messages the solver has rejected, by its next report."""
    line = 'solver_node: solver'
    recording.diagnostics.clear()
    recording.wait(lambda: line in recording.diagnostics, 'diagnostics')
    values = {item.key: item.value for item in recording.diagnostics[line].values}
    return int(values['transforms rejected'])


def test_frames_sent_transform_by_transform_are_solved_whole(
    sender: Sender, recording: Recording
) -> None:
    """A source that sends single transforms gives one joint state a frame as well."""
    whole = sender.solve(sender.message())
    first = len(recording.joint_states)
    stamps = []
    for _ in range(5):
        for transform in sender.message().transforms:
            stamps.append(sender.send(TFMessage(transforms=[transform])))
    last = recording.wait_for_stamp(stamps[-1])
    recording.listener.spin_for(0.1)
    answered = [stamp_ns(state.header) for state in recording.joint_states[first:]]
    assert answered == sorted(set(stamps))
    np.testing.assert_allclose(last.position, whole.position, atol=0.1)


def test_time_that_goes_back_starts_anew(sender: Sender, recording: Recording) -> None:
    """A bag that loops begins elsewhere: no velocity of the jump, no glitch of all devices."""
    sender.solve(sender.message(1000))
    elsewhere = sender.message(500)
    for transform in elsewhere.transforms:
        transform.transform.translation.x += 3.0
    state = sender.solve(elsewhere)
    assert not np.any(state.velocity)
    stamp = stamp_ns(state.header)
    recording.wait(lambda: stamp in recording.roots, 'the root')
    assert recording.roots[stamp].transform.translation.x == pytest.approx(3.0, abs=0.3)
    assert 'Time went back by 4.0 s' in sender.solver.output()


def test_parameters_change_while_it_runs(sender: Sender, recording: Recording) -> None:
    """A taller user is a new model at once; what is wrong is refused with the reason."""
    client = recording.listener.node.create_client(SetParameters, '/solver_node/set_parameters')
    recording.wait(client.service_is_ready, 'the parameter service')

    def set_parameter(name: str, value: object) -> SetParametersResult:
        request = SetParameters.Request()
        request.parameters = [Parameter(name, value=value).to_parameter_msg()]
        future = client.call_async(request)
        recording.wait(future.done, 'an answer')
        return future.result().results[0]

    joints = sender.solve(sender.message()).name
    descriptions = len(recording.descriptions)
    assert set_parameter('user_height_m', 1.9).successful
    recording.wait(lambda: len(recording.descriptions) > descriptions, 'the new model')
    assert recording.descriptions[-1] != recording.descriptions[-2]
    refused = set_parameter('model', 'lower')
    assert not refused.successful
    assert 'Known: full, upper' in refused.reason
    assert set_parameter('model', 'upper').successful
    upper_joints = sender.solve(sender.message()).name
    assert set(upper_joints) < set(joints)
    assert set_parameter('model', 'full').successful
    assert set_parameter('user_height_m', HEIGHT_M).successful


def test_a_bad_parameter_ends_the_node_with_one_line() -> None:
    """Exit code 2, and a line that names the parameter, its value and the valid ones."""
    processes = [
        (NodeProcess(module, *parameters(**{name: value})), (f"'{name}'", str(value), valid))
        for module, name, value, valid in (
            ('solver_node', 'model', 'lower', 'full, upper'),
            ('tracker_node', 'rate_hz', 1000, '1 to 250'),
            ('tracker_node', 'backend', 'steam', 'simulated'),
        )
    ]
    try:
        for process, texts in processes:
            assert process.wait() == 2
            (line,) = process.output().strip().splitlines()
            assert all(text in line for text in texts), line
    finally:
        for process, _ in processes:
            process.kill()


def test_each_test_run_has_a_domain_of_its_own() -> None:
    """Nodes of two runs at a time would talk to each other."""
    domain, holder = reserve_domain()
    other, other_holder = reserve_domain()
    holder.close()
    other_holder.close()
    assert len({DOMAIN_ID, domain, other}) == 3
    assert all(1 <= number <= 100 for number in (DOMAIN_ID, domain, other))
