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

"""Packaging of vr_ik: read by pip (with the extras) and by colcon as an ament_python package."""

from pathlib import Path
from xml.etree import ElementTree

from setuptools import find_packages, setup

NAME = 'vr_ik'
MANIFEST = ElementTree.parse('package.xml')

# numba refuses to import beside a NumPy newer than it knows: raise the two bounds together.
REQUIRES = [
    'numba>=0.60,<0.69',
    'numpy>=1.26,<2.6',
    'pyyaml>=5.4',
    'rich>=13',
    'rosbags>=0.11.9',
    'setuptools',
    'typer>=0.12',
]

EXTRAS = {
    # Real ROS 2 for a machine without one; the missing tf2_msgs is built from compat/tf2_msgs.
    'ros': [
        'ros-jazzy-diagnostic-msgs',
        'ros-jazzy-geometry-msgs',
        'ros-jazzy-rclpy[fastrtps]',
        'ros-jazzy-sensor-msgs',
        'ros-jazzy-std-srvs',
        'ros-jazzy-trajectory-msgs',
        'ros-jazzy-visualization-msgs',
        'setuptools>=70.1',
    ],
    'viewer': ['viser>=1.0', 'yourdfpy>=0.0.56'],
    'openvr': ['openvr>=2.12'],
    # A robot without a robot, and descriptions of real ones.
    'robots': ['example-robot-data', 'mujoco>=3'],
    'plots': ['matplotlib>=3.7'],
    'tune': ['dask[distributed]>=2024.5'],
    'test': [
        'colcon-common-extensions',
        'cyclonedds>=11; python_version < "3.14"',
        'example-robot-data',
        'hypothesis',
        'mcap',
        'openvr>=2.12',
        'pin>=3',
        'pytest>=8',
        'pytest-benchmark',
        'pytest-timeout',
        'pytest-xdist',
        'scipy',
        'transforms3d',
    ],
    'dev': ['mypy', 'ruff', 'types-PyYAML'],
    # Peers to compare speed and success with; they dictate old versions of pin and NumPy.
    'bench': [
        'daqp',
        'example-robot-data',
        'mink',
        'pin',
        'pin-pink',
        'placo>=0.10',
        'qpsolvers',
        'roboticstoolbox-python',
        'scipy',
    ],
}


def share_files() -> list[tuple[str, list[str]]]:
    """Return what goes to share/: the ament index marker, the manifest and the data folders."""
    files = {
        Path('share/ament_index/resource_index/packages'): [f'resource/{NAME}'],
        Path('share', NAME): ['package.xml'],
    }
    for folder in ('config', 'launch', 'rviz'):
        for path in sorted(Path(folder).rglob('*')):
            if path.is_file() and path.suffix != '.pyc':
                files.setdefault(Path('share', NAME) / path.parent, []).append(str(path))
    return [(str(folder), names) for folder, names in files.items()]


setup(
    name=NAME,
    version=MANIFEST.findtext('version'),
    description=' '.join(MANIFEST.findtext('description', '').split()),
    author=MANIFEST.findtext('author'),
    maintainer=MANIFEST.findtext('maintainer'),
    license=MANIFEST.findtext('license'),
    python_requires='>=3.10',
    packages=find_packages(include=[NAME, f'{NAME}.*']),
    # Sources of the simulated OpenVR runtime, which is built where it is used.
    package_data={f'{NAME}.simulation': ['*.c', '*.h']},
    data_files=share_files(),
    install_requires=REQUIRES,
    extras_require=EXTRAS,
    zip_safe=False,
    entry_points={
        'console_scripts': [
            'vr_ik = vr_ik.cli.main:main',
            'tracker_node = vr_ik.nodes.tracker_node:main',
            'solver_node = vr_ik.nodes.solver_node:main',
            'humanoid_node = vr_ik.nodes.humanoid_node:main',
            'teleop_node = vr_ik.nodes.teleop_node:main',
            'simulated_robot_node = vr_ik.nodes.simulated_robot_node:main',
        ],
        'vr_ik.solvers': [
            'bfgs = vr_ik.solvers.bfgs:Bfgs',
            'body = vr_ik.solvers.body:BodySolver',
            'ccd = vr_ik.solvers.ccd:CyclicCoordinateDescent',
            'dls = vr_ik.solvers.jacobian:DampedLeastSquares',
            'fabrik = vr_ik.solvers.fabrik:Fabrik',
            'ftl = vr_ik.solvers.point_chains:FollowTheLeader',
            'jpi = vr_ik.solvers.jacobian:JacobianPseudoinverse',
            'jt = vr_ik.solvers.jacobian:JacobianTranspose',
            'lm = vr_ik.solvers.lm:LevenbergMarquardt',
            'newton = vr_ik.solvers.newton:Newton',
            'sdls = vr_ik.solvers.jacobian:SelectivelyDamped',
            'svd = vr_ik.solvers.jacobian:SingularValues',
            'svd_dls = vr_ik.solvers.jacobian:DampedSingularValues',
            'target_triangle = vr_ik.solvers.point_chains:TargetTriangle',
            'triangulation = vr_ik.solvers.point_chains:Triangulation',
            'two_bone = vr_ik.solvers.two_bone:TwoBone',
        ],
        'vr_ik.trackers': [
            'openvr = vr_ik.trackers.openvr:from_config',
            'simulated = vr_ik.trackers.simulated:SimulatedTracker',
        ],
    },
)
