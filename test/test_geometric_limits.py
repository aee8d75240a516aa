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


"""Laws of FABRIK's joint limits, and of FABRIK on trees of points with limits, loops and poses."""

import math

from hypothesis import example, given, strategies as st
import numpy as np
import pytest

from vr_ik.errors import VrIkError
from vr_ik.math.rotations import exp_rotation
from vr_ik.solvers.chains import chain_from_points
from vr_ik.solvers.fabrik_chain import fabrik_chain
from vr_ik.solvers.fabrik_limits import (
    limit_to_cone,
    limit_to_hinge,
    limit_twist,
    nearest_on_ellipse,
    write_swing,
)
from vr_ik.solvers.fabrik_tree import Cone, FabrikTree, Hinge

seeds = st.integers(0, 2**32 - 1)
angles = st.floats(0.05, math.pi)


def directions(rng, count):
    vectors = rng.normal(size=(count, 3))
    return vectors / np.linalg.norm(vectors, axis=1)[:, None]


def random_rotation(rng):
    return exp_rotation(rng.normal(size=3) * 2.0)


def turn_about_z(angle):
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


@given(
    a=st.floats(0.01, 5.0),
    b=st.floats(0.01, 5.0),
    x=st.floats(-5.0, 5.0),
    y=st.floats(-5.0, 5.0),
)
@example(a=0.0625, b=1.0, x=1e-12, y=0.0)
def test_the_nearest_point_of_an_ellipse_is_on_it_and_no_other_is_nearer(a, b, x, y):
    u, v = nearest_on_ellipse(x, y, a, b)
    assert (u / a) ** 2 + (v / b) ** 2 == pytest.approx(1.0, abs=1e-9)
    turn = np.linspace(0.0, 2.0 * math.pi, 4001)
    nearest = np.hypot(a * np.cos(turn) - x, b * np.sin(turn) - y).min()
    assert math.hypot(u - x, v - y) <= nearest + 1e-9


@given(seed=seeds)
def test_a_cone_of_all_directions_limits_nothing(seed):
    limits = np.full(4, math.pi)
    for direction in directions(np.random.default_rng(seed), 5):
        assert (np.array(limit_to_cone(*direction, limits)) == direction).all()


@given(seed=seeds, limits=st.tuples(angles, angles, angles, angles))
def test_a_limited_direction_is_within_the_cone_and_one_within_it_stays(seed, limits):
    rng = np.random.default_rng(seed)
    limits = np.array(limits)
    for direction in directions(rng, 20):
        limited = np.array(limit_to_cone(*direction, limits))
        assert np.linalg.norm(limited) == pytest.approx(1.0)
        again = np.array(limit_to_cone(*limited, limits))
        assert np.abs(again - limited).max() < 1e-6
        if (limits < 0.49 * math.pi).all():
            inside = _in_conic_section(direction, limits)
            assert _in_conic_section(limited, limits) <= 1.0 + 1e-6
            if direction[2] > 0.0 and inside < 1.0 - 1e-9:
                assert np.abs(limited - direction).max() < 1e-9


def _in_conic_section(direction, limits):
    """Return below 1 for a direction within the cone: on a plane before it, the four ellipses."""
    x, y, z = direction
    across = limits[0] if x >= 0.0 else limits[2]
    along = limits[1] if y >= 0.0 else limits[3]
    return (x / z / math.tan(across)) ** 2 + (y / z / math.tan(along)) ** 2


@pytest.mark.parametrize('limit', [0.3, 1.2, 1.9, 2.8])
def test_a_round_cone_limits_the_angle_and_keeps_the_side(limit):
    rng = np.random.default_rng(1)
    for direction in directions(rng, 200):
        angle = math.acos(direction[2])
        limited = np.array(limit_to_cone(*direction, np.full(4, limit)))
        if angle <= limit:
            assert np.abs(limited - direction).max() < 1e-9
            continue
        assert math.acos(limited[2]) == pytest.approx(limit)
        side = direction[:2] / np.linalg.norm(direction[:2])
        assert limited[:2] @ side == pytest.approx(math.sin(limit))


@given(seed=seeds, lower=st.floats(-3.0, 0.0), upper=st.floats(0.0, 3.0))
def test_a_hinge_projects_and_then_limits(seed, lower, upper):
    rng = np.random.default_rng(seed)
    angle = rng.uniform(-math.pi, math.pi)
    y, z = limit_to_hinge(-2.0 * math.sin(angle), 2.0 * math.cos(angle), lower, upper)
    found = math.atan2(-y, z)
    assert lower - 1e-9 <= found <= upper + 1e-9
    if lower <= angle <= upper:
        assert found == pytest.approx(angle)
    else:
        others = np.linspace(lower, upper, 101)
        assert math.cos(found - angle) >= np.cos(others - angle).max() - 1e-9


