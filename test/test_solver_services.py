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

"""The running solver node beside its joint states: services, markers, link frames, diagnostics."""

from collections.abc import Iterator
import gc
import json
from pathlib import Path
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
import numpy as np
import pytest
from rcl_interfaces.srv import SetParameters
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from ros_graph import listening
from ros_recording import ALL_KEPT, Graph, HEIGHT_M, Recording, Sender, stamp_ns
from std_srvs.srv import SetBool, Trigger
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import Marker, MarkerArray

from vr_ik.body.reach import Reach
from vr_ik.config import SolverConfig
from vr_ik.kinematics.model import RobotModel
from vr_ik.math.rotations import matrix_from_quaternion, pose
from vr_ik.nodes import solver_node
from vr_ik.nodes.description import STATE_PUBLISHER
from vr_ik.nodes.joining import joined
from vr_ik.nodes.solver_markers import SolverMarkers
from vr_ik.pipeline import Pipeline
from vr_ik.trackers.simulated import SIMULATED_ROLES
from vr_ik.trackers.simulated_user import SimulatedUser
from vr_ik.types import TrackingFrame

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope='module')
def recording() -> Iterator[Recording]:
    with listening() as listener:
        yield Recording(listener)


@pytest.fixture(scope='module')
def sender(recording: Recording) -> Iterator[Sender]:
    """A sender to a solver that broadcasts all links."""
    graph = Graph()
    try:
        graph.start('solver_node', user_height_m=HEIGHT_M, publish_link_tf='true')
        yield Sender(recording, graph)
        graph.end('solver_node')
    finally:
        graph.close()


def call(recording: Recording, service: Any, name: str, **request: Any) -> Any:
    """Return a service's answer."""
    client = recording.listener.node.create_client(service, f'/solver_node/{name}')
    recording.wait(client.service_is_ready, f'the service {name}')
    future = client.call_async(service.Request(**request))
    recording.wait(future.done, 'an answer')
    return future.result()


def test_paused_it_passes_over_frames_and_goes_on_as_it_was(sender, recording):
    before = sender.solve(sender.message())
    assert call(recording, SetBool, 'pause', data=True).success
    count = len(recording.joint_states)
    paused = [sender.send(sender.message()) for _ in range(5)]
    recording.listener.spin_for(0.3)
    assert len(recording.joint_states) == count
    recording.diagnostics.clear()
    recording.wait(lambda: 'solver_node: solver' in recording.diagnostics, 'diagnostics')
    line = recording.diagnostics['solver_node: solver']
    assert (line.level, line.message) == (DiagnosticStatus.OK, 'paused')
    assert call(recording, SetBool, 'pause', data=False).success
    after = sender.solve(sender.message())
    assert stamp_ns(after.header) > max(paused)
    np.testing.assert_allclose(after.position, before.position, atol=0.01)


def test_reset_starts_anew(sender, recording):
    """A body that was misled by its past is found anew: no velocity out of the jump."""
    sender.solve(sender.message())
    assert call(recording, Trigger, 'reset').success
    elsewhere = sender.message()
    for transform in elsewhere.transforms:
        transform.transform.translation.x += 3.0
    state = sender.solve(elsewhere)
    assert not np.any(state.velocity)
    stamp = stamp_ns(state.header)
    recording.wait(lambda: stamp in recording.roots, 'the root')
    assert recording.roots[stamp].transform.translation.x == pytest.approx(3.0, abs=0.3)
    assert call(recording, Trigger, 'reset').success


def test_a_state_publisher_has_the_newest_body(sender, recording):
    """The parameter of one that comes late, and comes again, is what the topic has."""
    context = recording.listener.node.context
    for height_m in (1.6, HEIGHT_M):
        node = Node(STATE_PUBLISHER, context=context)
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(node)
        node.declare_parameter('robot_description', 'the model at the start')
        descriptions = len(recording.descriptions)
        change = [Parameter('user_height_m', value=height_m).to_parameter_msg()]
        call(recording, SetParameters, 'set_parameters', parameters=change)
        recording.wait(lambda n=descriptions: len(recording.descriptions) > n, 'the new model')

        def is_told(node: Node = node, executor: SingleThreadedExecutor = executor) -> bool:
            executor.spin_once(timeout_sec=0.05)
            model = node.get_parameter('robot_description').value
            return bool(model == recording.descriptions[-1])

        recording.wait(is_told, 'the model of the state publisher')
        executor.shutdown()
        node.destroy_node()


