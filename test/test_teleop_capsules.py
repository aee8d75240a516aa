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

"""Capsules hold the shapes of real robots; distances agree with what sampling finds."""

from hypothesis import given, strategies as st
import numpy as np
import pinocchio
import pytest
from robots import PACKAGE_PATHS, urdf_path

from vr_ik.teleop.barriers import braked, capsule_distance, fastest, segment_box_distance
from vr_ik.teleop.capsules import Capsule, fit_capsule, link_capsules, merged
from vr_ik.types import Array

coordinates = st.floats(-1.0, 1.0)
segments = st.tuples(*[coordinates] * 6).map(np.array)
SHARES = np.linspace(0.0, 1.0, 201)


def beyond(capsule: Capsule, points: Array) -> float:
    """Return how far the farthest point is outside a capsule [m]."""
    way = capsule.end - capsule.start
    share = (points - capsule.start) @ way / max(float(way @ way), 1e-300)
    nearest = capsule.start + np.clip(share, 0.0, 1.0)[:, None] * way
    return float((np.linalg.norm(points - nearest, axis=1) - capsule.radius).max())


@pytest.mark.parametrize('name', ('panda', 'ur5_robot', 'kinova', 'xarm7'))
def test_capsules_hold_the_meshes_as_pinocchio_reads_them(name: str) -> None:
    path = str(urdf_path(name))
    model = pinocchio.buildModelFromUrdf(path)
    folders = [str(folder) for folder in PACKAGE_PATHS]
    kind = pinocchio.GeometryType.COLLISION
    geometry = pinocchio.buildGeomFromUrdf(model, path, kind, package_dirs=folders)
    capsules, missing = link_capsules(urdf_path(name).read_text(), PACKAGE_PATHS)
    assert not missing
    checked = 0
    for shape in geometry.geometryObjects:
        if not shape.meshPath or not hasattr(shape.geometry, 'vertices'):
            continue
        frame = model.frames[shape.parentFrame]
        to_link = frame.placement.actInv(shape.placement).homogeneous
        points = np.array(shape.geometry.vertices()) * np.ravel(shape.meshScale)
        points = points @ to_link[:3, :3].T + to_link[:3, 3]
        assert min(beyond(capsule, points) for capsule in capsules[frame.name]) < 1e-5
        checked += 1
    assert checked > 4


@given(st.lists(segments, min_size=1, max_size=8))
def test_a_fitted_capsule_holds_its_spheres_and_so_does_a_merged_one(rows) -> None:
    balls = [Capsule(row[:3], row[:3], 0.01 + abs(row[3])) for row in rows]
    fit = fit_capsule(np.array([b.start for b in balls]), np.array([b.radius for b in balls]))
    joined = merged(balls)
    for ball in balls:
        held = [Capsule(c.start, c.end, c.radius - ball.radius) for c in (fit, *joined)]
        outside = [beyond(capsule, ball.start[None]) for capsule in held]
        assert outside[0] < 1e-9
        assert min(outside[1:]) < 1e-9


@given(segments, segments)
def test_distance_of_capsules_is_the_least_of_all_points(one, two) -> None:
    a = one[:3] + SHARES[:, None] * one[3:]
    b = two[:3] + SHARES[:, None] * two[3:]
    sampled = np.linalg.norm(a[:, None] - b[None], axis=2).min()
    exact = capsule_distance(one, two, 0.0)
    # Segments below a micrometre count as points, those as near to parallel as parallel.
    assert sampled - 0.02 < exact < sampled + 2e-6


@given(segments, segments)
def test_distance_from_a_box_is_the_least_of_all_points(segment, corners) -> None:
    box = np.sort(corners.reshape(2, 3), axis=0)
    points = segment[:3] + SHARES[:, None] * segment[3:]
    outside = np.maximum(points - box[1], 0.0) + np.minimum(points - box[0], 0.0)
    depths = np.minimum(points - box[0], box[1] - points).min(axis=1)
    sampled = (np.linalg.norm(outside, axis=1) - np.maximum(depths, 0.0)).min()
    point, normal = np.empty(3), np.empty(3)
    exact = segment_box_distance(segment, box.ravel(), point, normal)
    assert np.linalg.norm(normal) == pytest.approx(1.0)
    assert sampled - 0.02 < exact < sampled + 1e-4


@given(segments, segments)
def test_no_piece_is_nearer_to_a_box_than_the_whole(segment, corners) -> None:
    box, point, normal = np.sort(corners.reshape(2, 3), axis=0).ravel(), np.empty(3), np.empty(3)
    whole = segment_box_distance(segment, box, point, normal)
    way = segment[3:] / 4
    pieces = [np.r_[segment[:3] + k * way, way] for k in range(4)]
    least = min(segment_box_distance(piece, box, point, normal) for piece in pieces)
    assert least == pytest.approx(whole, abs=1e-7 if whole < 0.0 else 1e-4)


@given(
    st.floats(0.001, 3.0),
    st.floats(0.1, 20.0),
    st.lists(st.floats(0.0005, 0.1), min_size=1, max_size=60),
)
def test_braking_from_the_fastest_approach_never_crosses(room, deceleration, ticks) -> None:
    position, speed = 0.0, 0.0
    for k, seconds in enumerate((*ticks, *[0.1] * 400)):
        end = fastest(speed, room - position, deceleration, seconds, 0.1)
        # At first as fast as may be, then braking to a stop.
        speed_now = end if k < len(ticks) else braked(speed, deceleration * seconds)
        assert end >= braked(speed, deceleration * seconds) - 1e-9
        position += 0.5 * seconds * (speed + speed_now)
        speed = speed_now
        assert position <= room + 1e-9
    assert speed == 0.0
