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

"""A simulated person: a scripted motion of the human model as a pure function of time."""

from dataclasses import dataclass
import math

import numpy as np

from vr_ik.body.anthropometry import Proportions
from vr_ik.body.human import human_urdf
from vr_ik.body.mounts import device_mounts
from vr_ik.body.shoulder import shoulder_angles
from vr_ik.kinematics.model import RobotModel
from vr_ik.types import Array

Angles = dict[str, float]
Direction = tuple[float, float, float]


@dataclass(frozen=True)
class Key:
    """A posture and how long it takes to get there from the one before."""

    seconds: float
    angles: Angles
    yaw: float = 0.0
    """Heading of the pelvis [rad], left positive."""
    grip: float = 0.0
    """Of the right controller, on the way to the posture, from 0 to 1; so is the trigger."""
    trigger: float = 0.0
    menu: bool = False
    """Whether its menu button is pressed on the way."""


def _arm(
    side: str, upper_arm: Direction, bend: Direction, elbow_deg: float, twist_deg: float = 0.0
) -> Angles:
    """Return an arm's angles; directions are forward, outward, up, as `shoulder_angles` says."""
    flexion, abduction, rotation = shoulder_angles(upper_arm, bend)
    return {
        f'{side}_shoulder_flexion': flexion,
        f'{side}_shoulder_abduction': abduction,
        f'{side}_shoulder_rotation': rotation,
        f'{side}_elbow_flexion': math.radians(elbow_deg),
        f'{side}_forearm_twist': math.radians(0.5 * twist_deg),
        f'{side}_wrist_twist': math.radians(0.5 * twist_deg),
    }


def _degrees(**angles: float) -> Angles:
    return {name: math.radians(value) for name, value in angles.items()}


def _both(**angles: float) -> Angles:
    """Return the same angles [deg] for the left and the right joint of each pair."""
    return _degrees(**{f'{s}_{name}': value for name, value in angles.items() for s in 'lr'})


def _arms(
    upper_arm: Direction, bend: Direction, elbow_deg: float, twist_deg: float = 0.0
) -> Angles:
    return {
        **_arm('l', upper_arm, bend, elbow_deg, twist_deg),
        **_arm('r', upper_arm, bend, elbow_deg, twist_deg),
    }


_T_POSE = _arms((0, 1, 0), (1, 0, 0), 2)
_STAND = _arms((0.1, 0.2, -1), (1, -0.3, 0), 20)
_GUARD = {
    **_arms((0.5, 0.4, -0.9), (0.6, -0.5, 0.7), 115),
    **_degrees(lumbar_flexion=8, thorax_flexion=6),
    **_both(knee_flexion=20, hip_flexion=16, ankle_dorsiflexion=8),
}


def _wave(lean_deg: float, elbow_deg: float) -> Key:
    arm = _arm('r', (0.2, 1, 0.15), (0.1, 0.2, 1), elbow_deg, 20)
    return Key(0.3, {**_STAND, **arm, **_degrees(head_axial=-15, thorax_lateral=lean_deg)})


def _punch(side: str) -> list[Key]:
    turn = 25.0 if side == 'r' else -25.0
    arm = _arm(side, (1, -0.15, 0.05), (0, -0.4, 1), 12, -40)
    reach = _degrees(
        **{f'{side}_clavicle_protraction': 20, 'thorax_axial': turn, 'lumbar_axial': turn / 3}
    )
    return [Key(0.25, {**_GUARD, **arm, **reach}), Key(0.3, _GUARD)]


