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

"""Masses and inertias of the human model's links, after de Leva 1996."""

from dataclasses import dataclass
import math

from vr_ik.body.anthropometry import Proportions
from vr_ik.body.joints import JOINTS, Vector
from vr_ik.body.skeleton import heel_behind_ankle

BODY_MASS_INDEX = 22.0
"""Default body mass over squared height [kg/m^2]."""
CHAIN_LINK_MASS_KG = 1e-3
"""Mass of each small link between the hinges of one joint, taken from the body link's."""
CHAIN_LINK_INERTIA = 1e-6
"""Its moment of inertia about every axis [kg m^2]."""

# Shares of body mass: de Leva 1996, J. Biomech. 29(9), table 4, mean of both sexes. Neck and
# shoulder girdle, which he counts to the head and to the upper trunk, are taken out of those.
_NECK, _CLAVICLE = 0.011, 0.004
_MASS_SHARE: dict[str, float] = {
    'pelvis': 0.1182,
    'lumbar': 0.1549,
    'torso': 0.15705 - 2.0 * _CLAVICLE,
    'neck': _NECK,
    'head': 0.0681 - _NECK,
    'clavicle': _CLAVICLE,
    'upper_arm': 0.0263,
    'forearm': 0.0150,
    'wrist': 0.00585,
    'thigh': 0.1447,
    'shin': 0.0457,
    'ankle': 0.0133,
}
_PAIRED = ('clavicle', 'upper_arm', 'forearm', 'wrist', 'thigh', 'shin', 'ankle')
_TOTAL_SHARE = sum(s * (2.0 if k in _PAIRED else 1.0) for k, s in _MASS_SHARE.items())

# Radii of gyration about x, y, z over the segment's length, from the same table. His trunk
# segments end at the navel and the xiphoid, which are 1.27 times as far apart as our lumbar and
# thorax joints; for the others the lengths agree. The hand's are for a palm that faces inward.
_GYRATION: dict[str, Vector] = {
    'pelvis': (0.524, 0.4765, 0.5155),
    'lumbar': (0.581, 0.468, 0.561),
    'torso': (0.4855, 0.317, 0.457),
    'head': (0.287, 0.305, 0.261),
    'upper_arm': (0.2815, 0.2645, 0.153),
    'forearm': (0.2685, 0.261, 0.1075),
    'wrist': (0.2215, 0.266, 0.169),
    'thigh': (0.349, 0.3465, 0.1555),
    'shin': (0.259, 0.2545, 0.097),
    'ankle': (0.1315, 0.278, 0.262),
}
_NECK_RADIUS, _CLAVICLE_RADIUS = 0.033, 0.036


@dataclass(frozen=True, slots=True)
class Inertial:
    """A link's mass, centre of mass in its frame and principal moments about x, y, z there."""

    mass_kg: float
    centre: Vector
    moments: Vector
    """[kg m^2]"""


def inertials(p: Proportions, mass_kg: float | None = None) -> dict[str, Inertial]:
    """Return the inertia of every kind of body link, the left one of a pair."""
    body_mass_kg = BODY_MASS_INDEX * p.height**2 if mass_kg is None else mass_kg
    radii, centres = _radii_of_gyration(p), _centres(p)
    result = {}
    for kind, share in _MASS_SHARE.items():
        chain_links = len(JOINTS.get(kind, ('root',))) - 1
        mass = share / _TOTAL_SHARE * body_mass_kg - chain_links * CHAIN_LINK_MASS_KG
        x, y, z = (mass * radius**2 for radius in radii[kind])
        result[kind] = Inertial(mass, centres[kind], (x, y, z))
    return result


def _radii_of_gyration(p: Proportions) -> dict[str, Vector]:
    lengths = {
        'pelvis': p.pelvis,
        'lumbar': p.lumbar,
        'torso': p.thorax,
        'head': p.neck + p.head,
        'upper_arm': p.upper_arm,
        'forearm': p.forearm,
        'wrist': p.hand,
        'thigh': p.thigh,
        'shin': p.shin,
        'ankle': p.foot_length,
    }
    radii: dict[str, Vector] = {}
    for kind, (x, y, z) in _GYRATION.items():
        radii[kind] = (x * lengths[kind], y * lengths[kind], z * lengths[kind])
    radius = _NECK_RADIUS * p.height  # a solid cylinder
    across = math.sqrt((3.0 * radius**2 + p.neck**2) / 12.0)
    radii['neck'] = (across, across, radius / math.sqrt(2.0))
    ball = math.sqrt(0.4) * _CLAVICLE_RADIUS * p.height  # a solid ball
    radii['clavicle'] = (ball, ball, ball)
    return radii


def _centres(p: Proportions) -> dict[str, Vector]:
    """Return the centres of mass, by the same table, in the links' frames."""
    h = p.height
    return {
        'pelvis': (0.0, 0.0, 0.45 * p.pelvis),
        'lumbar': (0.01 * h, 0.0, 0.5 * p.lumbar),
        'torso': (0.03 * h, 0.0, 0.49 * p.thorax),
        'neck': (0.0, 0.0, 0.5 * p.neck),
        'head': (0.01 * h, 0.0, p.head - 0.49 * (p.neck + p.head)),
        'clavicle': (-0.015 * h, 0.6 * p.shoulder_half_width, 0.0),
        'upper_arm': (0.0, 0.0, -0.576 * p.upper_arm),
        'forearm': (0.0, 0.0, -0.457 * p.forearm),
        'wrist': (0.0, 0.0, -0.353 * p.hand),
        'thigh': (0.0, 0.0, -0.385 * p.thigh),
        'shin': (0.0, 0.0, -0.437 * p.shin),
        'ankle': (0.421 * p.foot_length - heel_behind_ankle(p), 0.0, -0.5 * p.ankle_height),
    }
