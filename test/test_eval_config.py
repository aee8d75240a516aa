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

"""`vr_ik eval --config`: the figures are those of the configuration, and say which it was."""

from dataclasses import replace
import json

from bag_support import session, write_bag
import pytest
from typer.testing import CliRunner

from vr_ik.cli.main import app
from vr_ik.config import SolverConfig
from vr_ik.evaluation.eval_data import read_recordings
from vr_ik.evaluation.metrics import motion_figures
from vr_ik.evaluation.reconstruction import reconstruct

SIX = ('hmd', 'l_controller', 'r_controller', 'waist', 'l_foot', 'r_foot')
FILE = """
solver_node:
  ros__parameters:
    spine: rigid
    smoothing_hz: 2
    device_weights: waist=0.5
    user: nobody
    user_height_m: 1.5
"""
IN_FILE = {
    'spine': 'rigid',
    'smoothing_hz': 2.0,
    'device_weights': 'waist=0.5',
    'user': 'nobody',
    'user_height_m': 1.5,
}


@pytest.fixture(scope='module')
def bag(tmp_path_factory):
    return write_bag(tmp_path_factory.mktemp('bags') / 'session', session(4.0))


@pytest.fixture
def file(tmp_path):
    path = tmp_path / 'mine.yaml'
    path.write_text(FILE)
    return path


def run(*arguments):
    return CliRunner().invoke(app, ['eval', *map(str, arguments)])


def evaluated(tmp_path, *arguments):
    """The figures that the command writes."""
    path = tmp_path / 'e.json'
    result = run(*arguments, '--no-refine', '--json', path)
    assert result.exit_code == 0, result.output
    return json.loads(path.read_text())


def solved(bag, roles, **parameters):
    """The errors of a configuration, without the command."""
    (recording,) = read_recordings([bag])
    config = SolverConfig(**parameters)
    return motion_figures(reconstruct(recording, roles, config, refined=False))['mean']


def test_a_file_is_judged_by_its_parameters_and_the_recording_by_its_own_body(bag, file, tmp_path):
    figures = evaluated(tmp_path, bag, '--config', file)
    assert figures['parameters'] == IN_FILE
    parameters = {name: IN_FILE[name] for name in ('spine', 'smoothing_hz', 'device_weights')}
    assert figures['mean'] == solved(bag, SIX, **parameters)
    default = evaluated(tmp_path, bag)
    assert default['parameters'] == {} and default['mean'] == solved(bag, SIX)
    assert default['mean'] != figures['mean']


def test_the_tables_say_what_is_not_by_default(bag, file):
    told = run(bag, '--config', file, '--no-refine').output
    assert 'Not by default: ' in told
    assert 'spine rigid, ' in told
    assert 'Not by default' not in run(bag, '--no-refine').output


def test_options_go_before_the_file(bag, file, tmp_path):
    solvers = ('--solver', 'two_bone', '--solver', 'lm')
    figures = evaluated(tmp_path, bag, '--config', file, '--no-smooth', *solvers)
    no_filter = {**IN_FILE, 'smoothing_hz': 0.0, 'vibration_hz': 0.0}
    assert figures['parameters'] == {**no_filter, 'solver': 'two_bone'}
    assert figures['solvers']['lm']['parameters'] == {**no_filter, 'solver': 'lm'}


def test_devices_that_are_not_followed_are_the_truth(bag, tmp_path):
    """They are read from the bag, and calibration knows nothing of them."""
    path = tmp_path / 'arms.yaml'
    path.write_text(
        'solver_node: {ros__parameters: {trackers: [hmd, l_controller, r_controller]}}'
    )
    figures = evaluated(tmp_path, bag, '--config', path)
    assert figures['mean'] == evaluated(tmp_path, bag, '--points', '3')['mean']
    assert {'feet', 'hips'} <= set(figures['mean'])


def test_frames_in_bags_are_named_as_configured(bag, tmp_path):
    frames = [
        replace(frame, names=tuple(f'anna/{name}' for name in frame.names))
        for frame in session(4.0)
    ]
    of_anna = write_bag(tmp_path / 'anna', frames)
    assert run(of_anna).exit_code == 2
    figures = evaluated(tmp_path, of_anna, '--namespace', 'anna')
    assert figures['mean'] == evaluated(tmp_path, bag)['mean']


@pytest.mark.parametrize(
    ('text', 'reason'),
    [
        ('{model: upper}', "only the 'full' model can be evaluated"),
        ('{spin: rigid}', "Did you mean 'spine'?"),
        ('{smoothing_hz: 500}', "'smoothing_hz': it must be 0 to 100 Hz"),
        ('{trackers: [hmd, waist]}', "'session': l_controller is not tracked"),
    ],
)
def test_what_cannot_be_judged_is_told_in_one_sentence(bag, tmp_path, text, reason):
    path = tmp_path / 'bad.yaml'
    path.write_text(f'solver_node: {{ros__parameters: {text}}}')
    result = run(bag, '--config', path)
    assert result.exit_code == 2 and result.output.count('\n') == 1
    assert reason in result.output


@pytest.mark.parametrize('node', ['solvr_node', 'tracker_node', 'anna/solver_nod'])
def test_a_file_that_says_nothing_of_the_solver_is_refused(bag, tmp_path, node):
    path = tmp_path / 'other.yaml'
    path.write_text(f'/{node}: {{ros__parameters: {{spine: rigid}}}}')
    result = run(bag, '--config', path)
    assert result.exit_code == 2
    assert 'no section that holds for solver_node' in result.output
    assert f'it has /{node}.' in result.output


def test_a_section_for_all_nodes_holds_for_the_solver(bag, tmp_path):
    path = tmp_path / 'all.yaml'
    path.write_text('/**: {ros__parameters: {spine: rigid}}')
    assert evaluated(tmp_path, bag, '--config', path)['parameters'] == {'spine': 'rigid'}
