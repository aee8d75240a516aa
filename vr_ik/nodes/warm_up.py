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

"""Compiles every kernel that nodes and bags use: their first start is as quick as any other."""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
import multiprocessing

from vr_ik import registry
from vr_ik.body.anthropometry import Proportions
from vr_ik.body.human import human_urdf
from vr_ik.config import SolverConfig, TrackerConfig
from vr_ik.nodes.solving import Solving
from vr_ik.nodes.teleop_node import make_session
from vr_ik.offline.solve_bag import warm_up
from vr_ik.teleop.node_config import TeleopNodeConfig
from vr_ik.trackers.simulated import SimulatedTracker


def main() -> None:
    """Make what the nodes make at their start; numba keeps the machine code beside the sources."""
    # A second time in this process: of two that compile one kernel at once, for two sets of types,
    # one may lose its place in numba's index.
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context('spawn')) as pool:
        list(pool.map(_perform, _starts()))
    for start in _starts():
        start()


def _perform(start: Callable[[], object]) -> None:
    start()


def _starts() -> list[Callable[[], object]]:
    """Return the starts of everything, the longest first."""
    # Every solver: a change to one that is not compiled yet would hold up a moving body.
    names = registry.names(registry.SOLVERS)
    others = [partial(_start_solving, name) for name in names if name != SolverConfig().solver]
    return [_start_body, _start_arm, *others, SimulatedTracker(TrackerConfig()).open]


def _start_body() -> None:
    warm_up(Solving(SolverConfig()).pipeline, SolverConfig())


def _start_solving(solver: str) -> None:
    Solving(SolverConfig(solver=solver))


def _start_arm() -> None:
    # Any arm will do, such as a person's.
    arm = TeleopNodeConfig(
        tip_links=('r_wrist',), elbow_links=('r_forearm',), elbow_frames=('r_forearm',)
    )
    make_session(arm, human_urdf(Proportions.from_height(1.75)))


if __name__ == '__main__':
    main()
