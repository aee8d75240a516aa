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


"""The judge of commands must find what is wrong, and nothing where all is well."""

from hypothesis import given, strategies as st
import numpy as np
import pytest

from vr_ik.teleop.audit import ACCELERATION, CommandAudit, Limits, POSITION, VELOCITY
from vr_ik.teleop.braking import braking_points, BrakingPoint
from vr_ik.types import Array

RATE_HZ = 250.0
HORIZON_S = 0.02
LIMITS = Limits(
    np.array([-1.0, -1.0]), np.array([1.0, 1.0]), np.array([1.0, 0.5]), np.array([4.0, 4.0])
)


def judged(accelerations: list[tuple[float, float]], tick_s: float = 1.0 / RATE_HZ, start=(0, 0)):
    """Return the judgement of commands that accelerate so, tick by tick, from rest."""
    audit = CommandAudit(LIMITS, RATE_HZ, HORIZON_S, 0.15)
    q, v = np.array(start, float), np.zeros(2)
    audit.add(0, q, v)
    for i, acceleration in enumerate(np.array(accelerations, float)):
        after = v + tick_s * acceleration
        q, v = q + 0.5 * tick_s * (v + after), after
        audit.add(round((i + 1) * tick_s * 1e9), q, v)
    audit.end()
    return audit


UP_AND_DOWN = [(4.0, 1.0)] * 50 + [(0.0, 0.0)] * 20 + [(-4.0, -1.0)] * 50


def test_commands_within_all_limits_pass():
    audit = judged(UP_AND_DOWN)
    assert not +audit.violations
    assert audit.commands == 121
    assert audit.worst[ACCELERATION] == pytest.approx(1.0)
    assert audit.worst[VELOCITY] == pytest.approx(0.8)
    assert audit.clock_error == pytest.approx(0.0, abs=1e-6)


@given(st.floats(0.9, 1.1))
def test_time_is_told_by_the_commands_themselves(share):
    """When messages are late the commands are not to blame, but their clock is checked."""
    audit = judged(UP_AND_DOWN, share / RATE_HZ)
    assert not +audit.violations


def test_a_clock_that_is_wrong_is_found():
    audit = CommandAudit(LIMITS, RATE_HZ, HORIZON_S, 0.15)
    for i in range(100):
        audit.add(i * 4_000_000, (0.2 * i / RATE_HZ / 2, 0.0), (0.2, 0.0))
    assert audit.clock_error == pytest.approx(-0.5, abs=0.01)


def test_too_fast_is_found():
    assert judged([(0.0, 4.0)] * 40 + [(0.0, -4.0)] * 40).violations[VELOCITY] > 0


def test_too_hasty_is_found():
    audit = judged([(5.0, 0.0)] * 10 + [(-5.0, 0.0)] * 10)
    assert audit.violations[ACCELERATION] == 20


def test_too_far_is_found():
    assert judged([(1.0, 0.0)] * 50 + [(-1.0, 0.0)] * 50, start=(0.99, 0)).violations[POSITION]


def test_a_jump_is_found():
    audit = CommandAudit(LIMITS, RATE_HZ, HORIZON_S, 0.15)
    audit.add(0, (0.0, 0.0), (0.1, 0.0))
    audit.add(4_000_000, (0.0, 0.2), (0.1, 0.0))
    assert +audit.violations


@pytest.mark.parametrize('goes_on', [False, True])
def test_to_fall_silent_in_motion_is_found(goes_on):
    audit = CommandAudit(LIMITS, RATE_HZ, HORIZON_S, 0.15)
    audit.add(0, (0.0, 0.0), (0.1, 0.0))
    if goes_on:
        audit.add(1_000_000_000, (0.1, 0.0), (0.0, 0.0))
    audit.end()
    assert audit.violations[ACCELERATION] == 1


def way_of(accelerations, tick_s: float = 1.0 / RATE_HZ) -> list[tuple[int, Array, Array]]:
    """Return stamps, positions and velocities of commands that accelerate so, from rest."""
    q, v = np.zeros(2), np.zeros(2)
    way = [(0, q, v)]
    for i, acceleration in enumerate(np.array(accelerations, float)):
        after = v + tick_s * acceleration
        q, v = q + 0.5 * tick_s * (v + after), after
        way.append((round((i + 1) * tick_s * 1e9), q, v))
    return way


