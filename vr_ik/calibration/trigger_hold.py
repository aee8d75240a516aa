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

"""Tells when a user asks for calibration by holding both triggers."""

_PULLED = 0.9
_RELEASED = 0.5
_HELD_S = 1.0
_FRESH_S = 0.5
"""An axis that was told longer ago says nothing: the controller may be off."""
_SIDES = ('l', 'r')


class TriggerHold:
    """Watches both trigger axes; asks once each time they are held, not again while they stay."""

    def __init__(self) -> None:
        """Begin with nothing pulled."""
        self._values: dict[str, tuple[float, float]] = {}
        self._since_s: float | None = None
        self._asked = False

    def note(self, side: str, value: float, now_s: float) -> bool:
        """Take an axis (0 to 1) of side 'l' or 'r'; return True when both have been held now."""
        self._values[side] = (value, now_s)
        fresh = [self._values.get(name, (0.0, -_FRESH_S)) for name in _SIDES]
        pulls = [pull if now_s - at_s < _FRESH_S else 0.0 for pull, at_s in fresh]
        if min(pulls) < _PULLED:
            self._since_s = None
            self._asked = self._asked and max(pulls) > _RELEASED
            return False
        if self._since_s is None:
            self._since_s = now_s
        if self._asked or now_s - self._since_s < _HELD_S:
            return False
        self._asked = True
        return True
