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