@given(seed=seeds, twist=st.floats(-3.0, 3.0), limit=st.floats(0.0, 3.0))
def test_a_swing_is_the_least_turn_and_twist_is_limited_about_it(seed, twist, limit):
    rng = np.random.default_rng(seed)
    rest, direction = random_rotation(rng), directions(rng, 1)[0]
    swing, limited = np.empty(9), np.empty(9)
    write_swing(rest.ravel(), *direction, swing)
    swung = swing.reshape(3, 3)
    assert np.abs(swung @ swung.T - np.eye(3)).max() < 1e-9
    assert np.abs(swung[:, 2] - direction).max() < 1e-9
    turned = math.acos(np.clip((np.trace(swung @ rest.T) - 1.0) / 2.0, -1.0, 1.0))
    assert turned == pytest.approx(math.acos(np.clip(rest[:, 2] @ direction, -1, 1)), abs=1e-6)
    limit_twist(swing, (swung @ turn_about_z(twist)).ravel(), -limit, limit, limited)
    expected = swung @ turn_about_z(np.clip(twist, -limit, limit))
    assert np.abs(limited.reshape(3, 3) - expected).max() < 1e-9


ARM = np.array([[0.0, 0, 0], [0, 0, -0.3], [0.01, 0, -0.55], [0.01, 0, -0.63]])
ARM_LIMITS = {
    1: Cone((2.4, 1.6, 0.8, 0.5), right=(1.0, 0.0, 0.0), twist=(-1.2, 1.2)),
    2: Hinge((0.0, -1.0, 0.0), 0.0, 2.6),
    3: Cone((0.5, 1.2, 0.3, 1.3), right=(0.0, 1.0, 0.0), twist=(-0.8, 0.8)),
}
SNAKE = np.array([[0.0, 0, 0.1 * i] for i in range(10)])
SNAKE_LIMITS = {i: Cone((0.6, 0.5, 0.4, 0.3), twist=(-0.2, 0.2)) for i in range(2, 10)}


def chain_of(points, limits=None):
    return FabrikTree(points, [-1, *range(len(points) - 1)], limits)


def assert_lengths(points, rest, parents):
    found = np.linalg.norm(points[1:] - points[parents[1:]], axis=1)
    wanted = np.linalg.norm(rest[1:] - rest[parents[1:]], axis=1)
    assert np.abs(found - wanted).max() < 1e-9


def rest_frames(points, limits):
    """Return each bone's frame at rest: z along the bone, x as its limit has it."""
    frames = [np.eye(3)]
    for i in range(1, len(points)):
        z = points[i] - points[i - 1]
        z = z / np.linalg.norm(z)
        limit = limits.get(i)
        if limit is None:
            frames.append(np.full((3, 3), np.nan))
            continue
        x = np.array(limit.right if isinstance(limit, Cone) else limit.axis)
        x = x - (x @ z) * z
        x /= np.linalg.norm(x)
        frames.append(np.column_stack((x, np.cross(z, x), z)))
    return frames


def assert_within_limits(solution, points, limits):
    rest = rest_frames(points, limits)
    for i, limit in limits.items():
        if np.isnan(rest[i - 1]).any():
            continue
        frame = solution.frames[i]
        at_rest = solution.frames[i - 1] @ rest[i - 1].T @ rest[i]
        bone = solution.points[i] - solution.points[i - 1]
        assert np.abs(frame[:, 2] - bone / np.linalg.norm(bone)).max() < 1e-9
        local = at_rest.T @ frame[:, 2]
        if isinstance(limit, Hinge):
            angle = math.atan2(-local[1], local[2])
            assert abs(local[0]) < 1e-9
            assert limit.lower - 1e-9 <= angle <= limit.upper + 1e-9
            continue
        limited = limit_to_cone(*local, np.array(limit.angles))
        assert np.abs(np.array(limited) - local).max() < 1e-6
        swing = np.empty(9)
        write_swing(np.ascontiguousarray(at_rest).ravel(), *frame[:, 2], swing)
        turned = swing.reshape(3, 3).T @ frame
        twist = math.atan2(turned[1, 0], turned[0, 0])
        assert limit.twist[0] - 1e-6 <= twist <= limit.twist[1] + 1e-6


