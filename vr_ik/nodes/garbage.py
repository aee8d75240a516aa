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

"""Garbage collection at moments of our choosing: never in the middle of a frame."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
import gc
import time

_PERIOD_S = 1.0


def settle() -> None:
    """Declare what exists by now to be here to stay: no collection looks at it again.

    Loading the kernels of one solver makes 150,000 objects, which take 0.1 s to look at.
    """
    gc.freeze()


@contextmanager
def collected_between_callbacks() -> Iterator[Callable[[], None]]:
    """Take garbage collection over from Python inside a `with` block.

    The function it gives is to be called between callbacks; it collects once a second. Little is
    left to look at, so it is quick.
    """
    gc.collect()
    settle()
    gc.disable()
    due_s = time.monotonic() + _PERIOD_S

    def collect_when_due() -> None:
        nonlocal due_s
        if time.monotonic() >= due_s:
            gc.collect()
            due_s = time.monotonic() + _PERIOD_S

    try:
        yield collect_when_due
    finally:
        gc.enable()
        gc.unfreeze()
