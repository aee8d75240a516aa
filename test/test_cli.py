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

"""The command line: help, exit codes, one-sentence errors, and what the commands write."""

import json
import os
from pathlib import Path
import signal
import subprocess
import sys
import time

from demo_support import command, environment, PATIENCE_S
import numpy as np
import pytest
from ros_graph import listening
from ros_recording import Recording
from typer.testing import CliRunner, Result

from vr_ik import __version__, registry
from vr_ik.cli import checks, ros
from vr_ik.cli.main import app
from vr_ik.interruption import Interruption
from vr_ik.kinematics.model import RobotModel

ROOT = Path(__file__).parent.parent
COMMANDS = ('demo', 'run', 'call', 'get', 'set', 'urdf', 'doctor', 'eval', 'papers', 'tune')


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), prog_name='vr_ik')


def assert_one_sentence(result: Result, *parts: str) -> None:
    """Check for one line on the standard error, exit code 2, and nothing else."""
    assert result.exit_code == 2
    assert result.stdout == ''
    line, end, rest = result.stderr.partition('\n')
    assert line.startswith('vr_ik: ') and line.endswith('.') and end and not rest
    for part in parts:
        assert part in line


def test_a_signal_after_the_end_does_not_change_the_exit_code():
    """As from a Ctrl-C while Python takes itself down."""
    program = (
        'import os, signal\n'
        'from vr_ik.cli.main import main\n'
        'try:\n'
        '    main()\n'
        'finally:\n'
        '    os.kill(os.getpid(), signal.SIGINT)\n'
    )
    arguments = [sys.executable, '-c', program, '--version']
    run = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, '')


def test_help_names_every_command():
    result = invoke('--help')
    assert result.exit_code == 0
    for name in COMMANDS:
        assert name in result.stdout


@pytest.mark.parametrize('name', COMMANDS)
def test_every_command_explains_itself(name):
    result = invoke(name, '--help')
    assert result.exit_code == 0
    assert f'vr_ik {name}' in result.stdout


def test_version():
    result = invoke('--version')
    assert (result.exit_code, result.stdout) == (0, f'vr_ik {__version__}\n')


def test_the_command_line_starts_without_numba():
    code = 'import sys, vr_ik.cli.main; sys.exit("numba" in sys.modules)'
    assert subprocess.run([sys.executable, '-c', code], check=False).returncode == 0


@pytest.mark.parametrize(
    'arguments',
    [
        ['fly'],
        ['run'],
        ['urdf', '--height', 'tall'],
        ['demo', '--seconds', '0'],
        ['urdf', '--hight'],
    ],
)
def test_a_wrong_command_line_is_refused(arguments):
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert 'Error' in result.stderr


def test_a_real_process_has_the_same_exit_codes_and_no_traceback():
    result = subprocess.run(
        command('urdf', '--height', '17'),
        capture_output=True,
        text=True,
        env=environment(),
        cwd=ROOT,
    )
    assert result.returncode == 2
    assert result.stderr.startswith('vr_ik: The height is 17')
    assert result.stderr.count('\n') == 1


@pytest.mark.parametrize('model', ['full', 'upper'])
def test_urdf_writes_a_model_of_the_asked_size(tmp_path, model):
    file = tmp_path / 'human.urdf'
    options = ('--height', '1.6', '--arm-span', '1.7', '--model', model)
    printed = invoke('urdf', *options)
    written = invoke('urdf', *options, '-o', str(file))
    assert (printed.exit_code, written.exit_code, written.stdout) == (0, 0, '')
    assert file.read_text() == printed.stdout
    robot = RobotModel.from_urdf(file)
    assert ('l_thigh' in robot.link_names) == (model == 'full')
    assert printed.stdout != invoke('urdf', '--height', '1.6', '--model', model).stdout


@pytest.mark.parametrize(
    ('arguments', 'parts'),
    [
        (['urdf', '--height', '178'], ['178', '1 to 2.3 m']),
        (['urdf', '--model', 'uper'], ["'uper'", "'upper'"]),
        (['urdf', '--height', '1.7', '--arm-span', '3'], ['arm span', '3']),
        (['urdf', '-o', 'no/such/folder.urdf'], ['no/such']),
        (['demo', '--json', 'no/such/folder.json'], ['no/such']),
        (['demo', '--json', '.'], ['folder']),
        (['run', '--config', 'no_such.yaml'], ['no_such.yaml']),
    ],
)
def test_bad_input_is_told_in_one_sentence(arguments, parts):
    assert_one_sentence(invoke(*arguments), *parts)


@pytest.mark.parametrize(
    ('text', 'parts'),
    [
        ('solver_node: {ros__parameters: {solver: magic}}', ["'solver'", "'magic'", 'lm']),
        ('tracker_node: {ros__parameters: {rate_hz: 1e9}}', ["'rate_hz'", '250']),
        ('tracker_node: {ros__parameters: {rat_hz: 90}}', ["'rat_hz'", "'rate_hz'"]),
        ('solver_node: [', ['YAML']),
        ('solvr_node: {ros__parameters: {}}', ['tracker_node or solver_node', '/solvr_node']),
    ],
)
def test_run_names_what_is_wrong_in_the_file(tmp_path, text, parts):
    file = tmp_path / 'bad.yaml'
    file.write_text(text)
    assert_one_sentence(invoke('run', '--config', str(file)), 'bad.yaml', *parts)


