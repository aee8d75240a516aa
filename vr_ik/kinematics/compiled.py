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

"""The one way in which kernels are compiled."""

from collections.abc import Callable
from functools import cache
import hashlib
from pathlib import Path
import re
from typing import Any

from numba import njit

Function = Callable[..., Any]
Kernel = Any
"""A compiled function: numba's dispatcher, which has no types."""

_OPTIONS = {
    'cache': True,
    # NaN and infinity keep their meaning: the solvers check for them.
    'fastmath': {'contract', 'reassoc', 'nsz', 'arcp'},
    # A division by zero gives infinity and never raises in the loop.
    'error_model': 'numpy',
}
_PACKAGE = Path(__file__).parent.parent
_IMPORT = re.compile(r'^from (vr_ik[\w.]*) import (?:\(([^)]*)\)|(.*))', re.MULTILINE)


def kernel(function: Function) -> Kernel:
    """Compile a function that works on buffers of its caller and allocates nothing itself."""
    # Without numba's reference counting, views of rows cost nothing (twice the speed here).
    return _stamped(njit(function, **_OPTIONS, _nrt=False))


def inlined_kernel(function: Function) -> Kernel:
    """Compile a function into its callers, so that it may return views of their buffers."""
    return _stamped(njit(function, **_OPTIONS, _nrt=False, inline='always'))


def allocating_kernel(function: Function) -> Kernel:
    """Compile a function that returns arrays of its own."""
    return _stamped(njit(function, **_OPTIONS))


def _stamped(dispatcher: Kernel) -> Kernel:
    """Make a cached kernel valid only for the sources that it may be compiled from.

    numba looks at the file of the function alone. It would go on using the machine code of a
    kernel after another one that is compiled into it, in another file, has changed.
    """
    source = Path(dispatcher.py_func.__code__.co_filename)
    dispatcher._cache._cache_file._source_stamp = _sources_digest(source)
    return dispatcher


@cache
def _sources_digest(source: Path) -> str:
    """Return a hash of a source file and of all files of the package that it imports."""
    digest = hashlib.sha256()
    for file in sorted(_with_imports(source)):
        digest.update(_text(file).encode())
    return digest.hexdigest()


def _with_imports(source: Path) -> set[Path]:
    """Return a source file, those it imports from this package, those that these import, ..."""
    found = {source, Path(__file__)}
    waiting = list(found)
    while waiting:
        new = _imports(waiting.pop()) - found
        found |= new
        waiting += new
    return found


@cache
def _imports(source: Path) -> set[Path]:
    """Return the files of the package that a source file names in its imports."""
    found = set()
    for module, in_brackets, in_line in _IMPORT.findall(_text(source)):
        path = _PACKAGE.joinpath(*module.split('.')[1:])
        names = re.findall(r'\w+', in_brackets or in_line)
        found |= {path.with_suffix('.py'), *(path / f'{name}.py' for name in names)}
    return {file for file in found if file.exists()}


@cache
def _text(source: Path) -> str:
    return source.read_text()
