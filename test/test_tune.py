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

"""`vr_ik tune` chooses by z-scores over motions, on worker processes, and never works twice."""

import json
import math
import os
import signal
from statistics import fmean, pstdev
from typing import Any

from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
import numpy as np
import pytest
from typer.testing import CliRunner
from vive_support import make_vive_folder

from vr_ik import registry
from vr_ik.cli.main import app
from vr_ik.config import from_mapping, SolverConfig
from vr_ik.config_file import load_config
from vr_ik.errors import VrIkError
from vr_ik.evaluation import dask_client as clients
from vr_ik.evaluation.dask_client import dask_client
from vr_ik.evaluation.recordings import Recording
from vr_ik.evaluation.tuning import job_count, tune
from vr_ik.evaluation.tuning_cases import BodyCase, motion_of, read_cases
from vr_ik.evaluation.tuning_grid import METHODS, start, sweeps
from vr_ik.evaluation.tuning_scores import best_index, held_out, scores
from vr_ik.evaluation.tuning_store import Results
from vr_ik.pipeline import Pipeline
from vr_ik.trackers.simulated_user import SimulatedUser

NAMES = ('run-1', 'run-2', 'squat-1', 'walk-1')
QUANTITIES = ('mm', 'deg', 'iterations')


def plain_scores(rows):
    """Return the average z-score of each value of one motion, in plain Python."""
    z = []
    for row in rows:
        spread = pstdev(row)
        z.append([(value - fmean(row)) / spread if spread else 0.0 for value in row])
    return [0.5 * (0.5 * (mm + deg) + steps) for mm, deg, steps in zip(*z)]


def plain_best(by_motion):
    averages = [fmean(column) for column in zip(*by_motion)]
    return averages.index(min(averages))


@given(
    arrays(
        np.float64,
        st.tuples(st.just(3), st.integers(1, 4), st.integers(1, 6)),
        elements=st.integers(0, 50).map(float),
    )
)
def test_scores_and_choices_are_those_of_plain_python(measured):
    by_motion = [plain_scores(measured[:, i].tolist()) for i in range(measured.shape[1])]
    ours = scores(*measured)
    assert np.allclose(ours, by_motion, atol=1e-9)
    average = np.mean(by_motion, axis=0)
    assert math.isclose(average[best_index(ours)], min(average), abs_tol=1e-9)
    choices = held_out(ours)
    assert len(choices) == (len(by_motion) if len(by_motion) > 1 else 0)
    for i, choice in enumerate(choices):
        others = np.mean([row for k, row in enumerate(by_motion) if k != i], axis=0)
        assert math.isclose(others[choice.choice], min(others), abs_tol=1e-9)
        assert math.isclose(choice.score, by_motion[i][choice.choice], abs_tol=1e-9)
        assert math.isclose(choice.lowest, min(by_motion[i]), abs_tol=1e-9)


def test_scores_do_not_depend_on_units():
    rng = np.random.default_rng(1)
    mm, deg, iterations = rng.uniform(1.0, 9.0, (3, 4, 20))
    assert np.allclose(scores(mm, deg, iterations), scores(1e-3 * mm, 7.0 * deg + 1.0, iterations))


@pytest.mark.parametrize('method', METHODS)
def test_every_value_of_the_ranges_is_valid(method):
    options = start(method)
    for option, values in sweeps(method).items():
        assert list(values) == sorted(set(values))
        for value in values:
            from_mapping(registry.load(registry.SOLVERS, method).Options, {option: value})
            assert type(value) is type(options[option])


@pytest.mark.parametrize(
    'name, motion', [('squats-1', 'squats'), ('yoga2', 'yoga'), ('13_29', '13'), ('7', '7')]
)
def test_recordings_of_a_motion_share_its_name(name, motion):
    assert motion_of(name) == motion


def test_a_torn_last_line_is_written_anew(tmp_path):
    path = tmp_path / 'results.jsonl'
    results = Results(path)
    for key in 'ab':
        results.add(key, {'method': 'jt'}, {'mm': 1.0})
    whole = path.read_text()
    path.write_text(whole[:-9])
    torn = Results(path)
    assert len(torn) == 1 and 'b' not in torn
    torn.add('b', {'method': 'jt'}, {'mm': 1.0})
    assert path.read_text() == whole


@pytest.mark.parametrize('text', ['solver: jt', 'a: 1\nb: 2\n', '[]\n', '{"key": 1}\n'])
def test_a_foreign_file_is_left_alone(tmp_path, text):
    path = tmp_path / 'results.jsonl'
    path.write_text(text)
    with pytest.raises(VrIkError, match='line 1 is not one'):
        Results(path)
    assert path.read_text() == text


HANDLER = signal.getsignal(signal.SIGINT)
"""Of this process before there are workers; a shell's background has it ignored, too."""


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    return make_vive_folder(tmp_path_factory.mktemp('vive'), NAMES, 4)


@pytest.fixture(scope='module')
def client():
    """Two worker processes."""
    with dask_client(None, 2) as client:
        pids = client.run(os.getpid)
        assert len(set(pids.values()) - {os.getpid()}) == 2
        yield client


