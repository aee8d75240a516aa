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


"""Laws of the geometric methods on bare chains of points."""

import math

from hypothesis import assume, given, strategies as st
import numpy as np
import pytest

from vr_ik.errors import VrIkError
from vr_ik.solvers.ccd_chain import ccd_chain, free_joints
from vr_ik.solvers.chains import chain_from_points, LENGTH
from vr_ik.solvers.fabrik_chain import fabrik_chain
from vr_ik.solvers.ftl_chain import ftl_chain
from vr_ik.solvers.target_triangle_chain import target_triangle_chain
from vr_ik.solvers.triangulation_chain import triangulation_chain

TOLERANCE = 1e-4
MANY = 20000
# Always the same ones: near the border of its reach CCD creeps, and needs more iterations than
# that for one chain in some 25,000.
SEEDS = range(2000)


def fabrik(chain, target, out):
    return fabrik_chain(chain, target, TOLERANCE, MANY, out)


def ccd(chain, target, out):
    return ccd_chain(chain, target, free_joints(len(chain) - 1), TOLERANCE, MANY, False, out)


def ccd_root_first(chain, target, out):
    return ccd_chain(chain, target, free_joints(len(chain) - 1), TOLERANCE, MANY, True, out)


def ftl(chain, target, out):
    return ftl_chain(chain, target, TOLERANCE, MANY, np.empty_like(chain), out)


def triangulation(chain, target, out):
    return triangulation_chain(chain, target, out)


def target_triangle(chain, target, out):
    return target_triangle_chain(chain, target, TOLERANCE, MANY, out)


METHODS = (fabrik, ccd, ccd_root_first, ftl, triangulation, target_triangle)
seeds = st.integers(0, 2**32 - 1)


def solved(method, chain, target):
    """Return the moved points, the iterations and the distance that the method says."""
    out = np.empty_like(chain)
    iterations, distance = method(chain, np.asarray(target, np.float64), out)
    return out[:, :3], iterations, distance


def directions(rng, count):
    vectors = rng.normal(size=(count, 3))
    return vectors / np.linalg.norm(vectors, axis=1)[:, None]


def random_chain(rng):
    lengths = rng.uniform(0.05, 1.0, rng.integers(2, 10))
    bones = directions(rng, len(lengths)) * lengths[:, None]
    return chain_from_points(np.vstack((np.zeros(3), np.cumsum(bones, axis=0))))


def reachable_target(rng, chain, slack=0.01):
    """Return a point within the chain's reach, not quite at its border."""
    lengths = chain[:-1, LENGTH]
    inner, outer = max(2.0 * lengths.max() - lengths.sum(), 0.0), lengths.sum()
    away = inner + rng.uniform(slack, 1.0 - slack) * (outer - inner)
    return chain[0, :3] + away * directions(rng, 1)[0]


def bone_lengths(points):
    return np.linalg.norm(np.diff(points, axis=0), axis=1)


def check_reached(method, chain, target, seed):
    points, _, distance = solved(method, chain, target)
    assert np.abs(bone_lengths(points) - chain[:-1, LENGTH]).max() < 1e-9, seed
    assert (points[0] == chain[0, :3]).all(), seed
    assert abs(distance - np.linalg.norm(points[-1] - target)) < 1e-12, seed
    assert distance <= TOLERANCE, seed


@pytest.mark.parametrize('method', METHODS)
def test_what_is_within_reach_is_reached_and_bones_keep_their_lengths(method):
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        chain = random_chain(rng)
        check_reached(method, chain, reachable_target(rng, chain), seed)


@pytest.mark.parametrize('method', METHODS)
def test_a_straight_chain_reaches_a_target_on_its_own_line(method):
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        lengths = rng.uniform(0.2, 1.0, rng.integers(2, 7))
        inner = max(2.0 * lengths.max() - lengths.sum(), 0.0)
        direction = directions(rng, 1)[0]
        along = np.concatenate(([0.0], np.cumsum(lengths)))
        chain = chain_from_points(along[:, None] * direction)
        share = rng.uniform(0.1, 0.9)
        target = (inner + share * (lengths.sum() - inner)) * direction
        check_reached(method, chain, target, seed)


