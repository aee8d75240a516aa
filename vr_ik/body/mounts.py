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

"""Where tracked devices are worn: the nominal mounting of each role on the human model."""

from dataclasses import dataclass
import math

import numpy as np

from vr_ik.body.anthropometry import Proportions
from vr_ik.body.joints import Vector
from vr_ik.body.skeleton import shoulder_in_clavicle
from vr_ik.math.rotations import pose, rotation_from_rpy
from vr_ik.types import Array

# A wand in a loose fist does not point along the forearm but some 20 degrees to the thumb's side.
_CONTROLLER_PITCH = math.radians(-20.0)


@dataclass(frozen=True, slots=True, eq=False)
class Mount:
    """A device that is rigid on a link."""

    link: str
    pose_link_from_device: Array
    """(4, 4), device axes by REP-103: x forward as the device looks or points, z up."""


def device_mounts(proportions: Proportions) -> dict[str, Mount]:
    """
    Return the nominal mount of every device role; calibration finds the real ones.

    hmd: between the eyes. Controllers: in the grip, x where the controller points, z up when
    it is held forward. Trackers, with the axes of a body that stands at q = 0: waist on the back
    of the belt, chest on the breastbone, shoulders on top of the acromion (they follow the
    clavicle), elbows on the outside of the upper arm just above the elbow, knees on the front of
    the shin just below the knee, feet on the instep.
    """
    mounts = {
        'hmd': Mount('gaze', np.eye(4)),
        'waist': Mount('base_link', _at(*_share(proportions, (-0.060, 0.0, 0.070)))),
        'chest': Mount('torso', _at(*_share(proportions, (0.095, 0.0, 0.060)))),
    }
    for side, outward in (('l', 1.0), ('r', -1.0)):
        grip = pose(rotation_from_rpy(0.0, _CONTROLLER_PITCH, 0.0), np.zeros(3))
        mounts[f'{side}_controller'] = Mount(f'{side}_gripper', grip)
        for role, (link, (x, y, z)) in _limb_mounts(proportions).items():
            mounts[f'{side}_{role}'] = Mount(f'{side}_{link}', _at(x, outward * y, z))
    return mounts


def _limb_mounts(p: Proportions) -> dict[str, tuple[str, Vector]]:
    """Return link and place [m] of the left limbs' trackers, on the skin."""
    h = p.height
    x, y, z = shoulder_in_clavicle(p)
    return {
        'shoulder': ('clavicle', (x, y, z + 0.038 * h)),
        'elbow': ('upper_arm', (0.0, 0.030 * h, -0.85 * p.upper_arm)),
        'knee': ('shin', (0.038 * h, 0.0, -0.15 * p.shin)),
        'foot': ('ankle', (0.30 * p.foot_length, 0.0, 0.0)),
    }


def _share(p: Proportions, fractions: Vector) -> Vector:
    x, y, z = fractions
    return x * p.height, y * p.height, z * p.height


def _at(x: float, y: float, z: float) -> Array:
    return pose(np.eye(3), np.array([x, y, z]))
