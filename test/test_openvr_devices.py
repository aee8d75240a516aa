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

"""Devices of the simulated runtime, as they come through real libopenvr_api and pyopenvr."""

from collections.abc import Iterator
import math

import numpy as np
from openvr_support import device, opened, read_until, simulated_runtime
import pytest

from vr_ik.errors import UnknownNameError
from vr_ik.math.rotations import exp_rotation
from vr_ik.simulation.runtime import (
    CALIBRATING,
    ROTATION_ONLY,
    RUNNING_OK,
    RUNNING_OUT_OF_RANGE,
    SimulatedRuntime,
)
from vr_ik.trackers.openvr import OpenVrOptions
from vr_ik.trackers.openvr_haptics import LONGEST_PULSE_US
from vr_ik.trackers.openvr_input import AXIS_NAMES, BUTTON_NAMES
from vr_ik.types import Array, DeviceKind, DeviceStatus

HMD, CONTROLLER, TRACKER = DeviceKind.HMD, DeviceKind.CONTROLLER, DeviceKind.TRACKER
BASE_STATION = DeviceKind.BASE_STATION


@pytest.fixture
def runtime() -> Iterator[SimulatedRuntime]:
    """Run a server with a headset."""
    with simulated_runtime() as runtime:
        runtime.add_device(HMD, 'LHR-HEAD')
        yield runtime


def pose_at(x: float, y: float, z: float) -> Array:
    """Return a level pose at a place, as an array of one."""
    pose = np.eye(4)
    pose[:3, 3] = x, y, z
    return pose[None]


def test_axes_and_signs(runtime: SimulatedRuntime) -> None:
    c, s = math.cos(math.radians(30)), math.sin(math.radians(30))
    # 1.7 m up, 2 m ahead (-z), turned left by 30 degrees (about y); it moves ahead at 1 m/s,
    # to its left at 0.5 m/s, and turns left at 2 rad/s: all by OpenVR's axes, by hand.
    matrix = np.array([[[c, 0, s, 0], [0, 1, 0, 1.7], [-s, 0, c, -2]]])
    velocity, turn = np.array([[-0.5, 0, -1]]), np.array([[0, 2.0, 0]])
    runtime.set_openvr_poses([0], matrix, velocity, turn)
    with opened() as tracker:
        frame = tracker.read(42)
    assert frame.stamp_ns == 42
    assert frame.names == ('hmd',)
    expected = np.array([[[c, -s, 0, 2], [s, c, 0, 0], [0, 0, 1, 1.7], [0, 0, 0, 1]]])
    np.testing.assert_allclose(frame.poses, expected, atol=1e-6)
    assert frame.twists is not None
    np.testing.assert_allclose(frame.twists, [[1, 0.5, 0, 0, 0, 2]], atol=1e-6)


def test_every_kind(runtime: SimulatedRuntime) -> None:
    runtime.add_device(CONTROLLER, 'LHR-L', hand='left')
    runtime.add_device(CONTROLLER, 'LHR-R', hand='right')
    runtime.add_device(TRACKER, 'LHR-W', controller_type='vive_tracker_waist')
    runtime.add_device(TRACKER, 'LHR-F', registered_type='htc/vive_trackerLHR-F')
    runtime.set_tracker_role('htc/vive_trackerLHR-F', 'TrackerRole_LeftFoot')
    runtime.add_device(TRACKER, 'LHR-W2', controller_type='vive_tracker_waist')
    runtime.add_device(TRACKER, 'LHR-E')
    runtime.add_device(TRACKER, 'LHR-T')
    station = runtime.add_device(BASE_STATION, 'LHB-1')
    runtime.set_poses([station], pose_at(3, -2, 2.5))
    options = OpenVrOptions(roles={'LHR-E': 'r_elbow'}, aliases={'LHR-T': 'tool'})
    with opened(options) as tracker:
        frame = read_until(tracker, lambda _: device(tracker, 'LHB-1').static_pose is not None)
        states = {state.serial: (state.name, state.kind) for state in tracker.devices()}
        static_pose = device(tracker, 'LHB-1').static_pose
    assert states == {
        'LHR-HEAD': ('hmd', HMD),
        'LHR-L': ('l_controller', CONTROLLER),
        'LHR-R': ('r_controller', CONTROLLER),
        'LHR-W': ('waist', TRACKER),
        'LHR-F': ('l_foot', TRACKER),
        'LHR-W2': ('LHR-W2', TRACKER),
        'LHR-E': ('r_elbow', TRACKER),
        'LHR-T': ('tool', TRACKER),
        'LHB-1': ('LHB-1', BASE_STATION),
    }
    moving = {name for name, kind in states.values() if kind is not BASE_STATION}
    assert set(frame.names) == moving
    assert static_pose is not None
    np.testing.assert_allclose(static_pose, pose_at(3, -2, 2.5)[0], atol=1e-6)


