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

"""How far each device's pose tells where its bone is: factors on the tasks' weights."""

import numpy as np

from vr_ik.types import Array

# Position and orientation. A belt slides and tilts on the body while it bends; goggles sit on the
# skull, and a strap round the shank or the instep on bone.
_TRUST = {'hmd': (4.0, 1.0), 'waist': (1.0, 0.3), 'foot': (3.0, 1.0)}


def device_trust(role: str) -> Array:
    """Return the factors on a device's position and orientation weight."""
    part = role[2:] if role[:2] in ('l_', 'r_') else role
    return np.array(_TRUST.get(part, (1.0, 1.0)))
