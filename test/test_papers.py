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

"""`vr_ik papers` measures what it has the data for, and says what is missing."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner
from vive_support import make_vive_folder

from vr_ik.cli.main import app
from vr_ik.errors import MissingDataError
from vr_ik.evaluation.paper import Column, comparison, MISSING
from vr_ik.evaluation.papers import PAPERS

METHODS = ('jt', 'jpi', 'dls', 'svd', 'svd_dls', 'sdls')


def invoke(*arguments):
    return CliRunner().invoke(app, ['papers', *map(str, arguments)], env={'COLUMNS': '200'})


@pytest.mark.parametrize(
    'arguments, sentence',
    [
        (('--data', 'nowhere'), "There is no folder 'nowhere'"),
        (('--data', '.', '--only', 'seed999'), "Unknown paper 'seed999'"),
        (('--data', '.', '--json', 'no/papers.json'), 'cannot be written'),
        (('--data', '.', '--plot', '/dev/null/no'), 'cannot be made'),
    ],
)
def test_bad_input_gets_one_sentence(arguments, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = invoke(*arguments)
    assert (result.exit_code, result.stderr.count('\n')) == (2, 1)
    assert sentence in result.stderr


def test_every_paper_says_its_protocol():
    assert list(PAPERS) == ['seed000', 'seed001', 'seed002', 'seed004']
    for key, paper in PAPERS.items():
        assert key == paper.KEY
        assert 'eviation' in (paper.__doc__ or '')


def test_an_empty_folder_is_told(tmp_path):
    file = tmp_path / 'papers.json'
    result = invoke('--data', tmp_path, '--only', 'seed002', '--only', 'seed004', '--json', file)
    assert result.exit_code == 0
    for key, name in (('seed002', 'HDM_dg.asf'), ('seed004', 'targets.npz')):
        (line,) = [line for line in result.stdout.splitlines() if line.startswith(key)]
        assert name in line
    figures = json.loads(file.read_text())
    assert set(figures) == {MISSING} and set(figures[MISSING]) == {'seed002', 'seed004'}


def test_recordings_are_measured_shown_and_drawn(tmp_path):
    make_vive_folder(tmp_path / 'vive_2019', ('run-1', 'walk-1'), 5)
    file = tmp_path / 'papers.json'
    result = invoke('--data', tmp_path, '--only', 'seed004', '--json', file, '--plot', tmp_path)
    assert result.exit_code == 0, result.output
    figures = json.loads(file.read_text())
    assert figures[MISSING] == {}
    assert set(figures['seed004']) == set(METHODS)
    for method, row in figures['seed004'].items():
        assert {'mm', 'deg', 'iterations', 'us'} <= set(row)
        assert all(row[name] > 0.0 for name in ('mm', 'deg', 'iterations', 'us'))
        assert method in result.stdout
    assert 'Deviations' in result.stdout and '[mm]' in result.stdout
    assert list(tmp_path.glob('seed004*.png'))


def fake_paper(run):
    return SimpleNamespace(
        KEY='fake',
        TITLE='Nobody 2000',
        __doc__='Deviations: all.',
        run=run,
        tables=lambda figures: [comparison('Table', [Column('mm', 'mm', 1)], figures, {})],
        plots=lambda figures, folder: [],
    )


def test_the_rest_is_measured_where_a_part_is_missing(tmp_path, monkeypatch):
    def no_data(data: Path, progress):
        raise MissingDataError('There is no dance.')

    def half(data: Path, progress):
        progress(0.5, 'half')
        return {'a': {'mm': 7.25}, MISSING: 'There is no song.'}

    monkeypatch.setitem(PAPERS, 'first', fake_paper(no_data))
    monkeypatch.setitem(PAPERS, 'second', fake_paper(half))
    file = tmp_path / 'papers.json'
    result = invoke('--data', tmp_path, '--only', 'first', '--only', 'second', '--json', file)
    assert result.exit_code == 0, result.output
    assert json.loads(file.read_text()) == {
        'second': {'a': {'mm': 7.25}},
        MISSING: {'first': 'There is no dance.', 'second': 'There is no song.'},
    }
    assert 'There is no dance.' in result.stdout and 'There is no song.' in result.stdout


def test_a_comparison_leaves_open_what_a_paper_does_not_tell():
    columns = [Column('mm', 'error [mm]', 1), Column('us', 'time [us]', 0)]
    table = comparison('Table', columns, {'a': {'mm': 1.0, 'us': 2.0}}, {'a': {'mm': 3.0}})
    assert [list(column.cells) for column in table.columns] == [
        ['a'],
        ['1.0'],
        ['3.0'],
        ['2'],
        [''],
    ]
