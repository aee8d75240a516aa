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

"""A URDF that cannot be used is refused with the element and the reason."""

import math

import pytest

from vr_ik.errors import UrdfError
from vr_ik.kinematics.model import RobotModel
from vr_ik.kinematics.urdf import read_urdf

LINKS = '<link name="a"/><link name="b"/>'
ENDS = '<parent link="a"/><child link="b"/>'
LIMIT = '<limit lower="-1" upper="2" velocity="3" effort="1"/>'


def robot(body):
    return f'<robot name="r">{body}</robot>'


def joint(inside, kind='revolute', name='j'):
    return f'<joint name="{name}" type="{kind}">{inside}</joint>'


@pytest.mark.parametrize(
    ('text', 'reason'),
    [
        ('<robot', 'not well-formed XML'),
        ('<sdf></sdf>', 'not <sdf>'),
        (robot(''), 'has no <link>'),
        (robot('<link/>'), 'A <link> has no name'),
        (robot('<link name="a"/><link name="a"/>'), "link 'a' occurs twice"),
        (robot('<link name="a"/><link name="b"/>'), 'one root link; found: a, b'),
        (robot(LINKS + joint(ENDS, 'planar')), "'j': type 'planar' is not supported"),
        (robot(LINKS + joint(LIMIT)), '<parent link='),
        (robot(LINKS + joint('<parent link="a"/>' + LIMIT)), '<child link='),
        (robot(LINKS + joint(ENDS)), "'j': a revolute joint needs a <limit>"),
        (
            robot(LINKS + joint(ENDS + '<limit lower="3" upper="2"/>')),
            'lower limit 3.0 is above upper limit 2.0',
        ),
        (robot(LINKS + joint(ENDS + '<limit lower="x"/>')), "<limit lower='x'> is not a number"),
        (robot(LINKS + joint(ENDS + '<limit lower="nan"/>')), 'is not a number'),
        (robot(LINKS + joint(ENDS + LIMIT + '<axis xyz="0 0 0"/>')), 'its axis is zero'),
        (robot(LINKS + joint(ENDS + LIMIT + '<axis xyz="0 1"/>')), 'is not three numbers'),
        (robot(LINKS + joint(ENDS + LIMIT + '<origin rpy="a b c"/>')), 'is not three numbers'),
        (robot(LINKS + joint(ENDS + LIMIT + '<mimic/>')), 'does not name a joint'),
        (robot(LINKS + joint(ENDS + LIMIT + '<mimic joint="k"/>')), "mimics 'k'"),
        (robot(LINKS + joint('<parent link="a"/><child link="c"/>' + LIMIT)), "link 'c'"),
        (
            robot(LINKS + joint(ENDS, 'fixed') + joint(ENDS, 'fixed', 'k')),
            "'b' is the child of two joints: 'j' and 'k'",
        ),
        (
            robot(
                LINKS
                + joint(ENDS, 'fixed')
                + joint('<parent link="b"/><child link="a"/>', 'fixed', 'k')
            ),
            'form a loop',
        ),
    ],
)
def test_what_is_wrong_is_said(text, reason):
    with pytest.raises(UrdfError, match=reason.replace('(', '\\(')):
        read_urdf(text)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UrdfError, match='nothing.urdf'):
        read_urdf(tmp_path / 'nothing.urdf')


def test_limits_are_read_and_continuous_joints_have_none():
    links = '<link name="a"/><link name="b"/><link name="c"/>'
    turn = joint('<parent link="b"/><child link="c"/>', 'continuous', 'k')
    model = RobotModel.from_urdf(robot(links + joint(ENDS + LIMIT) + turn))
    assert model.joint_names == ('j', 'k')
    assert model.lower.tolist() == [-1.0, -math.inf]
    assert model.upper.tolist() == [2.0, math.inf]
    assert model.velocity_limits.tolist() == [3.0, math.inf]


def test_a_robot_without_joints_is_a_robot():
    model = RobotModel.from_urdf(robot('<link name="a"/>'))
    assert model.nq == 0
    assert model.link_poses(model.neutral()).shape == (1, 4, 4)
