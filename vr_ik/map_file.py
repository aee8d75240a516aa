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

"""The map frame in a file of its own: a ROS 2 parameter file, read again at each start."""

from dataclasses import asdict
import os
from pathlib import Path
from typing import Any

import yaml

from vr_ik.config import TrackerConfig
from vr_ik.config_file import load_config
from vr_ik.errors import ConfigError

MAP_PARAMETERS = (
    'map_frame',
    'map_x_m',
    'map_y_m',
    'map_z_m',
    'map_roll_deg',
    'map_pitch_deg',
    'map_yaw_deg',
)
"""What the file holds."""

_NODE_NAME = 'tracker_node'


def map_file(config: TrackerConfig) -> Path:
    """Return where the map frame is saved."""
    if config.map_file:
        return Path(config.map_file).expanduser()
    base = os.environ.get('XDG_CONFIG_HOME') or Path.home() / '.config'
    return Path(base) / 'vr_ik' / 'map.yaml'


def save_map(config: TrackerConfig) -> Path:
    """Write the map frame of a configuration to its file, and return the file."""
    if not config.map_frame:
        raise ConfigError("There is no map to save: set the parameter 'map_frame' first.")
    path = map_file(config)
    values = {name: asdict(config)[name] for name in MAP_PARAMETERS}
    text = yaml.safe_dump({_NODE_NAME: {'ros__parameters': values}}, sort_keys=False)
    # Written beside its place and renamed: whatever happens, there is the old file or the new.
    part = path.with_name(path.name + '.part')
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text, encoding='utf-8')
        part.replace(path)
    except OSError as error:
        raise ConfigError(f"'{path}' cannot be written: {error.strerror}.") from error
    return path


def load_map(config: TrackerConfig) -> dict[str, Any]:
    """Return the saved values of `MAP_PARAMETERS`; raise `ConfigError` if there are none."""
    path = map_file(config)
    if not path.exists():
        raise ConfigError(f"No map is saved: there is no '{path}'.")
    stored = asdict(load_config(TrackerConfig, path, _NODE_NAME))
    return {name: stored[name] for name in MAP_PARAMETERS}
