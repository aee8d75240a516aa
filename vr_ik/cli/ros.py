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

"""How the command line reaches the nodes: by name, so that all else works without ROS."""

import importlib
from importlib.util import find_spec
from types import ModuleType

from vr_ik.errors import MissingDependencyError

GET_ROS = 'source a ROS 2 installation, or run `make setup`, which takes ROS 2 from PyPI'
GET_TF2_MSGS = 'run `make setup`, which builds it'


def require_ros() -> None:
    """Raise `MissingDependencyError` where there is no ROS 2; quick, for it imports nothing."""
    if find_spec('rclpy') is None:
        raise MissingDependencyError(f'There is no ROS 2 here: {GET_ROS}.')
    if find_spec('tf2_msgs') is None:
        raise MissingDependencyError(f'The messages tf2_msgs are missing: {GET_TF2_MSGS}.')


def import_node_module(name: str) -> ModuleType:
    """Import `vr_ik.nodes.<name>`, or say how to get ROS 2."""
    require_ros()
    try:
        return importlib.import_module(f'vr_ik.nodes.{name}')
    except ImportError as error:
        reason = f'ROS 2 does not work with this Python ({error})'
        raise MissingDependencyError(f'{reason}: {GET_ROS}.') from error
