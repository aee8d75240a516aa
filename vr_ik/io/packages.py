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

"""Files of ROS packages by their `package://` address, with and without a sourced ROS 2."""

from collections.abc import Iterator, Sequence
import os
from pathlib import Path
import sys
import sysconfig

from vr_ik.errors import MissingDataError

_SCHEME = 'package://'


def find_file(address: str) -> Path:
    """Return the file at a path, or at package://PACKAGE/path/in/its/share."""
    folders = tuple(share_folders())
    path = file_in(address, folders)
    if path is not None:
        return path
    if not address.startswith(_SCHEME):
        raise MissingDataError(f"There is no file '{address}'.")
    package, _, rest = address.removeprefix(_SCHEME).partition('/')
    searched = ', '.join(str(folder) for folder in folders)
    raise MissingDataError(
        f"There is no '{rest}' of package '{package}'; searched in {searched}. Install the "
        'package, or source the workspace that has it.'
    )


def file_in(address: str, folders: Sequence[Path]) -> Path | None:
    """Return the same, with packages looked for in folders; None if it is not there."""
    if address.startswith(_SCHEME):
        inside = address.removeprefix(_SCHEME)
        return next((f / inside for f in folders if (f / inside).is_file()), None)
    path = Path(address.removeprefix('file://')).expanduser()
    return path if path.is_file() else None


def read_description(address: str) -> str:
    """Return the text of a URDF file at a path or at a package:// address."""
    return find_file(address).read_text(encoding='utf-8')


def share_folders() -> Iterator[Path]:
    """Yield where packages have their share folders: those of sourced workspaces first."""
    for prefix in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep):
        if prefix:
            yield Path(prefix, 'share')
    yield Path(sys.prefix, 'share')
    # Where pip puts robot descriptions, such as example-robot-data.
    yield Path(sysconfig.get_path('purelib'), 'cmeel.prefix', 'share')