def test_a_base_station_tells_real_moves_only(runtime: SimulatedRuntime) -> None:
    station = runtime.add_device(BASE_STATION, 'LHB-1')
    with opened() as tracker:
        read_until(tracker, lambda _: device(tracker, 'LHB-1').static_pose is not None)
        first = device(tracker, 'LHB-1').static_pose
        runtime.set_poses([station], pose_at(0.0005, 0, 0))
        runtime.set_battery(0, 0.25)
        read_until(tracker, lambda _: device(tracker, 'LHR-HEAD').battery == 0.25)
        runtime.set_battery(0, 0.5)  # once this is seen, the base station has had its turn
        read_until(tracker, lambda _: device(tracker, 'LHR-HEAD').battery == 0.5)
        assert device(tracker, 'LHB-1').static_pose is first
        runtime.set_poses([station], pose_at(0.1, 0, 0))
        read_until(tracker, lambda _: device(tracker, 'LHB-1').static_pose is not first)


def test_hot_plug(runtime: SimulatedRuntime) -> None:
    with opened() as tracker:
        assert tracker.read(0).names == ('hmd',)
        waist = runtime.add_device(TRACKER, 'LHR-W', controller_type='vive_tracker_waist')
        assert tracker.read(0).names == ('hmd', 'waist')
        runtime.disconnect(waist)
        assert tracker.read(0).names == ('hmd',)
        assert device(tracker, 'LHR-W').status is DeviceStatus.DISCONNECTED
        runtime.reconnect(waist)
        assert tracker.read(0).names == ('hmd', 'waist')
        assert device(tracker, 'LHR-W').status is DeviceStatus.OK


def test_hot_plug_with_the_event_missed(runtime: SimulatedRuntime) -> None:
    with opened() as tracker:
        tracker.read(0)
        runtime.add_device(TRACKER, 'LHR-W', controller_type='vive_tracker_waist', event=False)
        assert tracker.read(0).names == ('hmd', 'waist')


def test_a_device_that_comes_back_at_another_index(runtime: SimulatedRuntime) -> None:
    """It keeps its role; the runtime's memory of the old index takes nothing from it."""
    old = runtime.add_device(CONTROLLER, 'LHR-L', hand='left')
    with opened() as tracker:
        assert tracker.read(0).names == ('hmd', 'l_controller')
        runtime.disconnect(old)
        new = runtime.add_device(CONTROLLER, 'LHR-L', hand='left')
        assert new != old
        assert tracker.read(0).names == ('hmd', 'l_controller')
        assert device(tracker, 'LHR-L').status is DeviceStatus.OK
        tracker.vibrate('l_controller', 1.0, 0.0)
        tracker.read(0)
        assert [pulse.device for pulse in runtime.haptic_pulses] == [new]
        runtime.disconnect(new)
        runtime.reconnect(old)
        assert tracker.read(0).names == ('hmd', 'l_controller')


def test_a_device_that_tells_its_serial_late(runtime: SimulatedRuntime) -> None:
    index = runtime.add_device(TRACKER, '', controller_type='vive_tracker_chest')
    with opened() as tracker:
        assert tracker.read(0).names == ('hmd',)
        runtime.set_serial(index, 'LHR-LATE')
        read_until(tracker, lambda frame: frame.names == ('hmd', 'chest'))


def test_hands_are_swapped(runtime: SimulatedRuntime) -> None:
    one = runtime.add_device(CONTROLLER, 'LHR-1', hand='left')
    two = runtime.add_device(CONTROLLER, 'LHR-2', hand='right')
    runtime.set_poses([one, two], np.concatenate([pose_at(0, 1, 1), pose_at(0, -1, 1)]))
    with opened() as tracker:
        frame = tracker.read(0)
        assert frame.poses[frame.names.index('l_controller'), 1, 3] == 1.0
        runtime.set_hands({one: 'right', two: 'left'})
        frame = tracker.read(0)
        assert frame.poses[frame.names.index('l_controller'), 1, 3] == -1.0
        assert frame.poses[frame.names.index('r_controller'), 1, 3] == 1.0


def test_hands_are_swapped_with_the_events_missed(runtime: SimulatedRuntime) -> None:
    one = runtime.add_device(CONTROLLER, 'LHR-1', hand='left')
    two = runtime.add_device(CONTROLLER, 'LHR-2', hand='right')
    with opened() as tracker:
        tracker.read(0)
        runtime.set_hands({one: 'right', two: 'left'}, event=False)
        read_until(tracker, lambda _: device(tracker, 'LHR-1').name == 'r_controller')
        assert device(tracker, 'LHR-2').name == 'l_controller'


