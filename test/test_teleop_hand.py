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

"""Hand, clutch and retargeting: no jump at a press, scales, axes, and what a hand must not do."""

import math

from hypothesis import given, strategies as st
import numpy as np
import pytest

from vr_ik.errors import VrIkError
from vr_ik.math.rotations import exp_rotation, log_rotation, pose, rotation_from_rpy
from vr_ik.teleop.clutch import Clutch
from vr_ik.teleop.config import TeleopConfig
from vr_ik.teleop.hand import Hand
from vr_ik.teleop.retarget import heading, Retarget
from vr_ik.teleop.types import ArmInput, Reason

MS = 1_000_000
angles = st.floats(-3.0, 3.0)
vectors = st.tuples(angles, angles, angles).map(np.array)
poses = st.builds(lambda turn, at: pose(exp_rotation(turn), at), vectors, vectors)


@given(hand=poses, tip=poses, head=poses, mode=st.sampled_from(('relative', 'absolute')))
def test_a_press_moves_nothing(hand, tip, head, mode) -> None:
    retarget = Retarget(TeleopConfig(mode=mode, position_scale=2.0, rotation_scale=0.5))
    retarget.capture(hand, tip, head)
    np.testing.assert_allclose(retarget.target(hand, 0.0), tip, atol=1e-12)


@given(hand=poses, tip=poses, head=poses, way=vectors, turn=vectors, scale=st.floats(0.1, 3.0))
def test_ways_are_scaled_and_turned_to_the_robots_axes(hand, tip, head, way, turn, scale) -> None:
    retarget = Retarget(TeleopConfig(position_scale=scale))
    retarget.capture(hand, tip, head)
    moved = pose(exp_rotation(turn) @ hand[:3, :3], hand[:3, 3] + way)
    target = retarget.target(moved, 0.01)
    axes = rotation_from_rpy(0.0, 0.0, -heading(head))
    np.testing.assert_allclose(target[:3, 3] - tip[:3, 3], scale * axes @ way, atol=1e-9)
    expected = axes @ exp_rotation(turn) @ axes.T @ tip[:3, :3]
    np.testing.assert_allclose(target[:3, :3], expected, atol=1e-9)


@pytest.mark.parametrize('nod', (-1.2, 0.0, 1.2))
@pytest.mark.parametrize('yaw', (-2.0, 0.3, 3.0))
def test_heading_is_that_of_a_nodding_head(nod: float, yaw: float) -> None:
    head = pose(rotation_from_rpy(0.0, nod, yaw), np.zeros(3))
    assert heading(head) == pytest.approx(yaw)


def test_what_is_forward_for_the_operator_is_forward_for_the_robot() -> None:
    facing = pose(rotation_from_rpy(0.0, 0.0, 2.0), np.zeros(3))
    retarget = Retarget(TeleopConfig())
    retarget.capture(facing, np.eye(4), facing)
    ahead = facing.copy()
    ahead[:3, 3] = 0.3 * facing[:3, 0]
    np.testing.assert_allclose(retarget.target(ahead, 0.01)[:3, 3], (0.3, 0.0, 0.0), atol=1e-12)


def test_a_scaled_turn_goes_on_beyond_half_a_turn_without_a_jump() -> None:
    retarget = Retarget(TeleopConfig(rotation_scale=0.5))
    retarget.capture(np.eye(4), np.eye(4), np.eye(4))
    before = np.eye(3)
    for k in range(1, 200):
        hand = pose(rotation_from_rpy(0.0, 0.0, 0.05 * k), np.zeros(3))
        target = retarget.target(hand, 0.01)[:3, :3]
        step = float(np.linalg.norm(log_rotation(target @ before.T)))
        assert step == pytest.approx(0.025)
        before = target


