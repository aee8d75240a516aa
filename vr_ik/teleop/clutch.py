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

"""The clutch of one arm: it must be seen released before a press counts."""

import math

# Released below this share of the threshold: a finger that trembles at it lets nothing chatter.
_RELEASE_SHARE = 0.8


class Clutch:
    """Tells a fresh press from one that was there before, and from one that was refused."""

    def __init__(self, threshold: float) -> None:
        """Start as if pressed and refused: what is held at the start moves nothing."""
        self._threshold = threshold
        self.pressed = True
        """Whether the operator holds it, or may hold it: it must be seen released."""
        self.known = False
        """Whether the last value was a number."""
        self.engaged = False
        """Whether the arm follows: since a fresh press that was accepted."""

    def update(self, value: float) -> bool:
        """Take the value of this tick, from 0 to 1; return whether it is a fresh press.

        The caller accepts the press by setting `engaged`. What is no number is no release: the
        next press counts after one.
        """
        was_pressed = self.pressed
        threshold = self._threshold * (_RELEASE_SHARE if was_pressed else 1.0)
        self.known = math.isfinite(value)
        self.pressed = value >= threshold if self.known else True
        if not self.pressed:
            self.engaged = False
        return self.known and self.pressed and not was_pressed