@pytest.mark.parametrize('method', METHODS)
@given(seed=seeds, scale=st.floats(0.01, 100.0))
def test_moving_and_scaling_the_world_moves_and_scales_the_chain(method, seed, scale):
    if method is not triangulation:
        # The tolerance is a length: it would have to be scaled with the world.
        scale = 1.0
    rng = np.random.default_rng(seed)
    chain = random_chain(rng)
    target = reachable_target(rng, chain, slack=0.1)
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    rotation *= np.sign(np.linalg.det(rotation))
    shift = rng.normal(size=3)
    moved = chain_from_points(scale * chain[:, :3] @ rotation.T + shift)
    here, iterations, _ = solved(method, chain, target)
    there, as_many, _ = solved(method, moved, scale * rotation @ target + shift)
    # Many iterations make rounding visible, and may differ by one at the tolerance.
    assume(iterations < 50 and iterations == as_many)
    assert np.abs(scale * here @ rotation.T + shift - there).max() < 1e-6 * scale


@pytest.mark.parametrize('method', (fabrik, ftl, triangulation, target_triangle))
@given(seed=seeds, factor=st.floats(1.001, 1e6))
def test_what_is_too_far_is_pointed_at_in_one_iteration(method, seed, factor):
    rng = np.random.default_rng(seed)
    chain = random_chain(rng)
    total = chain[:-1, LENGTH].sum()
    direction = directions(rng, 1)[0]
    points, iterations, distance = solved(method, chain, factor * total * direction)
    reached = np.concatenate(([0.0], np.cumsum(chain[:-1, LENGTH])))[:, None] * direction
    assert np.abs(points - reached).max() < 1e-9
    assert iterations == 1
    assert distance == pytest.approx((factor - 1.0) * total, rel=1e-6)


@pytest.mark.parametrize('method', (ccd, ccd_root_first))
def test_ccd_straightens_towards_what_is_too_far(method):
    rng = np.random.default_rng(2)
    chain = random_chain(rng)
    total = chain[:-1, LENGTH].sum()
    points, iterations, distance = solved(method, chain, 1.5 * total * directions(rng, 1)[0])
    assert iterations > 1
    assert distance == pytest.approx(0.5 * total, rel=1e-3)
    assert np.abs(bone_lengths(points) - chain[:-1, LENGTH]).max() < 1e-9


@pytest.mark.parametrize('method', (fabrik, ftl, triangulation, target_triangle))
@given(seed=seeds, share=st.floats(0.0, 0.99))
def test_what_is_too_near_for_a_long_bone_is_approached_best(method, seed, share):
    rng = np.random.default_rng(seed)
    chain = random_chain(rng)
    bones = np.diff(chain[:, :3], axis=0)
    bones[rng.integers(len(bones))] *= 1000.0
    chain = chain_from_points(np.vstack((np.zeros(3), np.cumsum(bones, axis=0))))
    lengths = chain[:-1, LENGTH]
    inner = 2.0 * lengths.max() - lengths.sum()
    target = share * inner * directions(rng, 1)[0]
    points, _, distance = solved(method, chain, target)
    # The end effector cannot come nearer to the root than `inner`.
    assert distance == pytest.approx((1.0 - share) * inner, rel=1e-6)
    assert np.abs(bone_lengths(points) - lengths).max() < 1e-9 * lengths.max()


@pytest.mark.parametrize('method', METHODS)
def test_a_met_target_moves_nothing(method):
    rng = np.random.default_rng(3)
    for _ in range(20):
        chain = random_chain(rng)
        points, iterations, distance = solved(method, chain, chain[-1, :3])
        if method is not triangulation:  # It makes its one pass in any case.
            assert iterations == 0
            assert np.abs(points - chain[:, :3]).max() < 1e-12
        assert distance <= TOLERANCE


@pytest.mark.parametrize('method', METHODS)
@pytest.mark.parametrize('bad', [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_moves_nothing(method, bad):
    chain = chain_from_points(np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [2, 1, 0]]))
    points, iterations, distance = solved(method, chain, (0.5, bad, 0.0))
    assert (points == chain[:, :3]).all()
    assert iterations == 0 and distance == math.inf
    chain[1, 0] = bad
    assert solved(method, chain, (0.5, 0.0, 0.0))[2] == math.inf


@pytest.mark.parametrize('method', METHODS)
def test_a_target_at_the_root_and_bones_without_length_are_no_trouble(method):
    square = chain_from_points(np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]]))
    points, _, distance = solved(method, square, (0.0, 0.0, 0.0))
    assert distance <= TOLERANCE
    dot = chain_from_points(np.array([[0.0, 0, 0], [1, 0, 0], [1, 0, 0], [1, 1, 0]]))
    points, _, distance = solved(method, dot, (0.5, 0.5, 0.5))
    assert np.isfinite(points).all() and distance <= TOLERANCE
    assert np.abs(bone_lengths(points) - (1.0, 0.0, 1.0)).max() < 1e-9