def judge_heard(way, heard) -> CommandAudit:
    audit = CommandAudit(LIMITS, RATE_HZ, HORIZON_S, 0.15)
    for number, (stamp_ns, q, v) in enumerate(way):
        if heard(number):
            audit.add(stamp_ns, q, v, braking_points(q, v, LIMITS.acceleration), number)
    audit.end()
    return audit


@given(
    st.lists(st.tuples(*[st.floats(-4.0, 4.0)] * 2), min_size=5, max_size=60),
    st.sets(st.integers(1, 60)),
    st.lists(st.floats(0.0, 1.0), min_size=61, max_size=61),
)
def test_lost_messages_of_a_motion_within_the_limits_are_no_violation(ways, lost, delays):
    """However many are lost, and however late each was published: before the next tick."""
    way, v = [], np.zeros(2)
    for acceleration in np.array(ways):
        wanted = np.clip(v + acceleration / RATE_HZ, (-1.0, -0.5), (1.0, 0.5))
        way.append((wanted - v) * RATE_HZ)
        v = wanted
    commands = [
        (stamp_ns + round(0.99e9 / RATE_HZ * delay), q, v)
        for (stamp_ns, q, v), delay in zip(way_of(way), [0.0, *delays], strict=False)
    ]
    audit = judge_heard(commands, lambda number: number not in lost or number % 30 == 0)
    assert not +audit.violations, audit.violations
    assert audit.missed + audit.commands == max(
        i + 1 for i in range(len(commands)) if i not in lost or i % 30 == 0
    )


parts = st.floats(-1.0, 1.0)
late_ticks = st.tuples(
    st.just(1.0 / RATE_HZ) | st.floats(HORIZON_S, 0.09),  # its length
    st.floats(0.0, 0.9),  # when it is published, as a share of the next one's or of the horizon
    st.tuples(parts, parts),  # accelerations beside their limits
)


@given(st.lists(late_ticks, min_size=2, max_size=60))
def test_late_ticks_after_which_a_robot_has_braked_are_no_violation(ticks):
    audit = CommandAudit(LIMITS, RATE_HZ, HORIZON_S, 0.15)
    now_s, q, v, a = 0.0, np.zeros(2), np.zeros(2), LIMITS.acceleration
    for (seconds, _, shares), (following_s, delay, _) in zip(ticks[:-1], ticks[1:], strict=True):
        now_s += seconds
        late_s = max(seconds - HORIZON_S, 0.0)
        moving_s = np.minimum(late_s, np.abs(v) / a)
        braked = v - np.sign(v) * a * moving_s
        q = q + 0.5 * moving_s * (v + braked)
        left_s = seconds - late_s
        v = np.clip(braked + left_s * a * np.array(shares), -LIMITS.velocity, LIMITS.velocity)
        q = q + 0.5 * left_s * (braked + v)
        if np.abs(q).max() > 0.5:  # far from its limits all the time
            break
        late_s = delay * min(following_s, HORIZON_S)  # later it would not be published
        sent_s = now_s + (late_s if audit.commands else 0.0)
        audit.add(round(1e9 * sent_s), q, v, braking_points(q, v, a))
    audit.end()
    assert not +audit.violations, audit.violations


def test_a_jump_behind_lost_messages_is_found():
    way = way_of(UP_AND_DOWN)
    for jump, kind in (((0.0, 0.2), VELOCITY), ((0.012, 0.0), ACCELERATION)):
        jumped = [(s, q + np.array(jump) * (i > 30), v) for i, (s, q, v) in enumerate(way)]
        audit = judge_heard(jumped, lambda number: not 25 < number < 29)
        assert +audit.violations
        audit = judge_heard(jumped, lambda number: not 28 < number < 34)
        assert audit.violations[kind] == 1, (kind, audit.violations)


speeds = st.lists(st.floats(-0.5, 0.5) | st.floats(-1e-9, 1e-9), min_size=2, max_size=2)


