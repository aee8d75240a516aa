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

"""Calibration against people whose bodies are known: poses agree, motion tells, noise does not."""

from dataclasses import replace
import math

import numpy as np
import pytest

from vr_ik.body.anthropometry import Proportions
from vr_ik.body.human import human_urdf, T_POSE
from vr_ik.body.mounts import device_mounts
from vr_ik.body.posture import joint_stiffness, rest_posture
from vr_ik.body.shoulder import shoulder_angles
from vr_ik.calibration.calibration import Calibration
from vr_ik.calibration.motion_fit import MotionFit, Observation, Priors
from vr_ik.calibration.refine import refine
from vr_ik.calibration.t_pose import calibrate_standing
from vr_ik.kinematics.model import RobotModel
from vr_ik.math.rotations import exp_rotation, pose
from vr_ik.solvers.lm import LevenbergMarquardt
from vr_ik.trackers.simulated_user import SimulatedUser
from vr_ik.types import Task, TrackingFrame

THREE = ('hmd', 'l_controller', 'r_controller')
SIX = (*THREE, 'waist', 'l_foot', 'r_foot')
WITH_ELBOWS = (*SIX, 'l_elbow', 'r_elbow')
BENDING = ('elbow_flexion', 'knee_flexion')


def standing(slant_deg=0.0, height_m=1.72, floor_m=0.0, roles=SIX):
    """Device poses of an average body whose straight arms point so far down."""
    proportions = Proportions.from_height(height_m)
    model = RobotModel.from_urdf(human_urdf(proportions), floating_base=True)
    slant = math.radians(slant_deg)
    arm = shoulder_angles((0.0, math.cos(slant), -math.sin(slant)), (1.0, 0.0, 0.0))
    names = ('shoulder_flexion', 'shoulder_abduction', 'shoulder_rotation')
    angles = {f'{s}_{n}': a for s in 'lr' for n, a in zip(names, arm)}
    root = pose(np.eye(3), np.array([0.0, 0.0, proportions.hip_height + floor_m]))
    q = model.configuration(angles, root)
    mounts = device_mounts(proportions)
    return {
        role: model.link_pose(q, mounts[role].link) @ mounts[role].pose_link_from_device
        for role in roles
    }


@pytest.mark.parametrize('height_m', [1.55, 1.72, 1.9])
@pytest.mark.parametrize('slant_deg', [35.0, 45.0, 60.0])
def test_a_pose_and_t_pose_of_one_user_agree(height_m, slant_deg):
    """On which bone devices are worn, and how: within 4 cm and 2 deg."""
    t, a = (calibrate_standing(standing(s, height_m)) for s in (0.0, slant_deg))
    assert a.proportions.height == pytest.approx(t.proportions.height, rel=0.03)
    assert a.mounts.keys() == t.mounts.keys()
    for role, mount in t.mounts.items():
        assert a.mounts[role].link == mount.link
        there, here = a.mounts[role].pose_link_from_device, mount.pose_link_from_device
        assert np.linalg.norm((there - here)[:3, 3]) < 0.04, role
        turn = there[:3, :3].T @ here[:3, :3]
        assert np.trace(turn) > 1.0 + 2.0 * math.cos(math.radians(2.0)), role


@pytest.mark.parametrize('slant_deg', [-8.0, 8.0])
def test_arms_that_are_nearly_level_are_level(slant_deg):
    """Hands are then straight on the arms of a T-pose, and the span tells the floor."""
    level, nearly = (calibrate_standing(standing(s)).proportions for s in (0.0, slant_deg))
    assert nearly.arm_span == pytest.approx(level.arm_span, rel=0.03)
    assert nearly.height == pytest.approx(level.height, rel=0.03)


def test_the_arms_are_as_long_as_they_are_and_bend_near_their_middle():
    average = Proportions.from_height(1.72)
    for slant_deg in (0.0, 45.0):
        found = calibrate_standing(standing(slant_deg)).proportions
        reach = average.shoulder_half_width + average.upper_arm + average.forearm
        there = found.shoulder_half_width + found.upper_arm + found.forearm
        # Real controllers, by which the span is judged, reach farther out than this model's.
        assert there == pytest.approx(reach, rel=0.07)
        share = found.upper_arm / (found.upper_arm + found.forearm)
        assert 0.44 < share < 0.52