def _reach() -> list[Key]:
    high = {
        **_STAND,
        **_arm('l', (0.3, 0.3, 1), (1, 0, -0.3), 15, 30),
        **_degrees(l_clavicle_elevation=25, thorax_lateral=-10, neck_flexion=-20, thorax_axial=8),
    }
    low = {
        **_STAND,
        **_arm('r', (0.9, -0.1, -0.6), (0, -0.3, 1), 15, 40),
        **_degrees(lumbar_flexion=35, thorax_flexion=25, thorax_axial=15, neck_flexion=-25),
        **_both(hip_flexion=35, knee_flexion=25, ankle_dorsiflexion=10),
    }
    across = {
        **_STAND,
        **_arm('r', (0.8, -0.6, 0.1), (0, -1, 0.3), 35, 10),
        **_degrees(thorax_axial=20, r_clavicle_protraction=15, head_axial=20),
    }
    return [Key(0.9, high), Key(1.0, low), Key(0.9, across)]


def _squat() -> list[Key]:
    down = {
        **_arms((1, 0.1, -0.1), (0, 0, 1), 10, 60),
        **_both(hip_flexion=95, knee_flexion=110, ankle_dorsiflexion=30, hip_abduction=12),
        **_degrees(lumbar_flexion=15, thorax_flexion=10, neck_flexion=-20),
    }
    return [Key(1.0, down), Key(0.9, _STAND)]


def _step(lifted: str, yaw: float) -> Key:
    """Lift one knee, the other arm swinging forward."""
    other = 'r' if lifted == 'l' else 'l'
    return Key(
        0.45,
        {
            **_arm(other, (0.6, 0.15, -1), (1, -0.2, 0.4), 45),
            **_arm(lifted, (-0.35, 0.2, -1), (1, -0.2, 0), 25),
            **_degrees(
                **{
                    f'{lifted}_hip_flexion': 55,
                    f'{lifted}_knee_flexion': 70,
                    f'{lifted}_ankle_dorsiflexion': 5,
                    f'{other}_knee_flexion': 5,
                    f'{other}_hip_flexion': 3,
                    'thorax_axial': 6 if lifted == 'r' else -6,
                }
            ),
        },
        yaw,
    )


def _script() -> list[Key]:
    """Return one round of 18.6 s: it starts in the T-pose and ends where it started.

    The T-pose at its end is held for so long that somebody can call for a calibration.
    """
    half = math.pi
    keys = [Key(0.8, _T_POSE), Key(0.8, _T_POSE), Key(0.8, _STAND)]
    keys += [_wave(2, 95), _wave(-2, 60), _wave(2, 95), _wave(-2, 60)]
    keys += [*_reach(), Key(0.6, _GUARD), *_punch('r'), *_punch('l'), *_punch('r')]
    keys += [*_squat()]
    keys += [_step(side, 0.0) for side in 'lrlr']
    keys += [_step(side, half * (i + 1) / 4) for i, side in enumerate('lrlr')]
    keys += [Key(0.6, _STAND, half)]
    keys += [_step(side, half + half * (i + 1) / 4) for i, side in enumerate('lrlr')]
    return [*keys, Key(0.8, _T_POSE, 2.0 * half), Key(2.0, _T_POSE, 2.0 * half)]


def _lead(
    upper_arm: Direction,
    elbow_deg: float,
    twist_deg: float = 0.0,
    grip: float = 1.0,
    trigger: float = 0.0,
) -> Key:
    """Bring the right hand somewhere in front of the body."""
    arm = _arm('r', upper_arm, (0.6, -0.2, 0.8), elbow_deg, twist_deg)
    return Key(0.9, {**_STAND, **arm}, grip=grip, trigger=trigger)


