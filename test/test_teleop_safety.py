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

"""The table of states: complete, and with no way around a stop."""

import itertools

import pytest

from vr_ik.teleop.safety import after, Event, TRANSITIONS
from vr_ik.teleop.types import State


def test_every_event_leads_somewhere_in_every_state() -> None:
    assert set(TRANSITIONS) == set(itertools.product(State, Event))


@pytest.mark.parametrize(('state', 'event'), tuple(itertools.product(State, Event)))
def test_law_of_each_transition(state: State, event: Event) -> None:
    to = after(state, event)
    if to is State.ENGAGED and state is not State.ENGAGED:
        assert event is Event.PRESSED, 'only a fresh press engages'
    if event is Event.FAULT:
        assert to in (State.DISENGAGED, State.STOPPED), 'no fault is lived with'
    if state is State.STOPPED:
        cleared = event is Event.RELEASED
        assert to is (State.DISENGAGED if cleared else State.STOPPED), 'a stop is left released'
    if to is State.DISENGAGED and state is not State.DISENGAGED:
        assert state is State.STOPPED, 'who commands ends with a stop'
    if event is Event.STEADY:
        assert to is state


def test_holding_takes_a_release_and_a_stop_takes_a_fault() -> None:
    for (state, event), to in TRANSITIONS.items():
        if to is State.HOLDING and state is not State.HOLDING:
            assert event in (Event.RELEASED, Event.EASED)
        if to is State.STOPPED and state is not State.STOPPED:
            assert event is Event.FAULT


def walk(state: State, events: tuple[Event, ...]) -> State:
    for event in events:
        state = after(state, event)
    return state


def test_after_a_stop_it_takes_a_release_and_then_a_press() -> None:
    for events in itertools.product(Event, repeat=4):
        if walk(State.STOPPED, events) in (State.ENGAGED, State.HOLDING):
            released = events.index(Event.RELEASED)
            assert Event.PRESSED in events[released + 1 :]