@given(speeds)
def test_a_way_to_rest_is_within_the_limits_and_ends_at_rest(velocity):
    q, v = np.zeros(2), np.array(velocity)
    tail = braking_points(q, v, LIMITS.acceleration / 1.5)
    audit = CommandAudit(LIMITS, RATE_HZ, HORIZON_S, 0.15)
    audit.add(0, q, v, tail)
    audit.end()
    assert not +audit.violations
    if tail:
        assert not tail[-1].velocity.any()
        least = 0.75 * v * np.abs(v) / LIMITS.acceleration
        np.testing.assert_allclose(tail[-1].q, least, atol=1e-3 * np.abs(v).max())
        assert np.diff([0.0, *(point.seconds for point in tail)]).min() > 0.9e-3
    assert bool(tail) == v.any()


@pytest.mark.parametrize(('share', 'end'), [(1.5, 0.0), (0.9, 0.1)])
def test_a_way_to_rest_that_brakes_too_hard_or_ends_in_motion_is_found(share, end):
    v = np.array((0.4, 0.0))
    seconds = (0.4 - end) / (share * 4.0)
    after = np.array((end, 0.0))
    tail = [BrakingPoint(seconds, 0.5 * seconds * (v + after), after)]
    audit = CommandAudit(LIMITS, RATE_HZ, HORIZON_S, 0.15)
    audit.add(0, np.zeros(2), v, tail)
    audit.end()
    assert audit.violations[ACCELERATION] == 1


@pytest.mark.parametrize('pace', [0.8, 1.25])
def test_commands_that_tell_another_time_than_their_stamps_are_a_violation(pace):
    way = [(round(s * pace), q, v) for s, q, v in way_of([(4.0, 1.0)] * 50 + [(0.0, 0.0)] * 50)]
    assert judge_heard(way, lambda _: True).violations[VELOCITY] > 0
    late = [
        (s + 15_000_000 * (i % 7 == 6), q, v) for i, (s, q, v) in enumerate(way_of(UP_AND_DOWN))
    ]
    assert not +judge_heard(late, lambda _: True).violations


@pytest.mark.parametrize('silence_s', [0.0, 2.0])
def test_a_first_command_that_is_in_motion_or_where_the_robot_is_not_is_found(silence_s):
    def first(q: float, v: float) -> CommandAudit:
        audit = CommandAudit(LIMITS, RATE_HZ, HORIZON_S, 0.15)
        if silence_s:
            audit.add(0, (0.3, 0.0), (0.0, 0.0), (), 0, (0.3, 0.0))
        audit.add(round(1e9 * silence_s), (q, 0.0), (v, 0.0), (), 1, (0.3, 0.0))
        return audit

    assert not +first(0.301, 0.016).violations
    assert first(0.3, 0.2).violations[ACCELERATION] == 1
    assert first(0.35, 0.0).violations[VELOCITY] == 1


@pytest.mark.parametrize('bad', [np.nan, np.inf])
@pytest.mark.parametrize('where', ['position', 'velocity', 'tail'])
def test_numbers_that_are_none_are_a_violation(bad, where):
    audit = CommandAudit(LIMITS, RATE_HZ, HORIZON_S, 0.15)
    q, v = np.array([0.0, bad if where == 'position' else 0.0]), np.zeros(2)
    v[0] = bad if where == 'velocity' else 0.0
    tail = [BrakingPoint(0.1, np.array([0.0, bad]), np.zeros(2))] if where == 'tail' else []
    audit.add(0, q, v, tail)
    assert +audit.violations
    audit.add(4_000_000, np.zeros(2), np.zeros(2))
    assert sum(audit.violations.values()) == 1, 'what follows is judged as before'


@pytest.mark.parametrize('lost', [0, 3])
def test_a_motion_whose_begin_was_not_heard_may_have_begun_in_the_silence(lost):
    """On a busy machine, with ticks of 60 ms: number and stamp tell that some are missing."""
    audit = CommandAudit(LIMITS, RATE_HZ, HORIZON_S, 0.15)
    audit.add(0, (0.0, 0.0), (0.0, 0.0), number=0, measured=(0.0, 0.0))
    q, v = np.array([2.0 * 0.18**2, 0.0]), np.array([4.0 * 0.18, 0.0])
    tail = braking_points(q, v, LIMITS.acceleration)
    audit.add(1_180_000_000, q, v, tail, number=1 + lost, measured=(0.0, 0.0))
    assert bool(+audit.violations) is (lost == 0)
