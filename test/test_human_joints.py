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

"""Laws of the human model's joints: limits, signs, mirror symmetry, distance from gimbal lock."""

from body_support import arms, Body, NATURAL_POSES
from hypothesis import given, settings, strategies as st
import numpy as np
import pytest

from vr_ik.body.anthropometry import Proportions
from vr_ik.body.human import human_urdf
from vr_ik.body.joints import JOINTS, mirror_joint

BODY = Body(human_urdf(Proportions.from_height(1.75)))
MIRROR = np.diag([1.0, -1.0, 1.0, 1.0])
CHAINS_OF_THREE = [
    [prefix + spec.name for spec in chain]
    for chain in JOINTS.values()
    for prefix in ('', 'l_', 'r_')
    if len(chain) == 3 and prefix + chain[0].name in BODY.joint_names
]


@pytest.mark.parametrize('name', NATURAL_POSES)
def test_natural_poses_are_within_the_limits(name: str) -> None:
    q = BODY.q(NATURAL_POSES[name])
    outside = (q < BODY.model.lowerPositionLimit) | (q > BODY.model.upperPositionLimit)
    assert not outside.any(), np.array(BODY.joint_names)[outside]


@pytest.mark.parametrize('name', NATURAL_POSES)
def test_ball_joints_are_far_from_gimbal_lock_in_natural_poses(name: str) -> None:
    for chain in CHAINS_OF_THREE:
        axes = BODY.joint_axes(NATURAL_POSES[name], chain)
        # 1 at right angles, 0 at gimbal lock; 0.3 is 25 degrees from it.
        assert np.linalg.svd(axes, compute_uv=False)[-1] > 0.3, chain


def test_the_limits_keep_every_ball_joint_out_of_gimbal_lock() -> None:
    rng = np.random.default_rng(3)
    assert len(CHAINS_OF_THREE) == 9
    for _ in range(200):
        pose = BODY.random_pose(rng)
        for chain in CHAINS_OF_THREE:
            # 0.14 is 12 degrees from gimbal lock.
            assert np.linalg.svd(BODY.joint_axes(pose, chain), compute_uv=False)[-1] > 0.14


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_mirrored_angles_give_the_mirrored_pose(seed: int) -> None:
    pose = BODY.random_pose(np.random.default_rng(seed))
    mirrored_pose = {}
    for name, angle in pose.items():
        other, sign = mirror_joint(name)
        mirrored_pose[other] = sign * angle
    poses, mirrored_poses = BODY.link_poses(pose), BODY.link_poses(mirrored_pose)
    for link, pose_root_from_link in poses.items():
        expected = MIRROR @ pose_root_from_link @ MIRROR
        np.testing.assert_allclose(mirrored_poses[mirror_joint(link)[0]], expected, atol=1e-9)


def test_both_sides_have_the_same_limits_and_the_trunk_bends_alike_to_both() -> None:
    lower = dict(zip(BODY.joint_names, BODY.model.lowerPositionLimit, strict=True))
    upper = dict(zip(BODY.joint_names, BODY.model.upperPositionLimit, strict=True))
    for name in BODY.joint_names:
        other, sign = mirror_joint(name)
        ends = sorted((sign * lower[name], sign * upper[name]))
        assert ends == [lower[other], upper[other]]


