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

"""The judge of the demonstration of teleoperation, by commands and states as they come."""

import numpy as np
import pytest
from teleop_session_support import PANDA_READY, robot_text

from vr_ik.body.anthropometry import Proportions
from vr_ik.body.human import human_urdf
from vr_ik.cli.robot_files import robot_file
from vr_ik.cli.teleop_demonstration import Beginning
from vr_ik.cli.teleop_measures import TeleopMeasures
from vr_ik.config_file import load_config
from vr_ik.teleop.braking import braking_points, BrakingPoint
from vr_ik.teleop.node_config import TeleopNodeConfig
from vr_ik.trackers.simulated_user import SimulatedUser

NOT_ENABLED = 'disengaged: not enabled: enable first, then press the clutch'
JOINTS = tuple(f'panda_joint{i}' for i in range(1, 8))


@pytest.fixture
def measures() -> TeleopMeasures:
    config = load_config(TeleopNodeConfig, robot_file('panda'), 'teleop_node')
    user = SimulatedUser(1.75, 'teleoperation')
    measures = TeleopMeasures(config, robot_text('panda'), user, 0)
    measures.on_robot(0, JOINTS, PANDA_READY)
    return measures


def command(measures: TeleopMeasures, number: int, q=PANDA_READY, speed: float = 0.0) -> None:
    """Send a command that has no way to rest, so many ticks after the first."""
    point = BrakingPoint(0.0, np.array(q, float), np.array([speed, *[0.0] * 6]))
    measures.on_command(number * 4_000_000, number, JOINTS, [point])


def beyond(measures: TeleopMeasures) -> int:
    return sum(measures.summary(1.0)['limit_violations'].values())


def test_an_end_at_rest_is_none_and_what_comes_after_it_is_not_judged(measures) -> None:
    command(measures, 1)
    measures.end()
    command(measures, 100, np.zeros(7), 0.5)
    assert beyond(measures) == 0
    assert measures.summary(1.0)['commands'] == 1


def test_an_end_in_motion_is_a_violation(measures) -> None:
    command(measures, 1, speed=0.1)
    assert beyond(measures) == 0
    measures.end()
    assert beyond(measures) == 1
    assert measures.summary(1.0)['violations_found'] == [
        'command 1, acceleration: silence in motion'
    ]


def test_a_first_command_away_from_the_robot_is_a_violation(measures) -> None:
    command(measures, 1, np.array(PANDA_READY) + 0.1)
    assert beyond(measures) == 1


@pytest.mark.parametrize(('silent_s', 'violations'), ((0.096, 0), (0.116, 0), (0.124, 1)))
def test_a_pause_is_what_the_node_itself_takes_for_one(measures, silent_s, violations) -> None:
    """Ticks may be 0.1 s apart, and a command is sent up to 0.02 s after its tick."""
    q, seconds, deceleration = np.array(PANDA_READY), 0.0, measures.config.acceleration
    for number, (step_s, rate) in enumerate(((0.004, 1.0), (0.004, 1.0), (silent_s, 0.6)), 1):
        seconds += step_s
        q[0] += 0.5 * (1.0 + rate) * step_s
        way = [BrakingPoint(0.0, q.copy(), np.array([rate, *[0.0] * 6]))]
        way += braking_points(way[0].q, way[0].velocity, np.full(7, deceleration))
        measures.on_robot(round(1e9 * seconds), JOINTS, q)
        measures.on_command(round(1e9 * seconds), number, JOINTS, way)
    assert beyond(measures) == violations + 1, 'the very first is in motion'


def test_with_a_state_that_was_heard_late_nothing_is_compared(measures) -> None:
    command(measures, 1000, np.array(PANDA_READY) + 0.1)
    assert beyond(measures) == 0


def test_what_holds_the_arm_back_is_counted_without_its_numbers(measures) -> None:
    for text in (
        'engaged: all is well',
        'engaged: tip cannot follow (too near: a and b, 12 mm apart)',
    ):
        measures.on_state(text)
    measures.on_state('engaged: tip cannot follow (too near: a and b, 9 mm apart)')
    measures.end()
    held = measures.summary(1.0)['held_back_s']
    assert list(held) == ['tip cannot follow (too near: a and b)']
    assert not measures.summary(1.0)['stops']


@pytest.mark.parametrize(
    ('state', 'awaited'),
    (
        ('', False),
        (NOT_ENABLED, True),
        ('disengaged: ready: press the clutch (r_controller)', True),
        (f'{NOT_ENABLED}; the clutch is held: release it, then press it (r_controller)', True),
        (f'{NOT_ENABLED}; before: the device jumped (r_controller)', True),
        (f'{NOT_ENABLED}; the buttons of the device are silent (r_controller)', False),
        (f'{NOT_ENABLED}; no state of the robot has come', False),
        ('engaged: all is well', False),
    ),
)
def test_the_operator_is_awaited_once_all_the_others_are_there(measures, state, awaited) -> None:
    measures.on_state(state)
    assert not measures.operator_awaited, 'nobody knows his body yet'
    measures.on_body_description(human_urdf(Proportions.from_height(1.75)))
    assert measures.operator_awaited == awaited


def test_an_operator_who_was_not_heard_begins_again_until_the_robot_is_led(
    measures, monkeypatch
) -> None:
    """At first his tracker is not there; then his enable is missed, by whatever delay."""
    now_s, asked, there = 1000.0, [], False
    monkeypatch.setattr('vr_ik.cli.teleop_demonstration.time.time', lambda: now_s)

    def lead_from(origin_s: int) -> bool:
        if there:
            asked.append(origin_s)
        return there

    beginning = Beginning(measures, lead_from, lambda text: None)
    measures.on_body_description(human_urdf(Proportions.from_height(1.75)))
    assert not beginning()
    measures.on_state(NOT_ENABLED)
    assert not beginning()
    there = True
    for tenths in range(80):
        now_s = 1000.0 + 0.1 * tenths
        assert not beginning()
    assert asked == [1002, 1007]
    command(measures, 1)
    now_s += 100.0
    assert beginning()
    assert len(asked) == 2
