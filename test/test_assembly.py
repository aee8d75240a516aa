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

"""Laws of frame assembly: each frame once, in order, at once where the source allows it."""

from hypothesis import given, strategies as st
import numpy as np
import pytest

from vr_ik.trackers.assembly import BACKWARDS_NS, FrameAssembler, SAME_FRAME_NS, WHOLE_FRAMES
from vr_ik.types import TrackingFrame

PERIOD_NS = 8_000_000
START_NS = 1_700_000_000_000_000_000
NAMES = ('hmd', 'l_controller', 'r_controller', 'waist')


def pose(name: str, stamp_ns: int) -> np.ndarray:
    """Return a pose that tells device and instant apart from all others."""
    matrix = np.eye(4)
    matrix[0, 3] = NAMES.index(name)
    matrix[1, 3] = (stamp_ns - START_NS) * 1e-9
    return matrix


def send(assembler: FrameAssembler, stamp_ns: int, *names: str) -> list[TrackingFrame]:
    """Send one message with devices of one instant."""
    poses = np.array([pose(name, stamp_ns) for name in names])
    return assembler.add(names, [stamp_ns] * len(names), poses)


def summary(frames: list[TrackingFrame]) -> list[tuple[int, tuple[str, ...]]]:
    """Return (tick, devices) of each frame, after a check that its poses are its own."""
    for frame in frames:
        expected = np.array([pose(name, frame.stamp_ns) for name in frame.names])
        np.testing.assert_array_equal(frame.poses, expected)
    return [((frame.stamp_ns - START_NS) // PERIOD_NS, frame.names) for frame in frames]


@given(st.lists(st.sets(st.sampled_from(NAMES), min_size=1), min_size=1, max_size=30))
def test_a_message_a_frame_is_handed_over_at_once(devices: list[set[str]]) -> None:
    """Whatever devices drop out, each message gives its frame before the next one comes."""
    assembler = FrameAssembler()
    for tick, names in enumerate(devices):
        ordered = tuple(sorted(names))
        frames = send(assembler, START_NS + tick * PERIOD_NS, *ordered)
        assert summary(frames) == [(tick, ordered)]
    assert not assembler.splits_frames
    assert assembler.late == assembler.repeated == 0


def test_a_source_of_single_transforms_is_learnt_from_its_first_frame() -> None:
    """From the second frame on, a frame is whole and comes with its last transform."""
    assembler = FrameAssembler()
    first = [frame for name in NAMES for frame in send(assembler, START_NS, name)]
    assert summary(first) == [(0, ('hmd',))]
    assert assembler.late == 3
    for tick in range(1, 5):
        stamp_ns = START_NS + tick * PERIOD_NS
        *before, last = [send(assembler, stamp_ns, name) for name in NAMES]
        assert before == [[], [], []]
        assert summary(last) == [(tick, NAMES)]
    assert assembler.late == 3


def test_a_device_that_drops_out_of_a_split_source_delays_one_frame_only() -> None:
    """The frame without it is handed over by the next stamp; later ones do not wait for it."""
    assembler = FrameAssembler()
    for tick in range(2):
        for name in NAMES:
            send(assembler, START_NS + tick * PERIOD_NS, name)
    remaining = NAMES[:3]
    for name in remaining:
        assert send(assembler, START_NS + 2 * PERIOD_NS, name) == []
    assert summary(send(assembler, START_NS + 3 * PERIOD_NS, 'hmd')) == [(2, remaining)]
    assert send(assembler, START_NS + 3 * PERIOD_NS, 'l_controller') == []
    last = send(assembler, START_NS + 3 * PERIOD_NS, 'r_controller')
    assert summary(last) == [(3, remaining)]


def test_a_source_that_stops_splitting_is_trusted_again() -> None:
    """After enough whole frames, a device that drops out delays nothing."""
    assembler = FrameAssembler()
    for name in NAMES:
        send(assembler, START_NS, name)
    for tick in range(1, WHOLE_FRAMES + 2):
        send(assembler, START_NS + tick * PERIOD_NS, *NAMES)
    assert not assembler.splits_frames
    tick = WHOLE_FRAMES + 2
    assert summary(send(assembler, START_NS + tick * PERIOD_NS, 'hmd')) == [(tick, ('hmd',))]


@given(
    st.lists(st.sets(st.sampled_from(NAMES), min_size=1), min_size=1, max_size=20),
    st.data(),
)
def test_however_messages_are_cut_no_frame_comes_twice_or_out_of_order(
    devices: list[set[str]], data: st.DataObject
) -> None:
    """Cut the stream of transforms into messages at random: stamps rise, poses are their own."""
    stream = [
        (name, START_NS + tick * PERIOD_NS)
        for tick, names in enumerate(devices)
        for name in sorted(names)
    ]
    assembler = FrameAssembler()
    frames: list[TrackingFrame] = []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        message, stream = stream[:size], stream[size:]
        names = [name for name, _ in message]
        stamps_ns = [stamp_ns for _, stamp_ns in message]
        frames += assembler.add(names, stamps_ns, np.array([pose(*part) for part in message]))
    frames += send(assembler, START_NS + 1000 * PERIOD_NS, 'hmd')
    ticks = [tick for tick, _ in summary(frames)]
    # A last frame that waits for more devices is handed over by the stamp that follows it.
    assert ticks == [*range(len(devices)), 1000][: len(ticks)]
    assert len(ticks) >= len(devices)


def test_repeated_transforms_are_dropped() -> None:
    """The same message again (two publishers, a relay) makes no second frame."""
    assembler = FrameAssembler()
    assert len(send(assembler, START_NS, *NAMES)) == 1
    assert send(assembler, START_NS, *NAMES) == []
    assert (assembler.repeated, assembler.late) == (4, 0)
    assert not assembler.splits_frames


def test_a_latecomer_of_an_earlier_frame_joins_no_other() -> None:
    """A device that the current frame lacks does not enter it with an older pose."""
    assembler = FrameAssembler()
    send(assembler, START_NS, 'hmd')
    send(assembler, START_NS + PERIOD_NS, 'hmd')
    assert send(assembler, START_NS, 'waist') == []
    assert send(assembler, START_NS, 'hmd') == []
    assert (assembler.repeated, assembler.late) == (0, 2)
    assert not assembler.splits_frames


def test_a_restart_of_time_begins_anew_and_a_latecomer_does_not() -> None:
    """A bag that loops goes on at once; a transform late by a few frames is dropped."""
    assembler = FrameAssembler()
    send(assembler, START_NS, *NAMES)
    assert send(assembler, START_NS - BACKWARDS_NS // 2, *NAMES) == []
    frames = send(assembler, START_NS - BACKWARDS_NS, *NAMES)
    assert [frame.stamp_ns for frame in frames] == [START_NS - BACKWARDS_NS]


@pytest.mark.parametrize('offset_ns', [1, SAME_FRAME_NS // 2, SAME_FRAME_NS - 1])
def test_devices_stamped_one_by_one_form_one_frame(offset_ns: int) -> None:
    """A source that stamps each device when it is read still gives one frame, one stamp."""
    assembler = FrameAssembler()
    poses = np.array([np.eye(4)] * 2)
    for tick in range(3):
        stamp_ns = START_NS + tick * PERIOD_NS
        (frame,) = assembler.add(['hmd', 'waist'], [stamp_ns, stamp_ns + offset_ns], poses)
        assert frame.stamp_ns == stamp_ns
        assert frame.names == ('hmd', 'waist')
