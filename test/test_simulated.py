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

"""Laws of the simulated user: a smooth natural motion, faults as ordered, the same every time."""

from pathlib import Path
import re
from typing import Any

import numpy as np
import pytest

from vr_ik.config import TrackerConfig
from vr_ik.math.rotations import exp_rotation
from vr_ik.trackers.simulated import SIMULATED_ROLES, SimulatedTracker
from vr_ik.trackers.simulated_user import SimulatedUser
from vr_ik.types import DeviceStatus

CLEAN: dict[str, Any] = {
    'position_noise_mm': 0.0,
    'rotation_noise_deg': 0.0,
    'dropouts_per_minute': 0.0,
    'glitches_per_minute': 0.0,
}
RATE_HZ = 100.0


def frames(seconds, **settings):
    tracker = SimulatedTracker(TrackerConfig(**settings))
    tracker.open()
    stamps = [int(1e18 + i * 1e9 / RATE_HZ) for i in range(int(seconds * RATE_HZ))]
    return tracker, [tracker.read(stamp) for stamp in stamps]


@pytest.fixture(scope='module')
def user():
    return SimulatedUser(1.75)


@pytest.fixture(scope='module')
def motion(user):
    times = np.arange(0.0, user.round_s, 1.0 / RATE_HZ)
    return np.array([user.q_at(t) for t in times])


def test_the_motion_is_within_limits_and_on_the_ground(user, motion):
    model = user.model
    assert (motion[:, 7:] >= model.lower).all() and (motion[:, 7:] <= model.upper).all()
    for q in motion[::20]:
        soles = [model.link_pose(q, link)[2, 3] for link in ('l_sole', 'r_sole')]
        assert min(soles) == pytest.approx(0.0, abs=1e-9)


def test_the_motion_is_smooth_and_no_faster_than_people(user, motion):
    velocity = np.abs(np.diff(motion[:, 7:], axis=0)) * RATE_HZ
    assert (velocity.max(axis=0) <= user.model.velocity_limits).all()
    hands = np.array([user.device_poses(q, ('l_controller',))[0, :3, 3] for q in motion])
    assert np.linalg.norm(np.diff(hands, axis=0), axis=1).max() * RATE_HZ < 10.0


def test_the_round_closes_and_starts_in_the_t_pose(user):
    start, end = user.q_at(0.0), user.q_at(user.round_s - 1e-9)
    start[3:7] *= np.sign(start[3:7] @ end[3:7])
    assert np.abs(start - end).max() < 1e-6
    hands = user.device_poses(start, ('l_controller', 'r_controller'))[:, :3, 3]
    shoulder = user.model.link_pose(start, 'l_upper_arm')[2, 3]
    assert hands[0, 1] > 0.6 and hands[1, 1] < -0.6
    assert np.abs(hands[:, 2] - shoulder).max() < 0.15


def test_a_t_pose_is_held_when_the_readme_says(user):
    """Long enough to call for a calibration by hand."""
    text = (Path(__file__).parent.parent / 'README.md').read_text()
    said = re.search(
        r'from second ([\d.]+) to ([\d.]+) after his start, and every ([\d.]+) s',
        ' '.join(text.split()),
    )
    assert said is not None
    begin, end, period = map(float, said.groups())
    assert user.round_s == pytest.approx(period, abs=0.051)
    for again in (0.0, user.round_s):
        q = [user.q_at(again + t) for t in np.arange(begin, end - 0.05, 0.1)]
        assert np.abs(np.array(q)[:, 7:] - user.q_at(0.0)[7:]).max() < 1e-3
    assert np.abs((user.q_at(begin - 0.3) - user.q_at(0.0))[7:]).max() > 0.01


def test_the_script_squats_lifts_both_feet_and_turns_around(user, motion):
    pelvis = motion[:, 2]
    assert pelvis.max() - pelvis.min() > 0.3
    for foot in ('l_sole', 'r_sole'):
        heights = [user.model.link_pose(q, foot)[2, 3] for q in motion[::5]]
        assert max(heights) > 0.15
    yaw = 2.0 * np.arctan2(motion[:, 5], motion[:, 6])
    assert yaw.max() - yaw.min() > np.pi


def test_without_faults_the_devices_are_where_the_body_is(user):
    _, clean = frames(1.0, **CLEAN)
    for i, frame in enumerate(clean):
        expected = user.device_poses(user.q_at(i / RATE_HZ), SIMULATED_ROLES)
        assert frame.names == SIMULATED_ROLES
        assert np.abs(frame.poses - expected).max() < 1e-6


def test_twists_are_the_velocities_of_the_poses():
    """Integrated over a frame they lead to the next one, in the world's axes."""
    _, clean = frames(23.0, **CLEAN)
    speeds = []
    for a, b in zip(clean, clean[1:]):
        mean = (a.twists + b.twists) / 2.0 / RATE_HZ
        assert np.abs(b.poses[:, :3, 3] - a.poses[:, :3, 3] - mean[:, :3]).max() < 2e-3
        for before, after, twist in zip(a.poses, b.poses, mean):
            turned = exp_rotation(twist[3:]) @ before[:3, :3]
            assert np.abs(turned - after[:3, :3]).max() < 5e-3
        speeds.append(np.abs(a.twists).max(axis=0))
    assert (np.max(speeds, axis=0) > 0.5).all()  # none of the six is left out


def test_the_same_seed_gives_the_same_frames_and_another_does_not():
    _, a = frames(3.0)
    _, b = frames(3.0)
    _, other = frames(3.0, seed=2)
    assert all(x.names == y.names and (x.poses == y.poses).all() for x, y in zip(a, b))
    assert any(x.names != y.names or (x.poses != y.poses).any() for x, y in zip(a, other))


def test_noise_has_the_size_that_was_asked_for(user):
    settings = {**CLEAN, 'position_noise_mm': 2.0}
    _, noisy = frames(4.0, **settings)
    _, clean = frames(4.0, **CLEAN)
    errors = np.array([a.poses - b.poses for a, b in zip(noisy, clean)])[:, :, :3, 3]
    assert errors.std() == pytest.approx(2e-3, rel=0.1)


def test_dropouts_and_glitches_come_and_go():
    tracker, faulty = frames(60.0, **{**CLEAN, 'dropouts_per_minute': 30.0})
    lost = [frame for frame in faulty if len(frame.names) < len(SIMULATED_ROLES)]
    assert 0.01 < len(lost) / len(faulty) < 0.2
    assert all(len(frame.names) == len(SIMULATED_ROLES) - 1 for frame in lost)
    _, clean = frames(60.0, **CLEAN)
    _, glitchy = frames(60.0, **{**CLEAN, 'glitches_per_minute': 60.0})
    jumps = [np.abs(a.poses - b.poses).max() for a, b in zip(glitchy, clean)]
    assert 0.001 < np.mean(np.array(jumps) > 0.1) < 0.1


def test_a_lost_device_is_reported_lost():
    tracker = SimulatedTracker(TrackerConfig(**{**CLEAN, 'dropouts_per_minute': 60.0}))
    for i in range(2000):
        frame = tracker.read(int(1e18 + i * 1e7))
        lost = {d.name for d in tracker.devices() if d.status is DeviceStatus.LOST}
        assert lost == set(SIMULATED_ROLES) - set(frame.names)


def test_the_origin_pins_the_motion(user):
    tracker = SimulatedTracker(TrackerConfig(**CLEAN, origin_s=1000.0))
    frame = tracker.read(int(1003.5e9))
    expected = user.device_poses(user.q_at(3.5), SIMULATED_ROLES)
    assert np.abs(frame.poses - expected).max() < 1e-6
