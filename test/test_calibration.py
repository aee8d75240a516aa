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

"""Calibration gives back the body that a simulated user stands with."""

from dataclasses import replace
import math

from calibration_support import devices, ROLES
import numpy as np
import pytest

from vr_ik.body.anthropometry import Proportions
from vr_ik.body.human import human_urdf, T_POSE
from vr_ik.body.mounts import Mount
from vr_ik.calibration.calibration import Calibration
from vr_ik.calibration.hold import calibrate_held, find_held, rarely_seen, remark_on
from vr_ik.calibration.refine import refine
from vr_ik.calibration.t_pose import calibrate_standing
from vr_ik.config import SolverConfig
from vr_ik.errors import CalibrationError
from vr_ik.kinematics.model import RobotModel
from vr_ik.math.rotations import pose, rotation_from_rpy
from vr_ik.pipeline import Pipeline
from vr_ik.types import TrackingFrame


@pytest.mark.parametrize('height', [1.5, 1.7, 1.9])
@pytest.mark.parametrize('slant_deg', [None, 45.0])
def test_the_height_of_who_stands_in_a_t_pose_or_a_pose_is_found(height, slant_deg):
    calibration = calibrate_standing(devices(height, slant_deg))
    assert calibration.proportions.height == pytest.approx(height, rel=0.035)
    assert abs(calibration.floor_m) < 0.05


def test_the_body_is_the_same_wherever_the_user_stands_and_looks():
    move = pose(rotation_from_rpy(0.0, 0.0, 2.0), np.array([3.0, -1.0, 0.0]))
    here, there = calibrate_standing(devices()), calibrate_standing(devices(move=move))
    assert here.proportions == pytest.approx(there.proportions) or np.allclose(
        [here.proportions.height, here.proportions.upper_arm],
        [there.proportions.height, there.proportions.upper_arm],
    )
    for role in ROLES:
        a, b = here.mounts[role], there.mounts[role]
        assert a.link == b.link
        assert np.allclose(a.pose_link_from_device, b.pose_link_from_device, atol=1e-9)


def test_a_floor_that_is_off_is_noticed():
    true = calibrate_standing(devices())
    off = calibrate_standing(devices(floor=0.15))
    assert off.floor_m - true.floor_m > 0.05
    assert abs(off.proportions.height - true.proportions.height) < 0.1


def test_devices_are_on_the_bone_that_they_are_strapped_to():
    poses = devices(roles=(*ROLES, 'l_elbow', 'r_knee'))
    calibration = calibrate_standing(poses)
    assert calibration.mounts['l_foot'].link == 'l_ankle'
    poses['l_foot'] = poses['l_foot'].copy()
    poses['l_foot'][:3, 3] += (-0.05, 0.0, 0.25)
    assert calibrate_standing(poses).mounts['l_foot'].link == 'l_shin'
    assert calibration.mounts['hmd'].link == 'head'


@pytest.mark.parametrize('side, other', ['lr', 'rl'])
def test_devices_of_a_pair_are_on_the_same_bone(side, other):
    """One that slid near to the shank is on the foot all the same, as the other one is."""
    poses = devices()
    poses[f'{side}_foot'][:3, 3] += (-0.06, 0.0, 0.05)
    alone = {role: device for role, device in poses.items() if role != f'{other}_foot'}
    assert calibrate_standing(alone).mounts[f'{side}_foot'].link == f'{side}_shin'
    both = calibrate_standing(poses).mounts
    assert (both['l_foot'].link, both['r_foot'].link) == ('l_ankle', 'r_ankle')


def test_a_pair_that_is_clearly_not_worn_alike_is_on_two_bones():
    poses = devices()
    poses['l_foot'][:3, 3] += (-0.05, 0.0, 0.25)
    mounts = calibrate_standing(poses).mounts
    assert (mounts['l_foot'].link, mounts['r_foot'].link) == ('l_shin', 'r_ankle')


