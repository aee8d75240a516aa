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

"""Where the human model's links hang at q = 0, from the body's proportions."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
import math

from vr_ik.body.anthropometry import Proportions
from vr_ik.body.joints import Vector

MODELS = ('full', 'upper')
"""Human models: the whole body, or pelvis and above."""

_LEGS = ('thigh', 'shin', 'ankle')

# Depths before (+) or behind (-) the hip joints, as fractions of height, of someone who stands
# at ease: ears, shoulders and hips on one plumb line; S1 a hand's breadth above and 0.013 behind
# the hips (pelvic tilt 12 deg, Legaye et al. 1998); the chest spine leaning 10 deg back.
_LUMBAR_DEPTH, _THORAX_DEPTH, _NECK_DEPTH, _HEAD_DEPTH = -0.010, -0.032, -0.022, 0.005
_STERNUM_DEPTH, _SHOULDER_DEPTH = 0.020, -0.010
# The clavicle turns about its inner end: just beside and below the notch of the sternum
# (0.818 of height, ANSUR II), the shoulder's centre being at 0.800.
_STERNUM_HALF_WIDTH, _STERNUM_ABOVE_SHOULDER = 0.014, 0.012

_HEEL_BEHIND_ANKLE = 0.25
_BALL_BEFORE_HEEL = 0.74  # ball-of-foot length over foot length, ANSUR II
_GRIP_ALONG_HAND = 0.37  # wrist to the centre of a grasped rod; the hand's centre of mass too
_GRIP_BEFORE_PALM = 0.011


@dataclass(frozen=True, slots=True)
class Segment:
    """A body link that the joint chain `JOINTS[kind]` hangs on its parent, at one point."""

    kind: str
    parent: str
    origin: Vector
    """The joints' point in the parent's axes at q = 0 [m]; links are not turned at q = 0."""
    prefix: str = ''

    @property
    def link(self) -> str:
        """Name of the link."""
        return self.prefix + self.kind


@dataclass(frozen=True, slots=True)
class Frame:
    """A named place that is rigid on a link."""

    kind: str
    parent: str
    origin: Vector
    rpy: Vector = (0.0, 0.0, 0.0)
    prefix: str = ''

    @property
    def link(self) -> str:
        """Name of the link."""
        return self.prefix + self.kind


def segments(p: Proportions, model: str) -> Iterator[Segment]:
    """Yield every body link but base_link (the pelvis, at the hips' middle), parents first."""
    h = p.height
    yield Segment('lumbar', 'base_link', (_LUMBAR_DEPTH * h, 0.0, p.pelvis))
    yield Segment('torso', 'lumbar', ((_THORAX_DEPTH - _LUMBAR_DEPTH) * h, 0.0, p.lumbar))
    yield Segment('neck', 'torso', ((_NECK_DEPTH - _THORAX_DEPTH) * h, 0.0, p.thorax))
    yield Segment('head', 'neck', ((_HEAD_DEPTH - _NECK_DEPTH) * h, 0.0, p.neck))
    for segment in _left_segments(p):
        if model == 'full' or segment.kind not in _LEGS:
            yield segment
            yield replace(
                segment, prefix='r_', parent=_other_side(segment), origin=mirrored(segment.origin)
            )


def _left_segments(p: Proportions) -> tuple[Segment, ...]:
    h = p.height
    sternum = (
        (_STERNUM_DEPTH - _THORAX_DEPTH) * h,
        _STERNUM_HALF_WIDTH * h,
        p.thorax - p.shoulder_drop + _STERNUM_ABOVE_SHOULDER * h,
    )
    return (
        Segment('clavicle', 'torso', sternum, 'l_'),
        Segment('upper_arm', 'l_clavicle', shoulder_in_clavicle(p), 'l_'),
        Segment('forearm', 'l_upper_arm', (0.0, 0.0, -p.upper_arm), 'l_'),
        Segment('wrist', 'l_forearm', (0.0, 0.0, -p.forearm), 'l_'),
        Segment('thigh', 'base_link', (0.0, p.hip_half_width, 0.0), 'l_'),
        Segment('shin', 'l_thigh', (0.0, 0.0, -p.thigh), 'l_'),
        Segment('ankle', 'l_shin', (0.0, 0.0, -p.shin), 'l_'),
    )


def frames(p: Proportions, model: str) -> Iterator[Frame]:
    """
    Yield the named places of REP-120.

    gaze: between the eyes, x forward. gripper: the centre of what the hand grasps, x along the
    fingers, z to the thumb (x forward and z up when the elbow is bent by 90 deg). sole: on the
    ground under the ankle, x forward. toe: on the ground under the ball of the foot.
    """
    yield Frame('gaze', 'head', (p.eye_depth, 0.0, p.eye_height))
    grip = (0.0, -_GRIP_BEFORE_PALM * p.height, -_GRIP_ALONG_HAND * p.hand)
    ball = ((_BALL_BEFORE_HEEL - _HEEL_BEHIND_ANKLE) * p.foot_length, 0.0, -p.ankle_height)
    left = [Frame('gripper', 'l_wrist', grip, (0.0, math.pi / 2.0, 0.0), 'l_')]
    if model == 'full':
        left.append(Frame('sole', 'l_ankle', (0.0, 0.0, -p.ankle_height), prefix='l_'))
        left.append(Frame('toe', 'l_ankle', ball, prefix='l_'))
    for frame in left:
        yield frame
        yield replace(frame, prefix='r_', parent=_other_side(frame), origin=mirrored(frame.origin))


def shoulder_in_clavicle(p: Proportions) -> Vector:
    """Return the left shoulder joint in the clavicle's axes [m]."""
    return (
        (_SHOULDER_DEPTH - _STERNUM_DEPTH) * p.height,
        p.shoulder_half_width - _STERNUM_HALF_WIDTH * p.height,
        -_STERNUM_ABOVE_SHOULDER * p.height,
    )


def heel_behind_ankle(p: Proportions) -> float:
    """Return how far the heel reaches behind the ankle joint [m]."""
    return _HEEL_BEHIND_ANKLE * p.foot_length


def mirrored(point: Vector) -> Vector:
    """Return the point across the body's middle plane."""
    return point[0], -point[1], point[2]


def mirrored_axis(axis: Vector) -> Vector:
    """Return the axis about which equal turns mirror those about `axis`."""
    return -axis[0], axis[1], -axis[2]


def _other_side(item: Segment | Frame) -> str:
    return 'r_' + item.parent[2:] if item.parent.startswith('l_') else item.parent
