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

"""The README and the pages in docs/ are true: tables, examples, commands and links."""

from pathlib import Path
import re
import shlex
import subprocess
import sys

import pytest
from ros_plugin import environment_with, install
from typer.testing import CliRunner

from vr_ik import registry
from vr_ik.cli.main import app

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / 'README.md').read_text()
SOLVERS_TEXT = (ROOT / 'docs' / 'solvers.md').read_text()
FILES = dict(re.findall(r'<!-- file: (\S+) -->\n```\w+\n(.*?)```', TEXT, re.DOTALL))

USE_OF_THE_SOLVER = """
import numpy as np
from vr_ik.config import SolverConfig
from vr_ik.pipeline import Pipeline
from vr_ik.trackers.simulated import SIMULATED_ROLES
from vr_ik.trackers.simulated_user import SimulatedUser
from vr_ik.types import Status, TrackingFrame

pipeline = Pipeline(SolverConfig(solver='second_chance'))
user = SimulatedUser(1.75)
for i in range(120):
    poses = user.device_poses(user.q_at(i / 60), SIMULATED_ROLES)
    solution = pipeline.process(TrackingFrame(i * 16_666_667, SIMULATED_ROLES, poses))
assert max(solution.position_errors.values()) < 0.01, solution.position_errors

solver = pipeline._solver
bad = np.full((len(solver.weights), 4, 4), np.nan)
assert solver.solve(pipeline.model.neutral(), bad).status is Status.FAILED
"""

USE_OF_THE_TRACKER = """
import math
import threading
from vr_ik import registry
from vr_ik.config import TrackerConfig
from vr_ik.trackers.loop import TrackerLoop

config = TrackerConfig(backend='circle', backend_options='radius_m=0.8')
tracker = registry.load(registry.TRACKERS, 'circle')(config)
frames, enough, events = [], threading.Event(), []
loop = TrackerLoop(
    tracker,
    100.0,
    lambda frame: frames.append(frame) or len(frames) == 10 and enough.set(),
    lambda severity, text: events.append(text),
)
loop.start()
assert enough.wait(30.0), events
assert loop.stop()
assert frames[0].names == ('hmd',) == tuple(device.name for device in tracker.devices())
assert frames[0].poses.shape == (1, 4, 4)
x, y, z = frames[0].poses[0, :3, 3]
assert z == 1.6
assert abs(math.hypot(x, y) - 0.8) < 1e-9, (x, y)
"""


def run_python(code: str, *folders: Path) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, '-c', code],
        capture_output=True,
        text=True,
        env=environment_with(*folders, ROOT),
    )


@pytest.fixture
def plug_in(tmp_path: Path) -> Path:
    """Return a folder with the README's package in it, as if pip had installed it."""
    for name in ('my_vr/solver.py', 'my_vr/tracker.py'):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(FILES[name])
    groups = {
        group: dict(re.findall(r'^(\w+) = "(.+)"$', entries, re.MULTILINE))
        for group, entries in re.findall(
            r'\[project\.entry-points\."(.+?)"\]\n((?:.+\n)+)', FILES['pyproject.toml']
        )
    }
    assert set(groups) == {'vr_ik.solvers', 'vr_ik.trackers'}
    install(tmp_path, 'my_vr', groups)
    return tmp_path


def test_the_tables_are_those_of_the_code():
    check = [sys.executable, str(ROOT / 'tools' / 'readme_tables.py'), '--check']
    result = subprocess.run(check, capture_output=True, text=True, env=environment_with(ROOT))
    assert result.returncode == 0, result.stderr


def test_the_core_example_reaches_its_targets():
    result = run_python(FILES['reach.py'])
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith('every task is within tolerance')


@pytest.mark.parametrize('use', [USE_OF_THE_SOLVER, USE_OF_THE_TRACKER])
def test_the_plug_in_examples_work(plug_in, use):
    result = run_python(use, plug_in)
    assert result.returncode == 0, result.stderr


def vr_ik_commands(text: str) -> list[list[str]]:
    """Return the commands `vr_ik …` in a page's blocks, without comments."""
    blocks = '\n'.join(re.findall(r'^```\n(.*?)^```', text, re.DOTALL | re.MULTILINE))
    lines = [line.partition('#')[0] for line in blocks.splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith('vr_ik ')]


def test_the_main_commands_are_shown():
    shown = {arguments[0] for arguments in vr_ik_commands(TEXT)}
    assert shown >= {'demo', 'run', 'urdf', 'doctor', 'eval', 'papers', 'tune'}


@pytest.mark.parametrize('arguments', vr_ik_commands(TEXT + SOLVERS_TEXT), ids=' '.join)
def test_the_shown_commands_have_the_shown_options(arguments):
    text = CliRunner().invoke(app, [arguments[0], '--help'], terminal_width=200).stdout
    for option in arguments[1:]:
        assert not option.startswith('-') or re.search(rf'{option}\b', text), option


def test_the_shown_make_targets_exist():
    makefile = (ROOT / 'Makefile').read_text()
    targets = set(re.findall(r'\bmake ([a-z]+)\b', TEXT))
    assert {'demo', 'test'} <= targets
    for target in targets:
        assert re.search(rf'^{target}:', makefile, re.MULTILINE), target


def test_the_page_of_the_solvers_has_them_all():
    for name in registry.names(registry.SOLVERS):
        assert f'| `{name}` |' in SOLVERS_TEXT, name
    for link in re.findall(r'\]\(([^)#:]+)', SOLVERS_TEXT):
        assert (ROOT / 'docs' / link).exists(), link


def test_the_files_it_names_are_there():
    links = re.findall(r'\]\(([^)#:]+)\)', TEXT)
    assert 'docs/images/demo.png' in links
    for link in links:
        assert (ROOT / link).exists(), link
    for launch_file in re.findall(r'\b\w+_launch\.py\b', TEXT):
        assert (ROOT / 'launch' / launch_file).exists(), launch_file
