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

"""
The shoulder's three axes, tilted away from gimbal lock, and their angles for a given arm.

A ball joint made of three hinges, the last along the upper arm, locks where the upper arm lies
along the first hinge. With first hinges in the body's main directions that happens in everyday
poses: hinge y in the T-pose, hinge x when reaching forward, hinge z with hanging arms. Here the
first hinge points outward, back and up (-1, 2, 1), and so, at its other end, forward, down and
across the body: two directions at the rim of what a shoulder can reach. In motion capture (CMU,
Bandai Namco) of walking, punching, dancing, gymnastics, bowing and waving the upper arm is at
least 42 degrees away from both ends of it in 99 frames of 100; from the y axis only 19, from the
x axis 11.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from vr_ik.types import Array

_POLE = np.array([-1.0, 2.0, 1.0]) / math.sqrt(6.0)
_HANGING = np.array([0.0, 0.0, -1.0])
_FRONT = np.array([1.0, 0.0, 0.0])
_FLEXION_AXIS = -_POLE
_ABDUCTION_AXIS = np.array([2.0, 1.0, 0.0]) / math.sqrt(5.0)
_HANGING_ANGLE = math.acos(float(_HANGING @ _FLEXION_AXIS))
# Flexion is reported within half a turn of the middle of its range, so that it never jumps.
_FLEXION_MIDDLE = math.radians(55.0)

SHOULDER_AXES: tuple[tuple[float, float, float], ...] = tuple(
    (float(axis[0]), float(axis[1]), float(axis[2]))
    for axis in (_FLEXION_AXIS, _ABDUCTION_AXIS, -_HANGING)
)
"""Flexion, abduction and rotation axis of the left shoulder at q = 0, in the clavicle's axes."""


def shoulder_angles(upper_arm: ArrayLike, bend: ArrayLike) -> tuple[float, float, float]:
    """
    Return shoulder flexion, abduction and rotation [rad] for an arm of either side.

    Both directions are in the clavicle's frame (the torso's when the clavicle is at zero) with
    y pointing outward, away from the body: x forward, y outward, z up. `upper_arm` points from
    the shoulder to the elbow; the forearm of a bent elbow turns towards `bend`.
    """
    arm, bend_vector = _unit(upper_arm), np.asarray(bend, dtype=np.float64)
    abduction = math.acos(float(np.clip(arm @ _FLEXION_AXIS, -1.0, 1.0))) - _HANGING_ANGLE
    flexion = _angle_about(_FLEXION_AXIS, _turned(_HANGING, _ABDUCTION_AXIS, abduction), arm)
    flexion = (flexion - _FLEXION_MIDDLE + math.pi) % (2.0 * math.pi) - math.pi + _FLEXION_MIDDLE
    front = _turned(_turned(_FRONT, _ABDUCTION_AXIS, abduction), _FLEXION_AXIS, flexion)
    return flexion, abduction, _angle_about(-arm, front, bend_vector)


def _unit(vector: ArrayLike) -> Array:
    array = np.asarray(vector, dtype=np.float64)
    return np.asarray(array / np.linalg.norm(array))


def _angle_about(axis: Array, start: Array, end: Array) -> float:
    """Return the angle about the unit axis that turns `start` into the half-plane of `end`."""
    sine = float(axis @ np.cross(start, end))
    return math.atan2(sine, float(start @ end) - float(start @ axis) * float(end @ axis))


def _turned(vector: Array, axis: Array, angle: float) -> Array:
    """Return the vector turned about a unit axis (Rodrigues)."""
    along = axis * float(axis @ vector)
    return along + math.cos(angle) * (vector - along) + math.sin(angle) * np.cross(axis, vector)
