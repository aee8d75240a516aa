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

"""Laws of the human model: who reads it, lengths, frames, masses, determinism, errors."""

from dataclasses import fields, replace
import io
from pathlib import Path
import shutil
import subprocess

from body_support import arms, Body, both
from hypothesis import given, settings, strategies as st
import numpy as np
import pinocchio as pin
import pytest
import yourdfpy

from vr_ik.body.anthropometry import Proportions
from vr_ik.body.human import human_urdf, T_POSE
from vr_ik.errors import ConfigError, UnknownNameError

heights = st.floats(1.2, 2.2)
ARMS = ('clavicle', 'upper_arm', 'forearm', 'wrist', 'gripper')
LEGS = ('thigh', 'shin', 'ankle', 'sole', 'toe')


@pytest.mark.parametrize(('model', 'joints'), [('full', 45), ('upper', 31)])
def test_pinocchio_and_yourdfpy_read_the_same_joints_and_links(model: str, joints: int) -> None:
    urdf = human_urdf(Proportions.from_height(1.75), model)
    body, robot = Body(urdf), yourdfpy.URDF.load(io.StringIO(urdf))
    assert set(body.joint_names) == set(robot.actuated_joint_names)
    assert set(body.link_names) == set(robot.link_map)
    assert len(body.joint_names) == joints
    expected = {'base_link', 'lumbar', 'torso', 'neck', 'head', 'gaze'}
    for kind in ARMS + (LEGS if model == 'full' else ()):
        expected |= {f'l_{kind}', f'r_{kind}'}
    assert expected <= set(body.link_names)
    assert model == 'full' or 'l_thigh' not in body.link_names
    assert robot.base_link == 'base_link'


