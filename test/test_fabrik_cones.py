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

"""Laws of the cones that FABRIK has for the ball joints of a URDF."""

import math

import numpy as np
import pytest

from vr_ik.kinematics.model import RobotModel
from vr_ik.solvers.base import make_solver
from vr_ik.solvers.fabrik_cones import ANGLES, LAST, LED, NONE, TWIST
from vr_ik.types import Status, Task

AXES = {'x': '1 0 0', 'y': '0 1 0', 'z': '0 0 1'}
NARROW = {'x': (-0.5, 0.7), 'y': (-0.3, 0.3), 'z': (-0.2, 0.4)}
WIDE = {'x': (-1.2, 1.2), 'y': (-1.2, 1.2), 'z': (-1.0, 1.0)}


def balls(*joints):
    """Return a chain of ball joints, each with limits by axis and a bone of 0.5 m along z."""
    links, rows, parent = ['<link name="base"/>'], [], 'base'
    for i, limits in enumerate(joints):
        for axis, (lower, upper) in limits.items():
            name = f'{axis}{i}'
            height = 0.5 if i > 0 and axis == next(iter(limits)) else 0.0
            links.append(f'<link name="{name}"/>')
            rows.append(
                f'<joint name="j{name}" type="revolute"><parent link="{parent}"/>'
                f'<child link="{name}"/><origin xyz="0 0 {height}"/><axis xyz="{AXES[axis]}"/>'
                f'<limit lower="{lower}" upper="{upper}" effort="1" velocity="1"/></joint>'
            )
            parent = name
    links.append('<link name="end"/>')
    rows.append(
        f'<joint name="tip" type="fixed"><parent link="{parent}"/><child link="end"/>'
        '<origin xyz="0 0 0.5"/></joint>'
    )
    return RobotModel.from_urdf(f'<robot name="balls">{"".join(links + rows)}</robot>')


def fabrik(model, **options):
    return make_solver('fabrik', model, [Task('end', 1.0, 0.0)], limits='cones', **options)


def cones(solver):
    return solver._given[-1]


def test_a_cone_is_as_wide_as_the_hinges_take_the_bone():
    row = cones(fabrik(balls(NARROW)))[0]
    # A turn about the hinge x, which is the section's x, moves the bone along y, and the reverse.
    # The hinges' order makes it a little more.
    assert row[ANGLES : ANGLES + 4] == pytest.approx((0.3, 0.6, 0.3, 0.6), abs=0.03)
    assert row[TWIST : TWIST + 2] == pytest.approx((-0.3, 0.3), abs=0.1)
    assert row[TWIST] <= -0.3 and row[TWIST + 1] >= 0.3


def test_only_limited_balls_with_a_bone_have_cones():
    free = dict.fromkeys('xyz', (-math.pi, math.pi))
    rows = cones(fabrik(balls(WIDE, {'y': (-1.0, 1.0)}, free)))
    assert list(rows[:, LAST]) == [2.0, LED, LED, NONE, NONE, NONE, NONE]


def test_a_ball_with_a_task_within_has_no_cone():
    tasks = [Task('x0', 0.0, 1.0), Task('end', 1.0, 0.0)]
    rows = cones(make_solver('fabrik', balls(WIDE, WIDE), tasks, limits='cones'))
    assert list(rows[:, LAST]) == [NONE, NONE, NONE, 5.0, LED, LED]


def test_targets_within_the_limits_are_reached_and_hinges_keep_them():
    model = balls(WIDE, WIDE, WIDE)
    solver = fabrik(model)
    rng = np.random.default_rng(1)
    solved = 0
    for _ in range(50):
        truth = 0.7 * model.random(rng)
        start = model.clamp(truth + 0.3 * rng.normal(size=model.nq))
        result = solver.solve(start, model.link_pose(truth, 'end')[None].copy())
        assert (result.q >= model.lower).all() and (result.q <= model.upper).all()
        solved += result.status is Status.CONVERGED
    assert solved >= 45


@pytest.mark.parametrize('axis, towards', [('x', (0.0, -1.0, 0.0)), ('y', (1.0, 0.0, 0.0))])
def test_a_bone_stops_at_the_edge_of_its_cone(axis, towards):
    model = balls({'x': (-0.5, 0.5), 'y': (-0.3, 0.3), 'z': (-0.4, 0.4)})
    target = np.eye(4)
    target[:3, 3] = 0.5 * np.array(towards)
    result = fabrik(model).solve(model.neutral(), target[None])
    bone = model.link_pose(result.q, 'end')[:3, 3] / 0.5
    edge = {'x': 0.5, 'y': 0.3}[axis]
    assert result.status is Status.LIMITED
    assert math.acos(bone[2]) == pytest.approx(edge, abs=0.02)
    assert bone @ towards == pytest.approx(math.sin(edge), abs=0.02)


def solved(solver, rotation=None, towards=(0.0, 0.0, 1.0)):
    """Return the pose of the end of one bone that shall point somewhere, or be turned."""
    model, target = solver.model, np.eye(4)
    target[:3, 3] = 0.5 * np.array(towards)
    if rotation is not None:
        target[:3, :3] = rotation
    return model.link_pose(solver.solve(model.neutral(), target[None]).q, 'end')


@pytest.mark.parametrize(
    'side, towards', [(0, (1.0, 0.0)), (1, (0.0, 1.0)), (2, (-1.0, 0.0)), (3, (0.0, -1.0))]
)
def test_a_cone_narrower_than_the_hinges_stops_the_bone(side, towards):
    solver, towards = fabrik(balls(WIDE)), np.array((*towards, 0.0))
    wide = solved(solver, towards=towards)[:3, 3] / 0.5
    assert math.acos(wide[2]) > 1.0
    cones(solver)[0, ANGLES + side] = 0.4
    bone = solved(solver, towards=towards)[:3, 3] / 0.5
    assert math.acos(bone[2]) == pytest.approx(0.4, abs=0.02)
    assert bone @ towards == pytest.approx(math.sin(0.4), abs=0.02)
    # The side across from it is as wide as it was.
    back = solved(solver, towards=-towards)[:3, 3] / 0.5
    assert back @ -towards == pytest.approx(wide @ towards, abs=0.02)


@pytest.mark.parametrize('side, sign', [(0, -1.0), (1, 1.0)])
def test_a_twist_narrower_than_the_hinges_stops_the_turn_of_the_bone(side, sign):
    solver = make_solver('fabrik', balls(WIDE), [Task('end', 1.0, 1.0)], limits='cones')
    c, s = math.cos(0.8), math.sin(sign * 0.8)
    turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(solved(solver, turn)[:3, :3], turn, atol=0.02)
    cones(solver)[0, TWIST + side] = sign * 0.3
    pose = solved(solver, turn)
    assert math.atan2(pose[1, 0], pose[0, 0]) == pytest.approx(sign * 0.3, abs=0.02)
    assert pose[2, 2] == pytest.approx(1.0, abs=1e-3)
