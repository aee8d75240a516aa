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

"""Laws of the frame cleaner: jumps that do not last are refused, short losses bridged."""

import numpy as np
import pytest

from vr_ik.filters.clean import CleanLimits, FrameCleaner
from vr_ik.math.rotations import exp_rotation
from vr_ik.types import TrackingFrame

LIMITS = CleanLimits(speed_m_s=10.0, turn_rad_s=50.0, glitch_hold_s=0.1, gap_hold_s=0.2)
STEP_NS = 10_000_000


class Stream:
    """Feeds a cleaner with one device, frame by frame, 10 ms apart."""

    def __init__(self, limits=LIMITS):
        self.cleaner = FrameCleaner(('waist', 'hmd'), limits)
        self.targets = np.tile(np.eye(4), (2, 1, 1))
        self.confidence = np.zeros(2)
        self.stamp_ns = 1_000_000_000

    def feed(self, pose):
        self.stamp_ns += STEP_NS
        seen = pose is not None
        poses = pose[None] if seen else np.empty((0, 4, 4))
        frame = TrackingFrame(self.stamp_ns, ('hmd',) if seen else (), poses)
        self.cleaner.clean(frame, self.targets, self.confidence)
        return self.targets[1].copy(), float(self.confidence[1])


def at(x, turn=0.0):
    pose = np.eye(4)
    pose[:3, :3] = exp_rotation(np.array([0.0, 0.0, turn]))
    pose[0, 3] = x
    return pose


def test_ordinary_motion_passes_unchanged():
    stream = Stream()
    for i in range(100):
        pose = at(0.03 * i, 0.05 * i)
        target, confidence = stream.feed(pose)
        assert (target == pose).all()
        assert confidence == 1.0
    assert stream.cleaner.glitches == 0


@pytest.mark.parametrize('glitch', [at(2.0), at(0.0, 3.0), at(-0.5, -2.0)])
def test_a_jump_of_a_few_frames_is_refused(glitch):
    stream = Stream()
    for _ in range(5):
        stream.feed(at(0.0))
    for _ in range(4):
        target, confidence = stream.feed(glitch)
        assert (target == at(0.0)).all()
        assert 0.0 < confidence < 1.0
    target, confidence = stream.feed(at(0.01))
    assert (target == at(0.01)).all()
    assert confidence == 1.0
    assert stream.cleaner.glitches == 4


def test_a_jump_that_lasts_is_believed():
    stream = Stream()
    stream.feed(at(0.0))
    believed = [(stream.feed(at(2.0))[0] == at(2.0)).all() for _ in range(15)]
    first = believed.index(True)
    assert first * STEP_NS * 1e-9 >= LIMITS.glitch_hold_s
    assert all(believed[first:])
    assert stream.cleaner.glitches == first


def test_without_a_gate_every_jump_is_believed_at_once():
    stream = Stream(CleanLimits(speed_m_s=0.1, turn_rad_s=0.1, glitch_hold_s=0.0, gap_hold_s=0.0))
    for x in (0.0, 2.0, -3.0, 0.3):
        target, confidence = stream.feed(at(x, x))
        assert (target == at(x, x)).all()
        assert confidence == 1.0
    assert stream.cleaner.glitches == 0


def test_jumps_to_one_place_again_and_again_do_not_add_up():
    """As by a reflection that is taken for the device now and then."""
    stream = Stream()
    stream.feed(at(0.0))
    for i in range(1, 61):
        target, _ = stream.feed(at(2.0) if i % 15 == 0 else at(0.0))
        assert (target == at(0.0)).all()


def test_random_jumping_is_never_believed():
    stream = Stream()
    stream.feed(at(0.0))
    rng = np.random.default_rng(0)
    for _ in range(40):
        target, _ = stream.feed(at(rng.uniform(3.0, 30.0) * rng.choice([-1, 1])))
        assert (target == at(0.0)).all()


def test_a_lost_device_fades_and_is_let_go():
    stream = Stream()
    stream.feed(at(0.3))
    fades = []
    for _ in range(25):
        target, confidence = stream.feed(None)
        assert (target == at(0.3)).all()
        fades.append(confidence)
    assert fades == sorted(fades, reverse=True)
    assert fades[0] > 0.9
    assert fades[-1] == 0.0