def test_all_that_is_known_speaks_for_the_floor():
    """The tracking system is wrong by 10 cm: span and hands of a T-pose notice, and so do feet.

    An A-pose with three devices has nothing to tell it by.
    """

    def noticed_m(slant_deg, roles):
        at, off = (calibrate_standing(standing(slant_deg, 1.72, f, roles)) for f in (0.0, 0.10))
        return off.floor_m - at.floor_m

    assert abs(noticed_m(45.0, THREE)) < 0.01
    assert noticed_m(0.0, THREE) > 0.03
    assert noticed_m(45.0, SIX) > 0.03
    assert noticed_m(0.0, SIX) > 0.06


def recorded(calibration, q_at, seconds, rate_hz):
    """Device poses of a calibrated body whose pose is `q_at(model, time_s)`."""
    model = RobotModel.from_urdf(human_urdf(calibration.proportions), floating_base=True)
    mounts = calibration.mounts
    frames = []
    for i in range(int(seconds * rate_hz)):
        q = q_at(model, i / rate_hz)
        poses = [model.link_pose(q, m.link) @ m.pose_link_from_device for m in mounts.values()]
        stamp_ns = 1 + int(i * 1e9 / rate_hz)
        frames.append(TrackingFrame(stamp_ns, tuple(mounts), np.array(poses)))
    return frames


def exercise(calibration, seconds=12.0, rate_hz=10.0):
    """The simulated user's motion, by somebody who has another body."""
    user = SimulatedUser(1.75)
    return recorded(calibration, lambda _, time_s: user.q_at(3.0 + time_s), seconds, rate_hz)


def leg_swings(calibration):
    """Legs that swing to and fro from the hips, nearly straight."""

    def q_at(model, time_s):
        swing = 0.5 * math.sin(5.0 * time_s)
        angles = {f'{side}_{name}': 0.1 for side in 'lr' for name in BENDING}
        angles |= {'l_hip_flexion': 0.15 + swing, 'r_hip_flexion': 0.15 - swing}
        return model.configuration(angles, pose(np.eye(3), np.array([0.0, 0.0, 0.9])))

    return recorded(calibration, q_at, seconds=4.0, rate_hz=30.0)


def with_elbows_farther_out(first, by_m):
    """Somebody who stands in the T-pose as before, and yet has other arms."""
    p = first.proportions
    other = replace(p, upper_arm=p.upper_arm + by_m, forearm=p.forearm - by_m)
    return replace(first, proportions=other)


def test_motion_tells_where_in_the_arm_the_elbow_is():
    first = Calibration.nominal(1.75).wearing(SIX)
    out, inward = (
        refine(first, exercise(with_elbows_farther_out(first, by_m))).proportions
        for by_m in (0.03, -0.03)
    )
    assert out.upper_arm - inward.upper_arm > 0.006
    assert inward.forearm - out.forearm > 0.003


def observed(calibration, wrong=0):
    """Twenty instants of known poses; in the first of them the left controller is elsewhere."""
    model = RobotModel.from_urdf(human_urdf(calibration.proportions), floating_base=True)
    user = SimulatedUser(1.75)
    roles = tuple(calibration.mounts)
    observations = []
    for i in range(20):
        q = user.q_at(3.0 + 0.6 * i)
        mounts = calibration.mounts.values()
        targets = np.array([model.link_pose(q, m.link) @ m.pose_link_from_device for m in mounts])
        if i < wrong:
            targets[roles.index('l_controller'), :3, 3] += (0.4, 0.0, 0.2)
        weights = np.tile((1.0, 0.1), (len(roles), 1))
        loose = np.full(model.nv - 6, 1e-4)
        observations.append(Observation(targets, weights, q[7:].copy(), loose, q, 1.0))
    return observations


LENGTHS = ('forearm', 'upper_arm', 'thigh')


