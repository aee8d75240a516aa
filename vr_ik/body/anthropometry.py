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

"""Body proportions from height and arm span, by published anthropometry."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
import math

from vr_ik.errors import ConfigError

HEIGHT_RANGE_M = (1.0, 2.3)
ARM_SPAN_TO_HEIGHT_RANGE = (0.85, 1.20)
SEGMENT_RANGE_M = (0.005, 0.9)

# Segment lengths as fractions of standing height, the mean of both sexes. Sources:
#   DC  Drillis and Contini 1966, as figure 4.1 of Winter, Biomechanics and Motor Control.
#   DL  de Leva 1996, J. Biomech. 29(9), table 4: lengths between joint centres over stature.
#   A2  ANSUR II, Gordon et al. 2014, NATICK/TR-15/007: mean of each measure over stature.
# Drillis and Contini's arms are not used: with them the span is 1.14 heights, where people
# measure 1.03 (their arm begins at the acromion, not at the shoulder's centre of rotation).
_FRACTION_OF_HEIGHT: Mapping[str, float] = {
    'ankle_height': 0.039,  # DC
    'shin': 0.246,  # DC
    'thigh': 0.245,  # DC; hip centres at 0.530
    'pelvis': 0.090,  # hip centres to L4: S1 lies 0.061 above them (Legaye 1998), L4 0.03 more
    'lumbar': 0.095,  # L4 to T11, the middles of lumbar and of lower thoracic bending
    'thorax': 0.140,  # T11 to C7/T1, just below the cervicale (0.860, A2)
    'neck': 0.054,  # C7/T1 to the atlas, which is 0.015 below the tragion (0.924, A2)
    'head': 0.091,  # the atlas to the vertex: what is left of 1
    'eye_height': 0.025,  # above the atlas; eyes at 0.934 (A2: sitting height less eye height)
    'eye_depth': 0.054,  # before the atlas: 85 mm tragion to pupil, 11 mm tragion to condyles
    'hip_half_width': 0.049,  # 0.36 of the distance between the ASIS (Bell 1990), 0.137 heights
    'shoulder_half_width': 0.097,  # half the biacromial breadth (0.231, A2) less 30 mm
    'shoulder_drop': 0.055,  # C7/T1 to the centres at 0.800: acromion (0.820, A2) less 0.020 (DL)
    'upper_arm': 0.158,  # DL 0.160; all three by 0.988, so that the span is 1.026 (A2)
    'forearm': 0.151,  # DL 0.153
    'hand': 0.107,  # DC 0.108, wrist to the tip of the middle finger
    'foot_length': 0.153,  # A2
}

_STACK = ('ankle_height', 'shin', 'thigh', 'pelvis', 'lumbar', 'thorax', 'neck', 'head')
_ARM = ('shoulder_half_width', 'upper_arm', 'forearm', 'hand')


@dataclass(frozen=True, slots=True)
class Proportions:
    """
    Segment lengths of one body [m]; replace single ones with `dataclasses.replace`.

    Height and arm span are sums of segments, so they stay consistent whatever is replaced.
    """

    ankle_height: float
    """Sole to ankle joint."""
    shin: float
    thigh: float
    pelvis: float
    """Hip joints to the lumbar joint, vertically; so for the next four."""
    lumbar: float
    thorax: float
    neck: float
    head: float
    """Head joint to the top of the head."""
    eye_height: float
    """Eyes above the head joint."""
    eye_depth: float
    """Eyes in front of the head joint."""
    hip_half_width: float
    """Middle of the body to a hip joint."""
    shoulder_half_width: float
    """Middle of the body to a shoulder joint."""
    shoulder_drop: float
    """Neck joint down to the shoulder joints."""
    upper_arm: float
    forearm: float
    hand: float
    """Wrist joint to the tip of the middle finger."""
    foot_length: float
    """Heel to toes."""

    def __post_init__(self) -> None:
        """Refuse lengths that no body has."""
        for item in fields(self):
            _check_range(f"length '{item.name}'", getattr(self, item.name), SEGMENT_RANGE_M, 'm')

    @classmethod
    def from_height(cls, height_m: float, arm_span_m: float | None = None) -> 'Proportions':
        """Return the average body of this height; a measured arm span stretches the arms."""
        _check_range('height', height_m, HEIGHT_RANGE_M, 'm')
        lengths = {name: share * height_m for name, share in _FRACTION_OF_HEIGHT.items()}
        if arm_span_m is not None:
            span_range_m = tuple(ratio * height_m for ratio in ARM_SPAN_TO_HEIGHT_RANGE)
            _check_range('arm span', arm_span_m, span_range_m, f'm at a height of {height_m:g} m')
            stretch = arm_span_m / (2.0 * sum(lengths[name] for name in _ARM))
            lengths.update({name: stretch * lengths[name] for name in _ARM})
        return cls(**lengths)

    @property
    def height(self) -> float:
        """Standing height, soles to the top of the head [m]."""
        return float(sum(getattr(self, name) for name in _STACK))

    @property
    def arm_span(self) -> float:
        """Fingertip to fingertip in the T-pose [m]."""
        return 2.0 * float(sum(getattr(self, name) for name in _ARM))

    @property
    def hip_height(self) -> float:
        """Soles to the hip joints, where base_link is, when standing [m]."""
        return self.ankle_height + self.shin + self.thigh

    @property
    def eyes_over_hips(self) -> float:
        """Hip joints to the eyes when standing [m]."""
        return self.height - self.hip_height - self.head + self.eye_height


def _check_range(what: str, value: float, bounds: tuple[float, ...], unit: str) -> None:
    lower, upper = bounds
    if not (math.isfinite(value) and lower <= value <= upper):
        raise ConfigError(f'The {what} is {value:g}; valid: {lower:.4g} to {upper:.4g} {unit}.')
