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

"""The parameters of the nodes: defaults, units, ranges and choices in one place."""

from dataclasses import dataclass

from vr_ik import registry
from vr_ik.config_fields import bad_value, Config, describe, from_mapping, param, replace

__all__ = [
    'describe',
    'from_mapping',
    'MODELS',
    'replace',
    'ROLES',
    'SolverConfig',
    'TrackerConfig',
]

ROLES = (
    'hmd',
    'l_controller',
    'r_controller',
    'waist',
    'chest',
    'l_foot',
    'r_foot',
    'l_elbow',
    'r_elbow',
    'l_knee',
    'r_knee',
    'l_shoulder',
    'r_shoulder',
)
"""Frame names of tracked devices, by the place where the user wears or holds them."""

MODELS = ('full', 'upper')
"""Human models: the whole body, or pelvis and above."""


def _check_frames(world_frame: str, frame_prefix: str) -> None:
    """Refuse frame names that tf2 does not take: empty, with a leading slash or with spaces."""
    for name, value in (('world_frame', world_frame), ('frame_prefix', frame_prefix)):
        if value.startswith('/') or value != ''.join(value.split()):
            raise bad_value(name, value, "it must not begin with '/' nor contain spaces")
    if not world_frame:
        raise bad_value('world_frame', world_frame, 'it must not be empty')


def _solver_names() -> tuple[str, ...]:
    return registry.names(registry.SOLVERS)


def _tracker_names() -> tuple[str, ...]:
    return registry.names(registry.TRACKERS)


@dataclass(frozen=True)
class TrackerConfig(Config):
    """Parameters of the tracker node."""

    backend: str = param(
        'simulated', 'Tracking source: a plug-in of vr_ik.trackers.', choices=_tracker_names
    )
    rate_hz: float = param(
        120.0, 'Tracking frames read and published.', '1/s', minimum=1.0, maximum=250.0
    )
    world_frame: str = param(
        'vr_world', 'Parent frame of all devices (x forward, y left, z up).', read_only=True
    )
    frame_prefix: str = param(
        '', "Put before every device's frame, for several users: 'operator/'.", read_only=True
    )
    user_height_m: float = param(
        1.75, 'Height of the simulated user.', 'm', minimum=1.0, maximum=2.3
    )
    seed: int = param(
        1, "Seed of the simulated user's noise, dropouts and glitches.", minimum=0, maximum=2**31
    )
    position_noise_mm: float = param(
        0.5, 'Simulated noise of positions (standard deviation).', 'mm', minimum=0.0, maximum=50.0
    )
    rotation_noise_deg: float = param(
        0.1, 'Simulated noise of rotations (standard deviation).', 'deg', minimum=0.0, maximum=20.0
    )
    dropouts_per_minute: float = param(
        4.0, 'Short simulated losses of one device.', '1/min', minimum=0.0, maximum=600.0
    )
    glitches_per_minute: float = param(
        4.0, 'Simulated jumps of one device for a frame.', '1/min', minimum=0.0, maximum=600.0
    )
    origin_s: float = param(
        0.0,
        'Time stamp at which the simulated motion starts; 0 is the first frame.',
        's',
        minimum=0.0,
        maximum=1e10,
    )

    def __post_init__(self) -> None:
        """Check every value and the frame names."""
        super().__post_init__()
        _check_frames(self.world_frame, self.frame_prefix)


@dataclass(frozen=True)
class SolverConfig(Config):
    """Parameters of the solver node."""

    model: str = param('full', 'Human model to solve for.', choices=MODELS)
    user_height_m: float = param(1.75, "The user's height.", 'm', minimum=1.0, maximum=2.3)
    arm_span_m: float = param(
        0.0,
        "The user's arm span, finger tip to finger tip; 0 takes it from the height.",
        'm',
        minimum=0.0,
        maximum=2.8,
    )
    trackers: tuple[str, ...] = param(ROLES, 'Devices to follow, where present.', choices=ROLES)
    solver: str = param('lm', 'Solver: a plug-in of vr_ik.solvers.', choices=_solver_names)
    max_iterations: int = param(20, 'Iterations per frame at most.', minimum=1, maximum=1000)
    position_tolerance_mm: float = param(
        10.0, 'Position error at which a device counts as met.', 'mm', minimum=1e-6, maximum=100.0
    )
    orientation_tolerance_deg: float = param(
        3.0, 'Rotation error at which a device counts as met.', 'deg', minimum=1e-6, maximum=90.0
    )
    position_weight: float = param(
        1.0, 'Weight of squared position errors.', '1/m^2', minimum=0.0, maximum=1e6
    )
    orientation_weight: float = param(
        0.1, 'Weight of squared rotation errors.', '1/rad^2', minimum=0.0, maximum=1e6
    )
    posture_weight: float = param(
        1e-4, 'Weight of the pull to a natural posture.', '1/rad^2', minimum=0.0, maximum=1e3
    )
    gap_hold_s: float = param(
        0.25,
        'How long a lost device is bridged before it is let go.',
        's',
        minimum=0.0,
        maximum=5.0,
    )
    glitch_speed_m_s: float = param(
        15.0, 'Speed above which a pose is taken for a glitch.', 'm/s', minimum=0.1, maximum=1e3
    )
    glitch_turn_deg_s: float = param(
        3000.0, 'Turn rate above which it is one.', 'deg/s', minimum=10.0, maximum=1e6
    )
    glitch_hold_s: float = param(
        0.1, 'How long a jump must last to be believed.', 's', minimum=0.0, maximum=5.0
    )
    world_frame: str = param(
        'vr_world', 'Parent frame of the devices and of the body.', read_only=True
    )
    frame_prefix: str = param(
        '',
        "Put before every frame of devices and body, for several users: 'operator/'.",
        read_only=True,
    )

    def __post_init__(self) -> None:
        """Check every value, the frame names, and the arm span against the height."""
        super().__post_init__()
        _check_frames(self.world_frame, self.frame_prefix)
        if self.arm_span_m and not 0.7 < self.arm_span_m / self.user_height_m < 1.3:
            raise bad_value(
                'arm_span_m', self.arm_span_m, 'it must be 0 or 0.7 to 1.3 of the height'
            )
