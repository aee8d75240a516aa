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

"""The work that the benchmark gives to every solver: seeded paths, ground truth by FK."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module, metadata
import math
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from vr_ik.body.anthropometry import Proportions
from vr_ik.body.human import human_urdf
from vr_ik.body.mounts import device_mounts, Mount
from vr_ik.body.posture import rest_posture
from vr_ik.errors import MissingDependencyError
from vr_ik.kinematics.model import RobotModel
from vr_ik.math.rotations import quaternion_from_matrix, rotation_from_rpy
from vr_ik.types import Array

FRAME_RATE_HZ = 120.0
BODY_HEIGHT_M = 1.78
BODY_ROLES = ('hmd', 'l_controller', 'r_controller', 'waist', 'l_foot', 'r_foot')
_ROBOTS = 'cmeel.prefix/share/example-robot-data/robots'
PANDA = 'panda_description/urdf/panda.urdf'
_PANDA_LINK = 'panda_link8'
# An arm's waypoints are drawn from this much more than its range and clipped: a tenth of them
# lie exactly at a limit.
_BEYOND_LIMITS = 0.05
# A person's joints stay within this share of the way from the relaxed posture to a limit ...
_COMFORTABLE = 0.6
# ... and this share of the waypoints is at zero, where elbows and knees are straight.
_STRAIGHT = 0.2
_BODY_SEGMENT_S = (0.5, 1.2)
# Where a person goes between waypoints: x, y, z [m], then roll, pitch, yaw [rad].
_ROOT_RANGE = np.array([0.5, 0.5, 0.15, 0.2, 0.25, 0.8])


@dataclass(frozen=True, eq=False)
class Session:
    """One path to track, frame after frame from a known start."""

    seed: int
    truth: Array
    """(n, nq) configurations within the limits; a solver starts at the first."""
    targets: Array
    """(n, m, 4, 4) poses of the tracked frames at `truth`."""


@dataclass(frozen=True, eq=False)
class Workload:
    """A model, the frames to be led, and the sessions."""

    name: str
    title: str
    urdf: str
    """Kinematics only: no geometry, and every tracked frame is a link of its own."""
    model: RobotModel
    frames: tuple[str, ...]
    """The links that have targets."""
    posture: Array
    """Where the joints are far from their limits; for solvers that take a hint."""
    sessions: tuple[Session, ...]

    @property
    def rest(self) -> Array:
        """The configuration of the rest posture."""
        q = self.model.neutral()
        q[self.model.first_q :] = self.posture
        return q

    @property
    def frame_count(self) -> int:
        """How many frames all sessions have."""
        return sum(len(session.truth) for session in self.sessions)


def required(module: str) -> Any:
    """Import what the benchmark cannot do without."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingDependencyError(
            f"The benchmark needs '{module}' ({error}): run it by `make bench`, which installs it."
        ) from error


def arm_workload(seeds: Sequence[int], frames: int) -> Workload:
    """Lead Panda's flange; the joints go from angle to angle about as fast as they can."""
    urdf = kinematics_only(robot_urdf(PANDA), fixed_types=('prismatic',))
    model = RobotModel.from_urdf(urdf)
    links = (_PANDA_LINK,)
    sessions = _sessions(model, links, seeds, lambda rng: _arm_path(model, rng, frames))
    title = f'Panda, {model.nv} joints, 1 pose'
    middle = 0.5 * (model.lower + model.upper)
    return Workload('arm', title, urdf, model, links, middle, sessions)


def body_workload(seeds: Sequence[int], frames: int) -> Workload:
    """Lead a moving person by headset, controllers, waist and foot trackers."""
    proportions = Proportions.from_height(BODY_HEIGHT_M)
    mounts = device_mounts(proportions)
    urdf = kinematics_only(
        human_urdf(proportions, 'full'), mounts={role: mounts[role] for role in BODY_ROLES}
    )
    model = RobotModel.from_urdf(urdf, floating_base=True)
    sessions = _sessions(model, BODY_ROLES, seeds, lambda rng: _body_path(model, rng, frames))
    title = f'human, {model.nv - 6} joints and a floating root, {len(BODY_ROLES)} poses'
    return Workload('body', title, urdf, model, BODY_ROLES, rest_posture(model), sessions)


def _sessions(
    model: RobotModel,
    links: tuple[str, ...],
    seeds: Sequence[int],
    path: Callable[[np.random.Generator], Array],
) -> tuple[Session, ...]:
    rows = [model.link_index(link) for link in links]
    sessions = []
    for seed in seeds:
        truth = path(np.random.default_rng(seed))
        targets = np.array([model.link_poses(q)[rows] for q in truth])
        sessions.append(Session(seed, truth, targets))
    return tuple(sessions)


