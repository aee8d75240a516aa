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

"""Binds a validated parameter class to the ROS parameters of a node, live changes included."""

from array import array
from collections.abc import Callable
from typing import Any, Generic, get_args

from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.node import Node
from rclpy.parameter import Parameter

from vr_ik.config_fields import ConfigT, from_mapping, Param, parameters, replace
from vr_ik.errors import UnknownNameError, VrIkError


class BoundConfig(Generic[ConfigT]):
    """
    A node's configuration, always valid as a whole.

    The parameters are declared with description, unit, range and choices; values from the
    command line, launch and YAML are checked first (raising `VrIkError`). A live change is
    checked, then applied by `on_change`, and taken over only if that raises nothing:
    otherwise the caller of the parameter service gets the reason and nothing has changed.
    Whole numbers are taken for floats, at the start and live.
    """

    def __init__(self, node: Node, cls: type[ConfigT]) -> None:
        """Declare the parameters of `cls` on the node and read their values."""
        self._node = node
        self._cls = cls
        self._on_change: Callable[[ConfigT], None] | None = None
        self._kinds = {name: kind for name, kind, _ in parameters(cls)}
        overrides = _overrides(node, cls)
        self.given = frozenset(overrides)
        """Names of the parameters that have a value from the command line, launch or YAML."""
        self.value: ConfigT = from_mapping(cls, overrides)
        for name, kind, info in parameters(cls):
            value = getattr(self.value, name)
            value = list(value) if isinstance(value, tuple) else value
            node.declare_parameter(name, value, _descriptor(kind, info), ignore_override=True)
        self._warn_of_unknown_overrides()
        node.add_pre_set_parameters_callback(self._as_declared)
        node.add_on_set_parameters_callback(self._on_set)

    def when_changed(self, on_change: Callable[[ConfigT], None]) -> None:
        """Have live changes applied by `on_change`, which may refuse them with an error."""
        self._on_change = on_change

    def _as_declared(self, changed: list[Parameter]) -> list[Parameter]:
        """Make floats of whole numbers where they are meant; ROS would refuse their type."""
        return [_as_kind(self._kinds.get(parameter.name), parameter) for parameter in changed]

    def _on_set(self, changed: list[Parameter]) -> SetParametersResult:
        changes = {p.name: _plain(p.value) for p in changed if p.name in self._kinds}
        if not changes:
            return SetParametersResult(successful=True)
        try:
            value = replace(self.value, changes)
            if self._on_change is not None:
                self._on_change(value)
        except VrIkError as error:
            return SetParametersResult(successful=False, reason=str(error))
        except Exception as error:  # a plug-in's mistake must not end the node
            reason = f'The change cannot be applied: {type(error).__name__}: {error}'
            self._node.get_logger().error(reason)
            return SetParametersResult(successful=False, reason=reason)
        self.value = value
        return SetParametersResult(successful=True)

    def _warn_of_unknown_overrides(self) -> None:
        """Name misspelt parameters, which ROS passes over in silence."""
        given = getattr(self._node, '_parameter_overrides', {})
        for name in given:
            if not self._node.has_parameter(name) and not name.startswith('qos_overrides.'):
                error = UnknownNameError('parameter', name, self._kinds)
                self._node.get_logger().warning(f'{error} It is ignored.')


def _overrides(node: Node, cls: type[ConfigT]) -> dict[str, Any]:
    """
    Return the values given from outside, of whatever type.

    They are declared without a type, read and undeclared again: declared with a type, a
    whole number for a float (`rate_hz:=90`) would be refused by ROS with a traceback.
    """
    values = {}
    for name, _, _ in parameters(cls):
        untyped = ParameterDescriptor(dynamic_typing=True)
        value = node.declare_parameter(name, None, untyped).value
        node.undeclare_parameter(name)
        if value is not None:
            values[name] = _plain(value)
    return values


def _plain(value: Any) -> Any:
    """Return a list for an array, in which numbers come from messages."""
    return list(value) if isinstance(value, array) else value


def _as_kind(kind: Any, given: Parameter) -> Parameter:
    if kind is float and given.type_ is Parameter.Type.INTEGER:
        return Parameter(given.name, Parameter.Type.DOUBLE, float(given.value))
    if float in get_args(kind) and given.type_ is Parameter.Type.INTEGER_ARRAY:
        floats = [float(value) for value in given.value]
        return Parameter(given.name, Parameter.Type.DOUBLE_ARRAY, floats)
    return given


def _descriptor(kind: Any, info: Param) -> ParameterDescriptor:
    descriptor = ParameterDescriptor(
        description=info.description + (f' [{info.unit}]' if info.unit else ''),
        read_only=info.read_only,
    )
    if info.valid_choices():
        scope = 'Each one is ' if get_args(kind) else ''
        descriptor.additional_constraints = f'{scope}{info.valid_text()}'.capitalize() + '.'
    if info.minimum is None or info.maximum is None:
        return descriptor
    if kind is float:
        descriptor.floating_point_range = [
            FloatingPointRange(from_value=float(info.minimum), to_value=float(info.maximum))
        ]
    elif kind is int:
        descriptor.integer_range = [
            IntegerRange(from_value=int(info.minimum), to_value=int(info.maximum), step=1)
        ]
    return descriptor