def fitted(first, true, wrong=0):
    """Return the ratios of fitted lengths to the first ones."""
    fit = MotionFit(first, tuple(first.mounts), Priors(dict.fromkeys(LENGTHS, 0.05), {}))
    found = fit.best(observed(true, wrong)).proportions
    return np.array([getattr(found, n) / getattr(first.proportions, n) for n in LENGTHS])


@pytest.mark.parametrize('ratios', [(1.04, 0.97, 1.0), (0.96, 1.0, 1.05)])
def test_lengths_come_out_of_motion_and_false_poses_do_not_get_in(ratios):
    first = Calibration.nominal(1.75).wearing(WITH_ELBOWS)
    lengths = {n: r * getattr(first.proportions, n) for n, r in zip(LENGTHS, ratios)}
    true = replace(first, proportions=replace(first.proportions, **lengths))
    assert np.abs(fitted(first, true) - ratios).max() < 0.01
    # A tenth of the frames has a hand half a metre away.
    assert np.abs(fitted(first, true, wrong=2) - ratios).max() < 0.018


def test_nothing_is_fitted_that_nobody_would_believe():
    """Forearms twice as long: the fit goes as far as four standard deviations, no farther."""
    first = Calibration.nominal(1.75).wearing(WITH_ELBOWS)
    longer = replace(first.proportions, forearm=2.0 * first.proportions.forearm)
    ratios = fitted(first, replace(first, proportions=longer))
    assert np.abs(np.log(ratios)).max() == pytest.approx(4.0 * 0.05)


def test_a_refined_body_meets_its_devices_better_than_the_first():
    """With the true body known, by forward kinematics, in poses that it was not fitted to."""
    first = Calibration.nominal(1.75).wearing(WITH_ELBOWS)
    true = with_elbows_farther_out(first, 0.03)
    refined = refine(first, exercise(true))
    off = []
    for calibration in (first, refined):
        model = RobotModel.from_urdf(human_urdf(calibration.proportions), floating_base=True)
        q = model.configuration(T_POSE)
        elbow = model.link_pose(q, 'l_forearm')[:3, 3] - model.link_pose(q, 'l_upper_arm')[:3, 3]
        off.append(abs(float(np.linalg.norm(elbow)) - true.proportions.upper_arm))
    assert off[1] < 0.6 * off[0]


@pytest.mark.parametrize('side', ['l', 'r'])
def test_motion_tells_that_a_leg_was_turned_out(side):
    """Knees bend where they are, though they were taken to face ahead in the first pose."""
    first = Calibration.nominal(1.75).wearing(SIX)
    role, out = f'{side}_foot', math.radians(20.0 if side == 'l' else -20.0)
    worn = first.mounts[role]
    turned = pose(exp_rotation(np.array([0.0, 0.0, -out])), np.zeros(3))
    true = replace(worn, pose_link_from_device=turned @ worn.pose_link_from_device)
    refined = refine(first, exercise(replace(first, mounts={**first.mounts, role: true})))

    def off(mount):
        turn = mount.pose_link_from_device[:3, :3] @ true.pose_link_from_device[:3, :3].T
        return math.atan2(turn[1, 0], turn[0, 0])

    assert off(worn) == pytest.approx(out)
    assert abs(off(refined.mounts[role])) < 0.6 * abs(out)


def with_higher_hips(first, by_m):
    """Somebody whose devices are in the same places in the T-pose, and whose hips are not."""
    p, belt = first.proportions, first.mounts['waist']
    half = 0.5 * by_m
    longer = replace(p, thigh=p.thigh + half, shin=p.shin + half, pelvis=p.pelvis - by_m)
    lowered = belt.pose_link_from_device.copy()
    lowered[2, 3] -= by_m
    mounts = {**first.mounts, 'waist': replace(belt, pose_link_from_device=lowered)}
    return Calibration(longer, mounts, first.floor_m)


def hips_above_belt_m(calibration):
    return -calibration.mounts['waist'].pose_link_from_device[2, 3]


