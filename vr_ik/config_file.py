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

from collections.abc import Collection, Iterator, Mapping
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


def load_config(
    cls: type[ConfigT], path: Path | str, node_name: str, namespace: str | None = None
) -> ConfigT:
    """
    Return the configuration that a parameter file gives to a node in a namespace.

    Without a namespace it is the only one that the file has the node in (`only_namespace`).
    Sections for all nodes (`/**`) come first, then the node's own. In the former, parameters
    of this package's other nodes are passed over; a name that nobody knows is an error.
    """
    for_all: dict[str, Any] = {}
    own: dict[str, Any] = {}
    if namespace is None:
        namespace = only_namespace(path, node_name)
    try:
        for node, values in _sections(_read(Path(path)), ''):
            if not _is_for(node, f'{namespace}/{node_name}'):
                continue
            name = node.rpartition('/')[2]
            if name in _FOR_ALL_NODES:
                for_all.update(values)
            elif name == node_name:
                own.update(values)
        foreign = _all_names() - {name for name, _, _ in parameters(cls)}
        merged = {name: value for name, value in for_all.items() if name not in foreign} | own
        return from_mapping(cls, {k: v for k, v in merged.items() if k not in _OF_ROS})
    except VrIkError as error:
        raise ConfigError(f'{path}, {node_name}: {error}') from error


def namespaces(path: Path | str, node_names: Collection[str]) -> tuple[str, ...]:
    """Return the namespaces that a file has sections of these nodes in: '' or '/anna' each.

    Without any, and where sections hold for all namespaces, it is the root alone.
    """
    found: dict[str, None] = {}
    try:
        for node, _ in _sections(_read(Path(path)), ''):
            namespace, _, name = node.rpartition('/')
            if name in node_names and '*' not in namespace:
                found[namespace] = None
    except VrIkError as error:
        raise ConfigError(f'{path}: {error}') from error
    return tuple(found) or ('',)


def only_namespace(path: Path | str, node_name: str) -> str:
    """Return the namespace that a file has a node in; raise `ConfigError` for one with several."""
    found = namespaces(path, (node_name,))
    if len(found) > 1:
        choices = ', '.join(namespace or '/' for namespace in found)
        raise ConfigError(
            f'{path} has {node_name} in several namespaces; choose one (--namespace): {choices}.'
        )
    return found[0]


def check_holds(path: Path | str, node_names: Collection[str], namespace: str) -> None:
    """Raise `ConfigError` where nothing that a file says holds for one of these nodes there.

    ROS 2 would pass over all of it: over nodes of other names, or in other namespaces.
    """
    try:
        nodes = [node for node, _ in _sections(_read(Path(path)), '')]
    except VrIkError as error:
        raise ConfigError(f'{path}: {error}') from error
    named = [node for node in nodes if node.rpartition('/')[2] in node_names] or nodes
    wanted = [f'{namespace}/{name}' for name in node_names]
    if named and not any(_is_for(node, each) for node in named for each in wanted):
        raise ConfigError(
            f'{path} has no section that holds for {" or ".join(node_names)} in the namespace '
            f"'{namespace or '/'}'; it has {', '.join(named)}."
        )


def value_of(text: str) -> Any:
    """Return the value that a text stands for in a parameter file; no YAML stands for itself."""
    try:
        return yaml.load(text, Loader=_Loader)
    except (yaml.YAMLError, ValueError, RecursionError):  # dates that are none, deep brackets
        return text


def _is_for(section: str, node: str) -> bool:
    """Tell whether a section holds for a node, by ROS 2's rules: * is one name, ** are any."""
    parts = [re.escape(part) for part in section.split('/')[1:]]
    wildcards = {re.escape('*'): r'/\w+', re.escape('**'): r'(/\w+)*'}
    pattern = ''.join(wildcards.get(part, f'/{part}') for part in parts)
    return re.fullmatch(pattern, node) is not None


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
    """Yield (the node's name with its namespaces, its parameters); they may be nested."""
    if not isinstance(tree, Mapping):
        at = node.rpartition('/')[2]
        where = f"below '{at}'" if node else f'at the top{"" if tree else " of the empty file"}'
        raise ConfigError(f"A mapping 'node_name: {_SECTION}: ...' is expected {where}.")
    for key, value in tree.items():
        if key == _SECTION:
            yield node, dict(_flat(value or {}, ''))
        else:
            yield from _sections(value, f'{node}/{str(key).strip("/")}')


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
