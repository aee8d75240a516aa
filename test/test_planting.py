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

"""Feet that nobody tracks stay planted, step after the body, and neither skate nor jump."""

from dataclasses import replace
import math

import numpy as np
import pytest

from vr_ik.body.planting import Planting
from vr_ik.calibration.calibration import Calibration
from vr_ik.config import SolverConfig
from vr_ik.pipeline import Pipeline
from vr_ik.trackers.simulated_user import SimulatedUser
from vr_ik.types import TrackingFrame

THREE = ('hmd', 'l_controller', 'r_controller')
RATE_HZ = 90.0
STEP_M = 0.2
"""How far the body goes before a foot follows."""


@pytest.fixture(scope='module')
def standing():
    """Devices of a user who stands with hanging arms, at the world's origin."""
    user = SimulatedUser(1.75)
    q = user.model.neutral()
    q[2] = user.q_at(0.0)[2]
    return user.device_poses(q, (*THREE, 'waist'))


def moved(x=0.0, y=0.0, z=0.0, yaw=0.0):
    out = np.eye(4)
    out[:2, :2] = [[math.cos(yaw), -math.sin(yaw)], [math.sin(yaw), math.cos(yaw)]]
    out[:3, 3] = x, y, z
    return out


def walk(standing, path, roles=THREE):
    """Return the ankles (frames, 2, 4, 4) and the pelvis (frames, 4, 4) of who goes this way."""
    pipeline = Pipeline(SolverConfig())
    ankles, pelvis = [], []
    for i, way in enumerate(path):
        stamp_ns = 1 + round(i * 1e9 / RATE_HZ)
        frame = TrackingFrame(stamp_ns, roles, way @ standing[: len(roles)])
        q = pipeline.process(frame).q
        ankles.append([pipeline.model.link_pose(q, f'{side}_ankle') for side in 'lr'])
        pelvis.append(pipeline.model.link_pose(q, 'base_link'))
    return np.array(ankles), np.array(pelvis)


def steps_m(ankles):
    return np.linalg.norm(np.diff(ankles[:, :, :2, 3], axis=0), axis=2)


def accelerations_m_s2(ankles):
    return np.linalg.norm(np.diff(ankles[:, :, :2, 3], 2, axis=0), axis=2) * RATE_HZ**2


def yaws(poses):
    return np.arctan2(poses[..., 1, 0], poses[..., 0, 0])


def seconds(duration_s):
    return np.arange(int(duration_s * RATE_HZ)) / RATE_HZ


@pytest.mark.parametrize('roles', [THREE, (*THREE, 'waist')])
def test_feet_do_not_skate_under_who_sways(standing, roles):
    path = [
        moved(0.05 * math.sin(1.5 * t), 0.04 * math.sin(1.1 * t), 0.0, 0.15 * math.sin(0.9 * t))
        for t in seconds(8.0)
    ]
    ankles, pelvis = walk(standing, path, roles)
    assert np.ptp(pelvis[90:, 0, 3]) > 0.06
    # A guess gives way to devices, so it is not quite still.
    assert np.ptp(ankles[90:, :, :2, 3], axis=0).max() < 0.02
    assert np.ptp(yaws(ankles[90:]), axis=0).max() < 0.06


@pytest.mark.parametrize(('x', 'y'), [(0.8, 0.0), (-0.6, 0.0), (0.0, 0.7), (0.3, -0.5)])
def test_feet_step_one_after_the_other_after_who_goes_slowly(standing, x, y):
    shares = np.clip(seconds(8.0) / 5.0, 0.0, 1.0)
    ankles, pelvis = walk(standing, [moved(s * x, s * y) for s in shares])
    middle = ankles[-1, :, :3, 3].mean(axis=0)
    assert np.linalg.norm((middle - pelvis[-1, :3, 3])[:2]) < STEP_M
    steps = steps_m(ankles)
    # 2.2 m/s: a step is swift, and no leap.
    assert steps.max() < 0.025
    strides = steps > 0.004
    assert strides.any(axis=0).all(), 'both feet step'
    assert not strides.all(axis=1).any(), 'and one at a time'
    # Most of the time both stand.
    assert (steps.max(axis=1) < 0.002).mean() > 0.5


def test_feet_turn_with_who_turns_in_place(standing):
    shares = np.clip(seconds(6.0) / 4.0, 0.0, 1.0)
    ankles, pelvis = walk(standing, [moved(yaw=1.5 * s) for s in shares])
    assert yaws(pelvis[-1]) > 1.3
    assert np.abs(yaws(ankles[-1]) - yaws(pelvis[-1])).max() < 0.6
    assert steps_m(ankles).max() < 0.025


@pytest.mark.parametrize('turn_s', [0.7, 1.0, 1.5, 2.0, 4.0])
def test_legs_are_not_twisted_by_who_spins(standing, turn_s):
    """Left stays left, and toes point where the pelvis does, more or less."""
    angles = 4.0 * math.pi * np.clip(seconds(2.0 * turn_s + 1.0) / (2.0 * turn_s), 0.0, 1.0)
    ankles, pelvis = walk(standing, [moved(yaw=angle) for angle in angles])
    off = yaws(ankles) - yaws(pelvis)[:, None]
    assert np.abs((off + math.pi) % (2.0 * math.pi) - math.pi).max() < 1.2
    across = (ankles[:, 0] - ankles[:, 1])[:, :3, 3]
    assert np.einsum('ni,ni->n', across, pelvis[:, :3, 1]).min() > 0.08
    assert steps_m(ankles).max() < 0.03