def test_a_device_that_is_held_out_does_not_say_where_the_other_is():
    poses = devices()
    poses['l_foot'][:3, 3] += (-0.06, 0.0, 0.05)
    held_out = {'r_foot': poses.pop('r_foot')}
    assert calibrate_standing(poses, held_out).mounts['l_foot'].link == 'l_shin'


@pytest.mark.parametrize('height', [1.5, 1.7, 1.9])
def test_a_tracker_at_the_elbow_or_below_is_on_the_forearm(height):
    proportions = Proportions.from_height(height)
    model = RobotModel.from_urdf(human_urdf(proportions), floating_base=True)
    for along in (0.0, 0.3, 0.7):
        poses = devices(height)
        up = poses['waist'][2, 3] - model.link_pose(model.neutral(), 'base_link')[2, 3]
        q = model.configuration(T_POSE)
        for side in 'lr':
            elbow, wrist = (model.link_pose(q, f'{side}_{link}') for link in ('forearm', 'wrist'))
            device = elbow + along * (wrist - elbow)
            device[:3, 3] += 0.0, 0.0, up + 0.04  # strapped on top of the arm
            poses[f'{side}_elbow'] = device
        mounts = calibrate_standing(poses).mounts
        assert (mounts['l_elbow'].link, mounts['r_elbow'].link) == ('l_forearm', 'r_forearm')


def test_a_device_at_the_heel_is_on_the_foot():
    """Of both bones the ankle is nearest to it."""
    poses = devices()
    for side in 'lr':
        poses[f'{side}_foot'][:3, 3] += (-0.12, 0.0, -0.03)
    mounts = calibrate_standing(poses).mounts
    assert (mounts['l_foot'].link, mounts['r_foot'].link) == ('l_ankle', 'r_ankle')


def held(move_m=0.0):
    poses = devices()
    frames = []
    for i in range(60):
        moved = np.array([poses[role] for role in ROLES])
        moved[1, 0, 3] += move_m * i / 60
        frames.append(TrackingFrame(1 + i * 11_000_000, ROLES, moved))
    return frames


def test_a_held_pose_is_calibrated_and_a_glitch_is_no_movement():
    frames = held()
    frames[40].poses[3, :3, 3] += 2.0
    still = calibrate_held(held())
    assert calibrate_held(frames).proportions == still.proportions


@pytest.mark.parametrize(('every', 'is_left_out'), [(1, False), (2, False), (3, True), (20, True)])
def test_a_device_that_flickers_is_left_out_and_named(every, is_left_out):
    """Seen in every frame, every second, every third: from less than half on it is not used."""
    frames = []
    for i, frame in enumerate(held()):
        seen = [k for k, role in enumerate(ROLES) if role != 'waist' or i % every == 0]
        names = tuple(ROLES[k] for k in seen)
        frames.append(TrackingFrame(frame.stamp_ns, names, frame.poses[seen]))
    calibration = calibrate_held(frames)
    assert ('waist' not in calibration.mounts) == is_left_out
    assert rarely_seen(frames) == (('waist',) if is_left_out else ())
    assert ('waist' in remark_on(frames)) == is_left_out
    assert bool(remark_on(frames)) == is_left_out


def test_the_pose_in_the_middle_counts_and_restlessness_is_no_glitch():
    """A headset that sinks by 3 cm is as high as in the middle; often elsewhere is not still."""
    sinking = held()
    for i, frame in enumerate(sinking):
        frame.poses[0, 2, 3] -= 0.03 * max(0, i - 14) / 45
    middle = held()
    for frame in middle:
        frame.poses[0, 2, 3] -= 0.015
    found, expected = calibrate_held(sinking), calibrate_held(middle)
    assert found.proportions.height == pytest.approx(expected.proportions.height, abs=2e-3)
    assert found.mounts['hmd'].pose_link_from_device == pytest.approx(
        expected.mounts['hmd'].pose_link_from_device, abs=4e-3
    )
    for i, frame in enumerate(middle):
        frame.poses[3, 0, 3] += 0.1 * (i % 4 == 0)
    with pytest.raises(CalibrationError, match='waist moved by 10 cm'):
        calibrate_held(middle)


