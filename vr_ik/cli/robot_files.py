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


"""The parameter files of robots, by name: `config/robots/NAME.yaml`."""

from pathlib import Path

from vr_ik.errors import UnknownNameError
from vr_ik.io.packages import share_folders

_FOLDER = Path('config', 'robots')


def robot_file(name: str) -> Path:
    """Return the file of a robot; an unknown name lists the known ones."""
    for folder in _folders():
        path = folder / f'{name}.yaml'
        if path.is_file():
            return path
    known = {path.stem for folder in _folders() for path in folder.glob('*.yaml')}
    raise UnknownNameError('robot', name, known)


def _folders() -> list[Path]:
    """Return where they may be: beside the sources, and where the package is installed."""
    sources = Path(__file__).resolve().parents[2] / _FOLDER
    return [sources, *(share / 'vr_ik' / _FOLDER for share in share_folders())]