def test_feet_come_along_with_who_walks(standing):
    """At 1 m/s nobody knows where they are; below the pelvis they are nearest to the truth."""
    ankles, pelvis = walk(standing, [moved(x=t) for t in seconds(4.0)])
    behind = pelvis[180:, None, :2, 3] - ankles[180:, :, :2, 3]
    assert np.linalg.norm(behind.mean(axis=1), axis=1).max() < 0.12
    assert steps_m(ankles).max() < 0.04


def test_the_head_of_who_runs_is_not_held_back_by_the_feet(standing):
    pipeline = Pipeline(SolverConfig())
    for i, t in enumerate(seconds(3.0)):
        way = moved(x=3.5 * t, z=0.06 * math.sin(17.6 * t) - 0.03)
        frame = TrackingFrame(1 + round(i * 1e9 / RATE_HZ), THREE, way @ standing[:3])
        error_m = pipeline.process(frame).position_errors['hmd']
        assert i < 20 or error_m < 0.0012


def test_who_starts_and_stops_and_crouches_sees_no_foot_jump(standing):
    x = np.cumsum([1.2 * (math.sin(1.7 * t) > 0.3) / RATE_HZ for t in seconds(9.0)])
    z = [-0.4 * max(0.0, math.sin(0.9 * t)) for t in seconds(9.0)]
    ankles, _ = walk(standing, [moved(a, 0.0, b) for a, b in zip(x, z)])
    assert steps_m(ankles).max() < 0.05


@pytest.mark.parametrize('start_s', [0.3, 1.0])
def test_feet_set_out_and_stop_softly_with_who_walks(standing, start_s):
    shares = np.clip((seconds(5.0) - 1.0) / start_s, 0.0, 1.0)
    shares -= np.clip((seconds(5.0) - 3.0) / start_s, 0.0, 1.0)
    x = np.cumsum(shares * shares * (3.0 - 2.0 * shares)) / RATE_HZ
    ankles, pelvis = walk(standing, [moved(a) for a in x])
    assert pelvis[-1, 0, 3] - pelvis[0, 0, 3] > 1.5
    assert accelerations_m_s2(ankles).max() < 40.0


def test_a_step_is_soft(standing):
    shares = np.clip(seconds(8.0) / 5.0, 0.0, 1.0)
    ankles, _ = walk(standing, [moved(0.8 * s) for s in shares])
    assert (steps_m(ankles) > 0.004).any()
    assert accelerations_m_s2(ankles).max() < 70.0


def test_feet_of_who_is_not_upright_are_not_planted():
    """Who lies down slowly has feet where lying puts them, were it only by half a step."""
    planting = Planting()
    root = np.array([0.0, 0.0, 0.9, 0.0, 0.0, 0.0, 1.0])
    weights = np.full((3, 2), 0.02)
    lying = np.eye(4)[:, [2, 1, 0, 3]]
    for up, expected in ((np.eye(4), 0.0), (lying, 0.1)):
        for i in range(120):
            targets = np.tile(up, (3, 1, 1))
            targets[:, 0, 3] = 0.0 if i < 30 else 0.1
            planting.plant(root, 1.0 / RATE_HZ, targets, weights)
        assert targets[1:, 0, 3] == pytest.approx(expected, abs=5e-3)
        planting.reset()


@pytest.mark.parametrize('floor_m', [-0.05, 0.1])
def test_feet_stand_on_the_floor_of_the_calibration(standing, floor_m):
    calibration = replace(Calibration.nominal(1.75), floor_m=floor_m)
    pipeline = Pipeline(SolverConfig(), calibration)
    raised = moved(z=floor_m) @ standing[:3]
    for i in range(90):
        q = pipeline.process(TrackingFrame(1 + round(i * 1e9 / RATE_HZ), THREE, raised)).q
    left, right = (pipeline.model.link_pose(q, f'{side}_sole')[:3, 3] for side in 'lr')
    assert left[2] == pytest.approx(floor_m, abs=0.02)
    assert right[2] == pytest.approx(floor_m, abs=0.02)
    assert left[1] > right[1] + 0.1


def test_it_is_the_same_wherever_in_the_world(standing):
    shares = np.clip(seconds(3.0) / 2.0, 0.0, 1.0)
    path = [moved(0.4 * s, 0.2 * s, 0.0, 0.5 * s) for s in shares]
    elsewhere = moved(3.0, -2.0, 0.0, 2.5)
    here, _ = walk(standing, path)
    there, _ = walk(standing, [elsewhere @ way for way in path])
    assert np.abs(elsewhere @ here - there).max() < 1e-3


def test_another_body_goes_on_where_it_stands(standing):
    """A change of settings in the middle of a step moves no foot."""
    path = [moved(0.25 * t) for t in seconds(3.0)]
    whole, _ = walk(standing, path)
    first = Pipeline(SolverConfig())
    ankles = []
    for i, way in enumerate(path):
        if i == 120:
            other = Pipeline(SolverConfig())
            other.take_over(first)
            first = other
        stamp_ns = 1 + round(i * 1e9 / RATE_HZ)
        q = first.process(TrackingFrame(stamp_ns, THREE, way @ standing[:3])).q
        ankles.append([first.model.link_pose(q, f'{side}_ankle') for side in 'lr'])
    assert np.abs(np.array(ankles) - whole)[..., :3, 3].max() < 1e-3