def test_a_tracker_that_is_taken_in_hand(runtime: SimulatedRuntime) -> None:
    index = runtime.add_device(TRACKER, 'LHR-1', controller_type='vive_tracker_left_foot')
    with opened() as tracker:
        assert 'l_foot' in tracker.read(0).names
        runtime.set_hands({index: 'right'})
        runtime.set_kind(index, CONTROLLER, 'vive_tracker_handed')
        assert tracker.read(0).names == ('hmd', 'r_controller')
        assert device(tracker, 'LHR-1').kind is CONTROLLER


def test_lost_and_found_with_a_jump(runtime: SimulatedRuntime) -> None:
    runtime.set_poses([0], pose_at(0, 0, 1.7))
    with opened() as tracker:
        assert tracker.read(0).names == ('hmd',)
        runtime.set_tracking(0, RUNNING_OUT_OF_RANGE, pose_valid=False)
        frame = tracker.read(0)
        assert frame.names == ()
        assert frame.poses.shape == (0, 4, 4)
        assert device(tracker, 'LHR-HEAD').status is DeviceStatus.LOST
        runtime.set_poses([0], pose_at(0.5, 0, 1.7))
        runtime.set_tracking(0, RUNNING_OK, pose_valid=True)
        frame = tracker.read(0)
        assert frame.poses[0, 0, 3] == 0.5
        assert device(tracker, 'LHR-HEAD').status is DeviceStatus.OK


@pytest.mark.parametrize(
    ('result', 'pose_valid', 'status'),
    [
        (RUNNING_OK, False, DeviceStatus.LOST),
        (RUNNING_OUT_OF_RANGE, True, DeviceStatus.LOST),
        (ROTATION_ONLY, True, DeviceStatus.LOST),
        (1, True, DeviceStatus.LOST),
        (CALIBRATING, True, DeviceStatus.CALIBRATING),
        (CALIBRATING + 1, False, DeviceStatus.CALIBRATING),
    ],
)
def test_no_invalid_pose_is_in_a_frame(
    runtime: SimulatedRuntime, result: int, pose_valid: bool, status: DeviceStatus
) -> None:
    runtime.add_device(TRACKER, 'LHR-W', controller_type='vive_tracker_waist')
    runtime.set_tracking(0, result, pose_valid=pose_valid)
    with opened() as tracker:
        assert tracker.read(0).names == ('waist',)
        assert device(tracker, 'LHR-HEAD').status is status


@pytest.mark.parametrize('bad', [0.0, 1e30, math.nan, math.inf])
def test_no_garbage_is_in_a_frame(runtime: SimulatedRuntime, bad: float) -> None:
    none = np.zeros((1, 3))
    with opened() as tracker:
        runtime.set_openvr_poses([0], np.full((1, 3, 4), bad), none, none)
        assert tracker.read(0).names == ()
        assert device(tracker, 'LHR-HEAD').status is DeviceStatus.LOST
        matrix = np.eye(3, 4)[None].copy()
        matrix[0, 1, 3] = math.nan
        runtime.set_openvr_poses([0], matrix, none, none)
        assert tracker.read(0).names == ()


RIGID = exp_rotation(np.array([0.3, -1.2, 2.0]))


