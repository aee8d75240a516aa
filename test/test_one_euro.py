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

"""The one-euro filter keeps still what is still, and lags motion by no more than it says."""

import math

import numpy as np
import pytest

from vr_ik.filters.one_euro import OneEuro, Smoothing
from vr_ik.math.rotations import log_rotation, rotation_from_rpy

RATE_HZ = 90.0
SEEN = np.ones(1)


def poses(position=(0.0, 0.0, 0.0), yaw=0.0):
    out = np.eye(4)[None].copy()
    out[0, :3, 3] = position
    out[0, :3, :3] = rotation_from_rpy(0.0, 0.0, yaw)
    return out


def test_noise_at_rest_is_smoothed():
    rng = np.random.default_rng(1)
    smoother = OneEuro(1, Smoothing())
    raw, smooth = [], []
    for _ in range(900):
        noisy = poses(1e-3 * rng.normal(size=3))
        raw.append(noisy[0, :3, 3].copy())
        smoother.smooth(1.0 / RATE_HZ, SEEN, noisy)
        smooth.append(noisy[0, :3, 3].copy())
    steps = [np.linalg.norm(np.diff(x[100:], axis=0), axis=1).mean() for x in (raw, smooth)]
    assert steps[1] < 0.5 * steps[0]


@pytest.mark.parametrize('speed', [0.05, 0.5, 5.0])
def test_the_lag_stays_within_its_bound_at_any_speed(speed):
    smoothing = Smoothing()
    smoother = OneEuro(1, smoothing)
    for i in range(1800):
        x, yaw = speed * i / RATE_HZ, math.remainder(speed * i / RATE_HZ, 2.0 * math.pi)
        moving = poses((x, 0.0, 0.0), yaw)
        smoother.smooth(1.0 / RATE_HZ, SEEN, moving)
    assert 0.0 <= x - moving[0, 0, 3] <= smoothing.lag_m
    behind = log_rotation(moving[0, :3, :3].T @ rotation_from_rpy(0.0, 0.0, yaw))[2]
    assert 0.0 <= behind <= smoothing.lag_rad + 1e-9
    assert np.allclose(moving[0, :3, :3] @ moving[0, :3, :3].T, np.eye(3), atol=1e-9)


def test_a_device_that_comes_back_is_taken_as_it_is():
    smoother = OneEuro(1, Smoothing())
    smoother.smooth(0.0, SEEN, poses())
    smoother.smooth(0.01, np.zeros(1), poses())
    back = poses((1.0, 2.0, 3.0), 1.0)
    smoother.smooth(0.01, SEEN, back)
    assert np.allclose(back, poses((1.0, 2.0, 3.0), 1.0))
