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

"""Validated parameter classes: frozen dataclasses whose fields carry unit, range and choices."""

from collections.abc import Callable, Mapping
import dataclasses
from dataclasses import dataclass
import math
from typing import Any, get_args, get_type_hints, NamedTuple, TypeVar

from vr_ik.errors import ConfigError, UnknownNameError

Choices = tuple[str, ...] | Callable[[], tuple[str, ...]]
Number = int | float

_KINDS = {float: 'a number', int: 'a whole number', bool: 'true or false', str: 'text'}


@dataclass(frozen=True)
class Param:
    """What is known of a parameter beside its type and default."""

    description: str
    unit: str
    minimum: Number | None
    maximum: Number | None
    choices: Choices | None
    read_only: bool

    def valid_choices(self) -> tuple[str, ...] | None:
        """Return the valid names now: plug-ins are known at run time only (none: any goes)."""
        return self.choices() if callable(self.choices) else self.choices

    def valid_text(self) -> str:
        """Say in a few words which values are valid; empty where the type says it all."""
        choices = self.valid_choices()
        if choices:
            return 'one of ' + ', '.join(choices)
        if self.minimum is not None and self.maximum is not None:
            return f'{self.minimum:g} to {self.maximum:g}'
        if self.minimum is not None:
            return f'at least {self.minimum:g}'
        return f'at most {self.maximum:g}' if self.maximum is not None else ''


class ParamRow(NamedTuple):
    """A parameter as a table shows it, every cell as text."""

    name: str
    type: str
    default: str
    unit: str
    valid: str
    description: str
    live: str


def param(
    default: Any,
    description: str,
    unit: str = '',
    *,
    minimum: Number | None = None,
    maximum: Number | None = None,
    choices: Choices | None = None,
    read_only: bool = False,
) -> Any:
    """Declare a dataclass field as a parameter; `choices` of a list hold for its elements."""
    info = Param(description, unit, minimum, maximum, choices, read_only)
    return dataclasses.field(default=default, metadata={'param': info})


@dataclass(frozen=True)
class Config:
    """Base of all parameter classes: no instance with a bad value can be made."""

    def __post_init__(self) -> None:
        """Check every value, and store lists as tuples and whole numbers as floats."""
        for name, kind, info in parameters(type(self)):
            value = _checked(name, kind, info, getattr(self, name))
            object.__setattr__(self, name, value)


ConfigT = TypeVar('ConfigT', bound=Config)


def parameters(cls: type[Config]) -> list[tuple[str, Any, Param]]:
    """Return (name, type, metadata) of each parameter, in order of declaration."""
    kinds = get_type_hints(cls)
    return [
        (field.name, kinds[field.name], field.metadata['param'])
        for field in dataclasses.fields(cls)
    ]


def from_mapping(cls: type[ConfigT], mapping: Mapping[str, Any]) -> ConfigT:
    """Make a validated configuration; what the mapping leaves out keeps its default."""
    known = [name for name, _, _ in parameters(cls)]
    for name in mapping:
        if name not in known:
            raise UnknownNameError('parameter', str(name), known)
    return cls(**mapping)


def replace(config: ConfigT, changes: Mapping[str, Any]) -> ConfigT:
    """Return a validated copy of `config` with some values changed."""
    return from_mapping(type(config), {**dataclasses.asdict(config), **changes})


def changed(config: Config) -> dict[str, Any]:
    """Return name -> value of what differs from the defaults."""
    defaults = type(config)()
    names = [name for name, _, _ in parameters(type(config))]
    return {n: getattr(config, n) for n in names if getattr(config, n) != getattr(defaults, n)}


def describe(cls: type[Config]) -> list[ParamRow]:
    """Return the rows of the parameter table of `cls`."""
    defaults = {field.name: field.default for field in dataclasses.fields(cls)}
    return [
        ParamRow(
            name,
            _kind_text(kind),
            _value_text(defaults[name]),
            info.unit,
            info.valid_text(),
            info.description,
            'no' if info.read_only else 'yes',
        )
        for name, kind, info in parameters(cls)
    ]


def _checked(name: str, kind: Any, info: Param, value: Any) -> Any:
    if get_args(kind):
        # ROS 2 cannot tell the type of an empty list, so none is allowed anywhere.
        if not isinstance(value, (list, tuple)) or not value:
            kind_text = get_args(kind)[0].__name__
            raise bad_value(name, value, f'it must be a list of one or more {kind_text}')
        return tuple(_checked(name, get_args(kind)[0], info, element) for element in value)
    if kind is float and type(value) is int:
        value = float(value)
    if type(value) is not kind:
        raise bad_value(name, value, f'it must be {_KINDS[kind]}')
    if kind is float and not math.isfinite(value):
        raise bad_value(name, value, 'it must be a finite number')
    choices = info.valid_choices()
    if choices and value not in choices:
        raise UnknownNameError(f"value of parameter '{name}':", value, choices)
    too_low = info.minimum is not None and value < info.minimum
    if too_low or (info.maximum is not None and value > info.maximum):
        unit = f' {info.unit}' if info.unit else ''
        raise bad_value(name, value, f'it must be {info.valid_text()}{unit}')
    return value


def bad_value(name: str, value: Any, reason: str) -> ConfigError:
    """Return the error that names a parameter, its bad value and what would be valid."""
    return ConfigError(f"Bad value {value!r} of parameter '{name}': {reason}.")


def _kind_text(kind: Any) -> str:
    return f'list of {get_args(kind)[0].__name__}' if get_args(kind) else str(kind.__name__)


def _value_text(value: Any) -> str:
    if isinstance(value, tuple):
        return '[' + ', '.join(_value_text(element) for element in value) + ']'
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else f'{value:g}'