def test_only_the_last_moment_counts():
    """Whoever has moved before, or was seen then only, stands still now."""
    still = held()
    before = [
        TrackingFrame(
            1 - (60 - i) * 11_000_000, (*ROLES, 'chest'), np.vstack((f.poses, f.poses[:1]))
        )
        for i, f in enumerate(held(move_m=3.0))
    ]
    assert calibrate_held([*before, *still]).proportions == calibrate_held(still).proportions
    assert rarely_seen([*before, *still]) == ()


def test_who_moves_is_told_so():
    with pytest.raises(CalibrationError, match='l_controller moved by'):
        calibrate_held(held(move_m=0.4))
    with pytest.raises(CalibrationError, match='No device'):
        calibrate_held([])


def test_a_pose_must_be_held_for_as_long_as_it_is_said():
    """Neither one frame, nor a few at once, nor two far apart tell that somebody stands still."""
    frames = held()
    for few in (frames[:1], frames[:30], [frames[0], frames[45]]):
        with pytest.raises(CalibrationError, match=f'Only {len(few)} frames'):
            calibrate_held(few)
    index, calibration = find_held(frames)
    assert 0.4e9 <= frames[index].stamp_ns - frames[0].stamp_ns < 0.6e9
    assert calibration.proportions == calibrate_held(frames).proportions


def squats(calibration, frames=60):
    """Device poses of a calibrated body that bends its knees and turns its hips."""
    model = RobotModel.from_urdf(human_urdf(calibration.proportions), floating_base=True)
    found = []
    for i in range(frames):
        bend = 0.6 * (1.0 - math.cos(2.0 * math.pi * i / 30))
        turn = 0.3 * math.sin(2.0 * math.pi * i / 40)
        angles = {f'{s}_{n}': a for s in 'lr' for n, a in (('knee_flexion', bend + 0.1),)}
        angles.update(
            {f'{s}_hip_flexion': 0.5 * bend + turn * k for s, k in (('l', 1), ('r', -1))}
        )
        angles.update({f'{s}_hip_abduction': 0.3 * abs(turn) + 0.1 * bend for s in 'lr'})
        angles.update({f'{s}_elbow_flexion': 0.5 + 0.3 * turn for s in 'lr'})
        q = model.configuration(angles, pose(np.eye(3), np.array([0.0, 0.0, 0.9])))
        poses = np.array(
            [
                model.link_pose(q, calibration.mounts[r].link)
                @ calibration.mounts[r].pose_link_from_device
                for r in calibration.mounts
            ]
        )
        found.append(TrackingFrame(1 + i * 33_000_000, tuple(calibration.mounts), poses))
    return found


def on_the_shank(calibration):
    """The same with the feet's devices strapped above the ankles."""
    mounts = {
        role: replace(m, link=f'{role[:2]}shin') if role.endswith('foot') else m
        for role, m in calibration.mounts.items()
    }
    return Calibration(calibration.proportions, mounts)


def with_lower_knees(first, by_m):
    """A body whose devices are in the same places when it stands, but not its knees."""
    mounts = {}
    for role, mount in first.mounts.items():
        at = mount.pose_link_from_device.copy()
        if mount.link.endswith('shin'):
            at[2, 3] += by_m
        mounts[role] = replace(mount, pose_link_from_device=at)
    p = first.proportions
    return Calibration(replace(p, thigh=p.thigh + by_m, shin=p.shin - by_m), mounts)


def test_motion_tells_the_thigh_that_one_pose_cannot():
    first = on_the_shank(Calibration.nominal(1.7).wearing(ROLES))
    true = with_lower_knees(first, 0.03)
    refined = refine(first, squats(true))
    assert abs(refined.proportions.thigh - true.proportions.thigh) < 0.015


def with_a_tilted_belt(first, deg):
    """A body whose belt has slid out of the tilt that it was calibrated with."""
    waist = first.mounts['waist']
    at = waist.pose_link_from_device.copy()
    at[:3, :3] = rotation_from_rpy(0.0, math.radians(deg), 0.0) @ at[:3, :3]
    belt = replace(waist, pose_link_from_device=at)
    return Calibration(first.proportions, {**first.mounts, 'waist': belt})


