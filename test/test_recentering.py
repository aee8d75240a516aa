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

"""Laws of recentering: the user at the origin, heading 0, and nothing else changed."""

import math

from hypothesis import given, strategies as st
import numpy as np
import pytest

from vr_ik.errors import TrackerError
from vr_ik.math.rotations import exp_rotation, inverse_pose, pose, rotation_from_rpy
from vr_ik.trackers.recentering import Recentering
from vr_ik.types import Array, TrackingFrame

metres = st.floats(-5.0, 5.0)
angles = st.floats(-math.pi, math.pi)


def frame_of(poses: Array, names: tuple[str, ...] = ('hmd', 'waist')) -> TrackingFrame:
    twists = np.random.default_rng(0).normal(size=(len(poses), 6))
    return TrackingFrame(7, names, poses, twists)


def test_before_the_first_time_nothing_is_changed():
    frame = frame_of(np.array([np.eye(4), np.eye(4)]))
    recentering = Recentering()
    assert recentering.apply(frame) is frame
    station = np.eye(4)
    assert recentering.apply_to_pose(station) is station


@given(metres, metres, metres, angles, st.floats(-1.5, 1.5))
def test_the_user_is_at_the_origin_and_looks_along_x(x, y, z, yaw, pitch):
    user = pose(rotation_from_rpy(0.0, pitch, yaw), np.array([x, y, z]))
    frame = frame_of(np.array([user, np.eye(4)]))
    recentering = Recentering()
    recentering.apply(frame)
    assert recentering.recenter() == 'hmd'
    after = recentering.apply(frame).poses[0]
    expected = pose(rotation_from_rpy(0.0, pitch, 0.0), np.array([0.0, 0.0, z]))
    np.testing.assert_allclose(after, expected, atol=1e-9)


@given(st.lists(angles, min_size=6, max_size=6), metres, metres)
def test_the_world_moves_as_a_whole_and_stays_upright(turns, x, y):
    user = pose(exp_rotation(np.array(turns[:3])), np.array([x, y, 1.0]))
    other = pose(exp_rotation(np.array(turns[3:])), np.array([y, x, 2.0]))
    frame = frame_of(np.array([user, other]))
    recentering = Recentering()
    recentering.apply(frame)
    recentering.recenter()
    after = recentering.apply(frame)
    relative = inverse_pose(user) @ other
    np.testing.assert_allclose(inverse_pose(after.poses[0]) @ after.poses[1], relative, atol=1e-9)
    np.testing.assert_allclose(recentering.apply_to_pose(other), after.poses[1], atol=1e-12)
    np.testing.assert_allclose(after.poses[:, 2], frame.poses[:, 2], atol=1e-12)  # heights
    assert frame.twists is not None
    assert after.twists is not None
    # In the device's own axes a twist is what it was.
    for before_pose, after_pose, before, now in zip(
        frame.poses, after.poses, frame.twists, after.twists
    ):
        for part in (slice(0, 3), slice(3, 6)):
            np.testing.assert_allclose(
                after_pose[:3, :3].T @ now[part], before_pose[:3, :3].T @ before[part], atol=1e-9
            )


def test_twice_is_as_good_as_once():
    user = pose(rotation_from_rpy(0.1, 0.2, 2.0), np.array([1.0, 2.0, 1.7]))
    frame = frame_of(np.array([user]), ('hmd',))
    recentering = Recentering()
    recentering.apply(frame)
    recentering.recenter()
    once = recentering.apply(frame).poses
    recentering.recenter()
    np.testing.assert_allclose(recentering.apply(frame).poses, once, atol=1e-12)


def frame_of_names(*names: str) -> TrackingFrame:
    return TrackingFrame(0, names, np.tile(np.eye(4), (len(names), 1, 1)))


def test_without_a_headset_the_waist_is_the_user_and_without_anyone_it_is_refused():
    recentering = Recentering()
    recentering.apply(frame_of_names('l_foot', 'chest', 'waist'))
    assert recentering.recenter() == 'waist'
    recentering.apply(frame_of_names('l_foot'))
    with pytest.raises(TrackerError, match='none of hmd, waist, chest'):
        recentering.recenter()
