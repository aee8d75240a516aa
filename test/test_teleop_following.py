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


"""How well a tip has followed is measured right, on ways whose truth is known."""

from hypothesis import given, settings, strategies as st
import numpy as np
import pytest

from vr_ik.config import USER_MOTIONS
from vr_ik.math.rotations import exp_rotation, rotation_from_rpy
from vr_ik.teleop.following import judge_following
from vr_ik.trackers.simulated_user import MOTIONS, SimulatedUser

YAW = rotation_from_rpy(0.0, 0.0, 0.7)
TIMES_S = np.arange(0.0, 8.0, 0.004)


def hand_at(time_s: float) -> np.ndarray:
    pose = np.eye(4)
    pose[:3, 3] = 0.1 * np.array((np.sin(time_s), np.sin(2.0 * time_s), np.cos(time_s)))
    pose[:3, :3] = exp_rotation(0.4 * np.array((np.sin(time_s), 0.0, np.cos(2.0 * time_s))))
    return pose


def tips(delay_s: float, scale: float = 1.0, trembling_m: float = 0.0) -> np.ndarray:
    """Return a tip that does as the hand did, from another place and turn."""
    there = np.eye(4)
    there[:3, :3] = exp_rotation(np.array((0.3, 2.0, 0.1)))
    rows = []
    for i, time_s in enumerate(TIMES_S):
        hand = hand_at(time_s - delay_s)
        pose = np.eye(4)
        pose[:3, :3] = YAW @ hand[:3, :3] @ there[:3, :3]
        pose[:3, 3] = (0.5, 0.1, 0.4) + scale * (YAW @ hand[:3, 3])
        pose[2, 3] += trembling_m * (-1.0) ** i
        rows.append(pose)
    return np.array(rows)


@settings(max_examples=10)
@given(st.integers(0, 150), st.sampled_from((0.5, 1.0, 2.0)))
def test_delay_and_errors_are_found_whatever_the_offset(delay_ms, scale):
    moved = tips(1e-3 * delay_ms, scale)
    following = judge_following(TIMES_S, moved, hand_at, [(0.0, 8.0)], YAW, scale)
    assert 1e3 * following.delays_s[0] == pytest.approx(delay_ms, abs=1.0)
    assert following.errors_m.max() < 5e-4
    assert np.degrees(following.errors_rad.max()) < 0.2


def test_the_lag_is_what_the_delay_makes_of_the_speed():
    following = judge_following(TIMES_S, tips(0.05), hand_at, [(0.0, 8.0)], YAW, 1.0)
    before = np.array([hand_at(time_s - 0.05)[:3, 3] for time_s in TIMES_S])
    now = np.array([hand_at(time_s)[:3, 3] for time_s in TIMES_S])
    ways = np.linalg.norm(now - before, axis=1)[TIMES_S >= 0.5]
    np.testing.assert_allclose(following.lags_m, ways, atol=5e-4)


def test_trembling_is_an_error():
    following = judge_following(TIMES_S, tips(0.02, 1.0, 2e-3), hand_at, [(0.0, 8.0)], YAW, 1.0)
    assert following.errors_m.mean() == pytest.approx(2e-3, rel=0.1)


def test_stretches_that_are_too_short_tell_nothing():
    following = judge_following(TIMES_S, tips(0.0), hand_at, [(0.0, 1.2), (3.0, 3.4)], YAW, 1.0)
    assert len(following.delays_s) == len(following.errors_m) == 0


def test_simulated_users_know_the_motions_that_parameters_name():
    assert set(MOTIONS) == set(USER_MOTIONS)


def test_an_operator_enables_then_presses_and_releases_the_grip_in_every_round():
    user = SimulatedUser(1.75, 'teleoperation')
    times_s = np.arange(0.0, user.round_s, 0.01)
    keys = [user.hands_at(time_s) for time_s in times_s]
    grips = np.array([key.grip for key in keys])
    menu = np.array([key.menu for key in keys])
    presses = np.flatnonzero(np.diff(grips) > 0.0)
    assert len(presses) == 2
    assert menu[presses].all(), 'enabled right before each press'
    assert not menu[grips > 0.0].any()
    assert grips[0] == 0.0
    poses = np.array(
        [user.device_poses(user.q_at(time_s), ('hmd', 'r_controller')) for time_s in times_s]
    )
    ways = np.linalg.norm(np.diff(poses[:, 1, :3, 3], axis=0), axis=1)
    assert ways.max() < 0.01 * 1.0  # no faster than 1 m/s
    assert np.ptp(poses[:, 0, :3, 3], axis=0).max() < 0.01  # the head is still


def test_a_delay_beyond_what_is_tried_is_none():
    following = judge_following(TIMES_S, tips(0.5), hand_at, [(0.0, 8.0)], YAW, 1.0)
    assert len(following.delays_s) == 0
    assert len(following.errors_m) > 0
