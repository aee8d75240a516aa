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

"""The bounds behind limits and distances, each by its own law: nothing goes farther than told."""

from hypothesis import given, settings, strategies as st
import numpy as np
import pytest
from teleop_session_support import robot_text

from vr_ik.kinematics.kernels import body_columns, body_poses
from vr_ik.kinematics.model import RobotModel
from vr_ik.kinematics.tree import PARENT, Q_INDEX
from vr_ik.teleop.arm_guard import _nearer, _reach
from vr_ik.teleop.barriers import fastest
from vr_ik.types import Array

PANDA = RobotModel.from_urdf(robot_text('panda'))
"""With its fingers, which slide; all other joints turn."""
SAMPLES = 100


def body_pose_rows(q: Array) -> Array:
    """Return the pose of every body (n, 12): rotation by rows, then position."""
    poses = np.empty((len(PANDA.tree.body_ints), 12))
    body_poses(PANDA.tree.body_ints, PANDA.tree.body_floats, q, poses)
    return poses


def ends_on(pose: Array, ends: Array) -> Array:
    """Return where points (n, 3) of a body are in the world."""
    return ends @ pose[:9].reshape(3, 3).T + pose[9:]


@pytest.mark.parametrize('wide', (0.05, 0.5))
def test_no_part_comes_nearer_or_goes_farther_than_its_bound(wide: float) -> None:
    """Any part, anywhere in a box of joints: in its corners, and between them."""
    rng = np.random.default_rng(7)
    tree = PANDA.tree
    used = []
    for _ in range(150):
        q = rng.uniform(PANDA.lower, PANDA.upper)
        body = int(rng.integers(len(tree.body_ints)))
        carriers = [body]
        while carriers[-1] >= 0:
            carriers.append(int(tree.body_ints[carriers[-1], PARENT]))
        until = int(rng.choice(carriers[1:]))
        moving = tree.body_ints[carriers[: carriers.index(until)], Q_INDEX]
        lows, highs = np.zeros(len(q)), np.zeros(len(q))
        lows[moving], highs[moving] = -rng.uniform(0.0, wide, (2, len(moving))) * ((1,), (-1,))
        poses = body_pose_rows(q)
        columns = np.empty((len(tree.column_ints), 6))
        body_columns(tree.body_ints, tree.body_floats, poses, np.zeros(3), columns)
        ends = rng.normal(0.0, 0.15, (2, 3))
        before = ends_on(poses[body], ends)
        segment = np.concatenate((before[0], before[1] - before[0]))
        normal, sign = rng.normal(size=3), float(rng.choice((-1.0, 1.0)))
        normal /= np.linalg.norm(normal)
        nearer = _nearer(tree.body_ints, columns, lows, highs, segment, normal, sign, body, until)
        reach = _reach(tree.body_ints, columns, lows, highs, segment, body)
        shares = rng.uniform(0.0, 1.0, (SAMPLES, len(q)))
        shares[::2] = shares[::2] < 0.5  # corners
        ways = np.array(
            [
                ends_on(body_pose_rows(q + lows + share * (highs - lows))[body], ends) - before
                for share in shares
            ]
        )
        came = float((-sign * ways @ normal).max())
        went = float(np.linalg.norm(ways, axis=2).max())
        assert came <= nearer + 1e-12
        assert went <= reach + 1e-12
        used.append(came / nearer)
    assert wide > 0.1 or max(used) > 0.9, 'the bound is of no use'


speeds = st.floats(0.0, 5.0)


@settings(max_examples=300)
@given(
    speeds,
    st.floats(0.0, 2.0),
    st.floats(0.1, 50.0),
    st.floats(0.001, 0.1),
    st.lists(st.floats(0.001, 0.1), max_size=40),
)
def test_from_the_fastest_speed_every_way_to_brake_keeps_the_room(
    speed: float, room: float, deceleration: float, seconds: float, lengths: list[float]
) -> None:
    """And it is the fastest: with it there is no room left over in the worst case."""
    longest = 0.1
    u = fastest(speed, room, deceleration, seconds, longest)
    way = 0.5 * (speed + u) * seconds
    if u == 0.0:
        assert way >= room - 1e-12
        return
    worst = way + u * u / (2.0 * deceleration) + 0.5 * u * longest
    assert worst == pytest.approx(room, rel=1e-9, abs=1e-12)
    for length in (*lengths, *[longest] * 10):
        slower = max(0.0, u - deceleration * length)
        way += 0.5 * (u + slower) * length
        u = slower
        assert way <= room + 1e-9