def with_other_lengths(first):
    other = replace(first.proportions, forearm=1.1 * first.proportions.forearm, thigh=0.45)
    return Calibration(other, first.mounts)


@pytest.mark.parametrize(
    'changed',
    [
        with_other_lengths,
        lambda first: with_a_tilted_belt(first, 12.0),
        lambda first: with_a_tilted_belt(first, -12.0),
    ],
    ids=['other lengths', 'belt tilted forward', 'belt tilted back'],
)
@pytest.mark.parametrize('worn', [on_the_shank, lambda first: first], ids=['shank', 'instep'])
def test_a_refined_body_still_stands_straight_where_it_was_calibrated(changed, worn):
    """Whatever motion says: a little slack would bend a straight limb by a lot."""
    first = worn(Calibration.nominal(1.7).wearing(ROLES))
    refined = refine(first, squats(changed(first)))
    assert refined.proportions.thigh != pytest.approx(first.proportions.thigh, rel=1e-4)
    model = RobotModel.from_urdf(human_urdf(first.proportions), floating_base=True)
    q = model.configuration(T_POSE)
    poses = np.array(
        [model.link_pose(q, m.link) @ m.pose_link_from_device for m in first.mounts.values()]
    )
    pipeline = Pipeline(SolverConfig(), refined)
    solution = pipeline.process(TrackingFrame(1, tuple(first.mounts), poses))
    assert max(solution.position_errors.values()) < 0.0015
    for joint in ('l_elbow_flexion', 'r_elbow_flexion', 'l_knee_flexion', 'r_knee_flexion'):
        angle = solution.q[7 + pipeline.model.joint_index(joint)]
        assert abs(angle) < math.radians(8.0), joint


def test_who_does_not_move_keeps_the_calibration():
    first = Calibration.nominal(1.7).wearing(ROLES)
    still = [squats(first, 1)[0]] * 5
    frames = [TrackingFrame(1 + i * 10**7, f.names, f.poses) for i, f in enumerate(still)]
    refined = refine(first, frames)
    assert refined.proportions.thigh == pytest.approx(first.proportions.thigh, rel=0.02)


def test_a_device_that_is_held_out_gets_its_place_and_changes_nothing_else():
    poses = devices(roles=(*ROLES, 'l_elbow'))
    out = {role: poses.pop(role) for role in ('l_foot', 'r_foot', 'l_elbow')}
    alone, beside = calibrate_standing(poses), calibrate_standing(poses, out)
    assert beside.proportions == alone.proportions
    assert beside.floor_m == alone.floor_m
    assert set(beside.mounts) == {*alone.mounts, *out}


@pytest.mark.parametrize('slant_deg', [None, 45.0])
@pytest.mark.parametrize('height', [1.5, 1.7, 1.9])
def test_a_tracker_above_the_elbow_is_on_the_upper_arm(height, slant_deg):
    poses = devices(height, slant_deg, roles=(*ROLES, 'l_elbow', 'r_elbow'))
    mounts = calibrate_standing(poses).mounts
    assert mounts['l_elbow'].link == 'l_upper_arm'
    assert mounts['r_elbow'].link == 'r_upper_arm'


def test_further_devices_do_not_run_away_with_the_lengths():
    roles = (*ROLES, 'chest', 'l_elbow', 'r_elbow', 'l_knee', 'r_knee')
    first = Calibration.nominal(1.7).wearing(roles)
    other = replace(first.proportions, forearm=1.06 * first.proportions.forearm)
    # Worn lower than the calibration has it, as a strap that slid.
    elbow = first.mounts['l_elbow'].pose_link_from_device.copy()
    elbow[2, 3] -= 0.05
    mounts = {**first.mounts, 'l_elbow': Mount('l_upper_arm', elbow)}
    refined = refine(first, squats(Calibration(other, mounts)))
    for name in ('upper_arm', 'forearm', 'thigh', 'shin', 'shoulder_half_width'):
        length = getattr(refined.proportions, name)
        assert length == pytest.approx(getattr(other, name), rel=0.08), name
