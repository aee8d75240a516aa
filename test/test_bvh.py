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

"""BVH files are read as written, and devices put on their skeletons move with the bones."""

import numpy as np
import pytest

from vr_ik.evaluation.mocap import read_mocap, TRUE_JOINTS
from vr_ik.io.bvh import BvhError, read_bvh

SMALL = """HIERARCHY
ROOT Hips
{
  OFFSET 0 0 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT Knee
  {
    OFFSET 0 -2 0
    CHANNELS 3 Zrotation Xrotation Yrotation
    End Site
    {
      OFFSET 0 -1 0
    }
  }
}
MOTION
Frames: 2
Frame Time: 0.01
1 2 3 0 0 0 0 0 0
1 2 3 90 0 0 0 0 90
"""

# A skeleton with Bandai Namco's names, all bones along the world's axes; y is up, x is left.
_ARM = [('Shoulder', 5, 20, 0), ('UpperArm', 12, 0, 0), ('LowerArm', 27, 0, 0), ('Hand', 25, 0, 0)]
_LEG = [('UpperLeg', 9, -5, 0), ('LowerLeg', 0, -41, 0), ('Foot', 0, -42, 0)]
_CMU_NAMES = {
    'UpperArm_': 'Arm',
    'LowerArm_': 'ForeArm',
    'Hand_': 'Hand',
    'UpperLeg_': 'UpLeg',
    'LowerLeg_': 'Leg',
    'Foot_': 'Foot',
}
_CMU_UNIT_CM = 2.54 / 0.45


def skeleton(frames, rows, unit_cm=1.0):
    """BVH text: a standing T-pose skeleton whose joints all have channels."""

    def chain(items, mirror, suffix):
        lines = []
        for name, *offset in items:
            x, y, z = (number / unit_cm for number in offset)
            lines += [f'JOINT {name}_{suffix}', '{', f'OFFSET {mirror * x} {y} {z}']
            lines += ['CHANNELS 3 Zrotation Xrotation Yrotation']
        return lines + ['}'] * len(items)

    rows = np.array(rows, float)
    rows[:, :3] /= unit_cm
    channels = 'CHANNELS 3 Zrotation Xrotation Yrotation'
    lines = ['HIERARCHY', 'ROOT Hips', '{', 'OFFSET 0 0 0']
    lines += ['CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation']
    lines += ['JOINT Chest', '{', f'OFFSET 0 {25 / unit_cm} 0', channels]
    lines += ['JOINT Neck', '{', f'OFFSET 0 {25 / unit_cm} 0', channels]
    lines += ['JOINT Head', '{', f'OFFSET 0 {8 / unit_cm} 0', channels]
    lines += ['}', '}']
    lines += chain(_ARM, 1, 'L') + chain(_ARM, -1, 'R') + ['}']
    lines += chain(_LEG, 1, 'L') + chain(_LEG, -1, 'R') + ['}']
    lines += ['MOTION', f'Frames: {frames}', 'Frame Time: 0.033']
    return '\n'.join(lines + [' '.join(map(str, row)) for row in rows]) + '\n'


def write(tmp_path, text, name='a.bvh'):
    file = tmp_path / name
    file.write_text(text)
    return file


def test_offsets_positions_and_rotations_are_applied_in_the_files_order(tmp_path):
    bvh = read_bvh(write(tmp_path, SMALL))
    poses = bvh.poses()
    assert bvh.names == ('Hips', 'Knee')
    assert np.allclose(poses[0, 1, :3, 3], (1, 0, 3))
    assert np.allclose(poses[1, 1, :3, 3], (3, 2, 3))
    # A turn of 90 deg about z, then one about the new y.
    assert np.allclose(poses[1, 1, :3, :3] @ (1, 0, 0), (0, 0, -1))


@pytest.mark.parametrize(
    ('old', 'new', 'reason'),
    [
        ('HIERARCHY', 'HI', 'no BVH'),
        ('Frames: 2', 'Frames: 3', 'announced'),
        ('1 2 3 90', '1 2 nan 90', 'finite'),
        ('Zrotation Xrotation Yrotation\n    End', 'Wrotation\n    End', 'channel'),
        ('    }\n  }\n}', '    }\n  }', 'complete'),
        ('OFFSET 0 -2 0', 'OFFSET 0 -2', 'CHANNELS'),
        ('    }\n  }\n}', '    }\n  }\n}\n}', 'braces'),
        ('HIERARCHY\nROOT', 'HIERARCHY\n}\nROOT', 'braces'),
    ],
)
def test_broken_files_are_named_with_the_reason(tmp_path, old, new, reason):
    with pytest.raises(BvhError, match=reason):
        read_bvh(write(tmp_path, SMALL.replace(old, new)))
    with pytest.raises(BvhError, match='Cannot read'):
        read_bvh(tmp_path / 'missing.bvh')


def rows(count, elbow_deg):
    row = np.zeros((count, 6 + 3 * 17))
    row[:, 1] = 95.0
    row[:, 2] = np.linspace(0.0, 50.0, count)
    # Columns of LowerArm_L's y rotation: Hips 6, Chest, Neck, Head, Shoulder_L, UpperArm_L.
    row[:, 6 + 3 * 5 + 2] = -elbow_deg * np.arange(count) / max(count - 1, 1)
    return row


