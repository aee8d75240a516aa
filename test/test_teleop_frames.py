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

"""Frames by chains of transforms: as far, as old and as lost as their links make them."""

from hypothesis import given, strategies as st
import numpy as np
import pytest

from vr_ik.math.rotations import exp_rotation, pose
from vr_ik.teleop.frame_tree import FrameTree
from vr_ik.types import Array

NOW_NS = 10**18
MS = 10**6
TIMEOUT_S = 0.1


def some_pose(seed: int) -> Array:
    rng = np.random.default_rng(seed)
    return pose(exp_rotation(rng.normal(size=3)), rng.normal(size=3))


def tree() -> FrameTree:
    return FrameTree('world', ['tool'])


def tool_pose(frames: FrameTree) -> Array:
    found = frames.place('tool', NOW_NS).pose
    assert found is not None
    return found


@given(st.permutations(range(5)), st.sets(st.integers(0, 4)), st.integers(0, 5))
def test_a_chain_is_the_product_of_its_links_in_whatever_order_they_come(
    order: list[int], static: set[int], world: int
) -> None:
    """Wherever the world is among the ancestors, and whichever links never move."""
    names = ['tool', 'a', 'b', 'c', 'd', 'e']
    frames = FrameTree(names[world], ['tool'])
    links = [some_pose(i) for i in range(5)]
    for _ in range(6):  # what moves is told again and again
        for i in order:
            if i in static:
                frames.update_static(names[i + 1], names[i], links[i])
            else:
                frames.update(names[i + 1], names[i], NOW_NS, links[i])
    expected = np.eye(4)
    for link in links[:world]:
        expected = link @ expected
    place = frames.place('tool', NOW_NS)
    assert (place.stamp_ns, place.lack) == (NOW_NS, '')
    np.testing.assert_allclose(tool_pose(frames), expected, atol=1e-12)


def test_frames_of_two_branches_meet_at_what_carries_both() -> None:
    frames = tree()
    frames.update('room', 'tool', NOW_NS, some_pose(1))
    frames.update_static('room', 'base', some_pose(2))
    frames.update('base', 'world', NOW_NS - MS, some_pose(3))
    place = frames.place('tool', NOW_NS)
    expected = np.linalg.inv(some_pose(2) @ some_pose(3)) @ some_pose(1)
    np.testing.assert_allclose(tool_pose(frames), expected, atol=1e-12)
    assert place.stamp_ns == NOW_NS - MS


@pytest.mark.parametrize('old', ('tool', 'tracker'))
def test_a_chain_is_as_old_as_the_oldest_of_the_links_that_move(old: str) -> None:
    frames = tree()
    stamps = {'tool': NOW_NS, 'tracker': NOW_NS, old: NOW_NS - 150 * MS}
    frames.update('tracker', 'tool', stamps['tool'], some_pose(1))
    frames.update('mount', 'tracker', stamps['tracker'], some_pose(2))
    frames.update_static('world', 'mount', some_pose(3))
    assert frames.place('tool', NOW_NS).stamp_ns == stamps[old]
    assert frames.recent('tool', NOW_NS, TIMEOUT_S) is None
    for name, parent in (('tool', 'tracker'), ('tracker', 'mount')):
        frames.update(parent, name, NOW_NS, some_pose(4))
    assert frames.recent('tool', NOW_NS, TIMEOUT_S) is not None


@pytest.mark.parametrize('ahead_s', (3600.0, -3600.0))
def test_what_is_far_from_now_does_not_hold(ahead_s: float) -> None:
    frames = tree()
    frames.update('world', 'tool', NOW_NS + round(ahead_s * 1e9), np.eye(4))
    assert frames.recent('tool', NOW_NS, TIMEOUT_S) is None
    assert frames.place('tool', NOW_NS).pose is not None


def test_links_are_taken_at_one_time() -> None:
    """A tracker that turns and moves evenly at 100/s, below it a tool that is told at 30/s."""
    frames = tree()
    turn, speed = np.array([0.3, -2.0, 1.0]), np.array([1.0, 0.5, -0.2])

    def tracker(seconds: float) -> Array:
        return pose(exp_rotation(seconds * turn), seconds * speed)

    offset = pose(np.eye(3), np.array([0.0, 0.0, 0.2]))
    for k in range(40):
        frames.update('world', 'tracker', NOW_NS + 10 * k * MS, tracker(0.01 * k))
        if k % 3 == 0:
            frames.update('tracker', 'tool', NOW_NS + 10 * k * MS + 4 * MS, offset)
        if k > 4:
            place = frames.place('tool', NOW_NS)
            at_s = min(0.01 * k, 0.01 * (k - k % 3) + 0.004)
            assert place.stamp_ns == NOW_NS + round(at_s * 1e9)
            np.testing.assert_allclose(tool_pose(frames), tracker(at_s) @ offset, atol=1e-9)


