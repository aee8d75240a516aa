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

"""What is known of a user: the lengths of the body, and where each device sits on it."""

from collections.abc import Mapping
from dataclasses import dataclass

from vr_ik.body.anthropometry import Proportions
from vr_ik.body.mounts import device_mounts, Mount


@dataclass(frozen=True)
class Calibration:
    """A body and its devices."""

    proportions: Proportions
    mounts: Mapping[str, Mount]
    """By role: the link that carries the device, and the device's pose on it."""
    floor_m: float = 0.0
    """Height of the floor in the world; tracking systems are often wrong about it."""

    @classmethod
    def nominal(cls, height_m: float, arm_span_m: float | None = None) -> 'Calibration':
        """Return the average body of this height with every device worn where it should be."""
        proportions = Proportions.from_height(height_m, arm_span_m)
        return cls(proportions, device_mounts(proportions))

    def summary(self) -> str:
        """Return the body and its devices in a sentence."""
        p = self.proportions
        return (
            f'height {p.height:.2f} m, arm span {p.arm_span:.2f} m, floor at '
            f'{self.floor_m:+.2f} m, with {", ".join(self.mounts)}.'
        )

    def wearing(self, roles: tuple[str, ...]) -> 'Calibration':
        """Return the same body with these devices alone."""
        mounts = {role: mount for role, mount in self.mounts.items() if role in roles}
        return Calibration(self.proportions, mounts, self.floor_m)