def test_devices_ride_on_their_bones_and_joints_are_metric(tmp_path):
    recording = read_mocap(write(tmp_path, skeleton(11, rows(11, 90.0))))
    assert set(recording.joints) == set(TRUE_JOINTS)
    assert len(recording) == 11 and recording.rate_hz == pytest.approx(1 / 0.033)
    hand, wrist = recording.poses['l_controller'], recording.joints['l_wrist']
    assert np.allclose(np.linalg.norm(hand[:, :3, 3] - wrist, axis=1), 0.0877, atol=1e-3)
    moved = recording.joints['head'][-1] - recording.joints['head'][0]
    assert np.allclose(moved, (0.5, 0.0, 0.0))
    bent = wrist[-1] - recording.joints['l_forearm'][-1]
    assert np.allclose(bent, (0.25, 0.0, 0.0), atol=1e-6)


WORN = {
    'hmd': ('head', (0.10, 0.0, 0.07)),
    'l_controller': ('l_wrist', (0.03, 0.08, -0.02)),
    'r_controller': ('r_wrist', (0.03, -0.08, -0.02)),
    'l_foot': ('l_ankle', (0.07, 0.0, -0.01)),
    'r_foot': ('r_ankle', (0.07, 0.0, -0.01)),
}
"""Goggles before the eyes, controllers in front of the wrists, trackers on the insteps."""
HIPS_X, HIPS_Y = 4, 5
"""Columns of the turns of the whole skeleton, to the front and about the vertical."""


def test_devices_are_worn_where_people_wear_them(tmp_path):
    """Ahead is where the skeleton faces, outward is to either side; the belt's is at the back."""
    row = rows(3, 0.0)
    straight = read_mocap(write(tmp_path, skeleton(3, row)))
    row[:, HIPS_Y] = 90.0
    turned = read_mocap(write(tmp_path, skeleton(3, row)))
    for role, (joint, way) in WORN.items():
        at = straight.poses[role][0]
        assert np.allclose(at[:3, 3] - straight.joints[joint][0], way, atol=1e-9), role
        assert np.allclose(at[:3, :3], np.eye(3), atol=1e-9)
        x, y, z = way
        at = turned.poses[role][0]
        assert np.allclose(at[:3, 3] - turned.joints[joint][0], (-y, x, z), atol=1e-9), role
        assert np.allclose(at[:3, :3] @ (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), atol=1e-9)
    belt = straight.poses['waist'][0, :3, 3]
    assert np.allclose(belt, (-0.11, 0.0, 0.95 + 0.06), atol=1e-9)


@pytest.mark.parametrize('unit_cm', [100.0, 2.54, _CMU_UNIT_CM])
def test_a_skeleton_is_the_same_in_every_unit(tmp_path, unit_cm):
    row = rows(4, 60.0)
    ours = read_mocap(write(tmp_path, skeleton(4, row)))
    theirs = read_mocap(write(tmp_path, skeleton(4, row, unit_cm)))
    for joint, places in ours.joints.items():
        assert np.allclose(theirs.joints[joint], places, atol=1e-6), joint


_JOINTS_THEMSELVES = {
    'UpperArm_': 'Shoulder',
    'LowerArm_': 'Elbow',
    'Hand_': 'Wrist',
    'UpperLeg_': 'Hip',
    'LowerLeg_': 'Knee',
    'Foot_': 'Ankle',
}


@pytest.mark.parametrize('character', ['', 'mixamorig:'])
@pytest.mark.parametrize('names', ['cmu', 'joints'])
def test_a_skeleton_is_the_same_by_every_name(tmp_path, names, character):
    plain = skeleton(4, rows(4, 60.0))
    text = plain.replace('JOINT Shoulder_', 'JOINT Collar_')
    for bandai, name in (_CMU_NAMES if names == 'cmu' else _JOINTS_THEMSELVES).items():
        for letter, word in (('L', 'Left'), ('R', 'Right')):
            text = text.replace(f'JOINT {bandai}{letter}', f'JOINT {word}{name}')
    text = text.replace('JOINT ', f'JOINT {character}').replace('ROOT ', f'ROOT {character}')
    ours, theirs = read_mocap(write(tmp_path, plain)), read_mocap(write(tmp_path, text, 'b.bvh'))
    for joint, places in ours.joints.items():
        assert np.array_equal(theirs.joints[joint], places), joint


def test_the_hand_of_cmu_turns_at_the_base_of_the_fingers(tmp_path):
    """Its own Hand turns about the forearm alone."""
    text = skeleton(2, rows(2, 0.0), _CMU_UNIT_CM)
    for bandai, cmu in _CMU_NAMES.items():
        for letter, word in (('L', 'Left'), ('R', 'Right')):
            text = text.replace(f'JOINT {bandai}{letter}', f'JOINT {word}{cmu}')
    base = '\nJOINT LeftFingerBase\n{\nOFFSET 0 0 0\nCHANNELS 1 Yrotation\n}\n'
    hand = text.index('JOINT LeftHand')
    end = text.index('\n}', hand)
    text = (text[:end] + base.rstrip() + text[end:]).replace('Neck\n', 'Neck1\n')
    lines = text.splitlines()
    # The new column comes after those of the left hand: Hips 6, Chest ... Hand_L.
    for i, angle in ((-2, 0.0), (-1, 30.0)):
        values = lines[i].split()
        lines[i] = ' '.join([*values[: 6 + 3 * 7], str(angle), *values[6 + 3 * 7 :]])
    recording = read_mocap(write(tmp_path, '\n'.join(lines) + '\n'))
    hand = recording.poses['l_controller']
    turn = hand[0, :3, :3].T @ hand[1, :3, :3]
    assert np.degrees(np.arccos(0.5 * (np.trace(turn) - 1.0))) == pytest.approx(30.0)
