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
        (
            robot(LINKS + joint(ENDS + LIMIT + '<mimic joint="k" multiplier="inf"/>')),
            "'j': <mimic> has multiplier inf and offset 0.0; both must be finite",
        ),
        (
            robot(LINKS + joint(ENDS + LIMIT + '<mimic joint="k" offset="-1e999"/>')),
            "'j': <mimic> has multiplier 1.0 and offset -inf; both must be finite",
        ),
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


def follower(limits, mimic, kind='revolute', master=LIMIT, master_kind='revolute'):
    """Return a model of joint j, from -1 to 2, and of joint k that mimics it."""
    links = '<link name="a"/><link name="b"/><link name="c"/>'
    ends = '<parent link="b"/><child link="c"/>'
    follows = joint(f'{ends}{limits}<mimic joint="j" {mimic}/>', kind, 'k')
    return RobotModel.from_urdf(robot(links + follows + joint(ENDS + master, master_kind)))


@pytest.mark.parametrize(
    ('limits', 'mimic', 'expected'),
    [
        ('<limit lower="-0.5" upper="1"/>', '', (-0.5, 1.0)),
        ('<limit lower="-9" upper="9"/>', '', (-1.0, 2.0)),
        ('<limit lower="-1" upper="1"/>', 'multiplier="2" offset="-1"', (0.0, 1.0)),
        ('<limit lower="-3" upper="0.5"/>', 'multiplier="-1"', (-0.5, 2.0)),
        ('<limit lower="0" upper="1"/>', 'multiplier="0" offset="9"', (-1.0, 2.0)),
        # Limits that can hold nowhere, or at one point only, are a mistake in the URDF.
        ('<limit lower="5" upper="6"/>', '', (-1.0, 2.0)),
        ('<limit lower="2" upper="3"/>', '', (-1.0, 2.0)),
    ],
)
def test_a_joint_keeps_within_the_limits_of_those_that_mimic_it(limits, mimic, expected):
    model = follower(limits, mimic)
    assert (model.lower.item(), model.upper.item()) == pytest.approx(expected)
    assert model.clamp([9.0]).item() == pytest.approx(expected[1])


def test_a_continuous_joint_is_limited_by_its_follower_and_limits_nothing_itself():
    limited = follower(LIMIT, 'multiplier="0.5"', master='', master_kind='continuous')
    assert (limited.lower.item(), limited.upper.item()) == (-2.0, 4.0)
    free = follower('', '', kind='continuous')
    assert (free.lower.item(), free.upper.item()) == (-1.0, 2.0)


def test_followers_share_in_the_range_of_their_master():
    """The master's range is the intersection of all, in whatever order they come."""
    ends = ['<parent link="b"/><child link="c"/>', '<parent link="b"/><child link="d"/>']
    limits = ['<limit lower="-0.5" upper="9"/>', '<limit lower="-9" upper="0.25"/>']
    followers = [
        joint(f'{end}{limit}<mimic joint="j"/>', name=f'k{i}')
        for i, (end, limit) in enumerate(zip(ends, limits, strict=True))
    ]
    links = LINKS + '<link name="c"/><link name="d"/>'
    for order in (followers, followers[::-1]):
        model = RobotModel.from_urdf(robot(links + ''.join(order) + joint(ENDS + LIMIT)))
        assert (model.lower.item(), model.upper.item()) == (-0.5, 0.25)
