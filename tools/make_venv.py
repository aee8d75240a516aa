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

"""Make the virtual environment that the Makefile works in; quick when there is nothing to do."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
import fcntl
import hashlib
from importlib.util import find_spec
import os
from pathlib import Path
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time

ROOT = Path(__file__).resolve().parent.parent
TF2_MSGS = ROOT / 'compat' / 'tf2_msgs'
EXTRAS = ('viewer', 'openvr', 'robots', 'plots', 'tune', 'test', 'dev')
BEGUN = 'begun'
ROS_MODULES = ('rclpy', 'diagnostic_msgs.msg', 'sensor_msgs.msg', 'std_msgs.msg', 'tf2_msgs.msg')
SHARED = ('config', 'launch', 'rviz', 'package.xml')


class SetupError(Exception):
    """What is missing on the machine, and how to get it."""


@dataclass(frozen=True)
class Step:
    """One part of the set-up; it is done again when its key differs from that of the last time."""

    name: str
    title: str
    key: str
    run: Callable[[], None]


def digest(*paths: Path) -> str:
    """Return a hash of the contents of the files, and of the files in the folders."""
    total = hashlib.sha256()
    for path in paths:
        for file in sorted(path.rglob('*')) if path.is_dir() else [path]:
            if file.is_file() and '__pycache__' not in file.parts:
                total.update(file.read_bytes())
    return total.hexdigest()


def sourced_ros() -> str | None:
    """Return the distribution of the ROS 2 that is sourced in this shell; None without one."""
    distro = os.environ.get('ROS_DISTRO')
    if not distro or not os.environ.get('AMENT_PREFIX_PATH'):
        return None
    probe = [sys.executable, '-c', f'import {", ".join(ROS_MODULES)}']
    result = subprocess.run(probe, capture_output=True, text=True, check=False)
    if result.returncode:
        raise SetupError(
            f'ROS 2 {distro} is sourced, but {sys.executable} cannot use it: '
            f'{result.stderr.strip().splitlines()[-1]}. Install what is missing (rosdep install '
            '--from-paths . --ignore-src), name the interpreter it was made for '
            '(make PYTHON=/usr/bin/python3 ...), or run make in a shell where it is not sourced.'
        )
    return distro


def check_machine(needs_compiler: bool) -> None:
    """Raise `SetupError` for what no pip can install, before anything is downloaded."""
    missing = []
    if find_spec('ensurepip') is None:
        missing.append('python3-venv')
    if needs_compiler and not (shutil.which('cc') and shutil.which('c++')):
        missing.append('build-essential')
    if needs_compiler and not Path(sysconfig.get_path('include'), 'Python.h').exists():
        missing.append('python3-dev')
    if missing:
        raise SetupError(f'Missing on this machine: sudo apt install {" ".join(missing)}')


def run(command: Sequence[str | Path]) -> None:
    """Run a command with its output as one changing line; all of it is shown only on failure."""
    lines: list[str] = []
    live = sys.stdout.isatty()
    with subprocess.Popen(
        [str(part) for part in command],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors='replace',
    ) as process:
        for line in process.stdout or ():
            lines.append(line.rstrip())
            if live:
                width = shutil.get_terminal_size().columns - 5
                print(f'\r\033[K    {lines[-1].strip()[:width]}', end='', flush=True)
    if live:
        print('\r\033[K', end='', flush=True)
    if process.returncode:
        raise SetupError('\n'.join(lines[-60:]))


def pip_install(venv: Path, *arguments: str | Path) -> None:
    """Run `pip install` in the environment."""
    pip = (venv / 'bin' / 'python', '-m', 'pip', '--disable-pip-version-check', '--no-input')
    run((*pip, 'install', '--no-compile', '--progress-bar', 'off', *arguments))


def install_packages(venv: Path, requirement: str) -> None:
    """Install the package with its extras, and compile what came with it.

    Without byte code every process would compile numba and scipy anew where Python is told to
    write none (PYTHONDONTWRITEBYTECODE), which costs two seconds a start. Done here on all cores,
    it takes half as long as by pip.
    """
    pip_install(venv, '--editable', requirement)
    run((venv / 'bin' / 'python', '-m', 'compileall', '-q', '-j', '0', venv / 'lib'))


def make_venv(venv: Path, system_site_packages: bool) -> None:
    """Make an empty environment where it stands, in place of the old one."""
    if Path(sys.prefix) == venv:
        raise SetupError('The environment has to be made anew: `deactivate` it first.')
    options = ['--system-site-packages'] if system_site_packages else []
    run((sys.executable, '-m', 'venv', '--clear', *options, venv))


def build_tf2_msgs(venv: Path) -> None:
    """Build and install TFMessage, away from the sources so that no build folder stays there."""
    with tempfile.TemporaryDirectory() as folder:
        source = shutil.copytree(TF2_MSGS, Path(folder, 'tf2_msgs'))
        pip_install(venv, '--no-build-isolation', '--no-deps', '--force-reinstall', source)


def link_share(venv: Path) -> None:
    """Link what ROS 2 tools look for under share/: an editable install leaves it out."""
    marker = venv / 'share' / 'ament_index' / 'resource_index' / 'packages' / 'vr_ik'
    marker.parent.mkdir(parents=True, exist_ok=True)
    marker.touch()
    share = venv / 'share' / 'vr_ik'
    shutil.rmtree(share, ignore_errors=True)
    share.mkdir()
    for name in SHARED:
        (share / name).symlink_to(ROOT / name)


def environment_steps(venv: Path, distro: str | None) -> list[Step]:
    """Return the steps to the environment for the demonstration, the tests and the checks."""
    extras = EXTRAS if distro else ('ros', *EXTRAS)
    packaging = digest(ROOT / 'setup.py', ROOT / 'package.xml')
    steps = [
        Step(
            'venv',
            f'virtual environment {venv.name} (Python {sys.version.split()[0]})',
            f'{sys.version} {venv} {distro}',
            lambda: make_venv(venv, system_site_packages=distro is not None),
        ),
        Step(
            'packages',
            f'packages (ROS 2 {distro or "from PyPI"}; a few minutes the first time)',
            f'{packaging} {extras}',
            lambda: install_packages(venv, f'.[{",".join(extras)}]'),
        ),
        Step('share', 'ROS 2 package index', ' '.join(SHARED), lambda: link_share(venv)),
    ]
    if distro is None:
        build = Step(
            'tf2_msgs',
            'tf2_msgs/TFMessage, which PyPI lacks (C extension)',
            digest(TF2_MSGS),
            lambda: build_tf2_msgs(venv),
        )
        steps.append(build)
    kernels = Step(
        'kernels',
        'machine code of the kernels (numba; a few minutes the first time)',
        digest(ROOT / 'vr_ik'),
        lambda: run((venv / 'bin' / 'python', '-m', 'vr_ik.nodes.warm_up')),
    )
    return [*steps, kernels]


def bench_steps(venv: Path) -> list[Step]:
    """Return the steps to the benchmark's environment: vr_ik and its peers, without ROS 2."""
    return [
        Step(
            'venv',
            f'virtual environment {venv.name} (Python {sys.version.split()[0]})',
            f'{sys.version} {venv}',
            lambda: make_venv(venv, system_site_packages=False),
        ),
        Step(
            'packages',
            "vr_ik and the benchmark's peers (a few minutes the first time)",
            digest(ROOT / 'setup.py', ROOT / 'package.xml'),
            lambda: install_packages(venv, '.[bench]'),
        ),
    ]


