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

"""The tracker node as a real process on a simulated OpenVR runtime, seen by a ROS listener."""

from collections.abc import Iterator
from functools import partial
import math

from diagnostic_msgs.msg import DiagnosticStatus
import numpy as np
from openvr_graph import at, connected_graph, place, TrackerGraph
import pytest
from ros_recording import stamp_ns
from sensor_msgs.msg import BatteryState, JoyFeedback

from vr_ik.simulation.runtime import RUNNING_OK, RUNNING_OUT_OF_RANGE
from vr_ik.trackers.openvr_input import AXIS_NAMES, BUTTON_NAMES
from vr_ik.types import DeviceKind

COS, SIN = math.cos(math.radians(30)), math.sin(math.radians(30))


@pytest.fixture(scope='module')
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TrackerGraph]:
    """The node, connected to a runtime that was started after it."""
    with connected_graph(tmp_path_factory.mktemp('graph')) as graph:
        yield graph


def test_a_headset_ahead_and_turned_left_is_so_in_tf(graph: TrackerGraph) -> None:
    """By hand, in OpenVR's axes: 1.7 m up, 2 m ahead (-z), turned left by 30 degrees (about y)."""
    poses, twists = graph.messages('hmd', 'pose'), graph.messages('hmd', 'twist')
    matrix = np.array([[[COS, 0, SIN, 0], [0, 1, 0, 1.7], [-SIN, 0, COS, -2]]])
    # Ahead in the room at 1 m/s, to its left at 0.5 m/s, turning left at 2 rad/s.
    graph.runtime.set_openvr_poses(
        [graph.hmd], matrix, np.array([[-0.5, 0, -1]]), np.array([[0, 2.0, 0]])
    )
    frame = graph.wait_for_frame(lambda frame: frame['hmd'][2, 3] > 1.6, 'the headset')
    expected = np.array([[COS, -SIN, 0, 2], [SIN, COS, 0, 0], [0, 0, 1, 1.7], [0, 0, 0, 1]])
    np.testing.assert_allclose(frame['hmd'], expected, atol=1e-6)
    assert set(frame) == {'hmd', 'l_controller', 'r_controller', 'waist', '4E-77'}
    graph.wait(lambda: bool(poses and twists) and twists[-1].twist.angular.z > 1.0, 'its topics')
    p, q = poses[-1].pose.position, poses[-1].pose.orientation
    assert poses[-1].header.frame_id == 'vr_world'
    half = math.radians(15)
    np.testing.assert_allclose([p.x, p.y, p.z], [2, 0, 1.7], atol=1e-6)
    np.testing.assert_allclose(
        [q.x, q.y, q.z, q.w], [0, 0, math.sin(half), math.cos(half)], atol=1e-6
    )
    v, w = twists[-1].twist.linear, twists[-1].twist.angular
    assert twists[-1].header.frame_id == 'hmd'
    expected_v = [COS * 1 + SIN * 0.5, -SIN * 1 + COS * 0.5, 0]
    np.testing.assert_allclose([v.x, v.y, v.z], expected_v, atol=1e-6)
    np.testing.assert_allclose([w.x, w.y, w.z], [0, 0, 2], atol=1e-6)


def test_a_frame_is_one_message_with_one_stamp(graph: TrackerGraph) -> None:
    """Stamps grow, all devices of a message have the same, and all are children of the world."""
    already = len(graph.recording.frames)
    graph.wait(lambda: len(graph.recording.frames) > already + 50, '50 frames')
    stamps = []
    for transforms in graph.recording.frames:
        (stamp,) = {stamp_ns(transform.header) for transform in transforms}
        stamps.append(stamp)
        assert {transform.header.frame_id for transform in transforms} == {'vr_world'}
        assert len({transform.child_frame_id for transform in transforms}) == len(transforms)
    assert stamps == sorted(set(stamps))


def test_an_invalid_pose_is_never_published(graph: TrackerGraph) -> None:
    """A lost headset is in no frame, while the waist goes on; where it was then is never told."""
    place(graph, hmd=at(0, 0, 1.7), waist=at(0, 0, 1))
    drops = graph.wait_for_diagnostics('hmd', lambda line: line.level == DiagnosticStatus.OK)
    for result, valid in ((RUNNING_OUT_OF_RANGE, True), (RUNNING_OK, False)):
        graph.runtime.set_tracking(graph.hmd, result, pose_valid=valid)
        graph.runtime.set_poses([graph.hmd], at(9, 9, 9)[None])
        frame = place(graph, waist=at(0.1 + valid, 0, 1))
        assert 'hmd' not in frame
    graph.wait_for_diagnostics('hmd', lambda line: line.message == 'lost')
    graph.runtime.set_poses([graph.hmd], at(0.5, 0, 1.7)[None])
    graph.runtime.set_tracking(graph.hmd, RUNNING_OK, pose_valid=True)
    place(graph, hmd=at(0.5, 0, 1.7))
    found = graph.wait_for_diagnostics('hmd', lambda line: line.level == DiagnosticStatus.OK)
    assert int(found['drops']) > int(drops['drops'])
    for transforms in graph.recording.frames:
        assert all(transform.transform.translation.x < 8.0 for transform in transforms)