@pytest.mark.parametrize('points, limits', [(ARM, ARM_LIMITS), (SNAKE, SNAKE_LIMITS)])
@given(seed=seeds, oriented=st.booleans())
def test_limits_hold_whatever_the_target(points, limits, seed, oriented):
    rng = np.random.default_rng(seed)
    target = np.eye(4)
    target[:3, :3] = random_rotation(rng)
    target[:3, 3] = directions(rng, 1)[0] * rng.uniform(0.0, 1.5)
    tip = len(points) - 1
    tree = chain_of(points, limits)
    solution = tree.solve({tip: target if oriented else target[:3, 3]}, max_iterations=30)
    assert_lengths(solution.points, points, np.arange(len(points)) - 1)
    assert_within_limits(solution, points, limits)
    assert solution.distance == pytest.approx(
        np.linalg.norm(solution.points[tip] - target[:3, 3]), abs=1e-12
    )
    assert (solution.points[0] == points[0]).all()


def test_a_hinged_arm_reaches_what_a_hinged_arm_can_reach():
    limits = {2: ARM_LIMITS[2]}
    tree = chain_of(ARM, limits)
    rng = np.random.default_rng(7)
    for _ in range(50):
        bend, turn = rng.uniform(0.0, 2.5), random_rotation(rng)
        forearm = exp_rotation(np.array([0.0, -bend, 0.0])) @ (ARM[2] - ARM[1])
        wrist = turn @ (ARM[1] + forearm)
        tip = wrist + np.linalg.norm(ARM[3] - ARM[2]) * directions(rng, 1)[0]
        assert tree.solve({3: tip}, max_iterations=500).distance <= 1e-3


def test_without_limits_a_tree_does_what_the_chain_does():
    rng = np.random.default_rng(8)
    for _ in range(50):
        bones = directions(rng, 5) * rng.uniform(0.1, 0.5, 5)[:, None]
        points = np.vstack((np.zeros(3), np.cumsum(bones, axis=0)))
        chain = chain_from_points(points)
        target = directions(rng, 1)[0] * rng.uniform(0.5, 0.9) * chain[:, 3].sum()
        out = np.empty_like(chain)
        iterations, _ = fabrik_chain(chain, target, 1e-4, 100, out)
        solution = chain_of(points).solve({5: target}, tolerance=1e-4)
        assert solution.iterations == iterations
        assert np.abs(solution.points - out[:, :3]).max() < 1e-9


def test_a_straight_snake_bends_to_a_target_on_its_line():
    solution = chain_of(SNAKE).solve({9: np.array([0.0, 0.0, 0.6])})
    assert solution.distance <= 1e-3
    limited = chain_of(SNAKE, SNAKE_LIMITS).solve({9: np.array([0.0, 0.0, 0.7])})
    assert limited.distance <= 1e-3


def test_an_oriented_target_sets_the_last_bone():
    rng = np.random.default_rng(9)
    tree = chain_of(SNAKE)
    for _ in range(30):
        target = np.eye(4)
        target[:3, :3] = random_rotation(rng)
        target[:3, 3] = directions(rng, 1)[0] * rng.uniform(0.2, 0.6)
        solution = tree.solve({9: target}, tolerance=1e-6, max_iterations=2000)
        assert solution.distance <= 1e-6
        bone = (solution.points[9] - solution.points[8]) / 0.1
        assert np.abs(bone - target[:3, 2]).max() < 1e-3


Y_PARENTS = [-1, 0, 1, 2, 3, 2, 5]
Y_POINTS = np.array(
    [[0.0, 0, 0], [0, 0, 1], [0, 0, 2], [0.5, 0, 2.5], [1, 0, 3], [-0.5, 0, 2.5], [-1, 0, 3]]
)


def posed(rng, points, parents):
    """Return the points after every bone got another direction."""
    pose = points.copy()
    for i in range(1, len(points)):
        length = np.linalg.norm(points[i] - points[parents[i]])
        pose[i] = pose[parents[i]] + length * directions(rng, 1)[0]
    return pose


@given(seed=seeds)
def test_two_end_effectors_reach_their_targets_over_one_sub_base(seed):
    rng = np.random.default_rng(seed)
    pose = posed(rng, Y_POINTS, Y_PARENTS)
    tree = FabrikTree(Y_POINTS, Y_PARENTS)
    solution = tree.solve({4: pose[4], 6: pose[6]}, max_iterations=5000)
    assert solution.distance <= 1e-3
    assert_lengths(solution.points, Y_POINTS, np.array(Y_PARENTS))