def perform(steps: Sequence[Step], venv: Path) -> None:
    """Do what is not done yet.

    A step that was broken off is done again. Half an environment or half its packages cannot be
    mended by that: after those, everything is made anew.
    """
    stamps = venv / '.vr_ik_setup'
    halves = (stamps / 'venv', stamps / 'packages')
    if any(stamp.exists() and stamp.read_text() == BEGUN for stamp in halves):
        shutil.rmtree(stamps)
    for number, step in enumerate(steps, 1):
        stamp = stamps / step.name
        key = hashlib.sha256(step.key.encode()).hexdigest()
        if stamp.exists() and stamp.read_text() == key:
            continue
        start_s = time.monotonic()
        print(f'[{number}/{len(steps)}] {step.title}', flush=True)
        stamps.mkdir(parents=True, exist_ok=True)
        stamp.write_text(BEGUN)
        try:
            step.run()
        except SetupError:
            stamp.unlink(missing_ok=True)
            raise
        stamps.mkdir(exist_ok=True)
        stamp.write_text(key)
        print(f'      done in {time.monotonic() - start_s:.0f} s', flush=True)


def main() -> int:
    """Set up the environment named on the command line; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('venv', type=Path, help='folder of the environment')
    parser.add_argument('--bench', action='store_true', help="the benchmark's environment instead")
    arguments = parser.parse_args()
    venv = ROOT / arguments.venv
    lock = os.open(ROOT, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        distro = None if arguments.bench else sourced_ros()
        check_machine(needs_compiler=distro is None and not arguments.bench)
        perform(bench_steps(venv) if arguments.bench else environment_steps(venv, distro), venv)
    except SetupError as error:
        print(f'{error}\n\nThe set-up stopped here; run it again to go on.', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print('\nInterrupted; run it again to go on.', file=sys.stderr)
        return 130
    return 0


if __name__ == '__main__':
    sys.exit(main())
