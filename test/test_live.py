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

"""`vr_ik get` and `vr_ik set` against parameters that are bound as our nodes bind theirs."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from ros_graph import commanded, Listener, listening, NodeProcess, parameters

from vr_ik.config import SolverConfig
from vr_ik.config_fields import Config, param
from vr_ik.config_file import load_config
from vr_ik.errors import VrIkError
from vr_ik.nodes.parameters import BoundConfig


@dataclass(frozen=True)
class Sample(Config):
    """One parameter of each kind."""

    flag: bool = param(True, 'A flag.')
    count: int = param(3, 'A count.', minimum=1, maximum=9)
    length_m: float = param(0.5, 'A length.', 'm', minimum=0.0, maximum=2.0)
    name: str = param('a', 'A name.')
    names: tuple[str, ...] = param(('x',), 'Names.')
    lengths: tuple[float, ...] = param((1.0,), 'Lengths.', 'm')
    frame: str = param('world', 'A frame.', read_only=True)


class Bound:
    """A node with these parameters, which refuses a name."""

    def __init__(self, listener: Listener) -> None:
        """Bind them to the test's own node."""
        self.listener = listener
        self.config = BoundConfig(listener.node, Sample)
        self.config.when_changed(self._check)

    def set(self, *changes: str) -> tuple[int, str, str]:
        """Return exit code and output of `vr_ik set`."""
        return commanded(self.listener, 'set', '/listener', *changes)

    @staticmethod
    def _check(config: Sample) -> None:
        if config.name == 'nobody':
            raise VrIkError('Nobody is not known here.')


@pytest.fixture
def bound() -> Iterator[Bound]:
    with listening() as listener:
        yield Bound(listener)


def test_texts_become_values_of_the_parameters_types(bound: Bound) -> None:
    """Whole numbers for floats, and text that looks like a number or a list."""
    changes = (
        'flag=false',
        'count=4',
        'length_m=1',
        'name=7',
        'names=[y, z]',
        'lengths=[2, 1e-1]',
    )
    code, out, told = bound.set(*changes)
    assert code == 0, told
    assert out.splitlines()[2:4] == ['length_m: 1.0', 'name: "7"']
    assert bound.config.value == Sample(False, 4, 1.0, '7', ('y', 'z'), (2.0, 0.1))
    assert bound.set('name=a=b, [')[0] == 0
    assert bound.set('names=[y]')[0] == 0
    assert bound.config.value == Sample(False, 4, 1.0, 'a=b, [', ('y',), (2.0, 0.1))


@pytest.mark.parametrize(
    ('change', 'reason'),
    [
        ('name=nobody', 'Nobody is not known here.'),
        ('length_m=5', 'out of range'),
        ('frame=map', 'read-only'),
    ],
)
def test_what_the_node_refuses_is_told_and_nothing_is_changed(
    bound: Bound, change: str, reason: str
) -> None:
    code, out, told = bound.set('count=4', change)
    assert (code, out) == (1, '')
    assert reason in told
    assert bound.config.value == Sample()


@pytest.mark.parametrize(
    ('change', 'reason'),
    [
        ('cuont=4', "Did you mean 'count'? Known: count, flag, frame"),
        ('count', "'count' is no change"),
        ('count=true', "'true' of parameter 'count': it must be a whole number"),
        ('count=99999999999999999999', 'it must be a whole number'),
        ('length_m=long', 'it must be a number'),
        ('flag=1', 'it must be true or false'),
        ('names=x', 'it must be a list'),
        ('names=[1, y]', 'it must be a list'),
        ('lengths=[', 'it must be a list'),
        ('count=2024-13-45', 'it must be a whole number'),
        ('name=berta', "'name' is named twice"),
    ],
)
def test_what_is_no_change_of_a_parameter_is_told_in_one_sentence(
    bound: Bound, change: str, reason: str
) -> None:
    code, out, told = bound.set('name=anna', change)
    assert (code, out, told.count('\n')) == (2, '', 0)
    assert reason in told
    assert bound.config.value == Sample()


def test_values_are_shown_with_what_they_mean(bound: Bound) -> None:
    shown = commanded(bound.listener, 'get', 'listener', 'length_m', 'names')
    assert shown == (0, 'length_m: 0.5  # A length. [m]\nnames: ["x"]  # Names.', '')
    code, _, told = commanded(bound.listener, 'get', 'listener', 'lenght_m')
    assert code == 2 and "Did you mean 'length_m'?" in told


def test_a_node_that_is_not_there_is_told_with_those_that_are(bound: Bound) -> None:
    code, _, told = commanded(bound.listener, 'get', '/listner', '--timeout', '5')
    assert code == 2
    assert "Unknown node '/listner'. Did you mean '/listener'? Known: /listener." in told


def test_what_a_real_node_shows_is_its_parameter_file(tmp_path) -> None:
    """With what it got at the start and live."""
    node = NodeProcess('solver_node', *parameters(spine='stiff', smoothing_hz=3))
    try:
        with listening() as listener:
            changes = ('posture_weight=3e-5', 'smoothing_hz=2', 'trackers=[hmd, waist]')
            code, _, told = commanded(listener, 'set', '/solver_node', *changes, '--timeout', '25')
            assert code == 0, told + node.output()
            code, shown, _ = commanded(listener, 'get', '/solver_node')
            assert code == 0
        assert node.end() == 0
    finally:
        node.kill()
    file = tmp_path / 'shown.yaml'
    lines = ('solver_node:', '  ros__parameters:', *(f'    {s}' for s in shown.splitlines()))
    file.write_text('\n'.join(lines))
    expected = SolverConfig(
        spine='stiff', posture_weight=3e-5, smoothing_hz=2.0, trackers=('hmd', 'waist')
    )
    assert load_config(SolverConfig, file, 'solver_node') == expected
