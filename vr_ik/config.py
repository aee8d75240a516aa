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
import math
from typing import Any

from vr_ik import registry
from vr_ik.body.anthropometry import ARM_SPAN_TO_HEIGHT_RANGE
from vr_ik.body.skeleton import MODELS
from vr_ik.config_fields import bad_value, Config, describe, from_mapping, param, replace
from vr_ik.config_texts import key_values, option_map
from vr_ik.errors import UnknownNameError

__all__ = [
    'describe',
    'from_mapping',
    'replace',
    'ROLES',
    'SolverConfig',
    'SPINES',
    'TrackerConfig',
    'UNIVERSES',
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

SPINES = ('natural', 'stiff', 'rigid')
"""How readily the joints of the spine leave their rest posture."""

HEADINGS = ('weighed', 'by_cases')

USER_MOTIONS = ('exercise', 'teleoperation')

_LARGEST_FACTOR = 1e3

UNIVERSES = ('seated', 'standing', 'raw')
"""Where OpenVR has the world's origin: at the seated zero pose, on the floor in the middle of the
play area, or wherever the driver has it; in the order of OpenVR's numbers."""


def _check_frames(world_frame: str, **others: str) -> None:
    """Refuse frame names that tf2 does not take: with a leading slash or with spaces."""
    for name, value in {'world_frame': world_frame, **others}.items():
        if value.startswith('/') or value != ''.join(value.split()):
            raise bad_value(name, value, "it must not begin with '/' nor contain spaces")
    if not world_frame:
        raise bad_value('world_frame', world_frame, 'it must not be empty')


def _solver_names() -> tuple[str, ...]:
    return registry.names(registry.SOLVERS)


def _tracker_names() -> tuple[str, ...]:
    return registry.names(registry.TRACKERS)


def _map_position(axis: str) -> Any:
    text = f"The map frame's {axis} in the world frame."
    return param(0.0, text, 'm', minimum=-1000.0, maximum=1000.0)


def _map_angle(axis: str) -> Any:
    text = f"The map frame's turn about the world frame's {axis}; x, y, z in this order."
    return param(0.0, text, 'deg', minimum=-180.0, maximum=180.0)


@dataclass(frozen=True)
class TrackerConfig(Config):
    """Parameters of the tracker node."""

    backend: str = param(
        'simulated', 'Tracking source: a plug-in of vr_ik.trackers.', choices=_tracker_names
    )
    backend_options: str = param(
        '', "For plug-ins of other packages, which say what they take: 'key=value, key=value'."
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
    universe: str = param(
        'standing', 'OpenVR: where the origin of the world is.', choices=UNIVERSES
    )
    prediction_s: float = param(
        0.0,
        'OpenVR: how far ahead poses are extrapolated; their stamps are as much later.',
        's',
        minimum=0.0,
        maximum=0.2,
    )
    roles: str = param(
        '',
        "OpenVR: places of trackers by serial, before SteamVR's own: 'LHR-1=waist, LHR-2=chest'.",
    )
    aliases: str = param(
        '', "OpenVR: frame names of devices that are not worn, by serial: 'LHR-3=tool'."
    )
    publish_poses: bool = param(False, 'Publish a PoseStamped of each device, too.')
    publish_twists: bool = param(False, 'Publish a TwistStamped of each device, too.')
    haptic_s: float = param(
        0.1, 'How long a device vibrates for one JoyFeedback.', 's', minimum=0.005, maximum=10.0
    )
    map_frame: str = param('', "Static child of the world frame, such as 'map'; empty: none.")
    map_x_m: float = _map_position('x')
    map_y_m: float = _map_position('y')
    map_z_m: float = _map_position('z')
    map_roll_deg: float = _map_angle('x')
    map_pitch_deg: float = _map_angle('y')
    map_yaw_deg: float = _map_angle('z')
    map_file: str = param(
        '',
        "Where the map frame is saved; empty: vr_ik/map.yaml in the user's configuration folder.",
    )
    user_height_m: float = param(
        1.75, 'Height of the simulated user.', 'm', minimum=1.0, maximum=2.3
    )
    motion: str = param('exercise', 'What the simulated user does.', choices=USER_MOTIONS)
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
        """Check every value, the frame names and the lists in texts."""
        super().__post_init__()
        _check_frames(self.world_frame, frame_prefix=self.frame_prefix, map_frame=self.map_frame)
        if self.map_frame == self.world_frame:
            raise bad_value('map_frame', self.map_frame, 'it must not be the world frame')
        for name in ('roles', 'backend_options'):
            key_values(name, getattr(self, name))
        for alias in key_values('aliases', self.aliases).values():
            if self.frame_prefix + alias in (self.world_frame, self.map_frame):
                valid = 'no alias may be the world frame or the map frame'
                raise bad_value('aliases', self.aliases, valid)


_LEAST_VIBRATION_HZ = 3.0


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
    user: str = param(
        '', "Whose calibration is loaded, instead of a size, and saved; empty: nobody's."
    )
    users_folder: str = param(
        '',
        "Where calibrations are kept; empty: vr_ik/users in the user's configuration folder.",
    )
    calibrate_by_triggers: bool = param(
        True, 'Calibrate when both triggers are held for a second, in a T-pose or A-pose.'
    )
    calibration_countdown_s: float = param(
        0.0, 'From a call of ~/calibrate to the measurement.', 's', minimum=0.0, maximum=60.0
    )
    refine_after_s: float = param(
        30.0,
        'Motion after a calibration that improves it, once; 0: never.',
        's',
        minimum=0.0,
        maximum=600.0,
    )
    trackers: tuple[str, ...] = param(ROLES, 'Devices to follow, where present.', choices=ROLES)
    device_weights: str = param(
        '', "Factors on the weights of single devices: 'waist=0.5, l_foot=2'."
    )
    heading: str = param(
        'weighed',
        'Where the trunk faces while nothing on it is tracked: by what head and hands tell, or by '
        'the cases of the literature.',
        choices=HEADINGS,
    )
    spine: str = param('natural', 'How the spine bends.', choices=SPINES)
    solver: str = param('body', 'Solver: a plug-in of vr_ik.solvers.', choices=_solver_names)
    max_iterations: int = param(20, 'Iterations per frame at most.', minimum=1, maximum=1000)
    position_tolerance_mm: float = param(
        10.0, 'Position error at which a device counts as met.', 'mm', minimum=1e-6, maximum=100.0
    )
    orientation_tolerance_deg: float = param(
        3.0, 'Rotation error at which a device counts as met.', 'deg', minimum=1e-6, maximum=90.0
    )
    solver_options: str = param(
        '',
        "Further options of the solver (docs/solvers.md): 'damping=0.2, ball_joints=euler'.",
    )
    position_weight: float = param(
        1.0, 'Weight of squared position errors.', '1/m^2', minimum=0.0, maximum=1e6
    )
    orientation_weight: float = param(
        0.3, 'Weight of squared rotation errors.', '1/rad^2', minimum=0.0, maximum=1e6
    )
    posture_weight: float = param(
        2e-5, 'Weight of the pull to a natural posture.', '1/rad^2', minimum=0.0, maximum=1e3
    )
    vibration_hz: float = param(
        10.0,
        'Frequency of the filter on device poses that keeps vibration out, 3 or more: half is '
        'left of what shakes at twice it. Lower is calmer, and off in quick motion. 0: no filter.',
        'Hz',
        minimum=0.0,
        maximum=100.0,
    )
    smoothing_hz: float = param(
        1.0,
        'Cut-off of the one-euro filter on device poses at rest; 0: no filter.',
        'Hz',
        minimum=0.0,
        maximum=100.0,
    )
    smoothing_position_gain: float = param(
        100.0,
        'Growth of the cut-off with speed; 100 lets positions lag by 1.6 mm at most, 50 by 3.2.',
        'Hz s/m',
        minimum=0.0,
        maximum=1e4,
    )
    smoothing_rotation_gain: float = param(
        50.0,
        'The same for rotations; 50 lets them lag by 0.18 deg at most.',
        'Hz s/rad',
        minimum=0.0,
        maximum=1e4,
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
        0.1,
        'How long a jump must last to be believed; 0: every pose is.',
        's',
        minimum=0.0,
        maximum=5.0,
    )
    world_frame: str = param(
        'vr_world', 'Parent frame of the devices and of the body.', read_only=True
    )
    frame_prefix: str = param(
        '',
        "Put before every frame of devices and body, for several users: 'operator/'.",
        read_only=True,
    )
    body_prefix: str = param(
        '',
        "Put before the body's frames, after frame_prefix, to tell it from another: 'replayed/'.",
        read_only=True,
    )
    publish_link_tf: bool = param(
        False,
        'Broadcast the frames of all links beside that of the root, in the same message: then '
        'nobody needs robot_state_publisher.',
    )

    def __post_init__(self) -> None:
        """Check every value, the frame names, the options, and the arm span for the height."""
        super().__post_init__()
        option_map('solver_options', self.solver_options)
        _check_frames(
            self.world_frame, frame_prefix=self.frame_prefix, body_prefix=self.body_prefix
        )
        if 0.0 < self.vibration_hz < _LEAST_VIBRATION_HZ:
            valid = f'it must be 0, or {_LEAST_VIBRATION_HZ:g} to 100 Hz; less is motion'
            raise bad_value('vibration_hz', self.vibration_hz, valid)
        shortest_m, longest_m = (r * self.user_height_m for r in ARM_SPAN_TO_HEIGHT_RANGE)
        if self.arm_span_m and not shortest_m <= self.arm_span_m <= longest_m:
            valid = f'it must be 0, or {shortest_m:.2f} to {longest_m:.2f} m at this height'
            raise bad_value('arm_span_m', self.arm_span_m, valid)
        self.weight_factors()

    def weight_factors(self) -> dict[str, float]:
        """Return role -> factor of `device_weights`."""
        factors = {}
        for role, text in key_values('device_weights', self.device_weights).items():
            if role not in ROLES:
                raise UnknownNameError('device in device_weights', role, ROLES)
            try:
                factors[role] = float(text)
            except ValueError:
                factors[role] = math.nan
            if not 0.0 <= factors[role] <= _LARGEST_FACTOR:
                valid = f'factors must be numbers from 0 to {_LARGEST_FACTOR:g}'
                raise bad_value('device_weights', f'{role}={text}', valid)
        return factors
