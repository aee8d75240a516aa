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

"""The map's file: what is saved is what is loaded, and a bad file is no traceback."""

from pathlib import Path

from hypothesis import given, strategies as st
import pytest
import yaml

from vr_ik.config import TrackerConfig
from vr_ik.config_file import load_config
from vr_ik.errors import ConfigError, VrIkError
from vr_ik.map_file import load_map, map_file, MAP_PARAMETERS, save_map


@given(
    st.from_regex(r'[a-z_]{1,20}', fullmatch=True).filter(lambda name: name != 'vr_world'),
    st.lists(st.floats(-1000.0, 1000.0), min_size=3, max_size=3),
    st.lists(st.floats(-180.0, 180.0), min_size=3, max_size=3),
)
def test_a_round_trip_is_exact(tmp_path_factory, name, position, angles):
    values = dict(zip(MAP_PARAMETERS, [name, *position, *angles]))
    path = tmp_path_factory.getbasetemp() / 'deep' / 'map.yaml'
    config = TrackerConfig(map_file=str(path), **values)
    assert save_map(config) == path
    assert load_map(config) == values
    assert not path.with_name('map.yaml.part').exists()


def test_the_file_is_a_parameter_file_of_the_node(tmp_path: Path):
    path = save_map(TrackerConfig(map_frame='map', map_x_m=2.5, map_file=str(tmp_path / 'm.yaml')))
    assert yaml.safe_load(path.read_text())['tracker_node']['ros__parameters']['map_x_m'] == 2.5
    assert load_config(TrackerConfig, path, 'tracker_node').map_x_m == 2.5


def test_it_is_in_the_users_configuration_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv('XDG_CONFIG_HOME', str(tmp_path))
    assert map_file(TrackerConfig()) == tmp_path / 'vr_ik' / 'map.yaml'
    monkeypatch.delenv('XDG_CONFIG_HOME')
    monkeypatch.setenv('HOME', str(tmp_path))
    assert map_file(TrackerConfig()) == tmp_path / '.config' / 'vr_ik' / 'map.yaml'
    assert map_file(TrackerConfig(map_file='~/my.yaml')) == tmp_path / 'my.yaml'


def test_what_cannot_be_saved_or_loaded_is_said(tmp_path: Path):
    with pytest.raises(ConfigError, match="set the parameter 'map_frame'"):
        save_map(TrackerConfig(map_file=str(tmp_path / 'map.yaml')))
    config = TrackerConfig(map_frame='map', map_file=str(tmp_path / 'map.yaml'))
    with pytest.raises(ConfigError, match='No map is saved'):
        load_map(config)
    for text in (': no\nyaml', 'tracker_node:\n  ros__parameters:\n    map_x_m: far away\n'):
        (tmp_path / 'map.yaml').write_text(text)
        with pytest.raises(VrIkError, match=r'map\.yaml'):
            load_map(config)
    (tmp_path / 'file').write_text('')
    with pytest.raises(ConfigError, match='cannot be written'):
        save_map(TrackerConfig(map_frame='map', map_file=str(tmp_path / 'file' / 'map.yaml')))