@pytest.mark.skipif(shutil.which('check_urdf') is None, reason='needs liburdfdom-tools')
@pytest.mark.parametrize('model', ['full', 'upper'])
def test_check_urdf_reads_it(model: str, tmp_path: Path) -> None:
    path = tmp_path / 'human.urdf'
    path.write_text(human_urdf(Proportions.from_height(1.6), model))
    result = subprocess.run(['check_urdf', path], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert 'root Link: base_link' in result.stdout


@settings(max_examples=25, deadline=None)
@given(height=heights, ratio=st.floats(0.9, 1.15))
def test_height_and_arm_span_are_what_was_asked_for(height: float, ratio: float) -> None:
    p = Proportions.from_height(height, ratio * height)
    body = Body(human_urdf(p))
    standing, t_pose = body.link_poses({}), body.link_poses(T_POSE)
    soles = [standing[f'{side}_sole'][2, 3] for side in 'lr']
    np.testing.assert_allclose(soles, -p.hip_height, atol=1e-8)
    assert standing['head'][2, 3] + p.head - soles[0] == pytest.approx(height, abs=1e-8)
    fingertip = np.array([0.0, 0.0, -p.hand, 1.0])
    tips = [(t_pose[f'{side}_wrist'] @ fingertip)[:3] for side in 'lr']
    np.testing.assert_allclose(tips[0] - tips[1], [0.0, ratio * height, 0.0], atol=1e-8)
    assert p.height == pytest.approx(height) and p.arm_span == pytest.approx(ratio * height)


@settings(max_examples=25, deadline=None)
@given(height=heights)
def test_all_lengths_grow_in_proportion(height: float) -> None:
    small, tall = (Body(human_urdf(Proportions.from_height(h))) for h in (1.5, height))
    pose = small.random_pose(np.random.default_rng(5))
    for link, matrix in small.link_poses(pose).items():
        expected = matrix[:3, 3] * height / 1.5
        np.testing.assert_allclose(tall.link_poses(pose)[link][:3, 3], expected, atol=1e-8)


def test_the_visible_body_is_as_tall_and_wide_as_the_person() -> None:
    p = Proportions.from_height(1.75)
    robot = yourdfpy.URDF.load(io.StringIO(human_urdf(p)))
    robot.update_cfg({**dict.fromkeys(robot.actuated_joint_names, 0.0), **T_POSE})
    (_, y_low, z_low), (_, y_high, z_high) = robot.scene.bounds
    assert z_low + p.hip_height == pytest.approx(0.0, abs=0.002)
    assert z_high + p.hip_height == pytest.approx(1.75, abs=0.002)
    assert y_high - y_low == pytest.approx(p.arm_span, abs=0.002)


def test_an_average_person_has_the_heights_of_the_anthropometric_surveys() -> None:
    p = Proportions.from_height(1.0)
    links = Body(human_urdf(p)).link_poses({})
    z = {name: matrix[2, 3] + p.hip_height for name, matrix in links.items()}
    assert p.arm_span == pytest.approx(1.026, abs=0.001)
    expected = {'gaze': 0.934, 'l_upper_arm': 0.800, 'l_thigh': 0.530, 'l_shin': 0.285}
    assert {name: z[name] for name in expected} == pytest.approx(expected, abs=0.001)


def test_frames_point_where_rep_120_says() -> None:
    p = Proportions.from_height(1.75)
    body = Body(human_urdf(p))
    for link, matrix in body.link_poses({}).items():
        if not link.endswith('gripper'):
            np.testing.assert_allclose(matrix[:3, :3], np.eye(3), atol=1e-9, err_msg=link)
    handshake = body.link_poses(both(elbow_flexion=90))
    for side, inward in (('l', -1.0), ('r', 1.0)):
        grip = np.linalg.inv(handshake[f'{side}_wrist']) @ handshake[f'{side}_gripper']
        np.testing.assert_allclose(handshake[f'{side}_gripper'][:3, :3], np.eye(3), atol=1e-9)
        assert inward * grip[1, 3] > 0.01, 'the grip is on the side of the palm'
        assert -p.hand < grip[2, 3] < 0.0
    standing = body.link_poses({})
    between_the_eyes = standing['gaze'] @ np.linalg.inv(standing['head'])
    assert between_the_eyes[1, 3] == 0.0 and between_the_eyes[0, 3] == pytest.approx(p.eye_depth)
    np.testing.assert_allclose(standing['l_sole'][:2, 3], standing['l_ankle'][:2, 3], atol=1e-9)


@settings(max_examples=10, deadline=None)
@given(height=heights, mass=st.none() | st.floats(20.0, 200.0))
def test_masses_add_up_and_inertias_are_physical(height: float, mass: float | None) -> None:
    urdf = human_urdf(Proportions.from_height(height), mass_kg=mass)
    model = pin.buildModelFromXML(urdf, pin.JointModelFreeFlyer())
    expected = 22.0 * height**2 if mass is None else mass
    assert pin.computeTotalMass(model) == pytest.approx(expected, rel=1e-6)
    for inertia in list(model.inertias)[1:]:
        moments = np.sort(np.linalg.eigvalsh(inertia.inertia))
        assert inertia.mass > 0.0 and moments[0] > 0.0
        assert moments[0] + moments[1] >= moments[2] * (1.0 - 1e-9)
    q = pin.randomConfiguration(model, np.full(model.nq, -1.0), np.full(model.nq, 1.0))
    matrix = pin.crba(model, model.createData(), q)
    assert np.linalg.eigvalsh(np.triu(matrix) + np.triu(matrix, 1).T)[0] > 0.0


def test_the_centre_of_mass_of_someone_standing_is_in_the_pelvis() -> None:
    """Winter and others: 55 to 57 percent of height, above the ankles and the instep."""
    p = Proportions.from_height(1.75)
    model = pin.buildModelFromXML(human_urdf(p), pin.JointModelFreeFlyer())
    x, y, z = pin.centerOfMass(model, model.createData(), pin.neutral(model))
    assert 0.54 < (z + p.hip_height) / p.height < 0.58
    assert -0.03 < x < 0.05 and abs(y) < 1e-9


def test_one_replaced_length_changes_what_hangs_on_it_and_nothing_else() -> None:
    p = Proportions.from_height(1.75)
    longer = replace(p, forearm=p.forearm + 0.02)
    before, after = (Body(human_urdf(body)).link_poses({}) for body in (p, longer))
    moved = {link for link in before if not np.allclose(before[link], after[link], atol=1e-12)}
    assert {link[2:] for link in moved} == {
        'wrist_twist_link',
        'wrist_deviation_link',
        'wrist',
        'gripper',
    }
    assert longer.arm_span == pytest.approx(p.arm_span + 0.04)
    assert longer.height == p.height


def test_equal_bodies_give_equal_text() -> None:
    assert human_urdf(Proportions.from_height(1.8)) == human_urdf(Proportions.from_height(1.8))
    assert human_urdf(Proportions.from_height(1.8)) != human_urdf(Proportions.from_height(1.81))


@pytest.mark.parametrize('height', [0.9, 2.4, 175.0, -1.7, float('nan'), float('inf')])
def test_a_wrong_height_is_refused_with_value_and_range(height: float) -> None:
    with pytest.raises(ConfigError, match=r'height is .*valid: 1 to 2.3 m') as caught:
        Proportions.from_height(height)
    assert f'{height:g}' in str(caught.value)


def test_wrong_spans_lengths_models_and_masses_are_refused() -> None:
    p = Proportions.from_height(1.75)
    with pytest.raises(ConfigError, match='arm span is 3; valid: 1.488 to 2.1 m'):
        Proportions.from_height(1.75, 3.0)
    for item in fields(p):
        with pytest.raises(ConfigError, match=f"'{item.name}' is -0.1; valid: 0.005 to 0.9 m"):
            replace(p, **{item.name: -0.1})
    with pytest.raises(UnknownNameError, match="Unknown body model 'lower'.*full, upper"):
        human_urdf(p, 'lower')
    with pytest.raises(ConfigError, match='body mass is 0; valid: 10 to 300 kg'):
        human_urdf(p, mass_kg=0.0)


def test_a_hand_reaches_forward_with_the_whole_arm() -> None:
    p = Proportions.from_height(1.75)
    links = Body(human_urdf(p)).link_poses(arms((1.0, 0.0, 0.0), (0.0, 0.0, 1.0)))
    reach = links['l_wrist'][:3, 3] - links['l_upper_arm'][:3, 3]
    np.testing.assert_allclose(reach, [p.upper_arm + p.forearm, 0.0, 0.0], atol=1e-8)
