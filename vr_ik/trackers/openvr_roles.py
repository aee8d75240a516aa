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

"""Frame names of OpenVR devices: by the user's maps, by SteamVR's roles, else by serial."""

from collections.abc import Iterable, Mapping
import re
from typing import NamedTuple

from vr_ik.config import ROLES
from vr_ik.errors import ConfigError, UnknownNameError
from vr_ik.types import DeviceKind

# SteamVR's words for where a tracker is worn. 'vive_tracker_left_foot' (the type of a device
# that has got its role) and 'TrackerRole_LeftFoot' (the setting) both lead to 'left_foot'.
_PLACES = {
    'waist': 'waist',
    'chest': 'chest',
    **{
        f'{side}_{place}': f'{side[0]}_{place}'
        for side in ('left', 'right')
        for place in ('foot', 'knee', 'elbow', 'shoulder')
    },
}
_HANDS = {1: 'l_controller', 2: 'r_controller'}


class NamedDevice(NamedTuple):
    """What a device's name depends on."""

    serial: str
    kind: DeviceKind
    connected: bool
    controller_type: str
    """Prop_ControllerType_String, such as 'vive_tracker_left_foot'."""
    tracker_setting: str
    """SteamVR's setting for it, such as 'TrackerRole_LeftFoot'."""
    hand: int
    """TrackedControllerRole_*: 1 left, 2 right."""


def check_maps(roles: Mapping[str, str], aliases: Mapping[str, str]) -> None:
    """Raise for an unknown role and for a name that is given to two serials."""
    for role in roles.values():
        if role not in ROLES:
            raise UnknownNameError('tracker role', role, ROLES)
    names = [*roles.values(), *aliases.values()]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"The name '{name}' is given to two devices.")
        if not re.fullmatch(r'[A-Za-z0-9_]+', name):
            raise ConfigError(f"'{name}' is no frame name: use letters, digits and '_'.")


def steamvr_role(device: NamedDevice) -> str:
    """Return the role that SteamVR gives a device; empty where it gives none."""
    if device.kind is DeviceKind.HMD:
        return 'hmd'
    if device.kind is DeviceKind.BASE_STATION:
        return ''
    by_type = re.search(r'tracker_(\w+)$', device.controller_type.lower())
    place = _PLACES.get(by_type.group(1), '') if by_type else ''
    # The setting outlives its use: a tracker that is held in hand now may have been a foot.
    if not place and device.kind is DeviceKind.TRACKER:
        setting = device.tracker_setting.removeprefix('TrackerRole_')
        place = _PLACES.get(re.sub(r'(?<=[a-z])(?=[A-Z])', '_', setting).lower(), '')
    return place or _HANDS.get(device.hand, '')


def frame_names(
    devices: Iterable[NamedDevice], roles: Mapping[str, str], aliases: Mapping[str, str]
) -> dict[str, str]:
    """
    Return serial -> frame name, each name once.

    The user's roles go before the aliases, these before SteamVR's roles. Where two devices
    claim one name, the connected one gets it, then the one with the stronger claim, then the
    lower serial, so that names never depend on the order of connection; the other is named by
    its serial.
    """
    claims = []
    for device in devices:
        serial = device.serial
        wishes = (roles.get(serial, ''), aliases.get(serial, ''), steamvr_role(device))
        rank = next((rank for rank, wish in enumerate(wishes) if wish), len(wishes))
        wish = wishes[rank] if rank < len(wishes) else ''
        claims.append((not device.connected, rank, serial, wish))
    names: dict[str, str] = {}
    taken: set[str] = set()
    for _, _, serial, wish in sorted(claims):
        name = wish if wish and wish not in taken else frame_from_serial(serial)
        while name in taken:
            name += '_'
        names[serial] = name
        taken.add(name)
    return names


def frame_from_serial(serial: str) -> str:
    """Return the serial with what tf2 does not allow in a frame's name replaced."""
    return re.sub(r'[^\w-]', '_', serial, flags=re.ASCII)
