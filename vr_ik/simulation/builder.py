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

"""Build the simulated runtime's vrclient library with the machine's C compiler, once."""

import hashlib
import os
from pathlib import Path
import shutil
import subprocess
import tempfile

from vr_ik.errors import MissingDependencyError, VrIkError

_FLAGS = ('-std=gnu11', '-O2', '-fPIC', '-shared', '-fvisibility=hidden')
_FOLDER = Path(__file__).parent


def build_vrclient() -> Path:
    """Return the library for the present sources, from the user's cache where it is there."""
    compiler = _compiler()
    digest = hashlib.sha256(' '.join((compiler, *_FLAGS)).encode())
    for source in sorted([*_FOLDER.glob('*.c'), *_FOLDER.glob('*.h')]):
        digest.update(source.read_bytes())
    library = _cache_folder() / f'vrclient-{digest.hexdigest()[:16]}.so'
    if not library.exists():
        _compile(compiler, library)
    return library


def _compiler() -> str:
    for name in (os.environ.get('CC', ''), 'cc', 'gcc', 'clang'):
        path = shutil.which(name) if name else None
        if path is not None:
            return path
    raise MissingDependencyError(
        'The simulated OpenVR runtime is built with a C compiler, and none was found: install '
        "one (Debian, Ubuntu: 'apt install gcc') or name yours in the variable CC."
    )


def _cache_folder() -> Path:
    base = os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache'
    folder = Path(base) / 'vr_ik'
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:  # a read-only home; the build is quick enough to be done once a session
        folder = Path(tempfile.mkdtemp(prefix='vr_ik-'))
    return folder


def _compile(compiler: str, library: Path) -> None:
    # Built beside its place and renamed: a second process never sees half a library.
    part = library.with_suffix(f'.{os.getpid()}.part')
    sources = [str(source) for source in sorted(_FOLDER.glob('*.c'))]
    command = [compiler, *_FLAGS, '-o', str(part), *sources, '-lm']
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise VrIkError(f'The simulated OpenVR runtime does not build:\n{result.stderr.strip()}')
    part.replace(library)
