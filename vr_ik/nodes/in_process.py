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

"""All nodes in one process, for machines where nothing launches them one by one."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from rclpy.node import Node

from vr_ik.interruption import Interruption
from vr_ik.nodes import solver_node, spin, tracker_node
from vr_ik.nodes.joining import joined


def run(parameter_file: Path, namespaces: Sequence[str], interruption: Interruption) -> None:
    """Run tracker and solver in each namespace, as a file has them, until a signal ends them."""
    # Solvers first, with their kernels warm: no frame is published in vain.
    creators: list[Callable[[], Node]] = [
        partial(create, namespace)
        for create in (solver_node.create, tracker_node.create)
        for namespace in namespaces
    ]
    with joined(['--ros-args', '--params-file', str(parameter_file)]):
        spin.spin(creators, interruption)
