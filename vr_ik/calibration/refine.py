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


"""Better calibration from motion: where joints are on the devices, and how devices are held.

One pose cannot tell where in the flesh the joints are. Over many frames only the right hip centre
(in the waist device's frame), knee axis (in the foot device's) and thigh length let the legs meet
all devices at once, and only the right grip, shoulders and lengths of the arm let hands be
straight on the forearms most of the time. The pose of the first calibration stays valid: there
the arms and legs are straight.
"""

from collections.abc import Sequence

import numpy as np

from vr_ik.body.human import human_urdf, T_POSE
from vr_ik.body.mounts import Mount
from vr_ik.body.posture import joint_stiffness, rest_posture
from vr_ik.body.trust import device_trust
from vr_ik.calibration.calibration import Calibration
from vr_ik.calibration.motion_fit import MotionFit, Observation, Priors
from vr_ik.config import SolverConfig
from vr_ik.kinematics.model import RobotModel
from vr_ik.pipeline import Pipeline
from vr_ik.solvers.lm import LevenbergMarquardt
from vr_ik.types import Array, Task, TrackingFrame

# Standard deviations about the first calibration: of the logarithms of lengths, and of each
# device's shift [m] and turn [rad] on its link. Hands hold controllers as they like; skin and
# straps let the others sit a few centimetres off. Hips may be somewhat higher or lower than the
# average body's: the pelvis, which is but the way from them to the spine, makes up for it.
_ARM_LENGTHS = {'upper_arm': 0.045, 'forearm': 0.045, 'shoulder_half_width': 0.10}
_LEG_LENGTHS = {'thigh': 0.10, 'shin': 0.08, 'hip_half_width': 0.10, 'pelvis': 0.10}
_MOUNTS = {
    'controller': (0.03, 0.03, 0.03, 0.50, 0.50, 0.50),
    'waist': (0.03, 0.01, 0.05, 0.10, 0.10, 0.10),
    'foot': (0.02, 0.012, 0.025, 0.05, 0.05, 0.30),
    'chest': (0.03, 0.01, 0.03, 0.10, 0.10, 0.10),
    'shoulder': (0.02, 0.02, 0.02, 0.20, 0.20, 0.20),
    'elbow': (0.03, 0.03, 0.03, 0.30, 0.30, 0.50),
    'knee': (0.03, 0.03, 0.03, 0.10, 0.10, 0.30),
}
_INDEPENDENT_FRAMES = 30.0
"""Frames of a recording repeat each other; together they weigh as much as so many."""
_FRAMES = 80
# The pose of the first calibration, which counts for so many frames. Its joints are as the body
# has them within some 2 deg, hands and toes within 25 deg (pulls in 1/rad^2, beside devices that
# are off by `_NOISE_M`).
_STANCE_SHARE = 2.0
_STANCE_STIFFNESS = 0.1
_STANCE_FREE = 5e-4
# Arms and legs are straight in it, and stay so: the elbow of a straight arm goes with the root of
# what the arm is too long by, 1 cm by 5 cm. Devices are met within a millimetre there, elbows and
# knees within half a degree. So are rotations of trunk and legs: a belt that is turned by 2 deg on
# the pelvis, 11 cm behind the hips, lowers them by 4 mm and bends the knees by 10 deg. Stretched
# arms, though, are turned as at no other time.
_STANCE_TRUST = 100.0
_STANCE_STRAIGHT = 2.0
_ON_ARMS = ('shoulder', 'elbow', 'controller')


def refine(calibration: Calibration, frames: Sequence[TrackingFrame]) -> Calibration:
    """Return the calibration fitted to the motion; what did not move stays as it was."""
    roles = tuple(role for role in calibration.mounts if any(role in f.names for f in frames))
    observations = _spread(calibration.wearing(roles), frames, roles)
    if len(observations) < 2:
        return calibration
    fit = MotionFit(calibration, roles, _priors(roles))
    stance = _stance(calibration, roles)
    return _straightened(fit.best([stance, *observations]), stance, roles)


