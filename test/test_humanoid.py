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


"""Humanoid retargeting by laws, on TALOS, and its node as a real process."""

import math
from pathlib import Path

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
import numpy as np
import pytest
from ros_graph import listening, NodeProcess
from ros_recording import ALL_KEPT, LATCHED, stamp_ns
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from vr_ik.body.anthropometry import Proportions
from vr_ik.body.human import human_urdf
from vr_ik.config import replace
from vr_ik.config_file import load_config
from vr_ik.errors import ConfigError, UnknownNameError
from vr_ik.io.packages import read_description
from vr_ik.nodes.conversions import FrameWriter, set_stamp
from vr_ik.teleop.humanoid import HumanoidRetargeting
from vr_ik.teleop.humanoid_config import HumanoidConfig
from vr_ik.trackers.simulated_user import SimulatedUser

FILE = Path(__file__).parent.parent / 'config' / 'robots' / 'talos.yaml'
CONFIG = load_config(HumanoidConfig, FILE, 'humanoid_node')
TALOS = read_description(CONFIG.urdf)
HUMAN = human_urdf(Proportions.from_height(1.75))
LIMBS = {
    'l_upper_arm': ('arm_left_3_link', 'arm_left_4_link'),
    'l_elbow_flexion_link': ('arm_left_4_link', 'arm_left_7_link'),
    'r_upper_arm': ('arm_right_3_link', 'arm_right_4_link'),
    'r_elbow_flexion_link': ('arm_right_4_link', 'arm_right_7_link'),
    'l_thigh': ('leg_left_3_link', 'leg_left_4_link'),
    'l_shin': ('leg_left_4_link', 'leg_left_6_link'),
    'r_thigh': ('leg_right_3_link', 'leg_right_4_link'),
    'r_shin': ('leg_right_4_link', 'leg_right_6_link'),
}
"""Of each limb of the person, the robot's links at its two ends."""
POSTURES = {
    'reach': {'l_shoulder_flexion': 1.0, 'l_elbow_flexion': 0.6, 'r_elbow_flexion': 1.2},
    'step': {'l_hip_flexion': 0.8, 'l_knee_flexion': 1.0, 'r_shoulder_flexion': 0.5},
    'bow': {'lumbar_flexion': 0.3, 'thorax_flexion': 0.2, 'neck_flexion': 0.2},
    'turn': {'thorax_axial': 0.5, 'lumbar_axial': 0.2, 'head_axial': 0.3},
}
TWISTS = ('lateral', 'axial')
"""Joints of the trunk that turn the other way in a mirror."""


@pytest.fixture
def talos() -> HumanoidRetargeting:
    return HumanoidRetargeting(CONFIG, TALOS, HUMAN)


def posture(talos: HumanoidRetargeting, angles: dict[str, float]) -> np.ndarray:
    """Return a configuration of the person, who stands and looks somewhere."""
    root = np.eye(4)
    root[:3, :3] = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    root[:3, 3] = (1.0, 2.0, 0.9)
    return talos.human.clamp(talos.human.configuration(angles, root))


def settled(talos: HumanoidRetargeting, q_human: np.ndarray) -> np.ndarray:
    for _ in range(5):
        pose = talos.retarget(q_human)
    return pose.q


def angle_deg(a: np.ndarray, b: np.ndarray) -> float:
    cosine = a @ b / np.linalg.norm(a) / np.linalg.norm(b)
    return math.degrees(math.acos(np.clip(cosine, -1.0, 1.0)))


def best_directions(talos: HumanoidRetargeting, side: str) -> np.ndarray:
    """Return where an upper arm can point within the limits of its first two joints: (n, 3)."""
    model, q = talos.model, talos.reference.copy()
    first, second = (model.joint_index(f'arm_{side}_{k}_joint') for k in (1, 2))
    directions = []
    for turn in np.linspace(model.lower[first], model.upper[first], 40):
        for lift in np.linspace(model.lower[second], model.upper[second], 55):
            q[first], q[second] = turn, lift
            poses = model.link_poses(q)
            ends = (poses[model.link_index(f'arm_{side}_{k}_link'), :3, 3] for k in (3, 4))
            directions.append(np.subtract(*ends))
    found = -np.array(directions)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def limb_error_deg(talos: HumanoidRetargeting, q_human: np.ndarray, q: np.ndarray, limb: str):
    """Return by how much a limb's turn since the reference posture differs from the person's."""
    human = talos.human
    root, link = (human.link_pose(q_human, name) for name in (human.root_link, limb))
    at_rest = human.link_pose(human.neutral(), limb)
    turn = root[:3, :3].T @ link[:3, :3] @ at_rest[:3, :3].T

    def along(q_robot: np.ndarray) -> np.ndarray:
        near, far = (talos.model.link_pose(q_robot, name)[:3, 3] for name in LIMBS[limb])
        return far - near

    return angle_deg(turn @ along(talos.reference), along(q))


