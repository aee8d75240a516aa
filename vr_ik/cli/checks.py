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

"""The findings of `vr_ik doctor`, one function each."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
import importlib
from importlib.metadata import PackageNotFoundError, version
import json
import os
from pathlib import Path
import platform
import shutil
import sys

from vr_ik import registry
from vr_ik.cli.ros import GET_ROS, GET_TF2_MSGS
from vr_ik.errors import VrIkError

OLDEST_PYTHON = (3, 10)

RUN_INSTEAD = 'vr_ik run --config FILE'

_MESSAGES = ('diagnostic_msgs.msg', 'geometry_msgs.msg', 'sensor_msgs.msg', 'std_msgs.msg')
_WHEELS = ('ros-jazzy-rclpy', 'ros-kilted-rclpy')


class State(str, Enum):
    """How a part is."""

    OK = 'ok'
    MISSING = 'missing'
    OPTIONAL = 'optional'
    """Not there, and not needed for the core."""


@dataclass(frozen=True)
class Finding:
    """One part of the surroundings."""

    name: str
    state: State
    found: str
    """What is there, or why it is not."""
    advice: str = ''
    """How to get it; empty where all is well."""


def run_checks() -> list[Finding]:
    """Look at everything; what is needed comes first."""
    checks: tuple[Callable[[], Finding], ...] = (
        _python,
        _kernels,
        _plug_ins,
        _ros,
        _tf2_msgs,
        _openvr_package,
        _openvr_runtime,
        _viewer,
        _simulated_robot,
        _rviz,
        _launch,
    )
    return [check() for check in checks]


def _python() -> Finding:
    found = f'{platform.python_version()} ({sys.executable})'
    if sys.version_info >= OLDEST_PYTHON:
        return Finding('Python', State.OK, found)
    oldest = '.'.join(map(str, OLDEST_PYTHON))
    return Finding('Python', State.MISSING, found, f'Python {oldest} or newer')


def _kernels() -> Finding:
    found = f'numba {_version("numba")}, NumPy {_version("numpy")}'
    problem = _import_problem('numba')
    if not problem:
        return Finding('kernels', State.OK, found)
    advice = "pip install --upgrade 'numba' 'numpy': the two must agree"
    return Finding('kernels', State.MISSING, f'{found}: {problem}', advice)


def _plug_ins() -> Finding:
    advice = 'install vr_ik itself: `make setup`, `pip install .` or `colcon build`'
    try:
        solvers, trackers = registry.names(registry.SOLVERS), registry.names(registry.TRACKERS)
    except VrIkError as error:
        return Finding('plug-ins', State.MISSING, str(error), 'uninstall one of the two')
    if not (solvers and trackers):
        return Finding('plug-ins', State.MISSING, 'none are registered', advice)
    found = f'solvers: {", ".join(solvers)}; trackers: {", ".join(trackers)}'
    return Finding('plug-ins', State.OK, found)


def _ros() -> Finding:
    for module in ('rclpy', *_MESSAGES):
        problem = _import_problem(module)
        if problem:
            return Finding('ROS 2', State.MISSING, problem, GET_ROS)
    for distribution in _WHEELS:
        if _version(distribution):
            return Finding('ROS 2', State.OK, f'{distribution} {_version(distribution)} (PyPI)')
    return Finding('ROS 2', State.OK, f'{os.environ.get("ROS_DISTRO", "unknown")}, sourced')


def _tf2_msgs() -> Finding:
    problem = _import_problem('tf2_msgs.msg')
    if problem:
        return Finding('tf2_msgs', State.MISSING, problem, GET_TF2_MSGS)
    built = _version('vr_ik_tf2_msgs')
    return Finding('tf2_msgs', State.OK, 'built from compat/tf2_msgs' if built else 'of ROS 2')


def _openvr_package() -> Finding:
    problem = _import_problem('openvr')
    if problem:
        return Finding('OpenVR package', State.OPTIONAL, problem, 'pip install openvr')
    return Finding('OpenVR package', State.OK, f'openvr {_version("openvr")}')


def _openvr_runtime() -> Finding:
    advice = 'install Steam, and SteamVR in it; start SteamVR once'
    registered = _openvr_registry()
    if os.environ.get('VR_OVERRIDE'):
        folders = [os.environ['VR_OVERRIDE']]
    else:
        try:
            folders = json.loads(registered.read_text(encoding='utf-8')).get('runtime', [])
        except (OSError, ValueError, AttributeError):
            found = f'nothing is registered in {registered}'
            return Finding('OpenVR runtime', State.OPTIONAL, found, advice)
    for folder in folders:
        if Path(folder).is_dir():
            return Finding('OpenVR runtime', State.OK, folder)
    return Finding('OpenVR runtime', State.OPTIONAL, f'not in {", ".join(folders)}', advice)


def _openvr_registry() -> Path:
    """Return the file in which OpenVR runtimes register themselves on Linux."""
    if os.environ.get('VR_PATHREG_OVERRIDE'):
        return Path(os.environ['VR_PATHREG_OVERRIDE'])
    config = os.environ.get('XDG_CONFIG_HOME') or '~/.config'
    return Path(config).expanduser() / 'openvr' / 'openvrpaths.vrpath'


def _viewer() -> Finding:
    for module in ('viser', 'yourdfpy'):
        problem = _import_problem(module)
        if problem:
            return Finding('web viewer', State.OPTIONAL, problem, 'pip install viser yourdfpy')
    found = f'viser {_version("viser")}, yourdfpy {_version("yourdfpy")}'
    return Finding('web viewer', State.OK, found)


def _simulated_robot() -> Finding:
    problem = _import_problem('mujoco')
    if problem:
        return Finding('simulated robot', State.OPTIONAL, problem, 'pip install mujoco')
    return Finding('simulated robot', State.OK, f'mujoco {_version("mujoco")}')


def _rviz() -> Finding:
    path = shutil.which('rviz2')
    if path:
        return Finding('RViz', State.OK, path)
    advice = 'sudo apt install ros-$ROS_DISTRO-rviz2, in a sourced ROS 2'
    return Finding('RViz', State.OPTIONAL, 'no rviz2 on the PATH', advice)


def _launch() -> Finding:
    problem = _import_problem('launch_ros')
    if not problem:
        return Finding('ros2 launch', State.OK, 'launch_ros')
    advice = f'comes with a ROS 2 installation only; `{RUN_INSTEAD}` does without'
    return Finding('ros2 launch', State.OPTIONAL, problem, advice)


def _import_problem(module: str) -> str:
    """Return why a module cannot be imported, in one line; empty if it can."""
    try:
        importlib.import_module(module)
    except Exception as error:  # an import may fail in any way, and saying so is the point
        return ' '.join(str(error).split()) or type(error).__name__
    return ''


def _version(distribution: str) -> str:
    """Return the version of an installed package; empty if there is none."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return ''