def _teleoperation() -> list[Key]:
    """Return one round of about 16 s: the right hand leads a robot, grip pressed, twice."""
    ready = Key(0.8, _lead((0.2, 0.2, -1.0), 90).angles)
    enable = Key(0.3, ready.angles, menu=True)
    first = [
        Key(0.4, ready.angles, grip=1.0),
        _lead((0.7, 0.2, -1.0), 75),
        _lead((0.6, 0.5, -1.0), 95, 25),
        _lead((0.3, 0.5, -1.0), 100, trigger=1.0),
        _lead((0.3, 0.0, -1.0), 105, -20, trigger=1.0),
        _lead((0.6, -0.1, -1.0), 85),
        _lead((0.4, 0.1, -1.0), 95),
        _lead((0.4, 0.1, -1.0), 95),
    ]
    # Lets go, comes back, and goes on from where the robot is.
    between = [
        Key(0.4, first[-1].angles),
        _lead((0.2, 0.3, -1.0), 85, grip=0.0),
        Key(0.3, ready.angles, menu=True),  # once more, for those who did not hear it before
    ]
    second = [
        Key(0.4, ready.angles, grip=1.0),
        _lead((0.5, 0.3, -1.0), 105, trigger=1.0),
        _lead((0.2, 0.3, -1.0), 75, trigger=1.0),
        _lead((0.5, 0.0, -1.0), 85, 20),
        _lead((0.2, 0.2, -1.0), 90),
        _lead((0.2, 0.2, -1.0), 90),
        Key(0.5, ready.angles),
    ]
    return [ready, enable, *first, *between, *second]


MOTIONS = {'exercise': _script, 'teleoperation': _teleoperation}
"""What simulated users do."""


class SimulatedUser:
    """A person of given height who goes through a script over and over.

    The soles are on the ground (z = 0), the pelvis is over the origin, and the person looks along
    x at the start of a round.
    """

    def __init__(self, height_m: float, motion: str = 'exercise') -> None:
        """Make the body and its postures; `motion` is one of `MOTIONS`."""
        self.proportions = Proportions.from_height(height_m)
        self.model = RobotModel.from_urdf(human_urdf(self.proportions), floating_base=True)
        self.mounts = device_mounts(self.proportions)
        self._keys = keys = MOTIONS[motion]()
        self._times = np.cumsum([0.0, *(key.seconds for key in keys[1:])])
        self._yaws = np.array([key.yaw for key in keys])
        self._postures = np.array([self._joints(key.angles) for key in keys])
        self._soles = [self.model.link_index(link) for link in ('l_sole', 'r_sole')]

    @property
    def round_s(self) -> float:
        """How long one round takes [s]."""
        return float(self._times[-1])

    def hands_at(self, time_s: float) -> Key:
        """Return the key whose grip, trigger and menu button hold at a time.

        Before the start nothing is pressed: a button counts that was seen released before.
        """
        if time_s < 0.0:
            return Key(0.0, self._keys[0].angles)
        time_s %= self.round_s
        return self._keys[int(np.searchsorted(self._times, time_s, side='right'))]

    def q_at(self, time_s: float) -> Array:
        """Return the configuration of the model at a time since the start; smooth in time."""
        time_s = max(time_s, 0.0) % self.round_s
        after = int(np.searchsorted(self._times, time_s, side='right'))
        before = after - 1
        u = (time_s - self._times[before]) / (self._times[after] - self._times[before])
        blend = u**3 * (10.0 - 15.0 * u + 6.0 * u * u)
        q = self.model.neutral()
        q[7:] = self._postures[before] + blend * (self._postures[after] - self._postures[before])
        yaw = self._yaws[before] + blend * (self._yaws[after] - self._yaws[before])
        q[3:7] = (0.0, 0.0, math.sin(0.5 * yaw), math.cos(0.5 * yaw))
        q[2] -= self.model.link_poses(q)[self._soles, 2, 3].min()
        return q

    def device_poses(self, q: Array, roles: tuple[str, ...]) -> Array:
        """Return pose_world_from_device (n, 4, 4) of devices worn at their nominal mounts."""
        links = self.model.link_poses(q)
        return np.array(
            [
                links[self.model.link_index(self.mounts[role].link)]
                @ self.mounts[role].pose_link_from_device
                for role in roles
            ]
        )

    def _joints(self, angles: Angles) -> Array:
        return self.model.clamp(self.model.configuration(angles))[7:]