def test_standing_is_mapped_to_standing(talos):
    q = settled(talos, talos.human.neutral())
    np.testing.assert_allclose(q, talos.reference, atol=1e-6)


@pytest.mark.parametrize('name', POSTURES)
def test_limbs_point_where_those_of_the_person_do(talos, name):
    q_human = posture(talos, POSTURES[name])
    q = settled(talos, q_human)
    assert not np.allclose(q, talos.reference, atol=0.1)
    for limb in LIMBS:
        assert limb_error_deg(talos, q_human, q, limb) < 3.0, limb


def test_only_joint_limits_keep_upper_arms_from_pointing_where_the_person_does(talos):
    """With joints as fast as it takes: no direction within the limits is 4 degrees nearer."""
    user = SimulatedUser(1.75)
    sides = {'l_upper_arm': 'left', 'r_upper_arm': 'right'}
    reachable = {limb: best_directions(talos, side) for limb, side in sides.items()}
    human, torso = talos.human, talos.model.link_index('torso_2_link')
    farthest = 0.0
    for time_s in np.arange(0.0, user.round_s, 0.1):
        q_human = user.q_at(time_s)
        q = settled(talos, q_human)
        trunk = talos.model.link_poses(q)[torso, :3, :3]
        root = human.link_pose(q_human, human.root_link)[:3, :3]
        for limb, error in talos.limb_errors(q_human).items():
            if limb not in sides:
                continue
            rest = human.link_pose(human.neutral(), limb)[:3, :3]
            turn = root.T @ human.link_pose(q_human, limb)[:3, :3] @ rest.T
            ends = (talos.model.link_pose(talos.reference, name)[:3, 3] for name in LIMBS[limb])
            wanted = trunk.T @ turn @ -np.subtract(*ends)
            nearest = reachable[limb][np.argmax(reachable[limb] @ wanted)]
            assert math.degrees(error) < angle_deg(nearest, wanted) + 4.0
            farthest = max(farthest, math.degrees(error))
    assert farthest > 20.0, 'the limits were never met'


def test_limb_errors_are_those_seen_from_outside(talos):
    q_human = posture(talos, POSTURES['reach'])
    for _ in range(3):  # on the way there
        q = talos.retarget(q_human, 0.05).q
    errors = talos.limb_errors(q_human)
    assert errors.keys() == LIMBS.keys()
    for limb, error in errors.items():
        assert math.degrees(error) == pytest.approx(
            limb_error_deg(talos, q_human, q, limb), abs=1e-4
        )
    assert errors['l_upper_arm'] > 0.1


def test_the_place_and_heading_of_the_person_do_not_matter(talos):
    here = settled(talos, posture(talos, POSTURES['reach']))
    talos.reset()
    there = settled(talos, talos.human.clamp(talos.human.configuration(POSTURES['reach'])))
    np.testing.assert_allclose(here, there, atol=1e-4)


@pytest.mark.parametrize('name', POSTURES)
def test_a_mirrored_person_makes_a_mirrored_robot(talos, name):
    angles = POSTURES[name]
    swap = {'l_': 'r_', 'r_': 'l_'}
    mirrored = {
        swap.get(joint[:2], joint[:2]) + joint[2:]: -angle if joint.endswith(TWISTS) else angle
        for joint, angle in angles.items()
    }
    model = talos.model
    one = model.link_poses(settled(talos, posture(talos, angles)))
    talos.reset()
    other = model.link_poses(settled(talos, posture(talos, mirrored)))
    for link in (link for ends in LIMBS.values() for link in ends):
        swapped = link.replace('left', '#').replace('right', 'left').replace('#', 'right')
        expected = one[model.link_index(link), :3, 3] * (1.0, -1.0, 1.0)
        np.testing.assert_allclose(other[model.link_index(swapped), :3, 3], expected, atol=2e-3)


def test_limits_of_position_and_velocity_hold_through_a_whole_round(talos):
    user = SimulatedUser(1.75)
    step_s = 1.0 / 60.0
    before = talos.q
    for time_s in np.arange(0.0, user.round_s, step_s):
        q = talos.retarget(user.q_at(time_s), step_s).q
        assert (q >= talos.model.lower).all() and (q <= talos.model.upper).all()
        assert (np.abs(q - before) <= talos.model.velocity_limits * step_s + 1e-9).all()
        before = q