@pytest.mark.parametrize('higher_m', [0.03, 0.06])
def test_legs_that_swing_tell_how_high_the_hips_are(higher_m):
    """Hips that were put too low make legs too short to swing; pelvis and legs trade places."""
    first = Calibration.nominal(1.75).wearing(SIX)
    refined = refine(first, leg_swings(with_higher_hips(first, higher_m)))
    raised_m = hips_above_belt_m(refined) - hips_above_belt_m(first)
    assert 0.15 * higher_m < raised_m < higher_m
    before, after = first.proportions, refined.proportions
    assert after.pelvis - before.pelvis == pytest.approx(-raised_m, rel=0.2)
    assert after.hip_height - before.hip_height == pytest.approx(raised_m, rel=0.2)


@pytest.mark.parametrize('motion', [exercise, leg_swings])
def test_hips_that_are_right_stay(motion):
    first = Calibration.nominal(1.75).wearing(SIX)
    refined = refine(first, motion(first))
    assert abs(hips_above_belt_m(refined) - hips_above_belt_m(first)) < 0.0012


def with_slipped_belt(first):
    """Somebody whose belt slips by 4 cm and 11 deg after the first pose."""
    belt = first.mounts['waist']
    slipped = belt.pose_link_from_device @ pose(
        exp_rotation(np.array([0.0, 0.2, 0.0])), np.array([0.03, 0.0, 0.03])
    )
    mounts = {**first.mounts, 'waist': replace(belt, pose_link_from_device=slipped)}
    return replace(first, mounts=mounts)


def test_a_belt_keeps_the_tilt_of_the_first_pose():
    """Legs may have been turned there, not bent or spread: that would take the tilt along."""
    first = Calibration.nominal(1.75).wearing(SIX)
    refined = refine(first, exercise(with_slipped_belt(first)))
    before, after = (c.mounts['waist'].pose_link_from_device[:3, :3] for c in (first, refined))
    assert np.trace(after @ before.T) > 1.0 + 2.0 * math.cos(math.radians(2.5))


def test_the_pose_of_the_first_calibration_is_still_met_with_straight_limbs():
    """Straight limbs that have some millimetres to spare would be bent by tens of degrees."""
    first = Calibration.nominal(1.75).wearing(SIX)
    p = first.proportions
    lengths = replace(p, thigh=p.thigh + 0.03, shin=p.shin - 0.02, upper_arm=p.upper_arm + 0.03)
    refined = refine(first, exercise(replace(with_slipped_belt(first), proportions=lengths)))
    model = RobotModel.from_urdf(human_urdf(p), floating_base=True)
    q = model.configuration(T_POSE)
    stood = [model.link_pose(q, m.link) @ m.pose_link_from_device for m in first.mounts.values()]
    body = RobotModel.from_urdf(human_urdf(refined.proportions), floating_base=True)
    tasks = [Task(m.link, 1.0, 0.3, m.pose_link_from_device) for m in refined.mounts.values()]
    solver = LevenbergMarquardt(body, tasks, max_iterations=100)
    bends = [i for i, name in enumerate(body.joint_names) if name.endswith(BENDING)]
    solver.limits[bends] = 0.0
    solver.posture[:] = rest_posture(body)
    solver.posture_weights[:] = 2e-5 * joint_stiffness(body)
    met = solver.solve(q, np.array(stood))
    assert met.position_errors.max() < 0.0006


def test_bodies_are_fitted_to_what_was_measured(monkeypatch):
    """A device that comes back is shown on its way there for a while, where nobody saw it."""
    first = Calibration.nominal(1.7).wearing(SIX)
    whole = exercise(first, rate_hz=60.0)
    # The left controller is unseen for a tenth of a second, again and again.
    row = SIX.index('l_controller')
    seen = [i for i in range(len(SIX)) if i != row]
    frames = [
        f if i // 6 % 2 else TrackingFrame(f.stamp_ns, tuple(SIX[j] for j in seen), f.poses[seen])
        for i, f in enumerate(whole)
    ]
    fitted_to = []

    def note(_, observations):
        fitted_to.extend(observations)
        return first

    monkeypatch.setattr(MotionFit, 'best', note)
    refine(first, frames)
    measured = {f.poses[row].tobytes() for f in frames if len(f.names) == len(SIX)}
    assert len(fitted_to) > 10
    for observation in fitted_to[1:]:  # after the pose of the first calibration
        assert observation.targets[row].tobytes() in measured
