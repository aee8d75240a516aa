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

"""Plug-ins by name: solvers and trackers of this package and of others, by entry point."""

from functools import cache
from importlib.metadata import entry_points, EntryPoint
from typing import Any

from vr_ik.errors import ConfigError, UnknownNameError

SOLVERS = 'vr_ik.solvers'
"""Entry point group of the solvers."""
TRACKERS = 'vr_ik.trackers'
"""Entry point group of the tracking sources: callables that take a `TrackerConfig`."""


def names(group: str) -> tuple[str, ...]:
    """Return the names registered in a group, sorted; does not import the plug-ins."""
    return tuple(sorted(_entries(group)))


def load(group: str, name: str) -> Any:
    """
    Import the plug-in `name` of `group` and return the object it registered.

    Raises `UnknownNameError` with the known names, or `ConfigError` when its import fails.
    """
    entries = _entries(group)
    if not entries:
        raise ConfigError(
            f"Nothing is registered in '{group}': vr_ik is not installed in this environment "
            '(run `pip install .` or `colcon build` in its folder).'
        )
    if name not in entries:
        raise UnknownNameError(f'{group} plug-in', name, entries)
    entry = entries[name]
    try:
        return entry.load()
    except Exception as error:  # a plug-in's import may fail in any way; say whose it is
        raise ConfigError(
            f"The {group} plug-in '{name}' ({entry.value}, from {_origin(entry)}) "
            f'cannot be loaded: {type(error).__name__}: {error}'
        ) from error


# Cached because a scan of all installed packages takes tens of milliseconds and live parameter
# changes, which happen between two tracking frames, check names too.
@cache
def _entries(group: str) -> dict[str, EntryPoint]:
    entries: dict[str, EntryPoint] = {}
    for entry in entry_points(group=group):
        other = entries.setdefault(entry.name, entry)
        if other.value != entry.value:
            raise ConfigError(
                f"The {group} plug-in '{entry.name}' is registered twice: by {_origin(other)} "
                f'({other.value}) and by {_origin(entry)} ({entry.value}). Uninstall one.'
            )
    return entries


def _origin(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else 'an unknown package'
