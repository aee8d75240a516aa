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

"""How the human model looks: capsules and boxes in calm colours, no mesh files."""

from dataclasses import dataclass

from vr_ik.body.anthropometry import Proportions
from vr_ik.body.joints import Vector
from vr_ik.body.skeleton import heel_behind_ankle, mirrored, shoulder_in_clavicle

COLOURS: dict[str, tuple[float, float, float, float]] = {
    'skin': (0.87, 0.72, 0.62, 1.0),
    'shirt': (0.42, 0.58, 0.68, 1.0),
    'trousers': (0.27, 0.31, 0.39, 1.0),
    'dark': (0.16, 0.17, 0.20, 1.0),
}


@dataclass(frozen=True, slots=True)
class Capsule:
    """A rod with round ends; a ball where both ends are one point."""

    start: Vector
    end: Vector
    radius: float
    colour: str

    def mirrored(self) -> 'Capsule':
        """Return the shape across the body's middle."""
        return Capsule(mirrored(self.start), mirrored(self.end), self.radius, self.colour)


@dataclass(frozen=True, slots=True)
class Box:
    """A block along the link's axes."""

    centre: Vector
    size: Vector
    colour: str

    def mirrored(self) -> 'Box':
        """Return the shape across the body's middle."""
        return Box(mirrored(self.centre), self.size, self.colour)


Shape = Capsule | Box


def shapes(p: Proportions) -> dict[str, tuple[Shape, ...]]:
    """Return the shapes of every kind of body link, the left one of a pair."""
    return {**_trunk(p), **_head(p), **_arm(p), **_leg(p)}


def _trunk(p: Proportions) -> dict[str, tuple[Shape, ...]]:
    h = p.height
    hip, ribs = p.hip_half_width, 0.48 * p.shoulder_half_width
    yoke = ((0.024 * h, -1.3 * ribs, 0.74 * p.thorax), (0.024 * h, 1.3 * ribs, 0.74 * p.thorax))
    return {
        'pelvis': _slab(-0.004 * h, hip, (0.0, 0.75 * p.pelvis), 0.055 * h, 'trousers'),
        'lumbar': _slab(0.008 * h, 0.85 * hip, (-0.1 * p.lumbar, p.lumbar), 0.053 * h, 'shirt'),
        'torso': (
            *_slab(0.032 * h, ribs, (-0.1 * p.thorax, 0.60 * p.thorax), 0.058 * h, 'shirt'),
            Capsule(*yoke, 0.044 * h, 'shirt'),
        ),
    }


def _slab(
    x: float, half_width: float, z: tuple[float, float], radius: float, colour: str
) -> tuple[Shape, ...]:
    """Return a block with round flanks: two upright capsules and what is between them."""
    low, high = z
    left = Capsule((x, half_width, low), (x, half_width, high), radius, colour)
    centre = (x, 0.0, 0.5 * (low + high))
    return (
        left,
        left.mirrored(),
        Box(centre, (2.0 * radius, 2.0 * half_width, high - low), colour),
    )


def _head(p: Proportions) -> dict[str, tuple[Shape, ...]]:
    h = p.height
    skull = 0.056 * h
    eye = (p.eye_depth, 0.018 * h, p.eye_height)
    nose_x = p.eye_depth + 0.004 * h
    crown = (0.004 * h, 0.0, p.head - skull)
    return {
        'neck': (Capsule((0.0, 0.0, -0.02 * h), (0.022 * h, 0.0, p.neck), 0.031 * h, 'skin'),),
        'head': (
            Capsule(crown, crown, skull, 'skin'),
            Capsule((0.019 * h, 0.0, 0.02 * h), (0.024 * h, 0.0, -0.02 * h), 0.038 * h, 'skin'),
            Capsule((nose_x, 0.0, 0.012 * h), (nose_x + 0.008 * h, 0.0, 0.0), 0.008 * h, 'skin'),
            Capsule(eye, eye, 0.008 * h, 'dark'),
            Capsule(mirrored(eye), mirrored(eye), 0.008 * h, 'dark'),
        ),
    }


def _arm(p: Proportions) -> dict[str, tuple[Shape, ...]]:
    h = p.height
    shoulder = shoulder_in_clavicle(p)
    thumb = ((0.014 * h, -0.004 * h, -0.15 * p.hand), (0.028 * h, -0.010 * h, -0.50 * p.hand))
    return {
        'clavicle': (Capsule((shoulder[0], 0.030 * h, 0.004 * h), shoulder, 0.034 * h, 'shirt'),),
        'upper_arm': (
            _rod(0.0, 0.45 * p.upper_arm, 0.033 * h, 'shirt'),
            _rod(0.45 * p.upper_arm, p.upper_arm, 0.026 * h, 'skin'),
        ),
        'forearm': (
            _rod(0.0, 0.50 * p.forearm, 0.025 * h, 'skin'),
            _rod(0.50 * p.forearm, p.forearm, 0.019 * h, 'skin'),
        ),
        'wrist': (
            Box((0.0, 0.0, -0.28 * p.hand), (0.046 * h, 0.017 * h, 0.50 * p.hand), 'skin'),
            Box((0.0, 0.0, -0.76 * p.hand), (0.040 * h, 0.013 * h, 0.48 * p.hand), 'skin'),
            Capsule(*thumb, 0.008 * h, 'skin'),
        ),
    }


def _leg(p: Proportions) -> dict[str, tuple[Shape, ...]]:
    h = p.height
    sole = 0.021 * h
    heel_x, toe_x = sole - heel_behind_ankle(p), p.foot_length - heel_behind_ankle(p) - sole
    z = sole - p.ankle_height
    inner, outer = -0.008 * h, 0.008 * h
    return {
        'thigh': (
            _rod(0.0, 0.50 * p.thigh, 0.044 * h, 'trousers'),
            _rod(0.45 * p.thigh, p.thigh, 0.038 * h, 'trousers'),
        ),
        'shin': (
            _rod(0.0, 0.50 * p.shin, 0.035 * h, 'trousers'),
            _rod(0.50 * p.shin, p.shin, 0.026 * h, 'trousers'),
        ),
        'ankle': (
            Capsule((heel_x, 0.0, z), (toe_x, inner, z), sole, 'dark'),
            Capsule((heel_x, 0.0, z), (toe_x - 0.008 * h, outer, z), sole, 'dark'),
        ),
    }


def _rod(top: float, bottom: float, radius: float, colour: str) -> Capsule:
    """Return a rod down the link's z axis."""
    return Capsule((0.0, 0.0, -top), (0.0, 0.0, -bottom), radius, colour)
