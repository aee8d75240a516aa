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


"""The parameter files of robots: `config/robots/NAME.yaml` by name, or a user's own by path."""

from pathlib import Path

from vr_ik.config_file import namespaces
from vr_ik.errors import ConfigError, UnknownNameError
from vr_ik.io.packages import share_folders

_FOLDER = Path('config', 'robots')
_ENDINGS = ('.yaml', '.yml')
_SECTION = 'teleop_node:'
_SIMULATED = 'simulated_robot_node:'


def robot_names() -> tuple[str, ...]:
    """Return the robots with an arm to lead."""
    return tuple(sorted(_led()))


def robot_file(name: str) -> Path:
    """Return the file of a robot with an arm to lead: of a name, or the path of a YAML file.

    An unknown name lists the known ones.
    """
    if name.endswith(_ENDINGS):
        return _own_file(Path(name))
    known = _led()
    if name in known:
        return known[name]
    if name in _files():
        names = ', '.join(sorted(known))
        raise ConfigError(f"The robot '{name}' has no arm to be led; these have: {names}.")
    raise UnknownNameError('robot', name, known)


def described_file(name: str) -> Path:
    """Return the file of any robot of config/robots, with an arm to lead or without."""
    files = _files()
    if name not in files:
        raise UnknownNameError('robot', name, files)
    return files[name]


def _own_file(path: Path) -> Path:
    """Return a user's own file; a robot that nobody describes cannot be shown."""
    if not path.is_file():
        names = ', '.join(robot_names())
        raise ConfigError(f"There is no file '{path}'. Robots that have one by name: {names}.")
    namespaces(path, ())  # refuses what is no YAML, with the line
    for section in (_SECTION, _SIMULATED):
        if section not in path.read_text(encoding='utf-8'):
            raise ConfigError(f"{path} has no section '{section.rstrip(':')}'.")
    return path


def _led() -> dict[str, Path]:
    return {name: path for name, path in _files().items() if _SECTION in path.read_text()}


def _files() -> dict[str, Path]:
    return {path.stem: path for folder in reversed(_folders()) for path in folder.glob('*.yaml')}


def _folders() -> list[Path]:
    """Return where they may be: beside the sources, and where the package is installed."""
    sources = Path(__file__).resolve().parents[2] / _FOLDER
    return [sources, *(share / 'vr_ik' / _FOLDER for share in share_folders())]
