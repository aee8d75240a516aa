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

"""The vibration filter is late for no steady motion, and keeps out what shakes."""

import math

import numpy as np
import pytest

from vr_ik.filters.one_euro import OneEuro, Smoothing
from vr_ik.filters.vibration import VibrationFilter
from vr_ik.math.rotations import log_rotation, rotation_from_rpy

HZ = 10.0
TURN = 3.0
"""How many radians devices turn while they go a metre."""
SEEN = np.ones(1)


def pose_at(position, yaw=0.0):
    out = np.eye(4)[None].copy()
    out[0, :3, 3] = position
    out[0, :3, :3] = rotation_from_rpy(0.0, 0.0, yaw)
    return out


def filtered(motion, rate_hz, strapped=True, seconds=3.0):
    """Return what is left of a motion x(t) [m] and of a turn by TURN x(t), and x(t) itself."""
    smoother = VibrationFilter([strapped], HZ)
    true, places, yaws = [], [], []
    for i in range(int(seconds * rate_hz)):
        x = motion(i / rate_hz)
        poses = pose_at((x, 0.0, 0.0), math.remainder(TURN * x, math.tau))
        smoother.smooth(0.0 if i == 0 else 1.0 / rate_hz, SEEN, poses)
        behind = log_rotation(poses[0, :3, :3].T @ rotation_from_rpy(0.0, 0.0, TURN * x))[2]
        true.append(x)
        places.append(poses[0, 0, 3])
        yaws.append(x - behind / TURN)
    return np.array(places), np.array(yaws), np.array(true)


@pytest.mark.parametrize('rate_hz', [30.0, 90.0, 250.0])
@pytest.mark.parametrize('speed', [0.0, 0.05, 5.0])
def test_a_steady_motion_passes_without_lag_from_its_second_frame_on(speed, rate_hz):
    places, yaws, true = filtered(lambda t: speed * t, rate_hz)
    assert np.allclose(places, true, atol=1e-9)
    assert np.allclose(yaws, true, atol=1e-9)


@pytest.mark.parametrize(('strapped', 'turns_hz'), [(True, 0.6 * HZ), (False, HZ)])
@pytest.mark.parametrize('rate_hz', [60.0, 90.0, 250.0])
def test_under_a_steady_acceleration_it_is_off_by_no_more_than_said(rate_hz, strapped, turns_hz):
    acceleration = 0.5
    places, yaws, true = filtered(lambda t: 0.5 * acceleration * t * t, rate_hz, strapped)
    for found, hz in ((places, HZ), (yaws, turns_hz)):
        off, bound = (true - found)[10:], acceleration / (2.0 * math.pi * hz) ** 2
        assert off.min() > 0.0
        assert off.max() <= bound
        if rate_hz == 250.0:
            assert off.max() > 0.8 * bound


def test_what_is_quick_is_followed_more_closely():
    acceleration = 1.0
    places, yaws, true = filtered(lambda t: 0.5 * acceleration * t * t, 250.0)
    speed = acceleration * 3.0
    for found, hz in ((places, HZ + 5.0 * speed), (yaws, 0.6 * HZ + 0.5 * TURN * speed)):
        bound = acceleration / (2.0 * math.pi * hz) ** 2
        assert 0.5 * bound < (true - found)[-1] < 1.1 * bound


@pytest.mark.parametrize('shake_hz', [25.0, 40.0])
def test_shaking_is_kept_out_and_slow_motion_is_not(shake_hz):
    def shares(hz, size, strapped):
        found = filtered(lambda t: size * math.sin(2.0 * math.pi * hz * t + 0.3), 90.0, strapped)
        return np.array([found[i][90:].std() / found[2][90:].std() for i in (0, 1)])

    assert (shares(shake_hz, 0.002, True) < (0.62, 0.5)).all()
    assert (shares(shake_hz, 0.002, False) < 0.62).all()
    assert (np.abs(shares(2.0, 0.3, True) - 1.0) < (0.01, 0.06)).all()
    assert (np.abs(shares(2.0, 0.3, False) - 1.0) < (0.01, 0.03)).all()


def test_it_shakes_less_than_a_one_euro_filter_that_is_as_near():
    """The reason for it: jerk of a moving device that trembles, at the same distance from it."""
    jerks, off = [], []
    for smoother in (VibrationFilter([True], HZ), OneEuro(1, Smoothing())):
        given = np.array([0.3 * math.sin(5.0 * i / 90.0) for i in range(900)])
        given = given + 1e-3 * np.random.default_rng(3).normal(size=900)
        found = []
        for i, x in enumerate(given):
            poses = pose_at((x, 0.0, 0.0))
            smoother.smooth(0.0 if i == 0 else 1.0 / 90.0, SEEN, poses)
            found.append(poses[0, 0, 3])
        jerks.append(np.abs(np.diff(found, n=3)).mean())
        off.append(np.abs(np.array(found) - given).mean())
    assert off[0] < off[1]
    assert jerks[0] < 0.7 * jerks[1]


def test_rotations_stay_rotations():
    smoother = VibrationFilter([True], HZ)
    rng = np.random.default_rng(5)
    for _ in range(20_000):
        poses = np.eye(4)[None].copy()
        poses[0, :3, :3] = rotation_from_rpy(*rng.uniform(-3.0, 3.0, 3))
        smoother.smooth(1.0 / 90.0, SEEN, poses)
    assert np.allclose(poses[0, :3, :3] @ poses[0, :3, :3].T, np.eye(3), atol=1e-9)


def test_a_device_that_comes_back_is_taken_as_it_is():
    smoother = VibrationFilter([True], HZ)
    for i in range(20):
        smoother.smooth(0.01, SEEN, pose_at((0.02 * i, 0.0, 0.0)))
    smoother.smooth(0.01, np.zeros(1), pose_at((9.0, 9.0, 9.0)))
    back = pose_at((1.0, 2.0, 3.0), 1.0)
    smoother.smooth(0.01, SEEN, back)
    assert np.array_equal(back, pose_at((1.0, 2.0, 3.0), 1.0))
    # It is not taken for as quick as it was before.
    still = pose_at((1.0, 2.0, 3.0), 1.0)
    smoother.smooth(0.01, SEEN, still)
    assert np.allclose(still, pose_at((1.0, 2.0, 3.0), 1.0), atol=1e-12)


def test_the_first_poses_are_taken_as_they_are_whatever_was_before():
    smoother = VibrationFilter([True], HZ)
    for i in range(20):
        smoother.smooth(0.01, SEEN, pose_at((0.02 * i, 0.0, 0.0)))
    elsewhere = pose_at((5.0, 0.0, 0.0), 2.0)
    smoother.smooth(0.0, SEEN, elsewhere)
    assert np.array_equal(elsewhere, pose_at((5.0, 0.0, 0.0), 2.0))


def test_another_filter_goes_on_where_one_of_its_kind_is():
    first, second = VibrationFilter([True, True], HZ), VibrationFilter([True], HZ)
    moving = [
        np.concatenate(
            (pose_at((0.0, 0.02 * i, 0.0)), pose_at((0.003 * i * i, 0.0, 0.0), 0.01 * i * i))
        )
        for i in range(20)
    ]
    for poses in moving[:-1]:
        first.smooth(0.01, np.ones(2), poses.copy())
    second.take_over(first, [0], [1])
    second.take_over(OneEuro(2, Smoothing()), [0], [0])  # of another kind: nothing to learn
    both, one = moving[-1].copy(), moving[-1][1:].copy()
    first.smooth(0.01, np.ones(2), both)
    second.smooth(0.01, SEEN, one)
    assert np.array_equal(both[1], one[0])