def test_all_links_come_in_the_message_of_the_root(sender, recording):
    """They lead to where forward kinematics of the published description has the links."""
    messages: list[TFMessage] = []
    node = recording.listener.node
    subscription = node.create_subscription(TFMessage, '/tf', messages.append, ALL_KEPT)
    found: list[TFMessage] = []

    def has_come() -> bool:
        sender.solve(sender.message())
        found[:] = [m for m in messages if m.transforms[0].child_frame_id == 'base_link']
        return bool(found)

    recording.wait(has_come, 'the frames of the body')
    node.destroy_subscription(subscription)
    model = RobotModel.from_urdf(recording.descriptions[-1], floating_base=True)
    poses = {'vr_world': np.eye(4)}
    for entry in found[-1].transforms:
        p, q = entry.transform.translation, entry.transform.rotation
        turn = matrix_from_quaternion(np.array([q.x, q.y, q.z, q.w]))
        placed = pose(turn, np.array([p.x, p.y, p.z]))
        poses[entry.child_frame_id] = poses[entry.header.frame_id] @ placed
    assert set(poses) == {'vr_world', *model.link_names}
    stamp = stamp_ns(found[-1].transforms[0].header)
    state = recording.wait_for_stamp(stamp)
    q = np.concatenate((np.zeros(6), [1.0], state.position))
    for link, truth in zip(model.link_names, model.link_poses(q), strict=True):
        np.testing.assert_allclose(poses[link], poses['base_link'] @ truth, atol=1e-9)


def test_markers_show_targets_and_what_is_reached_while_somebody_looks(sender, recording):
    arrays: list[MarkerArray] = []
    node = recording.listener.node
    subscription = node.create_subscription(MarkerArray, 'markers', arrays.append, ALL_KEPT)

    def have_come() -> bool:
        sender.solve(sender.message())
        return len(arrays) >= 3

    recording.wait(have_come, 'markers')
    node.destroy_subscription(subscription)
    # For eyes: at most twenty a second, of frames that are 8 ms apart.
    stamps = [stamp_ns(array.markers[0].header) for array in arrays]
    assert min(np.diff(stamps)) >= 50_000_000
    markers = {(marker.ns, marker.id): marker for marker in arrays[-1].markers}
    assert {ns for ns, _ in markers} == {'targets', 'reached', 'residuals', 'reach'}
    targets, reached = (markers[ns, 0] for ns in ('targets', 'reached'))
    assert len(targets.points) == len(reached.points) == len(SIMULATED_ROLES)
    assert len(reached.colors) == len(reached.points)
    assert len(markers['residuals', 0].points) == 2 * len(targets.points)
    for target, point in zip(targets.points, reached.points):
        offset = np.array([target.x - point.x, target.y - point.y, target.z - point.z])
        assert np.linalg.norm(offset) < 0.02
    for marker in arrays[-1].markers:
        assert marker.header.frame_id == 'vr_world'
        assert marker.lifetime.sec + marker.lifetime.nanosec > 0
    # Both hands and feet, held close to the body: within reach.
    spheres = [marker for marker in arrays[-1].markers if marker.type == Marker.SPHERE]
    assert len(spheres) == 4
    assert all(0.8 < sphere.scale.x < 2.4 and sphere.color.b > 0.5 for sphere in spheres)


