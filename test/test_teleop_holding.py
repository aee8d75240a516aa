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

"""What holds an arm back is said by name, and nothing is said while it follows."""

from collections import Counter
import dataclasses

import numpy as np
import pytest
from teleop_session_support import Operator, PANDA, PANDA_READY, robot_text

from vr_ik.config import replace
from vr_ik.teleop.haptics import Haptics
from vr_ik.teleop.types import Buzz, State

STILL = np.zeros(3)
BOXED = {'keep_out': '0.3 -1 -1 1 1 0.3', 'workspace': '0 -0.2 0 0.6 0.2 1'}


def said(changes: dict[str, object], velocity: tuple[float, float, float]) -> list[str]:
    """Return what is said, each once, while a hand goes on and on, and at last waits."""
    operator = Operator(replace(PANDA, changes), robot_text('panda'), PANDA_READY)
    operator.engage()
    details = [operator.move(np.array(velocity), STILL, 1) for _ in range(500)]
    details += [operator.rest(1) for _ in range(300)]
    assert all(command.state is State.ENGAGED for command in details)
    return list(Counter(command.detail for command in details))


@pytest.mark.parametrize(
    ('changes', 'velocity', 'words'),
    [
        (BOXED, (0.0, 0.0, -0.3), ' and box 1 of keep_out, '),
        (BOXED, (0.0, 0.3, 0.0), 'too near: panda_hand_tcp and the upper y of the workspace'),
        (BOXED, (0.0, -0.3, 0.0), 'too near: panda_hand_tcp and the lower y of the workspace'),
        ({}, (-0.5, 0.0, 0.0), 'too near: panda_link5 and panda_link7, 2'),
        ({'self_distance_m': 0.0}, (-0.5, 0.0, 0.0), 'is at its '),
        ({}, (0.5, 0.0, 0.0), 'it is stretched, or at another singularity'),
    ],
)
def test_what_an_arm_comes_to_is_said(changes, velocity, words) -> None:
    details = said(changes, velocity)
    assert details[0] == 'all is well'
    assert details[-1] != 'all is well'
    assert any(words in detail for detail in details), details


def test_a_hand_that_is_too_fast_is_told_the_joint() -> None:
    texts = said({}, (0.0, 0.0, 0.5))
    assert any('panda_joint4 is at its speed limit' in text for text in texts), texts


def test_an_arm_that_follows_is_held_back_by_nothing() -> None:
    operator = Operator(PANDA, robot_text('panda'), PANDA_READY)
    operator.engage()
    for _ in range(300):
        command = operator.move(np.array([0.05, 0.05, 0.0]), STILL, 1)
        assert command.detail == 'all is well'
        assert not command.arms[0].held_by


def test_it_ends_when_the_hand_comes_back_and_is_felt_once_each_time() -> None:
    operator = Operator(replace(PANDA, BOXED), robot_text('panda'), PANDA_READY)
    operator.engage()
    felt: list[tuple[int, Buzz]] = []
    for _ in range(2):
        for velocity in (0.3, -0.3):
            for _ in range(250):
                command = operator.move(np.array([0.0, velocity, 0.0]), STILL, 1)
                felt += command.haptics
        command = operator.rest(100)
        assert command.detail == 'all is well'
    assert felt.count((0, Buzz.LIMIT)) == 2


def test_an_arm_that_begins_to_go_back_by_itself_is_felt_once_each_time() -> None:
    """It is held back all the while, which was felt before."""
    operator = Operator(PANDA, robot_text('panda'), PANDA_READY)
    operator.engage()
    haptics = Haptics(1)
    follows = operator.rest(1).arms[0]
    held = dataclasses.replace(follows, held_by='something')
    back = dataclasses.replace(held, goes_back=True)
    felt = [haptics.take([report]) for report in (follows, held, back, back, held, back, follows)]
    returns = ((0, Buzz.RETURN),)
    assert felt == [(), ((0, Buzz.LIMIT),), returns, (), (), returns, ()]