def test_the_robot_is_as_high_as_its_legs(talos):
    assert 1.0 < talos.scale < 1.4  # its pelvis is above that of a person of 1.75 m
    assert HumanoidRetargeting(replace(CONFIG, {'scale': 0.5}), TALOS, HUMAN).scale == 0.5


@pytest.mark.parametrize(
    ('changes', 'error', 'text'),
    [
        ({'pairs': 'chest=torso_2_link'}, UnknownNameError, 'human model'),
        ({'pairs': 'torso=chest'}, UnknownNameError, "link 'chest'"),
        ({'pairs': 'torso'}, ConfigError, 'pairs'),
        ({'pairs': ''}, ConfigError, 'pairs'),
        ({'weights': 'torso=1'}, ConfigError, 'weights'),
        ({'weights': 'r_sole=1 1'}, UnknownNameError, 'weights'),
        ({'reference': 'torso_1_joint=left'}, ConfigError, 'reference'),
    ],
)
def test_bad_parameters_are_named(changes, error, text):
    with pytest.raises(error, match=text):
        HumanoidRetargeting(replace(CONFIG, changes), TALOS, HUMAN)


def test_the_node_turns_the_operator_into_the_robot(talos):
    node = NodeProcess('humanoid_node', '--ros-args', '--params-file', str(FILE))
    states: list[JointState] = []
    roots = []
    try:
        with listening() as listener:
            create = listener.node.create_publisher
            description = create(String, 'operator/robot_description', LATCHED)
            joint_states = create(JointState, 'operator/joint_states', ALL_KEPT)
            tf = create(TFMessage, '/tf', ALL_KEPT)
            subscribe = listener.node.create_subscription
            subscribe(JointState, 'joint_states', states.append, ALL_KEPT)
            subscribe(TFMessage, '/tf', lambda m: roots.extend(m.transforms), ALL_KEPT)
            description.publish(String(data=HUMAN))
            listener.spin_until(lambda: 'Ready' in node.output(), 'the node')
            q_human = posture(talos, POSTURES['step'])
            message = JointState(name=talos.human.joint_names, position=q_human[7:])
            root = FrameWriter('vr_world', 'operator/')
            for frame in range(1, 101):
                set_stamp(message.header.stamp, frame * 20_000_000)
                joint_states.publish(message)
                tf.publish(
                    root.write_one(frame * 20_000_000, 'base_link', q_human[:3], q_human[3:7])
                )
                listener.spin_for(0.002)
            listener.spin_until(lambda: len(states) == 100, 'the robot')
            listener.spin_until(lambda: len(roots) >= 200, 'both roots')
        ours = [root for root in roots if root.child_frame_id == 'base_link']
        assert [stamp_ns(state.header) for state in states][-1] == 2_000_000_000
        assert ours[0].header.frame_id == 'vr_world'
        assert ours[0].transform.translation.x == pytest.approx(talos.scale * q_human[0])
        q = settled(talos, q_human)
        np.testing.assert_allclose(states[-1].position, q, atol=0.02)
        assert node.end() == 0, node.output()
    finally:
        node.kill()


@pytest.mark.parametrize(
    ('pairs', 'unknown', 'valid'),
    [
        ('torso=torso_9_link', 'torso_9_link', 'torso_2_link'),
        ('chest=torso_2_link', 'chest', 'l_elbow_flexion_link'),
    ],
)
def test_the_node_ends_at_once_by_a_mistyped_link(pairs, unknown, valid):
    node = NodeProcess('humanoid_node', '--ros-args', '-p', f'pairs:={pairs}')
    try:
        assert node.wait() == 2
        assert unknown in node.output()
        assert valid in node.output()
        assert 'Traceback' not in node.output()
    finally:
        node.kill()


def test_a_body_without_what_is_paired_is_an_error_in_the_diagnostics():
    """Such as that of a solver for the upper body, with a robot that has legs."""
    node = NodeProcess('humanoid_node', '--ros-args', '--params-file', str(FILE))
    lines = []
    try:
        with listening() as listener:
            create = listener.node.create_publisher
            description = create(String, 'operator/robot_description', LATCHED)
            body = human_urdf(Proportions.from_height(1.75), 'upper')
            description.publish(String(data=body))
            listener.node.create_subscription(
                DiagnosticArray, '/diagnostics', lambda m: lines.extend(m.status), ALL_KEPT
            )
            listener.spin_until(lambda: any("'l_thigh'" in x.message for x in lines), 'the error')
        assert lines[-1].level == DiagnosticStatus.ERROR
        assert node.end() == 0, node.output()
    finally:
        node.kill()
