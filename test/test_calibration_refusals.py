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

"""Poses in which nobody can be calibrated are refused with the reason."""

import math

from calibration_support import devices, ROLES
import numpy as np
import pytest

from vr_ik.body.human import T_POSE
from vr_ik.calibration.t_pose import calibrate_standing
from vr_ik.errors import CalibrationError
from vr_ik.math.rotations import pose, rotation_from_rpy
from vr_ik.trackers.simulated_user import SimulatedUser


@pytest.mark.parametrize(
    ('change', 'reason'),
    [
        (lambda p: p.pop('hmd'), 'hmd is not tracked'),
        (lambda p: p['l_controller'].__setitem__((2, 3), 0.9), 'One arm is higher'),
        (lambda p: p['waist'].__setitem__((0, 3), np.nan), 'waist has no valid pose'),
        (lambda p: p['hmd'].__setitem__((2, 3), 0.4), 'above the floor'),
        (
            lambda p: p.update(l_controller=p['r_controller'], r_controller=p['l_controller']),
            'hea',
        ),
    ],
)
def test_bad_poses_are_refused_with_the_reason(change, reason):
    poses = devices()
    change(poses)
    with pytest.raises(CalibrationError, match=reason):
        calibrate_standing(poses)


def standing_with(joints, pitch=0.0):
    """Return the devices of somebody in a T-pose who has these joints [rad] so besides."""
    user = SimulatedUser(1.75)
    q = user.model.configuration({**T_POSE, **joints})
    q[3:7] = (0.0, math.sin(0.5 * pitch), 0.0, math.cos(0.5 * pitch))
    q[2] -= user.model.link_poses(q)[:, 2, 3].min()
    return dict(zip(ROLES, user.device_poses(q, ROLES), strict=True))


@pytest.mark.parametrize(
    ('joints', 'pitch', 'reason'),
    [
        ({'hip_flexion': 0.7}, 0.7, 'bent forward|look straight'),
        ({'hip_flexion': 0.7, 'neck_flexion': -0.7}, 0.7, 'bent forward'),
        ({'hip_flexion': 1.25, 'knee_flexion': 1.57, 'ankle_dorsiflexion': 0.3}, 0.0, 'legs are'),
        ({'hip_flexion': 1.57, 'knee_flexion': 1.57}, 0.0, 'legs are bent'),
        ({'neck_flexion': 0.7}, 0.0, 'look straight'),
        ({'neck_axial': 0.7}, 0.0, 'look straight'),
    ],
)
def test_who_does_not_stand_upright_is_refused(joints, pitch, reason):
    legs = ('hip', 'knee', 'ankle')
    both = {
        name: angle
        for joint, angle in joints.items()
        for name in ([f'l_{joint}', f'r_{joint}'] if joint.startswith(legs) else [joint])
    }
    with pytest.raises(CalibrationError, match=reason):
        calibrate_standing(standing_with(both, pitch))


@pytest.mark.parametrize('slant_deg', [80.0, -40.0])
def test_arms_that_hang_or_reach_up_are_refused(slant_deg):
    with pytest.raises(CalibrationError, match='arms|hands'):
        calibrate_standing(devices(slant_deg=slant_deg))


@pytest.mark.parametrize(
    ('moved', 'reason'),
    [
        ({'l_controller': (0, -0.35, 0), 'r_controller': (0, 0.35, 0)}, 'arms are short'),
        ({'l_controller': (0.4, -0.1, 0), 'r_controller': (0.4, 0.1, 0)}, 'before the body'),
        ({'l_controller': (0, -0.4, 0)}, 'farther out'),
        ({'waist': (1.0, 0, 0)}, 'waist is 0.9'),
        ({'l_foot': (0, -0.3, 0), 'r_foot': (0, 0.3, 0)}, 'l_foot is to the right of r_foot'),
        ({role: (0, 0, -0.45) for role in ROLES if 'foot' not in role}, 'stand upright'),
        (dict.fromkeys(ROLES[:3], (0, 0, -0.45)), 'stand upright'),
    ],
    ids=['bent', 'forward', 'one bent', 'on a chair', 'swapped', 'kneeling', 'sitting'],
)
def test_what_no_body_can_be_is_refused(moved, reason):
    poses = devices(roles=tuple(moved) if len(moved) == 3 else ROLES)
    for role, way in moved.items():
        poses[role][:3, 3] += way
    with pytest.raises(CalibrationError, match=reason):
        calibrate_standing(poses)


def turned_trunk(deg, roles):
    """Head and arms of who stands in a T-pose are turned against all else."""
    poses = devices(roles=roles)
    turn = pose(rotation_from_rpy(0.0, 0.0, math.radians(deg)), np.zeros(3))
    return {role: turn @ at if role in ROLES[:3] else at for role, at in poses.items()}


@pytest.mark.parametrize('deg', [-60.0, -35.0, 35.0, 60.0])
@pytest.mark.parametrize('part', ['foot', 'knee'])
def test_a_trunk_turned_against_the_legs_is_refused(deg, part):
    roles = (*ROLES[:4], f'l_{part}', f'r_{part}')
    with pytest.raises(CalibrationError, match=f'turned by {abs(deg):.0f} deg against l_{part}'):
        calibrate_standing(turned_trunk(deg, roles))


@pytest.mark.parametrize('deg', [-15.0, 15.0])
def test_who_turns_the_trunk_a_little_or_sets_a_foot_forward_is_measured(deg):
    calibrate_standing(turned_trunk(deg, ROLES))
    poses = devices()
    poses['l_foot'][0, 3] += 0.05
    calibrate_standing(poses)
    # Who stands with legs apart is turned by little, though one foot is well ahead.
    apart = devices()
    apart['l_foot'][:2, 3] += (0.10, 0.15)
    apart['r_foot'][:2, 3] += (0.0, -0.15)
    calibrate_standing(apart)


def test_a_headset_upside_down_is_refused():
    poses = devices()
    poses['hmd'][:3, 1:3] *= -1.0
    with pytest.raises(CalibrationError, match='look forward'):
        calibrate_standing(poses)
