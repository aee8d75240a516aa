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

from vr_ik.cli.robot_files import robot_file
from vr_ik.cli.teleop_measures import TeleopMeasures
from vr_ik.config_file import load_config
from vr_ik.teleop.braking import BrakingPoint
from vr_ik.teleop.node_config import TeleopNodeConfig
from vr_ik.trackers.simulated_user import SimulatedUser

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


def test_with_a_state_that_was_heard_late_nothing_is_compared(measures) -> None:
    command(measures, 1000, np.array(PANDA_READY) + 0.1)
    assert beyond(measures) == 0


def test_what_holds_the_arm_back_is_counted_without_its_numbers(measures) -> None:
    for text in ('engaged: all is well', 'engaged: tip cannot follow (a and b are 12 mm apart)'):
        measures.on_state(text)
    measures.on_state('engaged: tip cannot follow (a and b are 9 mm apart)')
    measures.end()
    held = measures.summary(1.0)['held_back_s']
    assert list(held) == ['tip cannot follow (a and b are apart)']
    assert not measures.summary(1.0)['stops']
