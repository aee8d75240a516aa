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

"""Reads and changes the parameters of other nodes, by the services that every node has."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    ListParameters,
    SetParametersAtomically,
)
from rclpy.parameter import Parameter, parameter_value_to_python

from vr_ik.config_fields import bad_value
from vr_ik.config_file import value_of
from vr_ik.errors import UnknownNameError
from vr_ik.nodes.calling import Caller, calling

_SERVICES = {
    ListParameters: 'list_parameters',
    DescribeParameters: 'describe_parameters',
    GetParameters: 'get_parameters',
    SetParametersAtomically: 'set_parameters_atomically',
}
_WANTED = {
    Parameter.Type.BOOL: 'true or false',
    Parameter.Type.INTEGER: 'a whole number',
    Parameter.Type.DOUBLE: 'a number',
    Parameter.Type.BOOL_ARRAY: "a list such as '[true, false]'",
    Parameter.Type.INTEGER_ARRAY: "a list such as '[1, 2]'",
    Parameter.Type.DOUBLE_ARRAY: "a list such as '[1.5, 2]'",
    Parameter.Type.STRING_ARRAY: "a list such as '[hmd, waist]'",
}


class Setting(NamedTuple):
    """A parameter of another node."""

    name: str
    value: Any
    description: str = ''
    """With its unit."""


class _Remote:
    """A running node that is asked about its parameters."""

    def __init__(self, caller: Caller, node: str) -> None:
        self._caller = caller
        self._node = f'/{node.strip("/")}'
        caller.found('node', self._node, _nodes)

    def ask(self, kind: Any, **fields: Any) -> Any:
        """Return the answer to a request with these fields."""
        client = self._caller.client(kind, f'{self._node}/{_SERVICES[kind]}')
        return self._caller.answer(client, kind.Request(**fields))

    def descriptors(self, names: Collection[str]) -> list[ParameterDescriptor]:
        """Return what the node tells of the named parameters, or of all; unknown ones raise."""
        known = self.ask(ListParameters).result.names
        for name in names:
            if name not in known:
                raise UnknownNameError('parameter', name, known)
        return list(self.ask(DescribeParameters, names=list(names) or known).descriptors)


def get_parameters(node: str, names: Sequence[str], timeout_s: float) -> list[Setting]:
    """Return the named parameters of a running node, or all of them.

    Raises `VrIkError` where the node or a parameter is not there.
    """
    with calling(node, timeout_s) as caller:
        remote = _Remote(caller, node)
        descriptors = remote.descriptors(names)
        values = remote.ask(GetParameters, names=[d.name for d in descriptors]).values
        return [
            Setting(descriptor.name, parameter_value_to_python(value), descriptor.description)
            for descriptor, value in zip(descriptors, values, strict=True)
        ]


def set_parameters(
    node: str, texts: Mapping[str, str], timeout_s: float
) -> tuple[SetParametersResult, list[Setting]]:
    """Change parameters of a running node, all or none; texts are read by their types.

    Returns the node's answer (`successful`, `reason`) and the values that it was given. Raises
    `VrIkError` where the node or a parameter is not there, or a text is no value of its type.
    """
    with calling(node, timeout_s) as caller:
        remote = _Remote(caller, node)
        given = [
            _parameter(descriptor.name, Parameter.Type(descriptor.type), texts[descriptor.name])
            for descriptor in remote.descriptors(texts)
        ]
        messages = [parameter.to_parameter_msg() for parameter in given]
        result = remote.ask(SetParametersAtomically, parameters=messages).result
        return result, [Setting(parameter.name, parameter.value) for parameter in given]


def _nodes(services: Mapping[str, str]) -> dict[str, None]:
    """Return the nodes that have parameters."""
    ending = f'/{_SERVICES[SetParametersAtomically]}'
    return {name.removesuffix(ending): None for name in services if name.endswith(ending)}


def _parameter(name: str, kind: Parameter.Type, text: str) -> Parameter:
    """Return the parameter with the value that a text stands for."""
    value = text if kind is Parameter.Type.STRING else value_of(text)
    try:
        is_list = isinstance(value, list)
        value = [_number(kind, v) for v in value] if is_list else _number(kind, value)
        found = Parameter.Type.from_parameter_value(value)
    except (TypeError, OverflowError):
        found = None
    if found is None or kind not in (found, Parameter.Type.NOT_SET):
        raise bad_value(name, text, f'it must be {_WANTED.get(kind, kind.name)}')
    return Parameter(name, found, value)


def _number(kind: Parameter.Type, value: Any) -> Any:
    """Return a whole number as a float where one is meant, else in ROS's 64 bits."""
    if type(value) is not int:
        return value
    is_float = kind in (Parameter.Type.DOUBLE, Parameter.Type.DOUBLE_ARRAY)
    return float(value) if is_float else int(np.int64(value))
