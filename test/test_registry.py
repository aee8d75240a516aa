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

"""Plug-ins are found by name, and every mistake names the plug-in and what is known."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from ros_plugin import install

from vr_ik import registry
from vr_ik.errors import ConfigError, UnknownNameError

GROUP = 'vr_ik.test_plugins'


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on sys.path with a fresh registry before and after."""
    monkeypatch.syspath_prepend(tmp_path)
    registry._entries.cache_clear()
    yield tmp_path
    registry._entries.cache_clear()


def test_a_plug_in_of_another_package_is_found_and_loaded(plugins: Path) -> None:
    """Any object can be registered; names are sorted."""
    install(plugins, 'other', {GROUP: {'sqrt': 'math:sqrt', 'join': 'os.path:join'}})
    assert registry.names(GROUP) == ('join', 'sqrt')
    assert registry.load(GROUP, 'sqrt')(9.0) == 3.0


def test_names_does_not_import_and_a_broken_plug_in_is_named(plugins: Path) -> None:
    """A plug-in that cannot be imported shows in the names, and says whose it is on loading."""
    (plugins / 'broken_plugin.py').write_text('import no_such_module_anywhere\n')
    entries = {'broken': 'broken_plugin:Thing', 'gone': 'math:no_such_function'}
    install(plugins, 'their_package', {GROUP: entries})
    assert registry.names(GROUP) == ('broken', 'gone')
    for name in entries:
        with pytest.raises(ConfigError) as error:
            registry.load(GROUP, name)
        assert f"'{name}'" in str(error.value)
        assert 'their_package' in str(error.value)


def test_an_unknown_name_lists_the_known_ones_and_the_nearest(plugins: Path) -> None:
    """The message is all that a user needs."""
    install(plugins, 'other', {GROUP: {'simulated': 'math:sqrt', 'openvr': 'math:sqrt'}})
    with pytest.raises(UnknownNameError, match=r"Did you mean 'simulated'\? Known: openvr, sim"):
        registry.load(GROUP, 'simulatd')


def test_an_empty_group_says_that_nothing_is_installed(plugins: Path) -> None:
    """Run from a source folder without installation, the message says what to do."""
    with pytest.raises(ConfigError, match='pip install'):
        registry.load('vr_ik.no_such_group', 'x')


def test_one_name_for_two_things_is_refused(plugins: Path) -> None:
    """Which one is meant would depend on the order of sys.path."""
    install(plugins, 'first', {GROUP: {'lm': 'math:sqrt'}})
    install(plugins, 'second', {GROUP: {'lm': 'math:cos'}})
    with pytest.raises(ConfigError, match=r'registered twice.*(first.*second|second.*first)'):
        registry.names(GROUP)


def test_the_built_in_plug_ins_are_registered_like_any_other() -> None:
    """They need an installed package, as `make` and colcon give it."""
    assert 'lm' in registry.names(registry.SOLVERS)
    assert 'simulated' in registry.names(registry.TRACKERS)
    for group in (registry.SOLVERS, registry.TRACKERS):
        for name in registry.names(group):
            assert callable(registry.load(group, name))
