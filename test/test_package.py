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

"""The package is whole: what colcon installs, what it depends on, what every file begins with."""

import ast
from collections.abc import Iterator
from functools import partial
import os
from pathlib import Path
import re
import runpy
import shutil
import subprocess
import sys

from catkin_pkg.package import parse_package
import pytest

import vr_ik

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / 'vr_ik'
SHARED_FOLDERS = ('config', 'launch', 'rviz')

ROS_MODULES = re.compile(
    r'(rclpy|rcl_interfaces|builtin_interfaces|ament_\w+|launch|launch_\w+|tf2_\w+|rosidl_\w+'
    r'|\w+_msgs|\w+_srvs|rosbag2_\w+|tf_transformations)$'
)
# Imported only where they are used, with an error that says how to get them.
OPTIONAL_MODULES = {
    'daqp',
    'distributed',
    'example_robot_data',
    'matplotlib',
    'mujoco',
    'openvr',
    'pink',
    'pinocchio',
    'placo',
    'qpsolvers',
    'scipy',
    'trimesh',
    'viser',
}
IMPORT_WITHOUT_ROS = """
import importlib, re, sys

class NoRos:
    def find_spec(self, name, path=None, target=None):
        if re.match({pattern!r}, name.partition('.')[0]):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, NoRos())
for name in {names!r}:
    importlib.import_module(name)
"""
LOAD_ENTRY_POINTS = """
import importlib.metadata, pathlib, sys

for entry_point in importlib.metadata.distribution('vr_ik').entry_points:
    entry_point.load()
    print(entry_point.group, entry_point.name)
assert pathlib.Path(importlib.import_module('vr_ik').__file__).is_relative_to(sys.argv[1])
"""


def python_files() -> list[Path]:
    folders = ('vr_ik', 'test', 'tools', 'compat', *SHARED_FOLDERS)
    return [ROOT / 'setup.py', *(path for name in folders for path in (ROOT / name).rglob('*.py'))]


def imported_modules(path: Path) -> Iterator[str]:
    """Yield the top-level packages that a file imports, wherever in the file it does."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name.partition('.')[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.partition('.')[0]


def launched_packages(path: Path) -> Iterator[str]:
    """Yield the packages whose executables a launch file starts."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.keyword) and node.arg == 'package':
            yield ast.literal_eval(node.value)


def core_files() -> list[Path]:
    nodes = PACKAGE / 'nodes'
    return [path for path in sorted(PACKAGE.rglob('*.py')) if not path.is_relative_to(nodes)]


def module_name(path: Path) -> str:
    return '.'.join(path.relative_to(ROOT).with_suffix('').parts).removesuffix('.__init__')


@pytest.mark.parametrize('path', core_files(), ids=module_name)
def test_core_file_names_no_ros(path: Path) -> None:
    assert [name for name in imported_modules(path) if ROS_MODULES.match(name)] == []