def test_a_link_that_is_missing_is_named() -> None:
    frames = tree()
    assert frames.place('tool', NOW_NS).lack == "no transform of 'tool' has come"
    frames.update('tracker', 'tool', NOW_NS, np.eye(4))
    place = frames.place('tool', NOW_NS)
    assert (place.pose, place.lack) == (None, "no transform of 'tracker' has come")
    assert frames.recent('tool', NOW_NS, TIMEOUT_S) is None
    frames.update('world', 'tracker', NOW_NS, np.eye(4))
    assert frames.place('tool', NOW_NS).lack == ''


def test_a_loop_is_no_chain_and_ends() -> None:
    frames = tree()
    for parent, child in (('a', 'tool'), ('b', 'a'), ('a', 'b')):
        frames.update(parent, child, NOW_NS, np.eye(4))
    place = frames.place('tool', NOW_NS)
    assert (place.pose, place.lack) == (None, "its transforms go round in a loop at 'a'")
    frames.update('world', 'a', NOW_NS, np.eye(4))
    assert frames.place('tool', NOW_NS).pose is not None


def test_a_loop_above_the_world_harms_nothing_below_it() -> None:
    frames = tree()
    for parent, child in (('a', 'world'), ('world', 'a'), ('world', 'tool')):
        frames.update(parent, child, NOW_NS, np.eye(4))
    assert frames.place('tool', NOW_NS).pose is not None


def test_what_is_fixed_to_the_world_is_there_now_until_it_is_told_to_move() -> None:
    frames = tree()
    frames.update_static('world', 'tool', some_pose(1))
    assert frames.place('tool', NOW_NS).stamp_ns == NOW_NS
    frames.update('world', 'tool', NOW_NS, some_pose(2))
    frames.update_static('world', 'tool', some_pose(1))
    later_ns = NOW_NS + 10**9
    assert frames.recent('tool', later_ns, TIMEOUT_S) is None, 'it has moved, and is silent'


def test_a_clock_that_was_set_back_is_followed() -> None:
    frames = tree()
    for stamp_ns in (NOW_NS, NOW_NS + MS, NOW_NS - 10**12):
        frames.update('world', 'tool', stamp_ns, some_pose(stamp_ns % 7))
        place = frames.place('tool', NOW_NS)
        assert place.stamp_ns == stamp_ns
        np.testing.assert_array_equal(tool_pose(frames), some_pose(stamp_ns % 7))


def test_of_a_chain_nothing_is_kept_from_before_the_clock_was_set_back() -> None:
    """One link is told before the other, as of two publishers: its old poses are of the future."""
    frames = tree()
    for stamp_ns, seed in ((NOW_NS, 1), (NOW_NS + MS, 2)):
        frames.update('world', 'hand', stamp_ns, some_pose(seed))
        frames.update('hand', 'tool', stamp_ns, some_pose(seed + 2))
    back_ns = NOW_NS - 10**12
    frames.update('world', 'hand', back_ns, some_pose(5))
    frames.update('hand', 'tool', back_ns - MS, some_pose(6))
    assert frames.place('tool', NOW_NS).stamp_ns == back_ns - MS
    np.testing.assert_allclose(tool_pose(frames), some_pose(5) @ some_pose(6), atol=1e-12)


def test_another_parent_takes_over() -> None:
    frames = tree()
    frames.update('world', 'tool', NOW_NS, some_pose(1))
    frames.update_static('world', 'hand', some_pose(2))
    frames.update('hand', 'tool', NOW_NS + MS, some_pose(3))
    np.testing.assert_allclose(tool_pose(frames), some_pose(2) @ some_pose(3), atol=1e-12)


def test_only_what_leads_to_the_frames_is_kept() -> None:
    frames = tree()
    frames.update('world', 'foreign', NOW_NS, np.eye(4))
    frames.update('tracker', 'tool', NOW_NS, np.eye(4))
    assert frames.wanted == {'world', 'tool', 'tracker'}
