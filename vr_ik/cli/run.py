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

"""`vr_ik run`: the nodes in one process, from a ROS 2 parameter file."""

from pathlib import Path
from typing import Annotated

import typer

from vr_ik.cli.ros import import_node_module
from vr_ik.config import SolverConfig, TrackerConfig
from vr_ik.config_file import check_holds, load_config, namespaces
from vr_ik.interruption import Interruption

_NODES = ('tracker_node', 'solver_node')


def run(
    config: Annotated[
        Path,
        typer.Option(metavar='FILE', help='ROS 2 parameter file, as the launch files take it.'),
    ],
) -> None:
    """Run tracker_node and solver_node in one process, until Ctrl-C.

    Takes the same files as `ros2 launch vr_ik`, for example config/demo.yaml. A file with nodes in
    several namespaces, as config/two_users.yaml, gets a tracker and a solver in each of them.
    """
    # Checked here first: ROS 2 would pass over misspelt names.
    places = namespaces(config, _NODES)
    for namespace in places:
        check_holds(config, _NODES, namespace)
        load_config(TrackerConfig, config, 'tracker_node', namespace)
        load_config(SolverConfig, config, 'solver_node', namespace)
    with Interruption() as interruption:
        import_node_module('in_process').run(config, places, interruption)
