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

"""Where heavy work is done: on worker processes of this machine, or on a dask cluster."""

from collections.abc import Iterator
from contextlib import contextmanager
import logging
import signal
from typing import Any

from vr_ik.errors import MissingDependencyError, VrIkError

_CONNECT_S = 10


@contextmanager
def dask_client(scheduler: str | None, workers: int | None) -> Iterator[Any]:
    """Yield a client of the scheduler at this address, or of worker processes on this machine."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise MissingDependencyError(
            "Tuning needs dask: pip install 'vr_ik[tune]', or pip install 'dask[distributed]'."
        ) from None
    if scheduler is None:
        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            dashboard_address=':0',
            silence_logs=logging.CRITICAL,
        )
        with cluster, Client(cluster) as client:
            client.run(_ignore_interrupts)
            yield client
        return
    try:
        client = Client(scheduler, timeout=_CONNECT_S)
    except (OSError, ValueError) as error:
        raise VrIkError(f"No dask scheduler answers at '{scheduler}': {error}.") from None
    with client:
        if not client.nthreads():
            raise VrIkError(
                f"The dask scheduler at '{scheduler}' has no workers: dask worker {scheduler}"
            )
        yield client


def _ignore_interrupts() -> None:
    """Leave Ctrl-C, which a terminal sends to all processes, to the one that ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
