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

"""Parameters from ROS 2 parameter files (`node: ros__parameters: ...`), without ROS."""

from collections.abc import Iterator, Mapping
from pathlib import Path
import re
from typing import Any

import yaml

from vr_ik.config import SolverConfig, TrackerConfig
from vr_ik.config_fields import ConfigT, from_mapping, parameters
from vr_ik.errors import ConfigError, VrIkError

_SECTION = 'ros__parameters'
_FOR_ALL_NODES = ('*', '**')
# Parameters that every ROS 2 node has; they say nothing about the node's own work.
_OF_ROS = ('use_sim_time', 'start_type_description_service')


class _Loader(yaml.SafeLoader):
    """YAML as ROS 2 reads it: '1e-3' is a number, which PyYAML takes for text."""


_Loader.add_implicit_resolver(
    'tag:yaml.org,2002:float', re.compile(r'[-+]?\d+(\.\d*)?[eE][-+]?\d+$'), list('-+0123456789')
)


def load_config(cls: type[ConfigT], path: Path | str, node_name: str) -> ConfigT:
    """
    Return the configuration that a parameter file gives to a node, in any namespace.

    Sections for all nodes (`/**`) come first, then the node's own. In the former, parameters
    of this package's other nodes are passed over; a name that nobody knows is an error.
    """
    for_all: dict[str, Any] = {}
    own: dict[str, Any] = {}
    try:
        for node, values in _sections(_read(Path(path)), ''):
            if node in _FOR_ALL_NODES:
                for_all.update(values)
            elif node == node_name:
                own.update(values)
        foreign = _all_names() - {name for name, _, _ in parameters(cls)}
        merged = {name: value for name, value in for_all.items() if name not in foreign} | own
        return from_mapping(cls, {k: v for k, v in merged.items() if k not in _OF_ROS})
    except VrIkError as error:
        raise ConfigError(f'{path}, {node_name}: {error}') from error


def _read(path: Path) -> Any:
    try:
        return yaml.load(path.read_text(encoding='utf-8'), Loader=_Loader)
    except OSError as error:
        raise ConfigError(f'The file cannot be read: {error.strerror}.') from error
    except yaml.MarkedYAMLError as error:
        line = '' if error.problem_mark is None else f', in line {error.problem_mark.line + 1}'
        raise ConfigError(f'The file is not valid YAML: {error.problem}{line}.') from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        reason = ' '.join(str(error).split())
        raise ConfigError(f'The file is not valid YAML: {reason}.') from error


def _sections(tree: Any, node: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (last part of the node's name, its parameters); namespaces may be nested."""
    if not isinstance(tree, Mapping):
        where = f"below '{node}'" if node else f'at the top{"" if tree else " of the empty file"}'
        raise ConfigError(f"A mapping 'node_name: {_SECTION}: ...' is expected {where}.")
    for key, value in tree.items():
        if key == _SECTION:
            yield node, dict(_flat(value or {}, ''))
        else:
            yield from _sections(value, str(key).rsplit('/', 1)[-1])


def _flat(tree: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    """Yield parameters with the names of nested groups joined by dots, as ROS 2 does."""
    if not isinstance(tree, Mapping):
        raise ConfigError(f"A mapping 'parameter: value' is expected below '{_SECTION}'.")
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f'{prefix}{key}.')
        else:
            yield f'{prefix}{key}', value


def _all_names() -> set[str]:
    return {name for cls in (TrackerConfig, SolverConfig) for name, _, _ in parameters(cls)}