def test_a_sub_base_goes_to_the_centroid():
    # Two chains pull the sub-base by the same way to opposite sides: it stays where it is.
    tree = FabrikTree(Y_POINTS, Y_PARENTS)
    left, right = Y_POINTS[6] - (0.2, 0.0, 0.0), Y_POINTS[4] + (0.2, 0.0, 0.0)
    solution = tree.solve({4: right, 6: left}, max_iterations=1)
    mirrored = solution.points * (-1.0, 1.0, 1.0)
    assert np.abs(mirrored[[3, 4]] - solution.points[[5, 6]]).max() < 1e-9
    assert np.abs(solution.points[:3, 0]).max() < 1e-9


def test_an_inner_point_with_a_target_is_an_end_effector_too():
    rng = np.random.default_rng(10)
    for _ in range(20):
        pose = posed(rng, Y_POINTS, Y_PARENTS)
        solution = FabrikTree(Y_POINTS, Y_PARENTS).solve(
            {2: pose[2], 4: pose[4], 6: pose[6]}, max_iterations=5000
        )
        assert solution.distance <= 1e-3


HIPS = np.array(
    [
        [0.0, 0, 1],
        [0.1, 0, 0.95],
        [-0.1, 0, 0.95],
        [0.1, 0.02, 0.5],
        [-0.1, 0.02, 0.5],
        [0.1, 0, 0.05],
        [-0.1, 0, 0.05],
    ]
)
HIP_PARENTS = [-1, 0, 0, 1, 2, 3, 4]


def test_a_loop_keeps_its_shape():
    rng = np.random.default_rng(11)
    tree = FabrikTree(HIPS, HIP_PARENTS, loops=[(1, 2)])
    for _ in range(30):
        # Feet where the hips can carry them: the hips turn about the root as one body.
        turned = (HIPS - HIPS[0]) @ exp_rotation(rng.normal(size=3) * 0.2).T + HIPS[0]
        feet = turned[[5, 6]] + rng.normal(size=(2, 3)) * 0.05 + (0.0, 0.0, 0.08)
        solution = tree.solve({5: feet[0], 6: feet[1]}, max_iterations=5000)
        assert solution.distance <= 1e-3
        assert np.linalg.norm(solution.points[1] - solution.points[2]) == pytest.approx(
            0.2, abs=1e-3
        )
    torn = FabrikTree(HIPS, HIP_PARENTS).solve({5: HIPS[5] + (0.3, 0, 0.2), 6: HIPS[6]})
    assert abs(np.linalg.norm(torn.points[1] - torn.points[2]) - 0.2) > 1e-3


def test_a_free_root_goes_with_its_targets():
    rng = np.random.default_rng(12)
    tree = FabrikTree(Y_POINTS, Y_PARENTS, root_is_free=True)
    shift = np.array([10.0, -5.0, 3.0])
    pose = posed(rng, Y_POINTS, Y_PARENTS) + shift
    solution = tree.solve({0: pose[0], 4: pose[4], 6: pose[6]}, max_iterations=5000)
    assert solution.distance <= 1e-3
    assert np.abs(solution.points[0] - pose[0]).max() <= 1e-3


@given(seed=seeds)
def test_turning_the_world_turns_the_limits_with_the_root(seed):
    rng = np.random.default_rng(seed)
    tree = chain_of(ARM, ARM_LIMITS)
    rotation = random_rotation(rng)
    target = directions(rng, 1)[0] * rng.uniform(0.2, 0.6)
    here = tree.solve({3: target}, max_iterations=5)
    there = tree.solve(
        {3: rotation @ target}, start=ARM @ rotation.T, root_frame=rotation, max_iterations=5
    )
    assert np.abs(there.points - here.points @ rotation.T).max() < 1e-6


def test_a_rest_within_limits_and_on_target_moves_nothing():
    solution = chain_of(ARM, ARM_LIMITS).solve({3: ARM[3]})
    assert solution.iterations == 0
    assert np.abs(solution.points - ARM).max() == 0.0


def test_bad_input_is_said():
    tree = chain_of(ARM)
    assert tree.solve({3: np.array([math.nan, 0, 0])}).distance == math.inf
    with pytest.raises(VrIkError, match='0 to 3'):
        tree.solve({4: np.zeros(3)})
    with pytest.raises(VrIkError, match='parents'):
        FabrikTree(ARM, [-1, 2, 1, 0])
    with pytest.raises(VrIkError, match='2 or more'):
        FabrikTree(ARM[:1], [-1])
    with pytest.raises(VrIkError, match='lies along its bone'):
        chain_of(ARM, {1: Hinge((0.0, 0.0, 1.0), 0.0, 1.0)})
