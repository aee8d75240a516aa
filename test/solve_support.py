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

"""Runs `vr_ik solve` for tests, and reads what comes out."""

from rosbags.rosbag2 import Reader
from typer.testing import CliRunner

from vr_ik.cli.main import app
from vr_ik.config import SolverConfig
from vr_ik.offline.solve_bag import solve_bag

TF, JOINT_STATES = '/tf', '/joint_states'


def invoke(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def solve(source, target, **settings):
    return solve_bag(source, target, SolverConfig(**settings), None, lambda share: None)


def contents(path):
    """Return (topic, time, bytes) of all messages, as another reader than ours sees them."""
    with Reader(path) as reader:
        return [(c.topic, stamp, bytes(data)) for c, stamp, data in reader.messages()]