def _arm_path(model: RobotModel, rng: np.random.Generator, frames: int) -> Array:
    margin = _BEYOND_LIMITS * (model.upper - model.lower)
    times = [0.0]
    points = [model.random(rng)]
    while times[-1] < frames / FRAME_RATE_HZ:
        drawn = rng.uniform(model.lower - margin, model.upper + margin)
        points.append(np.clip(drawn, model.lower, model.upper))
        # The slowest joint moves at half its speed limit on average, so near it at the peak.
        duration_s = 2.0 * np.max(np.abs(points[-1] - points[-2]) / model.velocity_limits)
        times.append(times[-1] + duration_s)
    return _sampled(times, points, frames)


def _body_path(model: RobotModel, rng: np.random.Generator, frames: int) -> Array:
    rest = rest_posture(model)
    times = [0.0]
    points = [_body_waypoint(model, rest, np.zeros(6), rng)]
    while times[-1] < frames / FRAME_RATE_HZ:
        points.append(_body_waypoint(model, rest, points[-1][:6], rng))
        times.append(times[-1] + rng.uniform(*_BODY_SEGMENT_S))
    path = _sampled(times, points, frames)
    truth = np.empty((frames, model.nq))
    truth[:, :3] = path[:, :3]
    truth[:, 3:7] = [quaternion_from_matrix(rotation_from_rpy(*row[3:6])) for row in path]
    truth[:, 7:] = path[:, 6:]
    return truth


def _body_waypoint(
    model: RobotModel, rest: Array, root_before: Array, rng: np.random.Generator
) -> Array:
    """Return root (xyz, roll, pitch, yaw) and joints; walking and turning go on and on."""
    root = rng.uniform(-_ROOT_RANGE, _ROOT_RANGE)
    root[[0, 1, 5]] += root_before[[0, 1, 5]]
    root[2] += 1.0
    share = _COMFORTABLE * rng.uniform(-1.0, 1.0, len(rest))
    joints = rest + np.where(
        share > 0.0, share * (model.upper - rest), share * (rest - model.lower)
    )
    joints[rng.random(len(rest)) < _STRAIGHT] = 0.0
    return np.concatenate((root, np.clip(joints, model.lower, model.upper)))


def _sampled(times: list[float], points: list[Array], frames: int) -> Array:
    """Return the path at the frame rate; the interpolation never leaves its points' range."""
    interpolate = required('scipy.interpolate')
    path = interpolate.PchipInterpolator(times, np.array(points))
    sampled: Array = path(np.arange(frames) / FRAME_RATE_HZ)
    return sampled


def robot_urdf(path: str) -> str:
    """Return the URDF at a path among the robots of example-robot-data."""
    try:
        found = metadata.distribution('example-robot-data').locate_file(f'{_ROBOTS}/{path}')
        return Path(str(found)).read_text(encoding='utf-8')
    except (metadata.PackageNotFoundError, OSError):
        raise MissingDependencyError(
            "The benchmark's arms come with example-robot-data: run it by `make bench`, "
            'which installs it.'
        ) from None


def kinematics_only(
    urdf: str, fixed_types: tuple[str, ...] = (), mounts: dict[str, Mount] | None = None
) -> str:
    """Return a URDF without geometry, joints of some types fixed, and a link for each mount."""
    robot = ElementTree.fromstring(urdf)
    for link in robot.findall('link'):
        for geometry in link.findall('visual') + link.findall('collision'):
            link.remove(geometry)
    for joint in robot.findall('joint'):
        if joint.get('type') in fixed_types:
            joint.set('type', 'fixed')
            for mimic in joint.findall('mimic'):
                joint.remove(mimic)
    for role, mount in (mounts or {}).items():
        _add_frame(robot, role, mount)
    return ElementTree.tostring(robot, encoding='unicode')


def _add_frame(robot: ElementTree.Element, name: str, mount: Mount) -> None:
    ElementTree.SubElement(robot, 'link', name=name)
    joint = ElementTree.SubElement(robot, 'joint', name=f'{name}_mount', type='fixed')
    r, xyz = mount.pose_link_from_device[:3, :3], mount.pose_link_from_device[:3, 3]
    rpy = (
        math.atan2(r[2, 1], r[2, 2]),
        math.atan2(-r[2, 0], math.hypot(r[0, 0], r[1, 0])),
        math.atan2(r[1, 0], r[0, 0]),
    )
    ElementTree.SubElement(joint, 'parent', link=mount.link)
    ElementTree.SubElement(joint, 'child', link=name)
    ElementTree.SubElement(
        joint, 'origin', xyz=' '.join(map(repr, map(float, xyz))), rpy=' '.join(map(repr, rpy))
    )
