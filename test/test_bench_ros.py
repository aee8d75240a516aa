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

"""The benchmark of the nodes: what it makes of times, and that it runs."""

import json
import subprocess
import sys

import pytest

from vr_ik.errors import VrIkError
from vr_ik.evaluation.bench_ros import main
from vr_ik.evaluation.latency import figures, Times
from vr_ik.nodes import spin

MS = 1_000_000


def test_latency_is_from_the_trackers_publish_to_the_receipt():
    times = Times()
    for i in range(1001):
        stamp = 10 * MS * i
        times.published_ns[stamp] = stamp + 1 * MS
        times.solved_ns[stamp] = stamp + 3 * MS
        times.received_ns[stamp] = stamp + (4 if i < 1000 else 34) * MS
    times.received_ns[10**12] = 10**12  # one whose beginning was not seen
    found = figures(times)
    assert (found['frames'], found['rate_hz']) == (1001, 100.0)
    assert found['latency_ms'] == {'median': 3.0, 'p99': 3.0, 'max': 33.0}
    assert list(found['median_of_parts_ms'].values()) == [1.0, 2.0, 1.0]


def test_it_runs_the_nodes_with_each_executor_and_writes_its_figures(tmp_path):
    file = tmp_path / 'figures.json'
    command = [sys.executable, '-m', 'vr_ik.evaluation.bench_ros', '--seconds', '0.5']
    result = subprocess.run([*command, '--json', str(file)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    found = json.loads(file.read_text())
    assert set(found['executors']) == {'events', 'single_threaded'}
    for run in (found, *found['executors'].values()):
        assert run['rate_hz'] > 0.0
        assert run['solver_cpu_percent'] > 0.0
        assert 0.0 < run['latency_ms']['median'] <= run['latency_ms']['p99']


@pytest.mark.parametrize('seconds', ['0', '-1', 'nan', 'inf'])
def test_a_time_that_is_none_is_refused(seconds, tmp_path, capsys):
    with pytest.raises(SystemExit) as end:
        main(['--seconds', seconds, '--json', str(tmp_path / 'figures.json')])
    assert end.value.code == 2
    assert 'a positive number of seconds is expected' in capsys.readouterr().err


def test_too_few_frames_are_told():
    with pytest.raises(VrIkError, match='0 frames have come'):
        figures(Times())


def test_an_unknown_executor_is_refused(monkeypatch):
    monkeypatch.setenv(spin.EXECUTOR_VARIABLE, 'magic')
    with pytest.raises(VrIkError, match='events, single_threaded'):
        spin.make_executor()