def test_core_imports_without_ros() -> None:
    names = [module_name(path) for path in core_files() if path.stem != '__main__']
    code = IMPORT_WITHOUT_ROS.format(pattern=ROS_MODULES.pattern, names=names)
    result = subprocess.run(
        [sys.executable, '-c', code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


def test_every_imported_or_launched_package_is_declared_in_the_manifest() -> None:
    keys = {depend.name for depend in parse_package(str(ROOT)).exec_depends}
    launch_files = list((ROOT / 'launch').rglob('*.py'))
    files = [*PACKAGE.rglob('*.py'), *launch_files]
    used = {name for path in files for name in imported_modules(path)}
    used |= {name for path in launch_files for name in launched_packages(path)}
    used -= {'vr_ik', *sys.stdlib_module_names, *OPTIONAL_MODULES}
    undeclared = {
        name for name in used if not keys & {name, f'python3-{name}', f'python3-{name}-pip'}
    }
    assert undeclared == set()


def test_the_environment_shares_what_is_there() -> None:
    """An editable install links to it: all that colcon installs, and nothing that is missing."""
    shared = runpy.run_path(str(ROOT / 'tools' / 'make_venv.py'))['SHARED']
    assert sorted(shared) == sorted((*SHARED_FOLDERS, 'package.xml'))
    assert [name for name in shared if not (ROOT / name).exists()] == []


@pytest.mark.parametrize(
    ('broken', 'again'),
    [
        ('venv', ['venv', 'packages', 'kernels']),
        ('packages', ['venv', 'packages', 'kernels']),
        ('kernels', ['kernels']),
    ],
)
def test_a_set_up_that_was_broken_off_goes_on(
    tmp_path: Path, broken: str, again: list[str]
) -> None:
    """What is whole is kept; half an environment is made anew."""
    make_venv = runpy.run_path(str(ROOT / 'tools' / 'make_venv.py'))
    done: list[str] = []
    interrupted = [broken]

    def run(name: str) -> None:
        if name in interrupted:
            raise KeyboardInterrupt
        done.append(name)

    names = ('venv', 'packages', 'kernels')
    steps = [make_venv['Step'](name, name, name, partial(run, name)) for name in names]
    with pytest.raises(KeyboardInterrupt):
        make_venv['perform'](steps, tmp_path)
    interrupted.clear()
    done.clear()
    make_venv['perform'](steps, tmp_path)
    assert done == again
    make_venv['perform'](steps, tmp_path)
    assert done == again


def test_manifest_is_a_valid_format_3() -> None:
    warnings: list[str] = []
    manifest = parse_package(str(ROOT), warnings=warnings)
    manifest.validate(warnings=warnings)
    assert warnings == []
    assert manifest.package_format == 3
    assert manifest.get_build_type() == 'ament_python'
    assert (ROOT / manifest.licenses[0].file).read_text().strip().startswith('Apache License')


def test_version_is_the_same_everywhere() -> None:
    version = parse_package(str(ROOT)).version
    changelog = (ROOT / 'CHANGELOG.rst').read_text()
    newest = re.search(r'^(\d+\.\d+\.\d+) \(\d{4}-\d{2}-\d{2}\)\n-+$', changelog, re.MULTILINE)
    assert vr_ik.__version__ == version
    assert newest is not None
    assert newest[1] == version


@pytest.mark.parametrize('path', python_files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_file_begins_with_the_licence_and_says_what_it_is(path: Path) -> None:
    header = ''.join(Path(__file__).read_text().partition('\n\n')[:2])
    text = path.read_text()
    assert text.startswith(header)
    assert ast.get_docstring(ast.parse(text))


def colcon(*arguments: str | Path) -> str:
    executable = shutil.which('colcon', path=f'{Path(sys.executable).parent}:{os.environ["PATH"]}')
    if executable is None:
        pytest.skip('colcon is not installed')
    command = [executable, *(str(argument) for argument in arguments)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope='module')
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where `colcon build` has installed the package."""
    workspace = tmp_path_factory.mktemp('workspace')
    folders = ('--build-base', workspace / 'build', '--install-base', workspace / 'install')
    colcon('--log-base', workspace / 'log', 'build', '--base-paths', ROOT, *folders)
    return workspace / 'install' / 'vr_ik'


def test_colcon_takes_it_for_a_ros_package(tmp_path: Path) -> None:
    name, _, kind = colcon('--log-base', tmp_path, 'list', '--base-paths', ROOT).split()
    assert (name, kind) == ('vr_ik', '(ros.ament_python)')


def test_ros_run_finds_the_executables(prefix: Path) -> None:
    for name in ('vr_ik', 'tracker_node', 'solver_node'):
        assert os.access(prefix / 'lib' / 'vr_ik' / name, os.X_OK)


def test_ros_launch_finds_the_shared_files(prefix: Path) -> None:
    assert (prefix / 'share/ament_index/resource_index/packages/vr_ik').is_file()
    files = [ROOT / 'package.xml']
    for folder in SHARED_FOLDERS:
        found = (ROOT / folder).rglob('*')
        files += [path for path in found if path.is_file() and path.suffix != '.pyc']
    for path in files:
        installed = prefix / 'share' / 'vr_ik' / path.relative_to(ROOT)
        assert installed.read_bytes() == path.read_bytes()


def test_the_sources_of_the_simulated_runtime_are_installed(prefix: Path) -> None:
    sources = {path.name for path in (PACKAGE / 'simulation').glob('*.[ch]')}
    installed = prefix.glob('lib/python3*/site-packages/vr_ik/simulation/*.[ch]')
    assert sources
    assert {path.name for path in installed} == sources


def test_installed_entry_points_load(prefix: Path) -> None:
    site_packages = next(prefix.glob('lib/python3*/site-packages'))
    path = os.pathsep.join([str(site_packages), os.environ.get('PYTHONPATH', '')])
    result = subprocess.run(
        [sys.executable, '-c', LOAD_ENTRY_POINTS, str(site_packages)],
        cwd=prefix,
        env={**os.environ, 'PYTHONPATH': path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert {
        'console_scripts tracker_node',
        'vr_ik.solvers lm',
        'vr_ik.trackers openvr',
        'vr_ik.trackers simulated',
    } <= set(result.stdout.splitlines())
