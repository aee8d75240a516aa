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

"""Support of the body tests: forward kinematics by Pinocchio, and poses that people take."""

import math

import numpy as np
import pinocchio as pin

from vr_ik.body.human import T_POSE
from vr_ik.body.shoulder import shoulder_angles
from vr_ik.types import Array

Pose = dict[str, float]


class Body:
    """A URDF in Pinocchio, its root at the world's origin; angles by joint name [rad]."""

    def __init__(self, urdf: str) -> None:
        """Read the URDF."""
        self.model = pin.buildModelFromXML(urdf)
        self.data = self.model.createData()
        self.joint_names = tuple(self.model.names)[1:]
        links = [f for f in self.model.frames if f.type == pin.FrameType.BODY]
        self.link_names = tuple(link.name for link in links)

    def q(self, pose: Pose) -> Array:
        """Return the configuration of a pose; joints that it leaves out are at zero."""
        q = np.zeros(self.model.nq)
        for name, angle in pose.items():
            q[self.model.joints[self.model.getJointId(name)].idx_q] = angle
        return q

    def random_pose(self, rng: np.random.Generator) -> Pose:
        """Return angles within the limits."""
        angles = rng.uniform(self.model.lowerPositionLimit, self.model.upperPositionLimit)
        return dict(zip(self.joint_names, angles, strict=True))

    def link_poses(self, pose: Pose) -> dict[str, Array]:
        """Return pose_root_from_link of every link."""
        pin.framesForwardKinematics(self.model, self.data, self.q(pose))
        ids = {name: self.model.getFrameId(name, pin.FrameType.BODY) for name in self.link_names}
        return {name: self.data.oMf[index].homogeneous for name, index in ids.items()}

    def joint_axes(self, pose: Pose, names: list[str]) -> Array:
        """Return (3, n): the joints' axes in the root's frame."""
        jacobian = pin.computeJointJacobians(self.model, self.data, self.q(pose))
        columns = [self.model.joints[self.model.getJointId(name)].idx_v for name in names]
        return np.asarray(jacobian[3:, columns])


def both(**degrees: float) -> Pose:
    """Return a pose with the same angles [deg] on both sides."""
    return {f'{s}_{name}': math.radians(angle) for s in 'lr' for name, angle in degrees.items()}


def arms(upper_arm: tuple[float, ...], bend: tuple[float, ...], **degrees: float) -> Pose:
    """Return a pose of both arms: directions as in `shoulder_angles`, other angles [deg]."""
    names = ('shoulder_flexion', 'shoulder_abduction', 'shoulder_rotation')
    shoulder = zip(names, np.degrees(shoulder_angles(upper_arm, bend)), strict=True)
    return both(**dict(shoulder), **degrees)


DOWN = (0.0, 0.0, -1.0)
NATURAL_POSES: dict[str, Pose] = {
    'standing': {},
    'T-pose': T_POSE,
    'A-pose': arms((0.0, 0.7, -0.7), (1.0, 0.0, 0.0)),
    'reaching forward': arms((1.0, 0.0, 0.0), (0.0, 0.0, 1.0)),
    'typing': arms(DOWN, (1.0, -0.2, 0.0), elbow_flexion=90, forearm_twist=-40, wrist_twist=-40),
    'guard': arms((0.4, 0.2, -0.9), (0.5, -0.4, 0.8), elbow_flexion=140),
    'eating': arms(
        (0.5, 0.2, -0.8), (0.3, -0.5, 0.8), elbow_flexion=140, forearm_twist=30, wrist_twist=30
    ),
    'hands overhead': arms((0.0, 0.1, 1.0), (-1.0, -0.3, 0.0), elbow_flexion=10),
    'overhead, leaning back': arms((-0.2, 0.1, 1.0), (-1.0, -0.5, 0.0)),
    'scratching the neck': arms((-0.1, 0.2, 1.0), (-1.0, -0.3, -0.2), elbow_flexion=145),
    'Y-pose': arms((0.0, 0.7, 0.7), (0.3, -0.7, 0.7), clavicle_elevation=20),
    'surrender': arms((0.0, 1.0, 0.0), (0.1, 0.0, 1.0), elbow_flexion=90),
    'forearms hanging from level arms': arms((0.0, 1.0, 0.0), (0.2, 0.0, -1.0), elbow_flexion=90),
    'hands behind the head': arms((0.1, 0.9, 0.4), (-0.6, -0.7, 0.4), elbow_flexion=140),
    'hands on the hips': arms((-0.35, 0.6, -0.7), (0.3, -0.9, -0.5), elbow_flexion=90),
    'hand behind the back': arms((-0.4, 0.25, -0.9), (-0.3, -1.0, 0.0), elbow_flexion=85),
    'arms stretched back': arms((-0.87, 0.1, -0.5), (0.5, 0.0, -0.87)),
    'arms crossed': arms((0.55, -0.15, -0.8), (0.3, -1.0, 0.3), elbow_flexion=100),
    'hugging oneself': arms(
        (0.9, -0.3, -0.3), (-0.3, -0.8, 0.3), elbow_flexion=125, clavicle_protraction=20
    ),
    'shrugging': both(clavicle_elevation=40),
    'bowing': {'lumbar_flexion': 0.9, 'thorax_flexion': 0.6, 'neck_flexion': 0.5},
    'looking over the shoulder': {'thorax_axial': 0.6, 'neck_axial': 0.7, 'head_axial': 0.7},
    'looking up': {'neck_flexion': -0.8, 'head_flexion': -0.4},
    'sitting': both(hip_flexion=90, knee_flexion=90),
    'sitting, legs apart': both(hip_flexion=90, hip_abduction=40, knee_flexion=90),
    'sitting cross-legged': both(
        hip_flexion=95,
        hip_abduction=35,
        hip_rotation=60,
        knee_flexion=125,
        knee_rotation=-10,
        ankle_inversion=30,
    ),
    'deep squat': both(hip_flexion=130, hip_abduction=25, knee_flexion=150, ankle_dorsiflexion=38),
    'kneeling': both(knee_flexion=95, ankle_dorsiflexion=-50),
    'sitting on the heels': both(hip_flexion=75, knee_flexion=157, ankle_dorsiflexion=-62),
    'lunge': {**both(knee_flexion=100), 'l_hip_flexion': 1.7, 'r_hip_flexion': -0.4},
    'high kick': {'l_hip_flexion': 2.1, 'l_hip_abduction': 0.5, 'l_knee_flexion': 0.2},
    'legs crossed': {**both(hip_flexion=90, knee_flexion=90), 'l_hip_abduction': -0.4},
}