@pytest.mark.parametrize('arguments', [['demo'], ['run', '--config', 'config/demo.yaml']])
def test_without_ros_the_user_is_told_how_to_get_it(monkeypatch, arguments):
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(ros, 'find_spec', lambda name: None)
    assert_one_sentence(invoke(*arguments), 'no ROS 2', 'make setup')


def test_run_moves_the_joints_until_ctrl_c(tmp_path):
    log = tmp_path / 'output.txt'
    with log.open('w') as output:
        process = subprocess.Popen(
            command('run', '--config', 'config/demo.yaml'),
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment(),
            cwd=ROOT,
        )
    try:
        deadline_s = time.monotonic() + PATIENCE_S
        while '[tracker_node]: The tracker is connected' not in log.read_text():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline_s, log.read_text()
            time.sleep(0.05)
        wait_for_motion()
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0, log.read_text()
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
    assert '[solver_node]: Ready' in log.read_text()
    assert 'Traceback' not in log.read_text()


def wait_for_motion():
    """Listen until a joint has turned by more than noise and settling would turn it."""
    with listening() as listener:
        recording = Recording(listener)
        before = recording.wait_for_joint_states(20)[-1]

        def turned_rad():
            now = recording.joint_states[-1]
            assert now.name == before.name
            return np.abs(np.subtract(now.position, before.position)).max()

        recording.wait(lambda: turned_rad() > 0.3, 'a motion of the joints')


def test_doctor_finds_all_that_the_tests_need():
    result = invoke('doctor', '--json')
    report = json.loads(result.stdout)
    assert result.exit_code == 0
    assert report['ok'] is True
    states = {check['name']: check['state'] for check in report['checks']}
    assert states['Python'] == states['kernels'] == states['ROS 2'] == states['tf2_msgs'] == 'ok'
    for check in report['checks']:
        assert check['found']
        assert bool(check['advice']) == (check['state'] != 'ok')


def test_doctor_prints_every_finding():
    result = invoke('doctor')
    assert result.exit_code == 0
    for finding in checks.run_checks():
        assert finding.name in result.stdout


@pytest.mark.parametrize(
    ('module', 'name', 'code'),
    [('rclpy', 'ROS 2', 1), ('numba', 'kernels', 1), ('tf2_msgs', 'tf2_msgs', 1)]
    + [('viser', 'web viewer', 0), ('openvr', 'OpenVR package', 0)],
)
def test_doctor_says_how_to_get_what_is_missing(monkeypatch, module, name, code):
    monkeypatch.setitem(sys.modules, module, None)
    for imported in [known for known in sys.modules if known.startswith(f'{module}.')]:
        monkeypatch.setitem(sys.modules, imported, None)
    result = invoke('doctor', '--json')
    assert result.exit_code == code
    finding = next(c for c in json.loads(result.stdout)['checks'] if c['name'] == name)
    assert finding['state'] != 'ok'
    assert finding['advice']


def test_doctor_misses_the_plug_ins_of_a_package_that_is_not_installed(monkeypatch):
    monkeypatch.setattr(registry, 'names', lambda group: ())
    result = invoke('doctor', '--json')
    assert result.exit_code == 1
    finding = next(c for c in json.loads(result.stdout)['checks'] if c['name'] == 'plug-ins')
    assert 'colcon build' in finding['advice']


def test_doctor_finds_an_openvr_runtime_where_it_is_registered(monkeypatch, tmp_path):
    runtime = tmp_path / 'SteamVR'
    runtime.mkdir()
    paths = tmp_path / 'openvrpaths.vrpath'
    paths.write_text(json.dumps({'runtime': [str(tmp_path / 'gone'), str(runtime)]}))
    monkeypatch.delenv('VR_OVERRIDE', raising=False)
    monkeypatch.setenv('VR_PATHREG_OVERRIDE', str(paths))
    found = {finding.name: finding for finding in checks.run_checks()}['OpenVR runtime']
    assert (found.state, found.found) == (checks.State.OK, str(runtime))


@pytest.mark.parametrize('content', ['', '[]', '{"runtime": []}', '{"runtime": ["/no/such"]}'])
def test_a_broken_openvr_registration_counts_as_none(monkeypatch, tmp_path, content):
    paths = tmp_path / 'openvrpaths.vrpath'
    paths.write_text(content)
    monkeypatch.delenv('VR_OVERRIDE', raising=False)
    monkeypatch.setenv('VR_PATHREG_OVERRIDE', str(paths))
    found = {finding.name: finding for finding in checks.run_checks()}['OpenVR runtime']
    assert found.state is checks.State.OPTIONAL
    assert found.found and found.advice


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_ends_its_block_once_and_lets_it_clean_up(number):
    before = signal.getsignal(number)
    steps = []
    with Interruption() as interruption:
        try:
            os.kill(os.getpid(), number)
            time.sleep(60.0)
            steps.append('never')
        finally:
            os.kill(os.getpid(), number)
            steps.append('cleaned up')
    assert interruption.requested
    assert steps == ['cleaned up']
    assert signal.getsignal(number) is before


def test_a_deferred_interruption_is_only_noted():
    with Interruption() as interruption:
        with interruption.deferred():
            os.kill(os.getpid(), signal.SIGINT)
            assert interruption.requested
        steps = ['cleaned up']
        os.kill(os.getpid(), signal.SIGINT)
        steps.append('to the end')
    assert steps == ['cleaned up', 'to the end']