@pytest.mark.parametrize('method', METHODS)
def test_the_same_input_gives_the_same_bits(method):
    rng = np.random.default_rng(4)
    chain = random_chain(rng)
    target = reachable_target(rng, chain)
    assert (solved(method, chain, target)[0] == solved(method, chain, target)[0]).all()


def test_triangulation_needs_one_pass_and_ends_straight():
    # Section 2 of Aristidou and Lasenby: the joints near the end are usually in a straight line.
    rng = np.random.default_rng(5)
    chain = chain_from_points(np.vstack((np.zeros(3), np.cumsum(directions(rng, 9), axis=0))))
    points, iterations, _ = solved(triangulation, chain, (4.0, 2.0, 1.0))
    bones = np.diff(points, axis=0)[-5:]
    assert iterations == 1
    assert np.abs(np.cross(bones[0], bones[1:])).max() < 1e-9


def test_target_triangle_moves_two_joints_where_a_triangle_exists():
    bones = np.array([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0], [1.0, 0, 0]])
    chain = chain_from_points(np.vstack((np.zeros(3), np.cumsum(bones, axis=0))))
    target = np.array([0.5, -1.2, 0.8])
    points, iterations, _ = solved(target_triangle, chain, target)
    assert iterations == 1
    # Beyond the second joint the chain has turned stiffly.
    shape = np.linalg.norm(points[1:, None] - points[None, 1:], axis=-1)
    before = np.linalg.norm(chain[1:, None, :3] - chain[None, 1:, :3], axis=-1)
    assert np.abs(shape - before).max() < 1e-12


def test_fabrik_does_one_iteration_as_the_paper_writes_it():
    rng = np.random.default_rng(6)
    chain = random_chain(rng)
    target = reachable_target(rng, chain)
    out = np.empty_like(chain)
    fabrik_chain(chain, target, 0.0, 1, out)
    points, lengths = chain[:, :3].copy(), chain[:-1, LENGTH]
    points[-1] = target
    for i in range(len(lengths) - 1, -1, -1):
        share = lengths[i] / np.linalg.norm(points[i + 1] - points[i])
        points[i] = (1.0 - share) * points[i + 1] + share * points[i]
    points[0] = chain[0, :3]
    for i in range(len(lengths)):
        share = lengths[i] / np.linalg.norm(points[i + 1] - points[i])
        points[i + 1] = (1.0 - share) * points[i] + share * points[i + 1]
    assert np.abs(out[:, :3] - points).max() < 1e-12


@given(seed=seeds, bend=st.floats(0.2, 2.0), root_first=st.booleans())
def test_ccd_keeps_to_its_limits_and_to_its_damping(seed, bend, root_first):
    rng = np.random.default_rng(seed)
    chain = random_chain(rng)
    lengths = chain[:-1, LENGTH]
    # From a straight start, which is within any limit.
    chain[:, :3] = np.concatenate(([0.0], np.cumsum(lengths)))[:, None] * directions(rng, 1)
    limits = free_joints(len(lengths))
    limits[:, 1] = bend
    out = np.empty_like(chain)
    target = reachable_target(rng, chain)
    ccd_chain(chain, target, limits, TOLERANCE, 300, root_first, out)
    bones = np.diff(out[:, :3], axis=0) / lengths[:, None]
    bends = np.arccos(np.clip((bones[:-1] * bones[1:]).sum(axis=1), -1.0, 1.0))
    assert bends.max() < bend + 1e-6
    limits[:] = (0.01, math.pi)
    ccd_chain(chain, target, limits, TOLERANCE, 1, root_first, out)
    bones, before = np.diff(out[:, :3], axis=0), np.diff(chain[:, :3], axis=0)
    turns = np.linalg.norm(np.cross(bones, before), axis=1) / lengths**2
    assert (turns <= np.sin(0.01 * np.arange(1, len(lengths) + 1)) + 1e-9).all()


def test_a_chain_needs_two_points_in_space():
    with pytest.raises(VrIkError, match='2 or more'):
        chain_from_points(np.zeros((1, 3)))
    with pytest.raises(VrIkError, match='2 or more'):
        chain_from_points(np.zeros((4, 2)))