def test_hot_plug(graph: TrackerGraph) -> None:
    """A device that is switched on appears under its role; switched off, it is gone at once."""
    chest = graph.runtime.add_device(
        DeviceKind.TRACKER, 'LHR-C', controller_type='vive_tracker_chest'
    )
    graph.wait_for_frame(lambda frame: 'chest' in frame, 'the new device')
    graph.runtime.disconnect(chest)
    graph.wait_for_frame(lambda frame: 'chest' not in frame, 'a frame without it')
    values = graph.wait_for_diagnostics('chest', lambda line: line.level == DiagnosticStatus.STALE)
    assert values['serial'] == 'LHR-C'


def test_diagnostics_tell_each_device(graph: TrackerGraph) -> None:
    """Serial, kind, role, rate, drops and battery; a base station has no rate."""
    graph.runtime.set_battery(graph.left, 0.5)
    battery = graph.wait_for_diagnostics(
        'l_controller', lambda line: 'battery [%]' in {value.key for value in line.values}
    )
    assert (battery['battery [%]'], battery['charging']) == ('50', 'no')
    for name, serial, kind, role in (
        ('hmd', 'LHR-HEAD', 'hmd', 'hmd'),
        ('l_controller', 'LHR-L', 'controller', 'l_controller'),
        ('4E-77', '4E-77', 'tracker', 'none'),
        ('LHB-1', 'LHB-1', 'base_station', 'none'),
    ):
        line = graph.recording.diagnostics[f'tracker_node: {name}']
        values = {value.key: value.value for value in line.values}
        assert (line.message, line.hardware_id) == ('ok', serial)
        assert (values['serial'], values['kind'], values['role']) == (serial, kind, role)
        assert ('rate [1/s]' in values) == ('drops' in values) == (kind != 'base_station')
        assert kind == 'base_station' or float(values['rate [1/s]']) > 1.0


def test_joy_tells_each_controller_from_the_other(graph: TrackerGraph) -> None:
    """The left one's trigger and touch pad, the right one's menu button, nothing else."""
    left, right = graph.messages('l_controller', 'joy'), graph.messages('r_controller', 'joy')
    graph.runtime.set_input(
        graph.left, pressed=[33], touched=[32, 33], axes={0: (0.25, -0.5), 1: (1, 0)}
    )
    graph.runtime.set_input(graph.right, pressed=[1])
    graph.wait(
        lambda: bool(left and right) and any(left[-1].buttons) and any(right[-1].buttons), 'joy'
    )
    assert left[-1].header.frame_id == 'l_controller'
    axes = dict(zip(AXIS_NAMES, left[-1].axes, strict=True))
    assert {name for name, value in axes.items() if value} == {
        'touchpad_x',
        'touchpad_y',
        'trigger',
    }
    assert (axes['touchpad_x'], axes['touchpad_y'], axes['trigger']) == (0.25, -0.5, 1.0)
    held = [
        {name for name, value in zip(BUTTON_NAMES, joy.buttons, strict=True) if value}
        for joy in (left[-1], right[-1])
    ]
    assert held == [{'trigger', 'trigger_touch', 'touchpad_touch'}, {'menu'}]
    graph.runtime.set_input(graph.left)
    graph.wait(lambda: not any(left[-1].buttons), 'the release')


@pytest.mark.parametrize(
    ('name', 'topic'),
    [('right', 'r_controller'), ('left', 'l_controller'), ('spare', 'device_4E_77')],
)
def test_feedback_makes_one_device_vibrate(graph: TrackerGraph, name: str, topic: str) -> None:
    """The one that is meant, and no other."""
    already = len(graph.runtime.haptic_pulses)
    rumble = JoyFeedback(type=JoyFeedback.TYPE_RUMBLE, intensity=0.5)
    graph.rumble(topic, rumble, lambda: len(graph.runtime.haptic_pulses) > already + 3)
    stop = JoyFeedback(type=JoyFeedback.TYPE_RUMBLE, intensity=0.0)
    graph.rumble(topic, stop, lambda: True)
    pulses = graph.runtime.haptic_pulses[already:]
    assert {pulse.device for pulse in pulses} == {getattr(graph, name)}
    graph.recording.listener.spin_for(0.3)  # let it fade out before the next device's turn


