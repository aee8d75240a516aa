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

"""Names of OpenVR devices, the layout of their inputs, and vibrations: without a runtime."""

from random import Random

from hypothesis import given, strategies as st
import pytest

from vr_ik.config import ROLES
from vr_ik.errors import ConfigError, UnknownNameError
from vr_ik.trackers.openvr import OpenVrOptions
from vr_ik.trackers.openvr_haptics import HapticSchedule, LONGEST_PULSE_US, PULSE_PERIOD_S
from vr_ik.trackers.openvr_input import AXIS_NAMES, BUTTON_NAMES, InputLayout
from vr_ik.trackers.openvr_roles import frame_names, NamedDevice, steamvr_role
from vr_ik.trackers.openvr_session import ControllerState
from vr_ik.types import DeviceKind

HMD, CONTROLLER, TRACKER = DeviceKind.HMD, DeviceKind.CONTROLLER, DeviceKind.TRACKER


def _device(
    serial: str = 'S',
    kind: DeviceKind = TRACKER,
    connected: bool = True,
    controller_type: str = '',
    setting: str = '',
    hand: int = 0,
) -> NamedDevice:
    return NamedDevice(serial, kind, connected, controller_type, setting, hand)


@pytest.mark.parametrize(
    ('device', 'role'),
    [
        (_device(kind=HMD), 'hmd'),
        (_device(kind=CONTROLLER, hand=1), 'l_controller'),
        (_device(kind=CONTROLLER, hand=2), 'r_controller'),
        (_device(kind=CONTROLLER, hand=3), ''),
        (_device(controller_type='vive_tracker_waist'), 'waist'),
        (_device(controller_type='VIVE_Tracker_Left_Foot'), 'l_foot'),
        (_device(controller_type='tundra_tracker_right_elbow'), 'r_elbow'),
        (_device(controller_type='vive_tracker'), ''),
        (_device(controller_type='vive_tracker_camera'), ''),
        (_device(setting='TrackerRole_Chest'), 'chest'),
        (_device(setting='TrackerRole_RightKnee'), 'r_knee'),
        (_device(setting='TrackerRole_None'), ''),
        (_device(controller_type='vive_tracker_waist', setting='TrackerRole_Chest'), 'waist'),
        (
            _device('S', CONTROLLER, True, 'vive_tracker_handed', 'TrackerRole_LeftFoot', 2),
            'r_controller',
        ),
        (_device(kind=DeviceKind.BASE_STATION), ''),
    ],
)
def test_steamvr_role(device: NamedDevice, role: str) -> None:
    assert steamvr_role(device) == role


def test_every_role_can_come_from_steamvr() -> None:
    sides = {'l': 'left', 'r': 'right'}
    places = [role for role in ROLES if role != 'hmd' and not role.endswith('_controller')]
    for role in places:
        side, _, place = role.rpartition('_')
        words = f'{sides[side]}_{place}' if side else place
        assert steamvr_role(_device(controller_type=f'vive_tracker_{words}')) == role
        setting = 'TrackerRole_' + words.title().replace('_', '')
        assert steamvr_role(_device(setting=setting)) == role


def test_the_users_word_goes_first() -> None:
    devices = [
        _device('A', controller_type='vive_tracker_waist'),
        _device('B', controller_type='vive_tracker_chest'),
        _device('C'),
    ]
    names = frame_names(devices, {'A': 'l_foot'}, {'B': 'tool'})
    assert names == {'A': 'l_foot', 'B': 'tool', 'C': 'C'}


def test_a_role_that_the_user_gives_is_taken_from_the_other() -> None:
    waist = 'vive_tracker_waist'
    devices = [_device('A', controller_type=waist), _device('Z')]
    assert frame_names(devices, {'Z': 'waist'}, {}) == {'Z': 'waist', 'A': 'A'}


def test_a_fresh_controller_takes_the_name_of_the_one_that_is_off() -> None:
    devices = [
        _device('A', CONTROLLER, connected=False, hand=1),
        _device('B', CONTROLLER, connected=True, hand=1),
    ]
    assert frame_names(devices, {}, {}) == {'A': 'A', 'B': 'l_controller'}


