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

"""`vr_ik call` against services that are offered as our nodes offer theirs."""

from collections.abc import Iterator
import subprocess
import sys

import pytest
from ros_graph import commanded, environment, Listener, listening, PATIENCE_S

from vr_ik.errors import VrIkError
from vr_ik.nodes.triggers import offer, offer_switch


def _refuse() -> str:
    raise VrIkError('The arms point down.')


class _Third:
    """Refuses twice."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> str:
        self.calls += 1
        return 'At last.' if self.calls > 2 else _refuse()


@pytest.fixture(scope='module')
def listener() -> Iterator[Listener]:
    with listening() as found:
        offer(found.node, '/some_node/greet', lambda: 'Good day.')
        offer(found.node, '/some_node/refuse', _refuse)
        offer(found.node, '/some_node/third', _Third())
        offer_switch(found.node, '/some_node/lamp', lambda is_on: 'lit' if is_on else 'dark')
        yield found


def called(listener: Listener, *arguments: str) -> tuple[int, str, str]:
    """Return exit code and output of `vr_ik call`."""
    return commanded(listener, 'call', *arguments)


def test_the_answer_is_printed(listener):
    assert called(listener, '/some_node/greet') == (0, 'Good day.', '')


def test_who_is_refused_gets_the_reason_and_an_exit_code(listener):
    assert called(listener, '/some_node/refuse') == (1, '', 'The arms point down.')


def test_who_is_refused_may_call_again(listener):
    assert called(listener, '/some_node/third', '--retry', '20') == (0, 'At last.', '')


@pytest.mark.parametrize(('value', 'answer'), [('true', 'lit'), ('false', 'dark')])
def test_a_switch_is_turned_on_and_off(listener, value, answer):
    assert called(listener, '/some_node/lamp', value) == (0, answer, '')


@pytest.mark.parametrize(
    ('arguments', 'reason'),
    [
        (['/some_node/lamp'], 'add true or false'),
        (['/some_node/greet', 'true'], 'takes no value'),
        (['/some_node/great', '--timeout', '10'], "Did you mean '/some_node/greet'?"),
    ],
)
def test_what_cannot_be_called_is_told(listener, arguments, reason):
    code, _, told = called(listener, *arguments)
    assert code == 2
    assert reason in told


def test_who_is_all_alone_is_told_so():
    command = [sys.executable, '-m', 'vr_ik.cli.main', 'call', '/nobody/greet', '--timeout', '0.5']
    alone = environment(ROS_AUTOMATIC_DISCOVERY_RANGE='OFF')
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE_S, env=alone, check=False
    )
    assert result.returncode == 2
    assert "No service can be seen from here, so not '/nobody/greet' either" in result.stderr
    assert 'ROS_DOMAIN_ID' in result.stderr