@pytest.mark.parametrize(
    ('matrix', 'is_sound'),
    [
        (RIGID, True),
        (RIGID + 1e-4, True),
        (RIGID @ np.diag([1, 1, -1]), False),
        (-RIGID, False),
        (np.diag([math.sqrt(3.0), 0, 0]), False),
        (np.full((3, 3), math.sqrt(1 / 3)), False),
        (RIGID @ np.diag([1.2, 1.0, math.sqrt(3.0 - 1.0 - 1.44)]), False),
        (RIGID @ np.array([[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]), False),
        (1.1 * RIGID, False),
        (1e-3 * RIGID, False),
    ],
)
def test_only_rotations_are_in_a_frame(
    runtime: SimulatedRuntime, matrix: Array, is_sound: bool
) -> None:
    """Mirrored, flattened, stretched and sheared ones are not, though drivers call them valid."""
    pose, none = np.zeros((1, 3, 4)), np.zeros((1, 3))
    pose[0, :, :3] = matrix
    runtime.set_openvr_poses([0], pose, none, none)
    with opened() as tracker:
        assert tracker.read(0).names == (('hmd',) if is_sound else ())


@pytest.mark.parametrize('bad', [math.nan, math.inf])
def test_a_velocity_that_is_no_number_is_none(runtime: SimulatedRuntime, bad: float) -> None:
    velocity, turn = np.array([[bad, 1.0, 0.0]]), np.array([[0.0, 2.0, 0.0]])
    runtime.set_openvr_poses([0], np.eye(3, 4)[None], velocity, turn)
    with opened() as tracker:
        frame = tracker.read(0)
    assert frame.names == ('hmd',)
    assert frame.twists is not None
    np.testing.assert_array_equal(frame.twists, [[0, 0, 0, 0, 0, 2]])


def test_universes(runtime: SimulatedRuntime) -> None:
    runtime.set_poses([0], pose_at(3, 1, 1.7))
    quarter_left = np.eye(4)
    quarter_left[:2, :2] = [[0, -1], [1, 0]]
    quarter_left[:3, 3] = 1, 1, 0
    runtime.set_origins(standing_from_seated=pose_at(1, 0, 1.2)[0], standing_from_raw=quarter_left)
    expected = {'standing': (3, 1, 1.7), 'seated': (2, 1, 0.5), 'raw': (0, -2, 1.7)}
    for universe, position in expected.items():
        with opened(OpenVrOptions(universe=universe)) as tracker:
            frame = tracker.read(0)
        np.testing.assert_allclose(frame.poses[0, :3, 3], position, atol=1e-6)


def test_prediction(runtime: SimulatedRuntime) -> None:
    twist = np.array([[1.0, 2.0, 0, 0, 0, math.pi]])
    runtime.set_poses([0], pose_at(0, 0, 1.7), twist)
    with opened(OpenVrOptions(prediction_s=0.1)) as tracker:
        frame = tracker.read(1_000)
    assert frame.stamp_ns == 100_001_000
    np.testing.assert_allclose(frame.poses[0, :3, 3], [0.1, 0.2, 1.7], atol=1e-6)
    heading = [math.cos(0.1 * math.pi), math.sin(0.1 * math.pi), 0]
    np.testing.assert_allclose(frame.poses[0, :3, 0], heading, atol=1e-6)


def test_battery(runtime: SimulatedRuntime) -> None:
    runtime.add_device(CONTROLLER, 'LHR-L', hand='left', battery=0.75)
    with opened() as tracker:
        read_until(tracker, lambda _: device(tracker, 'LHR-L').battery == 0.75)
        assert device(tracker, 'LHR-L').charging is False
        assert device(tracker, 'LHR-HEAD').battery is None
        runtime.set_battery(1, 0.5, charging=True)
        read_until(tracker, lambda _: device(tracker, 'LHR-L').battery == 0.5)
        assert device(tracker, 'LHR-L').charging is True


def test_buttons_come_from_the_right_device(runtime: SimulatedRuntime) -> None:
    left = runtime.add_device(CONTROLLER, 'LHR-L', hand='left', axis_types=(1, 3, 0, 0, 0))
    right = runtime.add_device(CONTROLLER, 'LHR-R', hand='right', axis_types=(1, 3, 0, 0, 0))
    runtime.set_input(left, pressed=[33], touched=[32, 33], axes={0: (0.25, -0.5), 1: (1, 0)})
    runtime.set_input(right, pressed=[1])
    with opened() as tracker:
        inputs = {entry.name: entry for entry in tracker.read(0).inputs}
        assert set(inputs) == {'l_controller', 'r_controller'}
        axes = dict(zip(AXIS_NAMES, inputs['l_controller'].axes, strict=True))
        assert axes == {
            **{'touchpad_x': 0.25, 'touchpad_y': -0.5, 'trigger': 1.0},
            **{'joystick_x': 0.0, 'joystick_y': 0.0, 'grip': 0.0},
        }
        held = {
            name: {b for b, v in zip(BUTTON_NAMES, entry.buttons, strict=True) if v}
            for name, entry in inputs.items()
        }
        assert held == {
            'l_controller': {'trigger', 'trigger_touch', 'touchpad_touch'},
            'r_controller': {'menu'},
        }
        # Out of sight of the base stations the buttons still work.
        runtime.set_tracking(left, RUNNING_OUT_OF_RANGE, pose_valid=False)
        assert len(tracker.read(0).inputs) == 2
        runtime.disconnect(left)
        assert [entry.name for entry in tracker.read(0).inputs] == ['r_controller']


def test_haptics_reach_the_right_device(runtime: SimulatedRuntime) -> None:
    left = runtime.add_device(CONTROLLER, 'LHR-L', hand='left')
    right = runtime.add_device(CONTROLLER, 'LHR-R', hand='right')
    with opened() as tracker:
        tracker.read(0)
        tracker.vibrate('r_controller', 1.0, 0.0)
        tracker.read(0)
        assert [(p.device, p.duration_us) for p in runtime.haptic_pulses] == [
            (right, LONGEST_PULSE_US)
        ]
        runtime.set_hands({left: 'right', right: 'left'})
        tracker.read(0)
        tracker.vibrate('r_controller', 0.5, 5.0)
        read_until(tracker, lambda _: len(runtime.haptic_pulses) > 4)
        assert {pulse.device for pulse in runtime.haptic_pulses[1:]} == {left}
        with pytest.raises(UnknownNameError, match='waist'):
            tracker.vibrate('waist', 1.0, 0.1)
