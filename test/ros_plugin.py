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

"""Registers plug-ins for a test as another installed package would."""

from collections.abc import Mapping
import os
from pathlib import Path


def install(folder: Path, distribution: str, groups: Mapping[str, Mapping[str, str]]) -> None:
    """Write the metadata of an installed package with entry points into a folder of sys.path."""
    info = folder / f'{distribution}-1.0.dist-info'
    info.mkdir(parents=True)
    (info / 'METADATA').write_text(f'Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n')
    lines: list[str] = []
    for group, entries in groups.items():
        lines.append(f'[{group}]')
        lines += [f'{name} = {target}' for name, target in entries.items()]
    (info / 'entry_points.txt').write_text('\n'.join(lines) + '\n')


def environment_with(*folders: Path) -> dict[str, str]:
    """Return this process's environment with more folders to import from."""
    path = os.pathsep.join(
        [*(str(folder) for folder in folders), os.environ.get('PYTHONPATH', '')]
    )
    return {**os.environ, 'PYTHONPATH': path}
