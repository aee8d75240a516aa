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

"""The joints of the human model: chains of axes, signs, limits and their sources."""

from dataclasses import dataclass
import math

from vr_ik.body.shoulder import SHOULDER_AXES

Vector = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class JointSpec:
    """One revolute joint; of a pair, the left one."""

    name: str
    axis: Vector
    """In the link's axes at q = 0 (x forward, y left, z up); positive by the right-hand rule."""
    range_deg: tuple[float, float]
    velocity: float
    """Speed limit [rad/s]."""
    effort: float
    """Torque limit [N m]."""

    @property
    def lower(self) -> float:
        """Lower limit [rad]."""
        return math.radians(self.range_deg[0])

    @property
    def upper(self) -> float:
        """Upper limit [rad]."""
        return math.radians(self.range_deg[1])


# Zero is the neutral-zero posture of clinical goniometry: standing, arms hanging, thumbs forward.
#
# Signs: pairs mirror, so equal angles on both sides are a symmetric pose. Positive is flexion,
# abduction, outward rotation (supination), elevation, protraction, radial deviation,
# dorsiflexion, inversion. The trunk follows REP-103: flexion bows forward (pitch), lateral
# leans to the right (roll), axial turns to the left (yaw).
#
# Ranges [deg], sources:
#   T1  table I of Caserman et al., Analysis of IK Solutions for Full-Body Reconstruction in VR,
#       2019: Hamilton's ranges (Kinesiology) widened by 15 deg, for people unlike the mean.
#   AA  American Academy of Orthopaedic Surgeons, normal ranges of motion.
#   KA  Kapandji, Physiology of the Joints, volume 3.
#   WP  White and Panjabi, Clinical Biomechanics of the Spine, for the upper cervical joints.
#   NE  Neumann, Kinesiology of the Musculoskeletal System.
# Where only means are known, some 10 deg are added, except at the straight elbow and knee.
#
# Velocities and efforts are round bounds above what people do without a run-up (fast arm
# swings reach 20 rad/s, kicks 15); they are for plausibility, not physiology.
#
# The middle axis of each chain of three stays 12 deg and more away from the 90 deg from the
# others at which the first and last axes would align (gimbal lock).

_FORWARD, _LEFT, _UP = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
_BACKWARD, _RIGHT, _DOWN = (-1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, -1.0)


def _trunk(
    part: str,
    flexion: tuple[float, float],
    lateral: float,
    axial: float,
    velocity: float,
    effort: float,
) -> tuple[JointSpec, ...]:
    chain = (
        JointSpec(f'{part}_flexion', _LEFT, flexion, velocity, effort),
        JointSpec(f'{part}_lateral', _FORWARD, (-lateral, lateral), velocity, effort),
        JointSpec(f'{part}_axial', _UP, (-axial, axial), velocity, effort),
    )
    return tuple(spec for spec in chain if spec.range_deg[1] > 0.0)


JOINTS: dict[str, tuple[JointSpec, ...]] = {
    # KA: 60 forward, 35 back; 20 aside; 5 to 10 turning.
    'lumbar': _trunk('lumbar', (-35.0, 60.0), 25.0, 12.0, 6.0, 300.0),
    # KA: 45 forward, 25 back; 20 aside; 35 turning.
    'torso': _trunk('thorax', (-25.0, 45.0), 25.0, 40.0, 6.0, 250.0),
    # KA: 40 forward, 75 back, 45 aside, 50 turning for the whole neck, shared with the head.
    'neck': _trunk('neck', (-50.0, 45.0), 45.0, 45.0, 12.0, 50.0),
    # WP: C0 to C2: 45 nodding in all, 40 to 45 turning each way, 5 aside (left out).
    'head': _trunk('head', (-30.0, 20.0), 0.0, 45.0, 12.0, 30.0),
    # NE: 45 up, 10 down; 15 to 30 forward and back.
    'clavicle': (
        JointSpec('clavicle_protraction', _DOWN, (-30.0, 30.0), 10.0, 100.0),
        JointSpec('clavicle_elevation', _FORWARD, (-12.0, 45.0), 10.0, 100.0),
    ),
    # AA: 180 forward, 60 back, 180 aside, 70 inward, 90 outward; T1 adds to each. The axes are
    # tilted (see shoulder.py): these are the ranges of the tilted angles over those motions.
    'upper_arm': (
        JointSpec('shoulder_flexion', SHOULDER_AXES[0], (-90.0, 200.0), 25.0, 120.0),
        JointSpec('shoulder_abduction', SHOULDER_AXES[1], (-54.0, 102.0), 25.0, 120.0),
        JointSpec('shoulder_rotation', SHOULDER_AXES[2], (-130.0, 100.0), 30.0, 80.0),
    ),
    # T1: 0 to 155; AA: 0 to 150. AA: twist 80 each way (studies: 71 to 96). The radius turns about
    # the ulna: the skin takes no part in it at the elbow and all of it at the wrist. The forearm
    # link is what a strap in its middle sees: it takes one half of the twist, the wrist the other.
    'forearm': (
        JointSpec('elbow_flexion', _RIGHT, (0.0, 155.0), 30.0, 80.0),
        JointSpec('forearm_twist', _UP, (-47.5, 47.5), 15.0, 20.0),
    ),
    # AA: wrist 80 flexion, 70 extension, 20 radial, 30 ulnar; T1: -85 to 75 and -55 to 45.
    # Deviation, the smaller, is in the middle.
    'wrist': (
        JointSpec('wrist_twist', _UP, (-47.5, 47.5), 15.0, 20.0),
        JointSpec('wrist_deviation', _RIGHT, (-55.0, 45.0), 30.0, 20.0),
        JointSpec('wrist_flexion', _BACKWARD, (-85.0, 90.0), 30.0, 20.0),
    ),
    # T1: -45 to 145, -65 to 65, -75 to 55; AA: 120, 30 back; 45 out, 30 in; 45 each way.
    'thigh': (
        JointSpec('hip_flexion', _RIGHT, (-45.0, 145.0), 18.0, 300.0),
        JointSpec('hip_abduction', _FORWARD, (-40.0, 65.0), 15.0, 250.0),
        JointSpec('hip_rotation', _UP, (-55.0, 75.0), 15.0, 120.0),
    ),
    # T1: 0 to 155; AA: 0 to 135 and 10 beyond straight, which is left out: no device could tell
    # it from as much bending. Sitting on the heels takes 155 to 160. KA: the bent knee turns 40
    # outward and 30 inward.
    'shin': (
        JointSpec('knee_flexion', _LEFT, (0.0, 160.0), 20.0, 300.0),
        JointSpec('knee_rotation', _UP, (-30.0, 40.0), 15.0, 60.0),
    ),
    # AA: 20 up, 50 down; 35 in, 15 out. A loaded squat bends up to 40, sitting on the heels
    # down to 65.
    'ankle': (
        JointSpec('ankle_dorsiflexion', _RIGHT, (-65.0, 42.0), 18.0, 200.0),
        JointSpec('ankle_inversion', _BACKWARD, (-25.0, 42.0), 15.0, 60.0),
    ),
}
"""The chain that leads into each body link, root first; names of pairs without their l_, r_."""


def mirror_joint(name: str) -> tuple[str, float]:
    """Return the joint across the body's middle, and the sign its angle takes there."""
    if name[:2] in ('l_', 'r_'):
        return ('r_' if name[0] == 'l' else 'l_') + name[2:], 1.0
    return name, -1.0 if name.endswith(('_lateral', '_axial')) else 1.0
