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

"""A device that is out of sight goes on as it went, ever more slowly, and not far."""

import math

import numpy as np
import pytest

from vr_ik.filters.clean import CleanLimits, FrameCleaner
from vr_ik.math.rotations import log_rotation, pose, rotation_from_rpy
from vr_ik.types import TrackingFrame

RATE_HZ = 90.0
LIMITS = CleanLimits(speed_m_s=15.0, turn_rad_s=60.0, glitch_hold_s=0.1, gap_hold_s=0.25)
ROLES = ('waist',)


def at(x, yaw=0.0):
    return pose(rotation_from_rpy(0.0, 0.0, yaw), np.array([x, 0.0, 0.0]))


def bridged(poses, lost, world=None):
    """Return poses of a device that is seen for so many frames, and then lost."""
    world = np.eye(4) if world is None else world
    cleaner = FrameCleaner(ROLES, LIMITS)
    targets, confidence = np.tile(np.eye(4), (1, 1, 1)), np.zeros(1)
    found = []
    for i in range(len(poses) + lost):
        seen = [world @ poses[i]] if i < len(poses) else []
        names = ROLES[: len(seen)]
        frame = TrackingFrame(1 + int(i * 1e9 / RATE_HZ), names, np.reshape(seen, (-1, 4, 4)))
        cleaner.clean(frame, targets, confidence)
        found.append(targets[0].copy())
    return np.array(found[len(poses) :])


def yaws(poses):
    return np.array([log_rotation(p[:3, :3])[2] for p in poses])


@pytest.mark.parametrize(('speed', 'rate'), [(0.5, 0.0), (0.0, 2.0), (-1.5, -3.0)])
def test_a_short_gap_in_a_steady_motion_is_bridged_to_a_sixth_of_the_way(speed, rate):
    times = np.arange(20) / RATE_HZ
    found = bridged([at(speed * t, rate * t) for t in times], 3)
    after = times[-1] + np.arange(1, 4) / RATE_HZ
    assert np.allclose(found[:, 0, 3], speed * after, atol=abs(speed) * 3 / RATE_HZ / 6)
    assert np.allclose(yaws(found), rate * after, atol=abs(rate) * 3 / RATE_HZ / 6)


def test_what_rests_stays_where_it_is():
    assert np.array_equal(bridged([at(0.3, 0.4)] * 20, 30), [at(0.3, 0.4)] * 30)


def test_one_that_trembles_stays_nearly_where_it_is():
    rng = np.random.default_rng(2)
    ends = [bridged([at(x) for x in rng.normal(0.0, 1e-3, 20)], 30)[-1, 0, 3] for _ in range(50)]
    assert np.std(ends) < 0.006


def test_it_comes_to_rest_and_never_turns_back():
    found = bridged([at(i / RATE_HZ, 2.0 * i / RATE_HZ) for i in range(20)], 90)
    for way in (found[:, 0, 3], yaws(found)):
        steps = np.diff(way)
        assert (steps > 0.0).all() and (np.diff(steps) < 0.0).all()
        assert steps[-1] < 0.01 * steps[0]


@pytest.mark.parametrize('speed', [2.0, 5.0, 12.0])
def test_it_goes_no_farther_than_a_quarter_of_a_metre_and_a_radian(speed):
    times = np.arange(20) / RATE_HZ
    found = bridged([at(speed * t, math.remainder(3.0 * speed * t, math.tau)) for t in times], 60)
    assert np.abs(found[:, 0, 3] - speed * times[-1]).max() <= 0.25 + 1e-9
    turned = [log_rotation(at(0.0, 3.0 * speed * times[-1])[:3, :3].T @ p[:3, :3]) for p in found]
    assert np.linalg.norm(turned, axis=1).max() <= 1.0 + 1e-9


def test_one_that_was_seen_only_now_and_then_is_taken_to_rest():
    cleaner = FrameCleaner(ROLES, LIMITS)
    targets, confidence = np.tile(np.eye(4), (1, 1, 1)), np.zeros(1)
    for i in range(3):
        frame = TrackingFrame(1 + i * 100_000_000, ROLES, at(0.1 * i)[None])
        cleaner.clean(frame, targets, confidence)
    cleaner.clean(TrackingFrame(250_000_000, (), np.empty((0, 4, 4))), targets, confidence)
    assert 0.0 < confidence[0] < 1.0
    assert np.allclose(targets[0], at(0.2))


def test_a_moved_world_moves_the_guess_alike():
    world = pose(rotation_from_rpy(0.3, -0.5, 2.0), np.array([3.0, -2.0, 1.0]))
    poses = [at(0.8 * i / RATE_HZ, 1.5 * i / RATE_HZ) for i in range(20)]
    assert np.allclose(bridged(poses, 20, world), world @ bridged(poses, 20), atol=1e-9)


def test_a_device_that_jumped_has_no_way_yet():
    poses = [at(i / RATE_HZ) for i in range(20)] + [at(5.0)] * 15
    assert np.allclose(bridged(poses, 5), at(5.0))
