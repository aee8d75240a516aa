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

"""Laws of the parameter binder: declared in full, checked, and changed all or nothing."""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from rcl_interfaces.msg import SetParametersResult
import rclpy
from rclpy.context import Context
from rclpy.node import Node
from rclpy.parameter import Parameter
from ros_graph import DOMAIN_ID

from vr_ik.config import SolverConfig, TrackerConfig
from vr_ik.config_fields import Config, param, parameters
from vr_ik.errors import ConfigError, VrIkError
from vr_ik.nodes.parameters import BoundConfig


@dataclass(frozen=True)
class Sample(Config):
    """One parameter of each kind."""

    flag: bool = param(True, 'A flag.')
    count: int = param(3, 'A count.', minimum=1, maximum=9)
    length_m: float = param(0.5, 'A length.', 'm', minimum=0.0, maximum=2.0)
    name: str = param('a', 'A name.', choices=('a', 'b'))
    names: tuple[str, ...] = param(('x',), 'Names.', choices=('x', 'y'))
    lengths: tuple[float, ...] = param((1.0,), 'Lengths.', 'm')
    frame: str = param('world', 'A frame.', read_only=True)


@pytest.fixture(scope='module')
def context() -> Iterator[Context]:
    """ROS, initialized in the test's own domain."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
        context = Context()
        rclpy.init(context=context, domain_id=DOMAIN_ID)
        yield context
        rclpy.try_shutdown(context=context)


class Bound:
    """A node with bound parameters and a record of their changes."""

    def __init__(self, context: Context, cls: type[Config] = Sample, **overrides: Any) -> None:
        """Make the node with values from outside."""
        given = [Parameter(name, value=value) for name, value in overrides.items()]
        self.node = Node('bound', context=context, parameter_overrides=given)
        self.changes: list[Any] = []
        try:
            self.config = BoundConfig(self.node, cls)
        except VrIkError:
            self.node.destroy_node()
            raise
        self.config.when_changed(self.changes.append)

    def set(self, **values: Any) -> SetParametersResult:
        """Change parameters together, as the service does."""
        changed = [Parameter(name, value=value) for name, value in values.items()]
        return self.node.set_parameters_atomically(changed)

    def get(self, name: str) -> Any:
        """Return what ROS says of a parameter."""
        return self.node.get_parameter(name).value


@pytest.fixture
def bound(context: Context) -> Iterator[Bound]:
    """A node with the defaults."""
    bound = Bound(context)
    yield bound
    bound.node.destroy_node()


@pytest.mark.parametrize('cls', [Sample, TrackerConfig, SolverConfig])
def test_every_parameter_is_declared_with_its_metadata(
    context: Context, cls: type[Config]
) -> None:
    """`ros2 param describe` shows description, unit, range, choices and read-only."""
    bound = Bound(context, cls)
    for name, kind, info in parameters(cls):
        value = getattr(bound.config.value, name)
        ros_value = bound.get(name)
        assert (tuple(ros_value) if isinstance(value, tuple) else ros_value) == value
        descriptor = bound.node.describe_parameter(name)
        assert info.description in descriptor.description
        assert info.unit in descriptor.description
        assert descriptor.read_only == info.read_only
        assert not descriptor.dynamic_typing
        ranges = [*descriptor.floating_point_range, *descriptor.integer_range]
        if kind in (int, float):
            assert [(r.from_value, r.to_value) for r in ranges] == [(info.minimum, info.maximum)]
        for choice in info.valid_choices() or ():
            assert choice in descriptor.additional_constraints
    bound.node.destroy_node()


def test_values_from_outside_are_taken_and_whole_numbers_serve_as_floats(
    context: Context,
) -> None:
    """`-p length_m:=1` is what people type."""
    bound = Bound(context, length_m=1, names=['y', 'x'], lengths=[1.5, 2.5], flag=False)
    expected = Sample(length_m=1.0, names=('y', 'x'), lengths=(1.5, 2.5), flag=False)
    assert bound.config.value == expected
    assert bound.get('length_m') == 1.0
    assert isinstance(bound.get('length_m'), float)
    bound.node.destroy_node()


@pytest.mark.parametrize(
    'wrong',
    [
        {'length_m': 'long'},
        {'length_m': 3.0},
        {'length_m': float('nan')},
        {'count': 1.5},
        {'name': 'c'},
        {'names': ['z']},
        {'names': 'x'},
        {'flag': 1},
    ],
)
def test_a_wrong_value_from_outside_is_an_error_that_names_it(
    context: Context, wrong: dict[str, Any]
) -> None:
    """The node cannot be made; its main function turns this into one line."""
    (name,) = wrong
    with pytest.raises(VrIkError, match=f"'{name}'"):
        Bound(context, **wrong)


def test_a_change_is_applied_together_and_reported_once(bound: Bound) -> None:
    """The receiver sees one whole configuration, before ROS and the binder show it."""
    assert bound.set(length_m=1.5, name='b').successful
    assert bound.changes == [Sample(length_m=1.5, name='b')]
    assert bound.config.value == Sample(length_m=1.5, name='b')
    assert bound.get('name') == 'b'


def test_a_live_list_of_numbers_may_come_as_an_array(bound: Bound) -> None:
    """As it does from the parameter service."""
    assert bound.set(lengths=array('d', [1.5, 2.5])).successful
    assert bound.config.value == Sample(lengths=(1.5, 2.5))


def test_a_live_whole_number_serves_as_a_float(bound: Bound) -> None:
    """As at the start; ROS, which would refuse its type, then has the float."""
    assert bound.set(length_m=1, lengths=[2, 3], count=4).successful
    assert bound.config.value == Sample(length_m=1.0, lengths=(2.0, 3.0), count=4)
    for value in (bound.get('length_m'), *bound.get('lengths')):
        assert isinstance(value, float)
    assert isinstance(bound.get('count'), int)


@pytest.mark.parametrize(
    ('changes', 'reason'),
    [
        ({'length_m': 1.0, 'name': 'c'}, "'name': 'c'. Known: a, b"),
        ({'length_m': 5.0}, 'out of range'),
        ({'length_m': 5}, 'out of range'),
        ({'length_m': True}, 'type'),
        ({'count': 2.0}, 'type'),
        ({'length_m': float('nan')}, 'length_m'),
        ({'lengths': [1.0, float('inf')]}, 'finite'),
        ({'frame': 'map'}, 'read-only'),
        ({'names': ['x', 'z']}, 'Known: x, y'),
        ({'count': 'many'}, 'type'),
    ],
)
def test_a_refused_change_has_a_reason_and_changes_nothing(
    bound: Bound, changes: dict[str, Any], reason: str
) -> None:
    """All or nothing: a good value beside a bad one is not taken either."""
    result = bound.set(**changes)
    assert not result.successful
    assert reason in result.reason
    assert bound.changes == []
    assert bound.config.value == Sample()
    assert bound.get('length_m') == 0.5


@pytest.mark.parametrize('error', [ConfigError('cannot be built'), ZeroDivisionError('a bug')])
def test_a_receiver_that_fails_refuses_the_change(bound: Bound, error: Exception) -> None:
    """What cannot be applied is not taken over, whichever way it failed."""

    def refuse(_: Config) -> None:
        raise error

    bound.config.when_changed(refuse)
    result = bound.set(length_m=1.0)
    assert not result.successful
    assert str(error) in result.reason
    assert bound.config.value == Sample()
    assert bound.get('length_m') == 0.5


def test_parameters_of_ros_itself_are_none_of_our_business(bound: Bound) -> None:
    """use_sim_time can be set without a change of ours."""
    assert bound.set(use_sim_time=False).successful
    assert bound.changes == []


def test_a_misspelt_parameter_is_warned_of(
    context: Context, capfd: pytest.CaptureFixture[str]
) -> None:
    """ROS passes it over in silence."""
    bound = Bound(context, lenght_m=1.0, use_sim_time=False)
    text = capfd.readouterr().err
    assert "Unknown parameter 'lenght_m'. Did you mean 'length_m'?" in text
    assert 'use_sim_time' not in text
    bound.node.destroy_node()
