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
import hashlib
from pathlib import Path
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
_KERNEL_FOLDERS = ('body', 'filters', 'io', 'kinematics', 'math', 'solvers', 'teleop')


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


def _sources_digest() -> str:
    """Return a hash of all sources that may hold kernels."""
    package = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for folder in _KERNEL_FOLDERS:
        for source in sorted((package / folder).glob('*.py')):
            digest.update(source.read_bytes())
    return digest.hexdigest()


_STAMP = _sources_digest()


def _stamped(dispatcher: Kernel) -> Kernel:
    """Make a cached kernel valid only for these very sources.

    numba looks at the file of the function alone. It would go on using the machine code of a
    kernel after another one that is compiled into it, in another file, has changed.
    """
    dispatcher._cache._cache_file._source_stamp = _STAMP
    return dispatcher