def _straightened(
    calibration: Calibration, stance: Observation, roles: tuple[str, ...]
) -> Calibration:
    """Return the calibration with devices shifted so that its pose is met with straight limbs.

    The fit weighs the pose against the motion, its trunk held upright. Frames are solved with a
    trunk that gives way, by millimetres; a straight arm or leg that has them to spare is bent by
    20 deg.
    """
    model = RobotModel.from_urdf(human_urdf(calibration.proportions), floating_base=True)
    mounts = dict(calibration.mounts)
    tasks = [
        Task(mounts[role].link, position, orientation, mounts[role].pose_link_from_device)
        for role, (position, orientation) in zip(roles, _weights(roles).tolist(), strict=True)
    ]
    solver = LevenbergMarquardt(model, tasks, max_iterations=100)
    straight = np.array([_is_straight(name) for name in model.joint_names])
    solver.posture[:] = np.where(straight, 0.0, rest_posture(model))
    stiffness = SolverConfig().posture_weight * joint_stiffness(model)
    solver.posture_weights[:] = np.where(straight, _STANCE_STRAIGHT, stiffness)
    q = solver.solve(stance.q, stance.targets).q
    for role, target in zip(roles, stance.targets, strict=True):
        mount = mounts[role]
        link = model.link_pose(q, mount.link)
        shifted = mount.pose_link_from_device.copy()
        shifted[:3, 3] = link[:3, :3].T @ (target - link)[:3, 3]
        mounts[role] = Mount(mount.link, shifted)
    return Calibration(calibration.proportions, mounts, calibration.floor_m)


def _priors(roles: tuple[str, ...]) -> Priors:
    """Return what can be told from these devices."""
    lengths = dict(_ARM_LENGTHS)
    if all(role in roles for role in ('waist', 'l_foot', 'r_foot')):
        lengths |= _LEG_LENGTHS
    parts = {role: role.split('_')[-1] for role in roles}
    return Priors(lengths, {role: _MOUNTS[p] for role, p in parts.items() if p in _MOUNTS})


def _weights(roles: tuple[str, ...]) -> Array:
    config = SolverConfig()
    weights = np.array([config.position_weight, config.orientation_weight])
    return np.array([weights * device_trust(role) for role in roles])


def _spread(
    calibration: Calibration, frames: Sequence[TrackingFrame], roles: tuple[str, ...]
) -> list[Observation]:
    """Return frames all over the recording, with poses that were measured, not bridged."""
    config = SolverConfig(vibration_hz=0.0, smoothing_hz=0.0, gap_hold_s=0.0)
    pipeline = Pipeline(config, calibration)
    wanted = set(np.linspace(0, len(frames) - 1, _FRAMES).astype(int).tolist())
    rows = [pipeline.roles.index(role) for role in roles]
    rest = rest_posture(pipeline.model)
    stiffness = config.posture_weight * joint_stiffness(pipeline.model)
    seen = []
    for i, frame in enumerate(frames):
        pipeline.process(frame)
        if i in wanted and (pipeline.confidence[rows] == 1.0).all():
            seen.append((pipeline.targets[rows].copy(), pipeline.q_fits.copy()))
    share = _INDEPENDENT_FRAMES / max(len(seen), 1)
    return [
        Observation(targets, _weights(roles), rest, stiffness, q, share) for targets, q in seen
    ]


def _stance(calibration: Calibration, roles: tuple[str, ...]) -> Observation:
    """Return the pose of the first calibration as something that was seen, too."""
    urdf = human_urdf(calibration.proportions)
    model = RobotModel.from_urdf(urdf, floating_base=True)
    q = model.configuration(T_POSE)
    mounts = [calibration.mounts[role] for role in roles]
    targets = np.array([model.link_pose(q, m.link) @ m.pose_link_from_device for m in mounts])
    weights = _weights(roles) * [_stance_trust(role) for role in roles]
    stiffness = np.array([_stance_stiffness(name) for name in model.joint_names])
    return Observation(targets, weights, q[7:].copy(), stiffness, q, _STANCE_SHARE)


def _stance_trust(role: str) -> tuple[float, float]:
    """Return the factors on a device's position and orientation weight."""
    return _STANCE_TRUST, 1.0 if role.split('_')[-1] in _ON_ARMS else _STANCE_TRUST


def _stance_stiffness(joint: str) -> float:
    """Return how sure it is that a joint is as in the pose; hands and toes are turned at will."""
    part = joint.split('_')[1]
    if part in ('elbow', 'knee'):
        return _STANCE_STRAIGHT
    is_free = part in ('forearm', 'wrist') or joint.endswith('hip_rotation')
    return _STANCE_FREE if is_free else _STANCE_STIFFNESS


def _is_straight(joint: str) -> bool:
    """Tell of a joint whether it bends what is straight in the pose of the first calibration."""
    return joint.endswith(('elbow_flexion', 'knee_flexion'))