def test_markers_are_coloured_by_error_and_reach(recording):
    """Green where device and body agree, red where they are apart; so the spheres of reach."""
    pipeline = Pipeline(SolverConfig(user_height_m=HEIGHT_M))
    user = SimulatedUser(HEIGHT_M)
    poses = user.device_poses(user.q_at(0.0), SIMULATED_ROLES)
    solution = pipeline.process(TrackingFrame(1, SIMULATED_ROLES, poses))
    node = Node('shown', context=recording.listener.node.context)
    markers = SolverMarkers(node, 'vr_world')
    reach = Reach(pipeline.model, pipeline.mounts)

    def looks(away_m: float) -> tuple[list[Any], list[Any]]:
        """Return the colours of residuals and spheres, with the body so far from the devices."""
        q = solution.q.copy()
        q[0] += away_m
        _, reached, residuals, *spheres = markers._markers(pipeline, reach, 1, q)
        assert list(residuals.colors[::2]) == list(reached.colors)
        return list(reached.colors), [sphere.color for sphere in spheres]

    residuals, spheres = looks(0.0)
    assert all(color.g == 1.0 and color.r < 0.9 for color in residuals)
    assert all(color.b > color.r for color in spheres)
    residuals, spheres = looks(3.0)
    assert all(color.r == 1.0 and color.g == 0.0 for color in residuals)
    assert len(spheres) == 4 and all(color.r > color.b for color in spheres)
    node.destroy_node()


def test_an_exchange_is_settled_before_the_loop_goes_on():
    """No collection of garbage looks at what a new solver brought, while a body moves."""
    with joined():
        node = solver_node.create()
        gc.unfreeze()
        (result,) = node.set_parameters([Parameter('posture_weight', value=1e-4)])
        assert result.successful
        assert gc.get_freeze_count() > 1000
        gc.unfreeze()
        node.destroy_node()


def test_after_a_pause_the_node_counts_anew():
    with joined():
        node = solver_node.create()
        node._pause(True)
        counted = node._counts.report
        node._pause(False)
        assert node._counts.report is not counted
        node.destroy_node()


def test_the_level_of_the_diagnostics_is_the_gravest_of_the_last_seconds(sender, recording):
    """Frames of long ago are an error, at once; when they end, it is shown for three reports."""
    lines: list[DiagnosticStatus] = []
    node = recording.listener.node
    subscription = node.create_subscription(
        DiagnosticArray, '/diagnostics', lambda message: lines.extend(message.status), ALL_KEPT
    )
    sent = 0
    first_tick = sender.tick_at(time.time_ns() - 10_000_000_000)

    def is_error() -> bool:
        nonlocal sent
        sender.solve(sender.message(first_tick + sent))
        sent += 1
        return bool(lines) and lines[-1].level == DiagnosticStatus.ERROR

    recording.wait(is_error, 'an error')
    assert 'use_sim_time' in lines[-1].message
    values = {item.key: item.value for item in lines[-1].values}
    assert 9.9e3 < float(values['latency, longest [ms]']) < 60e3
    # A report may have begun with frames of the test: the next are without any.
    lines.clear()
    recording.wait(lambda: len(lines) >= 5, 'five reports')
    node.destroy_subscription(subscription)
    levels = [line.level for line in lines]
    assert levels[:2] == [DiagnosticStatus.ERROR] * 2
    assert levels[4] == DiagnosticStatus.WARN and lines[4].message == 'no tracking frames'


def test_diagnostics_tell_rate_latency_residuals_devices_and_calibration(sender, recording):
    """Of a second with frames: the first report may be of the silence before them."""

    def has_come() -> bool:
        sender.solve(sender.message())
        told = recording.diagnostics.get('solver_node: solver', DiagnosticStatus())
        return any(item.key == 'devices' and 'hmd' in item.value for item in told.values)

    recording.diagnostics.clear()
    recording.wait(has_come, 'diagnostics')
    line = recording.diagnostics['solver_node: solver']
    values = {item.key: item.value for item in line.values}
    assert float(values['rate [1/s]']) > 0.0
    assert {'latency, mean [ms]', 'error, mean [mm]', 'frames converged'} <= set(values)
    assert set(values['devices'].split(', ')) == set(SIMULATED_ROLES)
    assert values['calibration'] == 'average body'
    layout = json.loads((ROOT / 'config' / 'foxglove_layout.json').read_text())
    panel = layout['configById']['DiagnosticStatusPanel!solver']
    assert panel['selectedName'] == line.name
    assert panel['selectedHardwareId'] == line.hardware_id