_devices = st.lists(
    st.builds(
        NamedDevice,
        serial=st.text('AB-_ /', min_size=1, max_size=3),
        kind=st.sampled_from(DeviceKind),
        connected=st.booleans(),
        controller_type=st.sampled_from(['', 'vive_tracker_waist', 'vive_tracker_chest']),
        tracker_setting=st.sampled_from(['', 'TrackerRole_Waist']),
        hand=st.integers(0, 3),
    ),
    unique_by=lambda device: device.serial,
)


@given(_devices, st.randoms())
def test_names_are_unique_valid_and_independent_of_order(
    devices: list[NamedDevice], random: Random
) -> None:
    names = frame_names(devices, {'A': 'waist'}, {'B': 'A'})
    assert len(set(names.values())) == len(devices)
    assert all(name and not set(name) & set(' /') for name in names.values())
    shuffled = random.sample(devices, len(devices))
    assert frame_names(shuffled, {'A': 'waist'}, {'B': 'A'}) == names


def test_bad_options_are_refused_by_name() -> None:
    with pytest.raises(UnknownNameError, match="'wiast'.*Did you mean 'waist'"):
        OpenVrOptions(roles={'A': 'wiast'})
    with pytest.raises(ConfigError, match="'waist' is given to two"):
        OpenVrOptions(roles={'A': 'waist'}, aliases={'B': 'waist'})
    with pytest.raises(ConfigError, match="'my tool' is no frame name"):
        OpenVrOptions(aliases={'B': 'my tool'})
    with pytest.raises(UnknownNameError, match='seated'):
        OpenVrOptions(universe='sitting')
    with pytest.raises(ConfigError, match='prediction'):
        OpenVrOptions(prediction_s=float('nan'))


def _pressed(layout: InputLayout, *buttons: int) -> set[str]:
    values = layout.buttons(ControllerState(sum(1 << b for b in buttons), 0, (0.0,) * 10))
    return {name for name, value in zip(BUTTON_NAMES, values, strict=True) if value}


def test_vive_wand_layout() -> None:
    layout = InputLayout.of('vive_controller', (1, 3, 0, 0, 0))
    state = ControllerState(0, 1 << 33, (0.1, -0.2, 0.9, 0, 0, 0, 0, 0, 0, 0))
    axes = dict(zip(AXIS_NAMES, layout.axes(state), strict=True))
    assert (axes['touchpad_x'], axes['touchpad_y'], axes['trigger']) == (0.1, -0.2, 0.9)
    assert (axes['joystick_x'], axes['joystick_y'], axes['grip']) == (0.0, 0.0, 0.0)
    assert dict(zip(BUTTON_NAMES, layout.buttons(state), strict=True))['trigger_touch'] == 1
    assert sum(layout.buttons(state)) == 1
    assert _pressed(layout, 0, 1, 2, 32) == {'system', 'menu', 'grip', 'touchpad'}


def test_index_controller_reports_a_in_the_place_of_grip() -> None:
    layout = InputLayout.of('knuckles', (0, 0, 0, 0, 0))
    assert _pressed(layout, 2) == {'a'}
    assert _pressed(layout, 34) == {'grip'}
    assert _pressed(layout, 35) == {'joystick'}


def test_a_long_vibration_keeps_the_pace_and_ends() -> None:
    schedule = HapticSchedule()
    schedule.request('l_controller', 0.5, 0.1, now_s=0.0)
    times = [i * 0.001 for i in range(300)]
    sent = [time for time in times for _ in schedule.due(time)]
    gaps = [late - early for early, late in zip(sent, sent[1:], strict=False)]
    assert sent[0] == 0.0
    assert min(gaps) >= PULSE_PERIOD_S - 1e-9
    assert 0.09 <= sent[-1] <= 0.1


def test_a_vibration_gives_at_least_one_pulse_and_intensity_is_its_length() -> None:
    schedule = HapticSchedule()
    schedule.request('waist', 1.0, 0.0, now_s=0.0)
    assert schedule.due(5.0) == [('waist', LONGEST_PULSE_US)]
    assert schedule.due(5.001) == []
    schedule.request('waist', 0.25, 1.0, now_s=5.002)
    assert schedule.due(5.003) == []
    assert schedule.due(5.006) == [('waist', LONGEST_PULSE_US // 4 + 1)]
    schedule.request('waist', 0.0, 1.0, now_s=5.007)
    assert schedule.due(6.0) == []
    with pytest.raises(ConfigError):
        schedule.request('waist', 1.5, 1.0, now_s=0.0)
