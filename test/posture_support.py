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

"""Bows, squats and seats of the simulated user, and what the pipeline makes of them."""

import math

import numpy as np

from vr_ik.config import replace, SolverConfig
from vr_ik.math.rotations import pose, rotation_from_rpy
from vr_ik.pipeline import Pipeline
from vr_ik.types import TrackingFrame

RATE_HZ = 90.0
THREE = ('hmd', 'l_controller', 'r_controller')
FOUR = (*THREE, 'waist')
ANKLES = ('l_ankle', 'r_ankle')


def bowing(user, degrees, yaw=0.0):
    """Return a pose with straight legs, the hips behind the feet, the trunk and the head bent."""
    model, lean = user.model, math.radians(degrees)
    angles = {
        'lumbar_flexion': 0.5 * lean,
        'thorax_flexion': 0.25 * lean,
        'neck_flexion': 0.2 * lean,
        'head_flexion': 0.1 * lean,
    }
    for side in 'lr':
        angles |= {
            f'{side}_hip_flexion': 0.75 * lean,
            f'{side}_ankle_dorsiflexion': -0.25 * lean,
        }
    q = model.clamp(model.configuration(angles))
    tilt = pose(rotation_from_rpy(0.0, 0.5 * lean, 0.0), np.zeros(3))
    return placed(user, q, pose(rotation_from_rpy(0.0, 0.0, yaw), np.zeros(3)) @ tilt)


def placed(user, q, turn):
    """Return a pose turned, with its feet at the world's origin."""
    q = q.copy()
    half = 0.5 * math.acos(min(max(0.5 * (np.trace(turn[:3, :3]) - 1.0), -1.0), 1.0))
    axis = turn[[2, 0, 1], [1, 2, 0]] - turn[[1, 2, 0], [2, 0, 1]]
    q[3:6] = math.sin(half) * axis / max(np.linalg.norm(axis), 1e-9)
    q[6] = math.cos(half)
    feet = np.mean([user.model.link_pose(q, ankle)[:3, 3] for ankle in ANKLES], axis=0)
    standing = user.model.neutral()
    ankle_m = (
        user.model.link_pose(standing, 'l_ankle') - user.model.link_pose(standing, 'l_sole')
    )[2, 3]
    q[:3] += (0.0, 0.0, ankle_m) - feet
    return q


def solve(user, poses, roles=THREE, calibration=None, **values):
    """Return what the pipeline makes of the devices, frame by frame, and its largest error [m]."""
    pipeline = Pipeline(replace(SolverConfig(), values), calibration)
    solved, errors_m = [], []
    for i, q in enumerate(poses):
        stamp_ns = 1 + round(i * 1e9 / RATE_HZ)
        solution = pipeline.process(TrackingFrame(stamp_ns, roles, user.device_poses(q, roles)))
        solved.append(solution.q)
        errors_m.append(max(solution.position_errors.values()))
    return np.array(solved), max(errors_m)


def going_down(user, degrees, yaw=0.0, seconds=1.0, held_s=1.0):
    stood = [0.0] * 20
    eased = [u * u * (3.0 - 2.0 * u) for u in np.arange(0.0, 1.0, 1.0 / (seconds * RATE_HZ))]
    held = [1.0] * round(held_s * RATE_HZ)
    return [bowing(user, degrees * share, yaw) for share in (*stood, *eased, *held)]


def off_m(user, link, a, b):
    return np.linalg.norm((user.model.link_pose(a, link) - user.model.link_pose(b, link))[:3, 3])


def knees_deg(user, q):
    return [math.degrees(q[7 + user.model.joint_index(f'{s}_knee_flexion')]) for s in 'lr']


def pelvis_pitch_deg(user, q):
    return math.degrees(math.asin(-user.model.link_pose(q, 'base_link')[2, 0]))


def squatting(user, knees):
    legs = {'hip_flexion': 0.8 * knees, 'knee_flexion': knees, 'ankle_dorsiflexion': 0.2 * knees}
    angles = {f'{s}_{name}': angle for s in 'lr' for name, angle in legs.items()}
    return placed(user, user.model.configuration(angles), np.eye(4))


def sitting(user, nod=0.0):
    legs = {'hip_flexion': math.pi / 2.0, 'knee_flexion': math.pi / 2.0}
    angles = {f'{s}_{name}': angle for s in 'lr' for name, angle in legs.items()}
    angles |= {'neck_flexion': 0.5 * nod, 'head_flexion': 0.5 * nod}
    return placed(user, user.model.configuration(angles), np.eye(4))