def test_absolute_mode_ends_at_the_pose_of_the_hand() -> None:
    config = TeleopConfig(
        mode='absolute',
        approach_s=1.0,
        operator_yaw='fixed',
        operator_origin=(1.0, 2.0, 0.5),
        tool_rpy_deg=(0.0, 180.0, 0.0),
    )
    retarget = Retarget(config)
    hand = pose(exp_rotation(np.array([0.2, -0.4, 0.3])), np.array([1.4, 2.1, 1.0]))
    retarget.capture(hand, np.eye(4), hand)
    before = retarget.target(hand, 0.0)
    for _ in range(120):
        target = retarget.target(hand, 0.01)
        assert np.linalg.norm(target[:3, 3] - before[:3, 3]) < 0.02
        before = target
    np.testing.assert_allclose(target[:3, 3], (0.4, 0.1, 0.5), atol=1e-12)
    tool = hand[:3, :3] @ rotation_from_rpy(0.0, math.pi, 0.0)
    np.testing.assert_allclose(target[:3, :3], tool, atol=1e-9)


def test_clutch_wants_to_be_released_first() -> None:
    clutch = Clutch(0.5)
    assert [clutch.update(value) for value in (1.0, 1.0, 0.0, 1.0, 1.0)] == [
        False,
        False,
        False,
        True,
        False,
    ]


def test_clutch_does_not_chatter_and_nonsense_is_no_release() -> None:
    clutch = Clutch(0.5)
    clutch.update(0.0)
    assert clutch.update(0.51)
    clutch.engaged = True
    clutch.update(0.45)
    assert clutch.engaged
    assert not clutch.update(math.nan)
    assert not clutch.known
    assert not clutch.update(1.0)
    clutch.update(0.0)
    assert clutch.update(1.0)


def follow(hand: Hand, positions, period_ns: int = 10 * MS) -> list[Reason]:
    """Show the hand frames, and return the fault after each."""
    faults = []
    for k, x in enumerate(positions):
        hand.update(
            ArmInput(pose(np.eye(3), np.array([x, 0.0, 0.0])), k * period_ns), k * period_ns
        )
        faults.append(hand.fault)
    return faults


def test_steady_motion_is_followed_without_lag_between_frames_too() -> None:
    hand = Hand(TeleopConfig())
    follow(hand, 0.5 * 0.01 * np.arange(160))
    where, twist = hand.at(1590 * MS + 5 * MS)
    assert where[0, 3] == pytest.approx(0.5 * 1.595, abs=1e-6)
    np.testing.assert_allclose(twist, (0.5, 0.0, 0.0, 0.0, 0.0, 0.0), atol=1e-4)


def test_noise_of_a_hand_at_rest_is_hardly_taken_for_motion() -> None:
    rng = np.random.default_rng(0)
    hand = Hand(TeleopConfig())
    speeds = []
    for k in range(1, 200):
        now_ns = k * 10 * MS
        noise = pose(np.eye(3), 2e-4 * rng.normal(size=3))
        hand.update(ArmInput(noise, now_ns), now_ns)
        speeds.append(np.linalg.norm(hand.at(now_ns)[1][:3]))
    # A frame's difference alone would be some 40 mm/s.
    assert np.mean(speeds[100:]) < 2e-3


def test_a_hand_without_news_comes_to_rest_near_where_it_was_seen() -> None:
    hand = Hand(TeleopConfig())
    follow(hand, 2.0 * 0.01 * np.arange(60))
    where, twist = hand.at(590 * MS + 90 * MS)
    assert where[0, 3] < 2.0 * 0.59 + 2.0 * 0.03 + 1e-3
    assert not twist.any()


def test_a_frame_that_comes_late_changes_nothing() -> None:
    hand = Hand(TeleopConfig())
    follow(hand, 0.01 * np.arange(60))
    where, twist = hand.at(595 * MS)
    late = pose(np.eye(3), np.array([0.57, 0.0, 0.0]))
    hand.update(ArmInput(late, 570 * MS), 592 * MS)
    np.testing.assert_array_equal(hand.at(595 * MS)[0], where)
    np.testing.assert_array_equal(hand.at(595 * MS)[1], twist)


def test_trembling_is_damped() -> None:
    noise = np.random.default_rng(3).normal(0.0, 1e-3, 2000)
    hand, seen = Hand(TeleopConfig()), []
    for k, x in enumerate(noise):
        hand.update(ArmInput(pose(np.eye(3), np.array([x, 0, 0])), k * 10 * MS), k * 10 * MS)
        seen.append(hand.at(k * 10 * MS)[0][0, 3])
    assert np.std(seen[10:]) < 0.85e-3


