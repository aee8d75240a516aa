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

"""`vr_ik demo` from outside: its figures, and how it ends."""

from collections.abc import Callable, Iterator
import json
import os
from pathlib import Path
import signal
import time

from demo_support import DemoProcess, is_running, PATIENCE_S
import pytest
from rich.console import Console
from rosbags.rosbag2 import Reader

from vr_ik.cli import demonstration
from vr_ik.cli.measures import Measures
from vr_ik.cli.processes import NodeProcess, NodesError
from vr_ik.config import SolverConfig
from vr_ik.interruption import Interruption
from vr_ik.offline.solve_bag import solve_bag
from vr_ik.trackers.simulated_user import SimulatedUser

KEYS = {'seconds', 'frames', 'joint_states', 'latency_ms', 'error_mm'}
NODES = {'tracker_node', 'solver_node'}


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., DemoProcess]]:
    """Start demonstrations that are ended with the test."""
    started = []

    def start_one(*arguments: str) -> DemoProcess:
        started.append(DemoProcess(tmp_path, *arguments))
        return started[-1]

    yield start_one
    for demo in started:
        demo.end()


def wait_until(condition: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline_s
        time.sleep(0.05)


def test_the_body_follows_the_simulated_user(start, tmp_path):
    file = tmp_path / 'figures.json'
    bag = tmp_path / 'bag'
    demo = start('--seconds', '5', '--no-viewer', '--json', str(file), '--record', str(bag))
    assert demo.process.wait(PATIENCE_S) == 0, demo.output()
    figures = json.loads(file.read_text())
    assert set(figures) == KEYS
    assert set(figures['latency_ms']) == {'median', 'p99'}
    assert set(figures['error_mm']) == {'tracked', 'elbows', 'knees'}
    assert figures['seconds'] >= 5.0
    assert 0 < figures['joint_states'] <= figures['frames']
    assert 0.0 < figures['latency_ms']['median'] <= figures['latency_ms']['p99']
    assert 0.0 < figures['error_mm']['tracked'] < 10.0
    assert 'Waiting for the first joint states' in demo.output()
    assert 'Traceback' not in demo.output()
    solved = solve_bag(bag, tmp_path / 'solved', SolverConfig(), None, lambda share: None)
    assert solved.frames >= figures['frames']
    assert solved.replaced >= figures['joint_states']
    assert not solved.lost


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_and_its_nodes(start, tmp_path, number):
    file = tmp_path / 'figures.json'
    demo = start('--no-viewer', '--json', str(file), '--record', str(tmp_path / 'bag'))
    demo.wait_for('Joint states are coming')
    nodes = demo.nodes()
    assert set(nodes) == NODES
    os.kill(demo.process.pid, number)
    assert demo.process.wait(PATIENCE_S) == 0, demo.output()
    assert not any(is_running(pid) for pid in nodes.values())
    assert 'Traceback' not in demo.output()
    assert set(json.loads(file.read_text())) == KEYS
    with Reader(tmp_path / 'bag') as reader:
        assert reader.topics['/tf'].msgcount > 0


def test_a_signal_during_the_start_ends_it_too(start, tmp_path):
    file = tmp_path / 'figures.json'
    demo = start('--no-viewer', '--json', str(file))
    demo.wait_for('Waiting')
    nodes = demo.nodes()
    os.kill(demo.process.pid, signal.SIGINT)
    assert demo.process.wait(PATIENCE_S) == 0, demo.output()
    assert not any(is_running(pid) for pid in nodes.values())
    assert 'Traceback' not in demo.output()
    assert not file.exists()
    assert f"without figures to write to '{file}'" in demo.output()


def test_a_node_that_dies_is_reported(start):
    demo = start('--no-viewer')
    demo.wait_for('Joint states are coming')
    nodes = demo.nodes()
    os.kill(nodes['solver_node'], signal.SIGKILL)
    assert demo.process.wait(PATIENCE_S) == 1, demo.output()
    assert 'solver_node has ended (signal 9)' in demo.output()
    assert '[solver_node]: ' in demo.output()  # its last words
    assert not is_running(nodes['tracker_node'])
    assert 'Traceback' not in demo.output()


def test_a_node_that_hangs_is_reported(start, tmp_path):
    file = tmp_path / 'figures.json'
    demo = start('--seconds', '4', '--no-viewer', '--json', str(file))
    demo.wait_for('Joint states are coming')
    solver = demo.nodes()['solver_node']
    os.kill(solver, signal.SIGSTOP)
    try:
        assert demo.process.wait(PATIENCE_S) == 1, demo.output()
        assert not is_running(solver)
    finally:
        if is_running(solver):
            os.kill(solver, signal.SIGKILL)
    assert demo.output().splitlines()[-1].startswith('vr_ik: No joint states have come for 5 s')
    assert not file.exists()
    assert 'Traceback' not in demo.output()


@pytest.mark.parametrize('seconds', [None, 0.05])
def test_silence_ends_it_with_and_without_a_time(monkeypatch, seconds):
    """Neither the end of the time nor earlier joint states make a success of it."""
    monkeypatch.setattr(demonstration, '_SILENCE_S', 0.3)
    measures = Measures(SimulatedUser(1.75), 0)
    measures.begin(time.time_ns())
    measures.on_joint_state(time.time_ns(), time.time_ns(), ('joint',), (0.0,))
    shown = demonstration.Demonstration(Console(quiet=True), seconds, None)
    watch = demonstration._Watch(Interruption(), (demonstration._Flow(measures),))
    with pytest.raises(NodesError, match='No joint states have come'):
        shown._show(measures, None, watch)
    assert measures.seconds >= 0.3


def test_others_that_publish_the_same_are_warned_of_once():
    sources = [1]
    said: list[str] = []
    others = demonstration._Others(lambda: sources[0], said.append)
    others.check()
    assert said == []
    sources[0] = 2
    others.check()
    others.check()
    assert len(said) == 1
    assert said[0].startswith('2 nodes publish joint_states')


def test_no_node_outlives_it_even_when_it_is_killed(start):
    demo = start('--no-viewer')
    demo.wait_for('Joint states are coming')
    nodes = demo.nodes()
    assert set(nodes) == NODES
    demo.process.kill()
    wait_until(lambda: not any(is_running(pid) for pid in nodes.values()))


def test_a_clone_in_the_folder_is_not_taken_for_the_package(tmp_path, monkeypatch):
    """`git clone` makes a folder of the package's name, with a folder `config` in it."""
    (tmp_path / 'vr_ik' / 'config').mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    node = NodeProcess('solver_node', {'model': 'whole'})
    deadline_s = time.monotonic() + 30.0
    with pytest.raises(NodesError, match="'whole'"):
        while time.monotonic() < deadline_s:
            node.check()
            time.sleep(0.05)
