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

"""Buttons and axes of OpenVR controllers in one order, whatever the controller."""

from collections.abc import Sequence
from dataclasses import dataclass

from vr_ik.trackers.openvr_session import ControllerState

AXIS_NAMES = ('joystick_x', 'joystick_y', 'touchpad_x', 'touchpad_y', 'trigger', 'grip')
"""Order of the axes: right and up are positive, trigger and grip go from 0 to 1."""

CONTROL_NAMES = ('trigger', 'grip', 'joystick', 'touchpad', 'menu', 'a', 'system')
BUTTON_NAMES = (*CONTROL_NAMES, *(f'{name}_touch' for name in CONTROL_NAMES))
"""Order of the buttons: first pressed, then touched. 'menu' is B on controllers with A and B."""

# EVRControllerAxisType
_TOUCHPAD, _JOYSTICK, _TRIGGER = 1, 2, 3
# What the axes are where the runtime does not tell.
_USUAL_AXES = (_TOUCHPAD, _TRIGGER, _TRIGGER, _JOYSTICK, 0)
# EVRButtonId
_SYSTEM, _MENU, _GRIP, _A, _AXIS_0 = 0, 1, 2, 7, 32
_INDEX_CONTROLLER = 'knuckles'
_NOWHERE = -1


@dataclass(frozen=True)
class InputLayout:
    """Where a controller's named axes and buttons are in the runtime's state."""

    axis_places: tuple[int, ...]
    """Index into the ten axis values, for each of `AXIS_NAMES`; -1 where it has none."""
    button_masks: tuple[int, ...]
    """Bits for each of `CONTROL_NAMES`; 0 where it has none."""

    @staticmethod
    def of(controller_type: str, axis_types: Sequence[int]) -> 'InputLayout':
        """Find the layout from Prop_ControllerType_String and Prop_Axis0Type to Axis4Type."""
        types = tuple(axis_types) if any(axis_types) else _USUAL_AXES
        joystick, touchpad = _nth(types, _JOYSTICK, 0), _nth(types, _TOUCHPAD, 0)
        trigger, grip = _nth(types, _TRIGGER, 0), _nth(types, _TRIGGER, 1)
        places = (
            *_places(joystick),
            *_places(touchpad),
            _places(trigger)[0],
            _places(grip)[0],
        )
        # On Index controllers SteamVR reports A in the place of the grip button.
        has_index_grip = controller_type.lower() == _INDEX_CONTROLLER
        masks = (
            _axis_button(trigger),
            _axis_button(grip) | (0 if has_index_grip else 1 << _GRIP),
            _axis_button(joystick),
            _axis_button(touchpad),
            1 << _MENU,
            1 << (_GRIP if has_index_grip else _A),
            1 << _SYSTEM,
        )
        return InputLayout(places, masks)

    def axes(self, state: ControllerState) -> tuple[float, ...]:
        """Return the values of `AXIS_NAMES`; 0 for what the controller has not."""
        return tuple(state.axes[place] if place != _NOWHERE else 0.0 for place in self.axis_places)

    def buttons(self, state: ControllerState) -> tuple[int, ...]:
        """Return the values of `BUTTON_NAMES`, 0 or 1."""
        return tuple(
            int(bits & mask != 0)
            for bits in (state.pressed, state.touched)
            for mask in self.button_masks
        )


def _nth(types: Sequence[int], wanted: int, n: int) -> int:
    axes = [axis for axis, kind in enumerate(types) if kind == wanted]
    return axes[n] if n < len(axes) else _NOWHERE


def _places(axis: int) -> tuple[int, int]:
    return (2 * axis, 2 * axis + 1) if axis != _NOWHERE else (_NOWHERE, _NOWHERE)


def _axis_button(axis: int) -> int:
    return 1 << (_AXIS_0 + axis) if axis != _NOWHERE else 0
