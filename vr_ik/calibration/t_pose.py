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

"""Calibration from one pose: lengths of the body, the floor, and each device's offset to its link.

The user stands upright, looks ahead and stretches both arms sideways: level (T-pose) or slanting
down (A-pose). Which of the two it is shows in the hands' height.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
import math

import numpy as np

from vr_ik.body.anthropometry import HEIGHT_RANGE_M, Proportions
from vr_ik.body.human import human_urdf, T_POSE
from vr_ik.body.joints import JOINTS
from vr_ik.body.mounts import Mount
from vr_ik.body.shoulder import shoulder_angles
from vr_ik.calibration.calibration import Calibration
from vr_ik.errors import CalibrationError
from vr_ik.kinematics.model import RobotModel
from vr_ik.math.rotations import inverse_pose, pose
from vr_ik.types import Array

NEEDED = ('hmd', 'l_controller', 'r_controller')
"""Devices without which nobody can be measured."""
# Shares of the height: the eyes, the shoulder joints, and the distance of two held controllers.
_EYES = 0.934
_SHOULDERS = 0.800
_CONTROLLER_SPAN = 0.932
# From the wrist to the origin of a held controller, as a share of the hand.
_GRIP = 0.56
# What speaks for a height and a floor, with its standard deviation [m, or share of the height]:
# the floor as the tracking system has it, the arm span, the hands in a T-pose, the feet's devices.
_FLOOR_SD_M = 0.08
_SPAN_SD = 0.035
_HANDS_SD_M = 0.05
_FOOT_DEVICE_M, _FOOT_DEVICE_SD_M = 0.09, 0.06
_FLOORS_M = np.arange(-0.2, 0.3, 0.005)

_LEVEL = math.radians(15.0)
_SLANTING = (math.radians(25.0), math.radians(70.0))
_UNEVEN = math.radians(15.0)
_MAX_HEAD_TURN = math.radians(30.0)
_MIN_SPAN_M = 0.5
# What can be no T-pose or A-pose: the head this far from the middle of the hands, arms that are so
# much shorter or longer than the average body's of that height, devices so far from their bone.
_HEAD_ASIDE_M = 0.15
_HEAD_AHEAD_M = (-0.08, 0.27)
_ARM_RANGE = (0.75, 1.22)
_FARTHEST_M = 0.35
# A line of feet or knees that is turned so far against that of the hands, and one of them so far
# ahead of the other. People who stand well are within 8 deg.
_TURNED = math.radians(25.0)
_ONE_AHEAD_M = 0.06
# A head so far ahead of the waist is bent down (of 70 who stood it was within 0.31 m). One that is
# so low above the feet, as a share of the height that the arm span tells of, while the legs are so
# short against the trunk, is that of a squat; low belts, or trackers on the shank, alone are none.
_BENT_M = 0.42
_LOW_HEAD, _SHORT_LEGS = 0.77, 1.3
# Trackers farther out on a stretched arm sit on the forearm: the average body's elbow is at 0.51,
# less a centimetre or two for those that are strapped right below it.
_ELBOW_ALONG_ARM = 0.49
# A device that is hardly nearer to one bone than to another may be on either.
_AS_NEAR_M = 0.03

# Devices by the part of the body that they are worn on: links whose bones may carry them, each
# with the link at its far end. Of two that are as near the first is taken.
_SEGMENTS: Mapping[str, tuple[tuple[str, str], ...]] = {
    'hmd': (('head', 'gaze'),),
    'waist': (('base_link', 'lumbar'),),
    'chest': (('torso', 'neck'),),
    'controller': (('wrist', 'gripper'),),
    'shoulder': (('clavicle', 'upper_arm'),),
    'elbow': (('forearm', 'wrist'), ('upper_arm', 'forearm')),
    'knee': (('thigh', 'shin'), ('shin', 'ankle')),
    'foot': (('ankle', 'toe'), ('shin', 'ankle')),
}


@dataclass(frozen=True)
class _Stance:
    """How the user stands: directions, arms and height."""

    left: Array
    """Unit vector, level."""
    slant: float
    """Of the arms below level [rad]; 0 in the T-pose."""
    height_m: float
    floor_m: float


def calibrate_standing(
    poses: Mapping[str, Array], held_out: Mapping[str, Array] | None = None
) -> Calibration:
    """Return the calibration of a user in a T-pose or A-pose, from pose_world_from_device.

    The headset and both controllers must be there; other devices get their offsets. Devices that
    are `held_out` get offsets, too, and say nothing about the body. Raises `CalibrationError` with
    the reason where the pose is none to calibrate from.
    """
    stance = _stance(poses)
    proportions = _proportions(stance, poses)
    model = RobotModel.from_urdf(human_urdf(proportions), floating_base=True)
    placed = model.link_poses(_stand(model, proportions, poses, stance))
    links = dict(zip(model.link_names, placed, strict=True))
    mounts = {}
    devices = {**(held_out or {}), **poses}
    for role, device in devices.items():
        link, distance_m = _carrier(role, poses if role in poses else devices, links)
        if distance_m > _FARTHEST_M and role in poses:
            raise CalibrationError(
                f'{role} is {distance_m:.2f} m away from the body; is it worn, and by its name?'
            )
        mounts[role] = Mount(link, inverse_pose(links[link]) @ device)
    return Calibration(proportions, mounts, stance.floor_m)


def _stance(poses: Mapping[str, Array]) -> _Stance:
    """Measure the pose, or say why it is none to calibrate from."""
    for role in NEEDED:
        if role not in poses:
            raise CalibrationError(f'{role} is not tracked, or is not among the trackers in use.')
    for role, device in poses.items():
        if not np.isfinite(device).all():
            raise CalibrationError(f'{role} has no valid pose.')
    across = (poses['l_controller'] - poses['r_controller'])[:3, 3]
    span_m = float(np.linalg.norm(across[:2]))
    if span_m < _MIN_SPAN_M:
        raise CalibrationError(f'The hands are {span_m:.2f} m apart; stretch both arms sideways.')
    left = np.array([across[0], across[1], 0.0]) / span_m
    ahead = np.array([left[1], -left[0], 0.0])
    forward, up = poses['hmd'][:3, 0], poses['hmd'][:3, 2]
    if min(float(forward @ ahead), float(up[2])) < math.cos(_MAX_HEAD_TURN):
        raise CalibrationError(
            'The headset does not look straight ahead; look forward, with the left controller in '
            'the left hand.'
        )
    _check_sides(poses, left, ahead)
    slant = _slant(poses, span_m)
    _check_upright(poses, ahead, span_m if slant == 0.0 else None)
    floor_m = _floor(poses, span_m if slant == 0.0 else None)
    height_m = _in_range((float(poses['hmd'][2, 3]) - floor_m) / _EYES)
    return _Stance(left, slant, height_m, floor_m)


def _check_sides(poses: Mapping[str, Array], left: Array, ahead: Array) -> None:
    """Refuse hands that are not beside the head, and devices on the wrong side."""
    hands = 0.5 * (poses['l_controller'] + poses['r_controller'])[:3, 3]
    head = poses['hmd'][:3, 3] - hands
    if abs(float(head @ left)) > _HEAD_ASIDE_M:
        raise CalibrationError('One hand is farther out than the other; stretch both arms alike.')
    if not _HEAD_AHEAD_M[0] < float(head @ ahead) < _HEAD_AHEAD_M[1]:
        where = 'before' if float(head @ ahead) < 0.0 else 'behind'
        raise CalibrationError(f'The hands are {where} the body; stretch both arms sideways.')
    for role, device in poses.items():
        other = poses.get(f'r_{role[2:]}') if role[:2] == 'l_' else None
        if other is not None and float((device - other)[:3, 3] @ left) < 0.0:
            raise CalibrationError(f'l_{role[2:]} is to the right of r_{role[2:]}; exchange them.')
    for part in ('foot', 'knee'):
        if f'l_{part}' in poses and f'r_{part}' in poses:
            across = (poses[f'l_{part}'] - poses[f'r_{part}'])[:3, 3]
            _check_turn(part, float(across @ ahead), float(across @ left))


def _check_turn(part: str, ahead_m: float, aside_m: float) -> None:
    """Refuse a trunk that is turned against the legs: it would be taken for how devices sit."""
    turn = abs(math.atan2(ahead_m, aside_m))
    if turn > _TURNED and abs(ahead_m) > _ONE_AHEAD_M:
        raise CalibrationError(
            f'The arms are turned by {math.degrees(turn):.0f} deg against l_{part} and r_{part}; '
            'stand with the feet side by side, and do not turn the trunk.'
        )


def _check_upright(
    poses: Mapping[str, Array], ahead: Array, controller_span_m: float | None
) -> None:
    """Refuse who bows or squats, where waist and feet tell of it."""
    if 'waist' not in poses:
        return
    trunk = (poses['hmd'] - poses['waist'])[:3, 3]
    if float(trunk @ ahead) > _BENT_M:
        raise CalibrationError('The trunk is bent forward; stand upright.')
    feet = [poses[role] for role in ('l_foot', 'r_foot') if role in poses]
    if not feet or controller_span_m is None:
        return
    legs_m = float((poses['waist'] - np.mean(feet, axis=0))[2, 3])
    low_m = _LOW_HEAD * controller_span_m / _CONTROLLER_SPAN
    if legs_m + trunk[2] < low_m and legs_m < _SHORT_LEGS * trunk[2]:
        raise CalibrationError('The legs are bent; stand upright.')


def _slant(poses: Mapping[str, Array], span_m: float) -> float:
    """Return how far the arms point down [rad]: 0 for a T-pose; refuse what is no T and no A."""
    height_m = float(poses['hmd'][2, 3]) / _EYES
    average = Proportions.from_height(_in_range(height_m))
    out_m = max(0.5 * span_m - average.shoulder_half_width, 1e-3)
    slants = []
    for role in ('l_controller', 'r_controller'):
        # Below the eyes, whatever the floor: by this much are the shoulders.
        drop_m = float(poses['hmd'][2, 3] - poses[role][2, 3]) - (_EYES - _SHOULDERS) * height_m
        slants.append(math.atan2(drop_m, out_m))
    if abs(slants[0] - slants[1]) > 2.0 * _UNEVEN:
        raise CalibrationError('One arm is higher than the other; hold both arms alike.')
    slant = 0.5 * (slants[0] + slants[1])
    if abs(slant) <= _LEVEL:
        return 0.0
    if _SLANTING[0] <= slant <= _SLANTING[1]:
        return slant
    raise CalibrationError(
        f'The arms point {abs(math.degrees(slant)):.0f} deg {"down" if slant > 0.0 else "up"}; '
        'hold them level (T-pose) or 45 deg down (A-pose), elbows straight.'
    )


def _in_range(height_m: float) -> float:
    if not HEIGHT_RANGE_M[0] <= height_m <= HEIGHT_RANGE_M[1]:
        raise CalibrationError(
            f'The headset is {_EYES * height_m:.2f} m above the floor; stand upright, and check '
            'the floor of the tracking system.'
        )
    return height_m


def _floor(poses: Mapping[str, Array], controller_span_m: float | None) -> float:
    """Return the most likely height of the floor.

    Tracking systems are often wrong about it by centimetres. The evidence is weighed by a robust
    loss, so that long or short arms do not lift the floor.
    """
    heights = (float(poses['hmd'][2, 3]) - _FLOORS_M) / _EYES
    off = [_FLOORS_M / _FLOOR_SD_M]
    if controller_span_m is not None:
        off.append((controller_span_m / _CONTROLLER_SPAN - heights) / (_SPAN_SD * heights))
        hands_m = 0.5 * float(poses['l_controller'][2, 3] + poses['r_controller'][2, 3])
        off.append((hands_m - _FLOORS_M - _SHOULDERS * heights) / _HANDS_SD_M)
    feet_m = [float(poses[role][2, 3]) for role in ('l_foot', 'r_foot') if role in poses]
    if feet_m:
        off.append((np.mean(feet_m) - _FLOORS_M - _FOOT_DEVICE_M) / _FOOT_DEVICE_SD_M)
    loss = np.sum(np.sqrt(1.0 + np.array(off) ** 2), axis=0)
    best = int(np.argmin(loss))
    if best in (0, len(_FLOORS_M) - 1):
        raise CalibrationError(
            f'The headset is at {float(poses["hmd"][2, 3]):.2f} m, which does not go with the '
            'other devices; stand upright, and check the floor of the tracking system.'
        )
    return float(_FLOORS_M[best])


def _proportions(stance: _Stance, poses: Mapping[str, Array]) -> Proportions:
    """Return the body whose stretched arms bring the controllers where they are."""
    average = Proportions.from_height(stance.height_m)
    half_span_m = 0.5 * float((poses['l_controller'] - poses['r_controller'])[:3, 3] @ stance.left)
    out_m = half_span_m - average.shoulder_half_width
    arm = out_m / math.cos(stance.slant) - _GRIP * average.hand
    ratio = arm / (average.upper_arm + average.forearm)
    if not _ARM_RANGE[0] < ratio < _ARM_RANGE[1]:
        raise CalibrationError(
            f'The arms are {"short" if ratio < 1.0 else "long"} for a height of '
            f'{stance.height_m:.2f} m; stand upright, and stretch both arms, elbows straight.'
        )
    return replace(average, upper_arm=ratio * average.upper_arm, forearm=ratio * average.forearm)


def _stand(
    model: RobotModel, proportions: Proportions, poses: Mapping[str, Array], stance: _Stance
) -> Array:
    """Return the model in that stance, its shoulders between the hands, its soles on the floor."""
    up = np.array([0.0, 0.0, 1.0])
    turn = np.column_stack((np.cross(stance.left, up), stance.left, up))
    q = model.configuration(_arms(stance.slant), pose(turn, np.zeros(3)))
    shoulders = [model.link_pose(q, f'{side}_upper_arm')[:3, 3] for side in 'lr']
    hands = [poses[f'{side}_controller'][:3, 3] for side in 'lr']
    q[:2] = (np.mean(hands, axis=0) - np.mean(shoulders, axis=0))[:2]
    ankle = model.link_pose(q, 'l_ankle')[2, 3]
    q[2] = stance.floor_m + proportions.ankle_height - ankle
    return q


def _arms(slant: float) -> dict[str, float]:
    """Return the joint angles [rad] of straight arms, palms down, that point so far down."""
    if slant == 0.0:
        return T_POSE
    angles = shoulder_angles((0.0, math.cos(slant), -math.sin(slant)), (1.0, 0.0, 0.0))
    names = [spec.name for spec in JOINTS['upper_arm']]
    return {f'{side}_{name}': a for side in 'lr' for name, a in zip(names, angles, strict=True)}


def _carrier(
    role: str, devices: Mapping[str, Array], links: Mapping[str, Array]
) -> tuple[str, float]:
    """Return the link whose bone is nearest to where the device is strapped, and how near [m].

    What is worn on both sides is worn alike: where a device is as near to two bones, the one on
    the other side tells, too.
    """
    side, part = ('', role) if role in _SEGMENTS else (role[:2], role[2:])
    own = _bone_distances(devices[role][:3, 3], side, part, links)
    both = own
    other_side = {'l_': 'r_', 'r_': 'l_', '': ''}[side]
    other = devices.get(other_side + part)
    if other is not None and max(own.values()) - min(own.values()) < _AS_NEAR_M:
        across = _bone_distances(other[:3, 3], other_side, part, links)
        both = {link: own[link] + across[link] for link in own}
    nearest = min(both, key=lambda link: both[link])
    return side + nearest, own[nearest]


def _bone_distances(
    device: Array, side: str, part: str, links: Mapping[str, Array]
) -> dict[str, float]:
    """Return link -> distance [m] of a device from each bone that may carry it."""
    places = {link: at[:3, 3] for link, at in links.items()}
    if part == 'elbow':
        shoulder, wrist = places[f'{side}upper_arm'], places[f'{side}wrist']
        places[f'{side}forearm'] = shoulder + _ELBOW_ALONG_ARM * (wrist - shoulder)
    return {
        near: _distance(device, places[side + near], places[side + far])
        for near, far in _SEGMENTS[part]
    }


def _distance(point: Array, start: Array, end: Array) -> float:
    """Return the distance [m] of a point from the bone between two others."""
    bone = end - start
    along = float(np.clip((point - start) @ bone / (bone @ bone), 0.0, 1.0))
    # From the nearer end, so that two bones are as far from what is nearest to their joint.
    nearest = start + along * bone if along < 0.5 else end - (1.0 - along) * bone
    return float(np.linalg.norm(point - nearest))