SIGNS = {
    # joint: link, a point on it, where a positive angle moves that point
    'lumbar_flexion': ('torso', (0, 0, 0.1), (1, 0, 0)),
    'lumbar_lateral': ('torso', (0, 0, 0.1), (0, -1, 0)),
    'lumbar_axial': ('torso', (0.1, 0, 0), (0, 1, 0)),
    'thorax_flexion': ('torso', (0, 0, 0.1), (1, 0, 0)),
    'thorax_lateral': ('torso', (0, 0, 0.1), (0, -1, 0)),
    'thorax_axial': ('torso', (0.1, 0, 0), (0, 1, 0)),
    'neck_flexion': ('head', (0, 0, 0.1), (1, 0, 0)),
    'neck_lateral': ('head', (0, 0, 0.1), (0, -1, 0)),
    'neck_axial': ('head', (0.1, 0, 0), (0, 1, 0)),
    'head_flexion': ('head', (0, 0, 0.1), (1, 0, 0)),
    'head_axial': ('head', (0.1, 0, 0), (0, 1, 0)),
    'l_clavicle_elevation': ('l_upper_arm', (0, 0, 0), (0, 0, 1)),
    'l_clavicle_protraction': ('l_upper_arm', (0, 0, 0), (1, 0, 0)),
    'l_shoulder_flexion': ('l_upper_arm', (0, 0, -0.2), (1, 0, 0)),
    'l_shoulder_abduction': ('l_upper_arm', (0, 0, -0.2), (0, 1, 0)),
    'l_shoulder_rotation': ('l_upper_arm', (0.1, 0, 0), (0, 1, 0)),
    'l_elbow_flexion': ('l_forearm', (0, 0, -0.2), (1, 0, 0)),
    'l_forearm_twist': ('l_forearm', (0.1, 0, 0), (0, 1, 0)),
    'l_wrist_twist': ('l_wrist', (0.1, 0, 0), (0, 1, 0)),
    'l_wrist_deviation': ('l_wrist', (0, 0, -0.1), (1, 0, 0)),
    'l_wrist_flexion': ('l_wrist', (0, 0, -0.1), (0, -1, 0)),
    'l_hip_flexion': ('l_thigh', (0, 0, -0.4), (1, 0, 0)),
    'l_hip_abduction': ('l_thigh', (0, 0, -0.4), (0, 1, 0)),
    'l_hip_rotation': ('l_thigh', (0.1, 0, 0), (0, 1, 0)),
    'l_knee_flexion': ('l_shin', (0, 0, -0.4), (-1, 0, 0)),
    'l_knee_rotation': ('l_shin', (0.1, 0, 0), (0, 1, 0)),
    'l_ankle_dorsiflexion': ('l_ankle', (0.2, 0, 0), (0, 0, 1)),
    'l_ankle_inversion': ('l_ankle', (0, -0.1, 0), (0, 0, 1)),
}


def test_the_table_of_signs_is_complete() -> None:
    assert set(SIGNS) == {name for name in BODY.joint_names if not name.startswith('r_')}


@pytest.mark.parametrize('joint', SIGNS)
def test_a_positive_angle_moves_the_limb_as_its_name_says(joint: str) -> None:
    link, point, direction = SIGNS[joint]
    before, after = BODY.link_poses({}), BODY.link_poses({joint: 0.05})
    homogeneous = np.append(np.array(point, dtype=float), 1.0)
    motion = ((after[link] - before[link]) @ homogeneous)[:3]
    # The shoulder's axes are tilted, by up to 35 degrees; all others point straight.
    assert motion @ np.array(direction) / np.linalg.norm(motion) > 0.8


unit_ball = st.tuples(*[st.floats(-1.0, 1.0)] * 3).filter(lambda v: np.linalg.norm(v) > 0.1)


@settings(max_examples=100, deadline=None)
@given(upper_arm=unit_ball, bend=unit_ball)
def test_shoulder_angles_point_both_arms_where_they_are_told(
    upper_arm: tuple[float, ...], bend: tuple[float, ...]
) -> None:
    arm = np.array(upper_arm) / np.linalg.norm(upper_arm)
    aside = np.array(bend) - arm * (arm @ np.array(bend))
    if np.linalg.norm(aside) < 0.05:
        return
    links = BODY.link_poses(arms(upper_arm, bend, elbow_flexion=90))
    for side, flip in (('l', np.ones(3)), ('r', np.array([1.0, -1.0, 1.0]))):
        elbow = links[f'{side}_forearm'][:3, 3]
        shoulder, wrist = links[f'{side}_upper_arm'][:3, 3], links[f'{side}_wrist'][:3, 3]
        np.testing.assert_allclose((elbow - shoulder) * flip, arm * 0.158 * 1.75, atol=1e-8)
        forearm = aside / np.linalg.norm(aside) * 0.151 * 1.75
        np.testing.assert_allclose((wrist - elbow) * flip, forearm, atol=1e-7)
