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

"""Signals end nodes in an orderly way, whatever the executor is doing."""

import gc
import os
from pathlib import Path
import signal
import subprocess
import sys
import threading
import weakref

import pytest
from rclpy.node import Node
from ros_graph import environment, PATIENCE_S

from vr_ik.interruption import Interruption
from vr_ik.nodes import spin
from vr_ik.nodes.joining import joined

ROOT = Path(__file__).parent.parent

SIGNAL_AMID_THE_ENTRY_OF_ENTITIES = """
import os, signal, sys
import rclpy.service
from vr_ik.nodes import spin

make_executor, handle = spin.make_executor, rclpy.service.Service.handle
counted = 0

def count(service):
    global counted
    counted += 1
    if counted == 4:
        os.kill(os.getpid(), signal.SIGINT)
    return handle.fget(service)

def make():
    rclpy.service.Service.handle = property(count)
    return make_executor()

spin.make_executor = make
"""
"""The executor asks for the handle of each service that it enters."""
NODE = """
from vr_ik.nodes import tracker_node
code = tracker_node.main(['--ros-args', '-p', f'map_file:={sys.argv[1]}/map.yaml'])
"""
COMMAND = """
from vr_ik.cli.main import main
sys.argv = ['vr_ik', 'run', '--config', 'config/demo.yaml']
try:
    code = main()
except SystemExit as end:
    code = end.code
"""


@pytest.mark.parametrize('start', [NODE, COMMAND], ids=['node', 'command'])
def test_a_signal_while_the_executor_enters_a_node_does_no_harm(
    start: str, tmp_path: Path
) -> None:
    """An exception there makes rclpy abort the process."""
    code = f'{SIGNAL_AMID_THE_ENTRY_OF_ENTITIES}{start}\nassert counted >= 4\nsys.exit(code)'
    result = subprocess.run(
        [sys.executable, '-c', code, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=3 * PATIENCE_S,
        env=environment(),
        cwd=ROOT,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert 'Traceback' not in result.stderr, result.stderr


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_nodes_that_have_nothing_to_do(number: int) -> None:
    """No event of theirs ever wakes the executor."""
    destroyed = []

    class Idler(Node):
        def destroy_node(self) -> None:
            destroyed.append(self.get_name())
            super().destroy_node()

    def create(name: str) -> Node:
        return Idler(name, start_parameter_services=False, enable_rosout=False)

    with Interruption() as interruption, joined():
        timer = threading.Timer(0.3, os.kill, (os.getpid(), number))
        timer.start()
        spin.spin([lambda: create('first'), lambda: create('second')], interruption)
    assert interruption.requested
    assert destroyed == ['second', 'first']


def test_a_node_that_cannot_be_made_takes_the_others_along() -> None:
    """What has been made is destroyed before the error goes on."""
    destroyed = threading.Event()

    class First(Node):
        def destroy_node(self) -> None:
            destroyed.set()
            super().destroy_node()

    def fail() -> Node:
        raise ValueError('no')

    with Interruption() as interruption, joined(), pytest.raises(ValueError, match='no'):
        spin.spin([lambda: First('first'), fail], interruption)
    assert destroyed.is_set()


class _Knot:
    """An object that only the garbage collector can free."""

    def __init__(self) -> None:
        self.itself = self


def test_garbage_is_collected_between_callbacks_alone() -> None:
    """No callback is held up by a collection, and memory does not grow either."""
    in_callback = False
    collections: list[bool] = []
    knots: list[weakref.ref[_Knot]] = []
    interruption = Interruption()

    def note(phase: str, _: object) -> None:
        if phase == 'start' and knots:
            collections.append(in_callback)

    def busy() -> None:
        nonlocal in_callback
        in_callback = True
        # Left to itself, Python collects after 700 of them.
        knots.extend(weakref.ref(_Knot()) for _ in range(2000))
        in_callback = False
        if knots[0]() is None:
            os.kill(os.getpid(), signal.SIGINT)

    def create() -> Node:
        node = Node('busy', start_parameter_services=False, enable_rosout=False)
        node.create_timer(0.05, busy)
        return node

    gc.callbacks.append(note)
    try:
        with interruption, joined():
            spin.spin([create], interruption)
    finally:
        gc.callbacks.remove(note)
    assert collections
    assert not any(collections)
    assert gc.isenabled()
