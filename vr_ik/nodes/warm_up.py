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
    solving = Solving(SolverConfig())
    warm_up(solving.pipeline, SolverConfig())
    # Every solver: a change to one that is not compiled yet would hold up a moving body.
    for solver in registry.names(registry.SOLVERS):
        Solving(SolverConfig(solver=solver))
    # Any arm will do, such as a person's.
    arm = TeleopNodeConfig(
        tip_links=('r_wrist',), elbow_links=('r_forearm',), elbow_frames=('r_forearm',)
    )
    make_session(arm, human_urdf(Proportions.from_height(1.75)))
    SimulatedTracker(TrackerConfig()).open()


if __name__ == '__main__':
    main()