@pytest.mark.parametrize(('step', 'fault'), ((0.059, Reason.NONE), (0.061, Reason.TRACKING_JUMP)))
def test_a_jump_is_what_the_parameter_says(step: float, fault: Reason) -> None:
    faults = follow(Hand(TeleopConfig()), (0.0, 0.0, step, step))
    assert faults == [Reason.NONE, Reason.NONE, fault, Reason.NONE]


@pytest.mark.parametrize(('turn', 'fault'), ((24.0, Reason.NONE), (26.0, Reason.TRACKING_JUMP)))
def test_a_turn_too_far_in_a_frame_is_a_jump(turn: float, fault: Reason) -> None:
    hand = Hand(TeleopConfig())
    hand.update(ArmInput(np.eye(4), 0), 0)
    turned = pose(rotation_from_rpy(0.0, math.radians(turn), 0.0), np.zeros(3))
    hand.update(ArmInput(turned, 10 * MS), 10 * MS)
    assert hand.fault is fault


@pytest.mark.parametrize(
    ('bad', 'stamp_ns', 'fault'),
    (
        (None, 0, Reason.NEVER_TRACKED),
        (np.eye(4), -101 * MS, Reason.TRACKING_LOST),
        (np.eye(4), 101 * MS, Reason.CLOCK_JUMP),
        (np.full((4, 4), np.nan), 0, Reason.BAD_POSE),
        (np.zeros((4, 4)), 0, Reason.BAD_POSE),
        (np.diag([1.0, 1.0, -1.0, 1.0]), 0, Reason.BAD_POSE),
        (np.eye(3), 0, Reason.BAD_POSE),
    ),
)
def test_bad_devices_have_a_name(bad, stamp_ns: int, fault: Reason) -> None:
    hand = Hand(TeleopConfig())
    hand.update(ArmInput(bad, stamp_ns), 0)
    assert hand.fault is fault


def test_a_device_is_lost_only_after_it_was_seen() -> None:
    hand = Hand(TeleopConfig())
    faults = []
    for k, seen in enumerate((False, True, False, False)):
        hand.update(ArmInput(np.eye(4) if seen else None, k * MS), k * MS)
        faults.append(hand.fault)
    lost = Reason.TRACKING_LOST
    assert faults == [Reason.NEVER_TRACKED, Reason.NONE, lost, lost]


@pytest.mark.parametrize(
    ('values', 'text'),
    (
        ({'tip_links': ('a', 'b', 'c')}, 'one or two'),
        ({'tip_links': ('a', 'a'), 'device_frames': ('x', 'y')}, 'one or two'),
        ({'tip_links': ('a', 'b')}, "'device_frames': it must have 2 entries"),
        ({'gripper_open': (0.1, 0.2, 0.3)}, 'gripper_open'),
        ({'workspace': '0 0 0 1 1'}, 'x y z x y z'),
        ({'workspace': '0 0 0 1 1 1; 0 0 0 1 1 1'}, 'one box'),
        ({'keep_out': '0 0 0 1 1 nan'}, 'x y z x y z'),
        ({'operator_origin': (1.0, 2.0)}, '3 numbers'),
        ({'rate_hz': 20.0}, 'at least one tick, 0.05 s'),
        ({'rate_hz': 50.0, 'longest_tick_s': 0.03}, 'at least 2 ticks, 0.04 s'),
        ({'output': 'smoke_signals'}, 'joint_trajectory'),
    ),
)
def test_bad_parameters_are_named(values, text: str) -> None:
    with pytest.raises(VrIkError, match=text):
        TeleopConfig(**values)


def test_boxes_may_be_given_by_any_two_corners() -> None:
    config = TeleopConfig(keep_out='1 0 2  0 1 0; 0 0 0 1 1 1')
    np.testing.assert_array_equal(config.keep_out_boxes()[0], ((0, 0, 0), (1, 1, 2)))
    assert config.workspace_box() is None