def test_feedback_that_cannot_be_is_refused(graph: TrackerGraph) -> None:
    """Lights and intensities beyond 1 do nothing, and the log says why."""
    already = len(graph.runtime.haptic_pulses)
    rumble, led = JoyFeedback.TYPE_RUMBLE, JoyFeedback.TYPE_LED
    for feedback, text in (
        (JoyFeedback(type=led, intensity=1.0), 'can rumble (type 1) only'),
        (JoyFeedback(type=rumble, intensity=math.nan), 'intensity nan'),
        (JoyFeedback(type=rumble, intensity=2.0), ''),
    ):
        graph.rumble('l_controller', feedback, partial(graph.has_logged, text))
    graph.recording.listener.spin_for(0.2)
    assert len(graph.runtime.haptic_pulses) == already


def test_battery(graph: TrackerGraph) -> None:
    """Charge from 0 to 1, whether it is charged, the serial; what is not known is NaN."""
    batteries = graph.messages('r_controller', 'battery')
    graph.runtime.set_battery(graph.right, 0.75)
    graph.wait(lambda: bool(batteries) and batteries[-1].percentage == 0.75, 'the battery')
    assert batteries[-1].power_supply_status == BatteryState.POWER_SUPPLY_STATUS_DISCHARGING
    assert batteries[-1].serial_number == 'LHR-R'
    assert math.isnan(batteries[-1].voltage)
    graph.runtime.set_battery(graph.right, 0.5, charging=True)
    graph.wait(lambda: batteries[-1].percentage == 0.5, 'the change')
    assert batteries[-1].power_supply_status == BatteryState.POWER_SUPPLY_STATUS_CHARGING


def test_names_change_while_it_runs(graph: TrackerGraph) -> None:
    """A tracker gets a place by its serial; what is no place is refused, and nothing changes."""
    refused = graph.set_parameters(roles='4E-77=nose')
    assert not refused.successful
    assert 'l_knee' in refused.reason
    assert not graph.set_parameters(roles='4E-77').successful
    assert graph.set_parameters(roles='4E-77=l_knee').successful
    graph.wait_for_frame(lambda frame: 'l_knee' in frame and '4E-77' not in frame, 'the knee')
    assert graph.set_parameters(roles='').successful
    graph.wait_for_frame(lambda frame: '4E-77' in frame, 'the serial')


def test_a_slow_runtime_does_not_stall_the_rest(graph: TrackerGraph) -> None:
    """While a reading of the poses takes its time, services are answered."""
    graph.runtime.slow_down(poses_s=1.5)
    graph.recording.listener.spin_for(0.2)  # the last quick reading
    frames = len(graph.recording.frames)
    for _ in range(5):
        assert graph.set_parameters(haptic_s=0.2).successful
    assert len(graph.recording.frames) <= frames + 1
    graph.runtime.slow_down()
    graph.wait(lambda: len(graph.recording.frames) > frames + 5, 'frames')


def test_a_slow_runtime_does_not_stall_a_change_of_names(graph: TrackerGraph) -> None:
    """The answer is there before the reading is over; the node says what it waits for."""
    sessions = graph.runtime.client_count('sessions_closed')
    graph.runtime.slow_down(poses_s=6.0)
    graph.recording.listener.spin_for(0.2)  # the last quick reading
    assert graph.set_parameters(roles='4E-77=l_knee').successful
    assert graph.runtime.client_count('sessions_closed') == sessions
    graph.wait_for_diagnostics('source', lambda line: 'has not returned' in line.message)
    graph.runtime.slow_down()
    graph.wait_for_frame(lambda frame: 'l_knee' in frame, 'the knee')
    assert not graph.has_logged('session already')
    assert graph.set_parameters(roles='').successful
    graph.wait_for_frame(lambda frame: '4E-77' in frame, 'the serial')


@pytest.mark.parametrize('end', ['quit', 'crash'])
def test_the_runtime_ends_and_comes_back(graph: TrackerGraph, end: str) -> None:
    """The node says why nothing comes, lives on, and goes on by itself."""
    getattr(graph.runtime, end)()
    graph.wait_for_diagnostics(
        'source',
        lambda line: line.level == DiagnosticStatus.ERROR and 'SteamVR' in line.message,
    )
    graph.wait_for_diagnostics('hmd', lambda line: line.level == DiagnosticStatus.STALE)
    assert not graph.call('recenter').success
    frames = len(graph.recording.frames)
    graph.recording.listener.spin_for(0.2)
    assert len(graph.recording.frames) == frames
    graph.runtime.start()
    graph.wait_for_frame(lambda frame: 'hmd' in frame, 'frames of the new server')
    graph.wait_for_diagnostics('source', lambda line: line.level == DiagnosticStatus.OK)
