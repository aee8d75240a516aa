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

"""Lets a body glide to where it ought to be when what is known of it changes at once.

A device that comes back, or is lost, another calibration or solver: the pose that fits changes
from one frame to the next, and people see a pop. The way from the new pose to the one that would
have been shown is kept and fades, as games do it (D. Bollo, "Inertialization: high-performance
animation transitions in Gears of War", GDC 2018): what devices say meanwhile is followed all
along, with an offset that goes.
"""

import math
from typing import NamedTuple

import numpy as np

from vr_ik.kinematics.compiled import kernel
from vr_ik.kinematics.model import RobotModel
from vr_ik.types import Array


class Pace(NamedTuple):
    """How quickly an offset goes: nothing glides faster than this."""

    shortest_s: float
    root_m_s: float
    root_rad_s: float
    joints_rad_s: float


CALM = Pace(0.4, 1.0, 1.5, 1.5)
"""After a loss there is no haste."""
QUICK = Pace(0.15, 2.0, 4.0, 6.0)
"""There is better knowledge now: a device came back, or another calibration."""
_FASTEST = Pace(0.0, 10.0, 20.0, math.inf)
"""As fast as bodies are: where devices move faster, and mean it, what is shown comes later."""
# What fades by 1 - 3 u^2 + 2 u^3 is fastest in the middle, and there so much faster than on the
# average.
_PEAK = 1.5
_NOTHING = 1e-9


class Easing:
    """The offset from the pose that fits to the one that is shown."""

    def __init__(self, model: RobotModel) -> None:
        """Begin with none; the model has a free root."""
        self._model = model
        self._fastest = self._speeds(_FASTEST)
        of_trunk = [name[:2] not in ('l_', 'r_') for name in model.joint_names]
        self._trunk = np.array([True] * 6 + of_trunk)
        self.reset()

    def reset(self) -> None:
        """Show from now on what fits."""
        self._apart = np.zeros(self._model.nv)
        self._duration_s = self._elapsed_s = 0.0
        self._is_late = False

    def take_over(self, before: 'Easing') -> None:
        """Go on with the offset of another body with the same joints."""
        self._apart = before._apart
        self._duration_s, self._elapsed_s = before._duration_s, before._elapsed_s

    @property
    def is_on(self) -> bool:
        """Whether something else is shown than what fits."""
        return self._is_gliding or self._is_late

    @property
    def _is_gliding(self) -> bool:
        return self._elapsed_s < self._duration_s

    def begin(self, q_fits: Array, q_shown: Array, pace: Pace) -> None:
        """Glide from `q_shown` on, where by now `q_fits` is right."""
        apart = self._model.difference(q_fits, q_shown)
        if np.abs(apart).max() < _NOTHING:
            return
        self._apart = self._left() * self._apart + apart
        longest_s = float(np.max(np.abs(self._apart) / self._speeds(pace)))
        self._duration_s, self._elapsed_s = max(pace.shortest_s, _PEAK * longest_s), 0.0

    def shown(self, q_fits: Array, q_before: Array, seconds: float) -> tuple[Array, Array]:
        """Return the pose to show so many seconds after `q_before`, and the way to it (nv).

        It is within all limits. A joint of a limb that is too fast makes nothing else late. The
        trunk carries the limbs: where it is late, they wait for it, lest hands go where nobody has
        them.
        """
        model, first_q = self._model, self._model.first_q
        q = q_fits
        if self._is_gliding:
            q = model.integrate(q_fits, self._left() * self._apart)
            q[first_q:] = np.clip(q[first_q:], model.lower, model.upper)
            self._elapsed_s += seconds
        way = model.difference(q_before, q)
        self._is_late = not _are_within(way, self._fastest, seconds)
        if self._is_late:
            reach = self._fastest * seconds
            share = np.min(reach[self._trunk] / np.maximum(np.abs(way[self._trunk]), _NOTHING))
            way = np.clip(min(share, 1.0) * way, -reach, reach)
            q = model.integrate(q_before, way)
        return q, way

    def _speeds(self, pace: Pace) -> Array:
        """Return how fast the root (6) and each joint may glide [m/s, rad/s]."""
        root = np.repeat((pace.root_m_s, pace.root_rad_s), 3)
        joints = np.minimum(self._model.velocity_limits, pace.joints_rad_s)
        return np.concatenate((root, joints))

    def _left(self) -> float:
        """Return the share of the offset that is still there."""
        if not self._is_gliding:
            return 0.0
        u = self._elapsed_s / self._duration_s
        return 1.0 - u * u * (3.0 - 2.0 * u)


@kernel
def _are_within(steps: Array, speeds: Array, seconds: float) -> bool:
    """Tell in a microsecond what is so in nearly every frame: nothing is too fast."""
    for i in range(steps.shape[0]):
        if not abs(steps[i]) <= speeds[i] * seconds:
            return False
    return True