@pytest.mark.parametrize(('way_m', 'turn'), [(0.4, 0.0), (0.0, 1.2), (-0.3, -1.0), (1.1, 2.8)])
def test_a_device_that_comes_back_elsewhere_is_caught_up_with(way_m, turn):
    """No faster than a limb that hurries, and in a quarter of a second; meanwhile it may move."""
    stream = Stream()
    for _ in range(5):
        stream.feed(at(0.0))
    for _ in range(10):
        stream.feed(None)
    before, confidence = at(0.0), 0.0
    behind = []
    for i in range(30):
        true = at(way_m + 0.002 * i, turn)
        target, confidence = stream.feed(true)
        assert confidence == 1.0
        # It has moved by so much in 0.11 s, and what is left goes at 1.5 m/s and 8 rad/s at least.
        fastest_m_s = 1.5 + abs(way_m) / 0.11 + 0.25
        assert abs(target[0, 3] - before[0, 3]) <= fastest_m_s * 0.01 + 0.002
        assert np.allclose(target[:3, :3] @ target[:3, :3].T, np.eye(3), atol=1e-9)
        behind.append(abs(target[0, 3] - true[0, 3]) + np.abs(target - true)[:3, :3].max())
        before = target
    assert behind[0] > 0.1
    assert behind == sorted(behind, reverse=True)
    assert max(behind[25:]) == 0.0


def test_what_flickers_a_little_way_off_is_followed_at_once():
    stream = Stream()
    stream.feed(at(0.0))
    for i in range(1, 40):
        if i % 3:
            stream.feed(None)
        else:
            target, _ = stream.feed(at(0.001 * i, 0.002 * i))
            assert (target == at(0.001 * i, 0.002 * i)).all()


def test_a_device_that_was_let_go_begins_anew():
    stream = Stream()
    for _ in range(3):
        stream.feed(at(0.0))
    for _ in range(30):
        stream.feed(None)
    target, confidence = stream.feed(at(0.5))
    assert (target == at(0.5)).all() and confidence == 1.0


def test_a_place_near_by_that_lasts_is_caught_up_with_in_time():
    """What is known of the speed does not outlive a jump, yet nobody waits for long."""
    limits = CleanLimits(speed_m_s=5.0, turn_rad_s=50.0, glitch_hold_s=0.1, gap_hold_s=0.2)
    stream = Stream(limits)
    for _ in range(5):
        stream.feed(at(0.0))
    places = [stream.feed(at(0.8))[0][0, 3] for _ in range(40)]
    believed = next(i for i, x in enumerate(places) if x > 0.0)
    assert np.diff(places).max() < 0.05
    assert places[believed + 26] == 0.8


def test_what_was_let_go_on_the_way_is_not_caught_up_with_any_more():
    limits = CleanLimits(speed_m_s=5.0, turn_rad_s=50.0, glitch_hold_s=0.1, gap_hold_s=0.13)
    stream = Stream(limits)
    for _ in range(5):
        stream.feed(at(0.0))
    while stream.feed(at(0.8))[0][0, 3] == 0.0:
        pass
    for _ in range(14):
        _, confidence = stream.feed(None)
    assert confidence == 0.0
    target, _ = stream.feed(at(0.8))
    assert (target == at(0.8)).all()


def test_another_cleaner_goes_on_catching_up():
    stream, other = Stream(), Stream()
    for _ in range(3):
        stream.feed(at(0.0))
    for _ in range(10):
        stream.feed(None)
    stream.feed(at(0.4))
    other.cleaner.take_over(stream.cleaner, [0, 1], [0, 1])
    other.stamp_ns = stream.stamp_ns
    for _ in range(10):
        (mine, _), (theirs, _) = stream.feed(at(0.4)), other.feed(at(0.4))
        assert (mine == theirs).all()


def test_a_device_never_seen_is_unknown_and_others_are_ignored():
    stream = Stream()
    frame = TrackingFrame(5, ('r_foot',), np.eye(4)[None])
    stream.cleaner.clean(frame, stream.targets, stream.confidence)
    assert (stream.confidence == 0.0).all()


def test_nan_counts_as_not_seen():
    stream = Stream()
    stream.feed(at(0.0))
    target, confidence = stream.feed(at(np.nan))
    assert (target == at(0.0)).all()
    assert confidence < 1.0


def test_reset_forgets():
    stream = Stream()
    stream.feed(at(0.0))
    stream.cleaner.reset()
    target, confidence = stream.feed(at(5.0))
    assert (target == at(5.0)).all()
    assert confidence == 1.0


def test_a_frame_that_is_told_twice_changes_nothing():
    """A hand in quick motion is still believed after it."""
    stream = Stream()
    for i in range(40):
        # At 9 m/s, which of a hand at rest would not be believed.
        pose = at(0.09 * i)
        target, confidence = stream.feed(pose)
        assert (target == pose).all() and confidence == 1.0
        stream.stamp_ns -= STEP_NS
        assert (stream.feed(pose)[0] == pose).all()
    assert stream.cleaner.glitches == 0
