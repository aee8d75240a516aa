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

"""Nodes join without the shared memory of Fast DDS, unless its transports have been chosen."""

from pathlib import Path
import subprocess
import sys

import pytest
import rclpy
from ros_graph import environment, PATIENCE_S

from vr_ik.nodes.joining import TRANSPORTS_VARIABLE

MAPS = Path('/proc/self/maps')
JOINED = """
import rclpy
from vr_ik.nodes.joining import joined
with joined():
    node = rclpy.create_node('some_node')
"""
CALLING = """
from vr_ik.nodes.calling import calling
with calling('some_service', 1.0):
"""
PRINT_SHARED = f"""
    lines = open('{MAPS}').read().splitlines()
    print(sum('/dev/shm/fastrtps' in line for line in lines))
"""

pytestmark = pytest.mark.skipif(
    not MAPS.exists() or 'fastrtps' not in rclpy.get_rmw_implementation_identifier(),
    reason='Looks for the shared memory of Fast DDS as Linux shows it',
)


def shared_mappings(code: str, **more: str) -> int:
    """Return how many pieces of memory a process that joins has in common with others."""
    # By itself: with the range LOCALHOST rmw_fastrtps takes shared memory whatever is chosen.
    alone = environment(ROS_AUTOMATIC_DISCOVERY_RANGE='OFF', **more)
    if not more:
        alone.pop(TRANSPORTS_VARIABLE, None)
    command = [sys.executable, '-c', code + PRINT_SHARED]
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE_S, env=alone, check=True
    )
    return int(result.stdout)


@pytest.mark.parametrize('code', [JOINED, CALLING], ids=['joined', 'calling'])
def test_nothing_is_shared_with_others(code):
    assert shared_mappings(code) == 0


@pytest.mark.parametrize('code', [JOINED, CALLING], ids=['joined', 'calling'])
def test_a_choice_of_transports_stands(code):
    assert shared_mappings(code, **{TRANSPORTS_VARIABLE: 'DEFAULT'}) > 0
