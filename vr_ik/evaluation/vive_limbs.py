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

"""The arms and legs, and the recorded targets, of P. Caserman et al. 2019 (HTC Vive, 2019).

The hip's pose is copied and there is no spine: every limb is a chain of its own in the hip's
frame, with the degrees of freedom and the limits of the paper's Table I. As a model, a joint has
hinges about x, y and z of the bone, in this order; as the paper's code has them, joints are
rotations (`solvers.bone_chain`).
"""

from dataclasses import dataclass
import json
import math
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import numpy as np

from vr_ik.errors import VrIkError
from vr_ik.kinematics.model import RobotModel
from vr_ik.kinematics.urdf import Joint, Urdf
from vr_ik.math.rotations import poses_from_quaternions
from vr_ik.solvers.base import Solver
from vr_ik.solvers.bone_chain import AXES, BONE, LOWER, UPPER
from vr_ik.types import Array

FILES = ('skeleton.json', 'targets.npz')
_HIP = 'Hips'
# Table I [deg], by the bone that a joint moves, of the left side: the right one mirrors y and z.
# It has +-105 deg for y of the shoulder, but the middle one of three Euler angles ends at 90 deg.
_ARM = {
    'Arm': {'x': (-65.0, 195.0), 'y': (-90.0, 90.0), 'z': (-145.0, 105.0)},
    'ForeArm': {'x': (0.0, 155.0)},
    'Hand': {'x': (-55.0, 45.0), 'z': (-85.0, 75.0)},
}
_LEG = {
    'UpLeg': {'x': (-145.0, 45.0), 'y': (-75.0, 55.0), 'z': (-65.0, 65.0)},
    'Leg': {'x': (0.0, 155.0)},
}
_AXES = {'x': (1.0, 0.0, 0.0), 'y': (0.0, 1.0, 0.0), 'z': (0.0, 0.0, 1.0)}
# The recordings have y up, the skeleton z: pose_z_up_from_y_up.
_Z_UP_FROM_Y_UP = np.array(
    [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, -1.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]]
)


@dataclass(frozen=True, eq=False)
class Limb:
    """An arm or a leg, from the hip to the bone that has a target."""

    device: str
    """Name of its target: 'lHand', 'rHand', 'lFoot' or 'rFoot'."""
    link: str
    model: RobotModel
    bones: Array
    """(n, 21): the rows of `solvers.bone_chain`, on the hip."""


@dataclass(frozen=True, eq=False)
class Recording:
    """The targets of one recorded motion."""

    name: str
    targets: dict[str, Array]
    """(frames, 4, 4) pose_hip_from_target, by device."""
    hip: Array
    """(frames, 4, 4) pose_world_from_hip, z up."""


def read_vive(folder: Path) -> tuple[tuple[Limb, ...], tuple[Recording, ...]]:
    """Read the limbs and all recordings of a folder with skeleton.json and targets.npz."""
    for name in FILES:
        if not (folder / name).is_file():
            raise VrIkError(f"'{folder}' has no {name}; it needs {' and '.join(FILES)}.")
    bones = {bone['name']: bone for bone in json.loads((folder / FILES[0]).read_text())['bones']}
    limbs = tuple(make_limb(bones, device) for device in ('lHand', 'lFoot', 'rHand', 'rFoot'))
    with np.load(folder / FILES[1]) as arrays:
        devices = [str(device) for device in arrays['devices']]
        names = sorted(name for name in arrays.files if name != 'devices')
        recordings = tuple(_recording(name, devices, arrays[name]) for name in names)
    return limbs, recordings


def _recording(name: str, devices: list[str], samples: Array) -> Recording:
    frames = samples.astype(np.float64)
    poses = {
        device: _Z_UP_FROM_Y_UP @ poses_from_quaternions(frames[:, i, :3], frames[:, i, 3:])
        for i, device in enumerate(devices)
    }
    hip = poses.pop('hip')
    pose_hip_from_world = np.linalg.inv(hip)
    targets = {
        device: np.ascontiguousarray(pose_hip_from_world @ pose) for device, pose in poses.items()
    }
    return Recording(name, targets, hip)


def make_limb(bones: dict[str, Any], device: str) -> Limb:
    """Return the chain from the hip to the bone of a device.

    `bones` are by name: each has a 'parent' and a 'local' pose (4, 4) on it in the bind pose.
    """
    side = 'Left' if device.startswith('l') else 'Right'
    limits, end = (_ARM, 'HandFinger1') if device.endswith('Hand') else (_LEG, 'Foot')
    end = side + end
    chain: list[str] = []
    bone = end
    while bone != _HIP:
        chain.insert(0, bone)
        bone = bones[bone]['parent']
    joints: list[Joint] = []
    rows = np.zeros((len(chain), BONE))
    link = _HIP
    for row, bone in zip(rows, chain, strict=True):
        local = np.array(bones[bone]['local'])
        axes = {
            axis: np.radians(
                (-upper, -lower) if side == 'Right' and axis != 'x' else (lower, upper)
            )
            for axis, (lower, upper) in limits.get(bone.removeprefix(side), {}).items()
        }
        row[:9], row[9:AXES] = local[:3, :3].ravel(), local[:3, 3]
        for axis, (lower, upper) in axes.items():
            row[[start + 'xyz'.index(axis) for start in (AXES, LOWER, UPPER)]] = 1.0, lower, upper
        joints += _bone_joints(link, bone, local, axes)
        link = bone
    links = (_HIP, *(joint.child for joint in joints))
    return Limb(device, end, RobotModel(Urdf(end, _HIP, links, tuple(joints))), rows)


def _bone_joints(parent: str, bone: str, local: Array, axes: dict[str, Array]) -> list[Joint]:
    """Return a hinge for each axis of a bone, after what is fixed of it."""
    joints = [_joint(parent, f'{bone}_0' if axes else bone, local)]
    for i, (axis, (lower, upper)) in enumerate(axes.items(), start=1):
        child = bone if i == len(axes) else f'{bone}_{i}'
        joints.append(_joint(f'{bone}_{i - 1}', child, np.eye(4), axis, lower, upper))
    return joints


def _joint(
    parent: str,
    child: str,
    placement: Array,
    axis: str = '',
    lower: float = 0.0,
    upper: float = 0.0,
) -> Joint:
    return Joint(
        name=child,
        kind='revolute' if axis else 'fixed',
        parent=parent,
        child=child,
        pose_parent_from_joint=placement,
        axis=np.array(_AXES[axis or 'x']),
        lower=lower,
        upper=upper,
        velocity=math.inf,
        mimic=None,
    )


def follow(solver: Solver, targets: Array) -> Array:
    """Solve targets (frames, 4, 4) one after the other, each from the answer to the last.

    Returns (frames, 4): errors [mm, deg], iterations and time [us] of each call.
    """
    q = solver.model.neutral()
    calls = np.empty((len(targets), 4))
    for row, target in zip(calls, targets[:, None], strict=True):
        start_ns = perf_counter_ns()
        result = solver.solve(q, target)
        row[3] = 1e-3 * (perf_counter_ns() - start_ns)
        row[0] = 1e3 * result.position_errors[0]
        row[1] = math.degrees(result.orientation_errors[0])
        row[2] = result.iterations
        q = result.q
    return calls
