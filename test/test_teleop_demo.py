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


"""`vr_ik teleop-demo` from outside: its figures, and how it ends."""

import json
import subprocess
import sys

from demo_support import command, environment, PATIENCE_S
import pytest

from vr_ik.cli.processes import running
from vr_ik.cli.robot_files import robot_file
from vr_ik.cli.teleop_demo import check_shown
from vr_ik.errors import ConfigError
from vr_ik.trackers.simulated_user import SimulatedUser

REAL = sys.executable


def test_the_robot_follows_the_simulated_operator_within_all_limits(tmp_path):
    file = tmp_path / 'figures.json'
    # Long enough that no loss or jump of the device, nor the time after it, takes up all of it.
    arguments = ('--seconds', '15', '--no-viewer', '--json', str(file))
    run = subprocess.run(
        command('teleop-demo', *arguments),
        env=environment(),
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE_S,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert 'Traceback' not in run.stdout + run.stderr
    assert '[WARN]' in run.stdout, 'what nodes warn of is for the user'
    figures = json.loads(file.read_text())
    assert figures['limit_violations'] == {'position': 0, 'velocity': 0, 'acceleration': 0}
    assert figures['commands'] > 0
    assert figures['seconds'] >= 15.0
    # Generous, for a busy machine: a robot that does not follow is decimetres away.
    for key, most in (('tracking_error_mm', 20.0), ('tracking_error_deg', 5.0)):
        assert set(figures[key]) == {'mean', 'p95'}
        assert 0.0 < figures[key]['mean'] < most
    assert set(figures) >= {'latency_ms', 'stops', 'engaged_s', 'lag_error_mm', 'limits_used'}


def test_the_operator_presses_nothing_before_he_starts_and_then_enables_and_leads():
    """A button that was never seen released enables nothing."""
    user = SimulatedUser(1.75, 'teleoperation')
    before = user.hands_at(-0.01)
    assert (before.menu, before.grip, before.trigger) == (False, 0.0, 0.0)
    assert user.hands_at(0.01).menu
    assert user.hands_at(0.4).grip == 1.0


def test_warnings_of_a_running_node_are_told_once_and_nothing_else_is(tmp_path, monkeypatch):
    lines = ('[INFO] [1] [a]: fine', '[WARN] [2] [a]: look', '[ERROR] [3] [a]: no', 'x [WARN]')
    script = f'import time; print({chr(10).join(lines)!r}, flush=True); time.sleep(60)'
    monkeypatch.setattr(sys, 'executable', str(tmp_path / 'node'))
    (tmp_path / 'node').write_text(f'#!{REAL}\n{script}\n')
    (tmp_path / 'node').chmod(0o700)
    with running({'a_node': {}}) as nodes:
        told: list[str] = []
        while len(told) < 2:
            nodes.check()
            told += nodes.warnings()
        assert told == ['[WARN] [2] [a]: look', '[ERROR] [3] [a]: no']
        assert nodes.warnings() == []


def test_an_unknown_robot_is_answered_with_the_known_ones():
    run = subprocess.run(
        command('teleop-demo', '--robot', 'pandas'), capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 2
    assert "Unknown robot 'pandas'. Did you mean 'panda'?" in run.stderr


def test_a_robot_without_an_arm_to_lead_is_refused():
    run = subprocess.run(
        command('teleop-demo', '--robot', 'talos'), capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 2
    assert "'talos' has no arm to be led; these have: baxter, kinova, panda" in run.stderr


def test_a_file_of_ones_own_is_taken_by_its_path(tmp_path):
    file = tmp_path / 'mine.yaml'
    file.write_text(robot_file('panda').read_text())
    assert robot_file(str(file)) == file
    check_shown(file)


@pytest.mark.parametrize(
    ('change', 'text'),
    (
        (('[r_controller]', '[l_controller]'), "with his 'r_controller', which is not among them"),
        (('tip_links', 'output: commands\n      tip_links'), "judges 'joint_trajectory' alone"),
        (('simulated_robot_node', 'another_node'), "has no section 'simulated_robot_node'"),
        (('panda_hand_tcp', 'panda_hnd_tcp'), "Did you mean 'panda_hand_tcp'?"),
        (('controllers: panda_arm', 'controllers: panda'), "Unknown controller of 'teleop_node'"),
        (('[panda_finger_joint1]', '[finger]'), "Unknown joint in gripper_joints 'finger'"),
        (('tip_links: [', 'tip_links: [['), 'is not valid YAML'),
    ),
)
def test_a_file_that_cannot_be_shown_is_refused_at_once(tmp_path, change, text):
    file = tmp_path / 'mine.yaml'
    file.write_text(robot_file('panda').read_text().replace(*change))
    run = subprocess.run(
        command('teleop-demo', '--robot', str(file)), capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 2
    assert text in ' '.join(run.stderr.split())
    assert 'mine.yaml' in run.stderr


def test_a_file_that_is_not_there_is_named():
    with pytest.raises(ConfigError, match="no file 'nobody.yaml'"):
        robot_file('nobody.yaml')


def test_a_run_too_short_to_measure_anything_is_no_success():
    run = subprocess.run(
        command('teleop-demo', '--seconds', '0.2', '--no-viewer'),
        env=environment(),
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE_S,
    )
    assert run.returncode == 1, run.stdout + run.stderr
    assert 'not led for long enough' in run.stderr
