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

"""The states of teleoperation and every way between them: a table, with nothing else in it."""

from enum import Enum

from vr_ik.teleop.types import State


class Event(Enum):
    """What may happen in a tick; the first that holds is the tick's event."""

    FAULT = 'a fault, the enable withdrawn, or a refusal'
    PRESSED = 'a clutch is pressed anew, and nothing speaks against it'
    RELEASED = 'no clutch is pressed, and the arms are at rest'
    EASED = 'no clutch is pressed, and the arms still move'
    STEADY = 'nothing new'


_D, _E, _H, _S = State.DISENGAGED, State.ENGAGED, State.HOLDING, State.STOPPED

TRANSITIONS: dict[tuple[State, Event], State] = {
    # Before the arms are engaged a fault is a refusal, and leaves nothing to stop.
    (_D, Event.FAULT): _D,
    (_D, Event.PRESSED): _E,
    (_D, Event.RELEASED): _D,
    (_D, Event.EASED): _D,
    (_D, Event.STEADY): _D,
    (_E, Event.FAULT): _S,
    (_E, Event.PRESSED): _E,
    (_E, Event.RELEASED): _H,
    (_E, Event.EASED): _H,
    (_E, Event.STEADY): _E,
    (_H, Event.FAULT): _S,
    (_H, Event.PRESSED): _E,
    (_H, Event.RELEASED): _H,
    (_H, Event.EASED): _H,
    (_H, Event.STEADY): _H,
    # Only at rest and with every clutch released may the operator begin anew.
    (_S, Event.FAULT): _S,
    (_S, Event.PRESSED): _S,
    (_S, Event.RELEASED): _D,
    (_S, Event.EASED): _S,
    (_S, Event.STEADY): _S,
}


def after(state: State, event: Event) -> State:
    """Return the state that an event leads to."""
    return TRANSITIONS[state, event]