def test_ctrl_c_is_not_for_the_workers(client):
    """A terminal sends it to all processes; workers would end with a traceback each."""
    for ignored in client.run(lambda: signal.getsignal(signal.SIGINT) == signal.SIG_IGN).values():
        assert ignored
    assert signal.getsignal(signal.SIGINT) == HANDLER


class Stop(Exception):
    pass


def test_a_search_that_was_stopped_goes_on_and_does_nothing_twice(client, folder, tmp_path):
    cases, path = read_cases([folder]), tmp_path / 'results.jsonl'
    seen = []

    def stop_soon(method):
        seen.append(method)
        if len(seen) == 100:
            raise Stop

    with pytest.raises(Stop):
        tune(client, cases, ['jt'], Results(path), stop_soon)
    first = path.read_text().splitlines()
    assert 0 < len(first) <= 100
    looked_at: list[str] = []
    tuned = tune(client, cases, ['jt'], Results(path), looked_at.append)
    assert len(looked_at) == job_count(['jt'], cases)
    lines = path.read_text().splitlines()
    assert lines[: len(first)] == first
    keys = [json.loads(line)['key'] for line in lines]
    assert len(keys) == len(set(keys))
    again = tune(client, cases, ['jt'], Results(path), looked_at.append)
    assert path.read_text().splitlines() == lines
    assert again['jt'].options == tuned['jt'].options
    check_against_the_file(tuned['jt'], [json.loads(line) for line in lines])
    check_against_this_process(cases, [json.loads(line) for line in lines])


def check_against_the_file(tuned, lines):
    """Every option is the best of its range, by plain Python on what the file has."""
    options = dict(start('jt'))
    for option, values in sweeps('jt').items():
        by_motion = []
        for motion in ('run', 'squat', 'walk'):
            rows: list[list[float]] = []
            for quantity in QUANTITIES:
                rows.append([])
                for value in values:
                    tried = {**options, option: value}
                    rows[-1].append(
                        fmean(
                            line['figures'][quantity]
                            for line in lines
                            if line['recording'].startswith(motion)
                            and all(line[name] == wanted for name, wanted in tried.items())
                        )
                    )
            by_motion.append(plain_scores(rows))
        averages = [fmean(column) for column in zip(*by_motion)]
        chosen = averages[values.index(tuned.options[option])]
        assert math.isclose(chosen, min(averages), abs_tol=1e-9)
        options[option] = tuned.options[option]


def check_against_this_process(cases, lines):
    by_name = {case.name: case for case in cases}
    for line in lines[::40]:
        options = {name: line[name] for name in start('jt')}
        assert by_name[line['recording']].measure('jt', options) == line['figures']


def invoke(*arguments):
    return CliRunner().invoke(app, ['tune', *map(str, arguments)])


def test_the_command_writes_what_the_solver_node_loads(client, folder, tmp_path):
    plots = tmp_path / 'plots'
    plots.mkdir()
    files = {name: tmp_path / f'tuned.{name}' for name in ('yaml', 'json', 'jsonl')}
    result = invoke(
        *(folder, '--method', 'dls', '--scheduler', client.scheduler.address),
        *('--results', files['jsonl'], '--yaml', files['yaml'], '--json', files['json']),
        *('--plot', plots),
    )
    assert result.exit_code == 0, result.output
    assert 'dls' in result.stdout
    options = json.loads(files['json'].read_text())['dls']['options']
    solver: Any = Pipeline(load_config(SolverConfig, files['yaml'], 'solver_node'))._solver
    for name, value in options.items():
        assert getattr(solver.options, name) == pytest.approx(value)
    assert np.all(solver.weights[:, 0] == solver.weights[:, 1])
    assert {path.stem for path in plots.iterdir()} == {
        'lambda',
        'position_tolerance',
        'orientation_tolerance',
        'max_iterations',
    }


def test_bad_input_gets_one_sentence(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(clients, '_CONNECT_S', 1)
    results = tmp_path / 'results.jsonl'
    for arguments, sentence in (
        ((tmp_path,), 'holds no recordings'),
        ((folder, tmp_path), 'is tuned on alone'),
        ((folder, '--method', 'lm'), "Unknown method to tune 'lm'"),
        ((folder, '--scheduler', 'tcp://127.0.0.1:1'), 'No dask scheduler answers'),
        ((folder, '--plot', '/dev/null/no'), 'cannot be made'),
    ):
        result = invoke(*arguments, '--results', results)
        assert (result.exit_code, result.stderr.count('\n')) == (2, 1)
        assert sentence in result.stderr


def test_a_body_is_measured_through_the_pipeline():
    user = SimulatedUser(1.75)
    roles = ('hmd', 'l_controller', 'r_controller', 'waist', 'l_foot', 'r_foot', 'l_elbow')
    # From the T-pose on that he holds.
    moving = [user.q_at(19.0 + i / 30.0) for i in range(90)]
    poses = np.array([user.device_poses(q, roles) for q in moving])
    case = BodyCase(Recording('exercise', 30.0, dict(zip(roles, poses.swapaxes(0, 1)))), '')
    lazy, busy = (case.measure('dls', {**start('dls'), 'max_iterations': n}) for n in (1, 30))
    assert lazy['iterations'] <= 1.0 < busy['iterations']
    assert busy['mm'] < lazy['mm']
