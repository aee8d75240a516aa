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

"""Where a body faces that no device on the trunk tells of: by head and hands."""

import math

from hypothesis import given
import hypothesis.strategies as st
import numpy as np
import pytest

from vr_ik.body.heading import Heading, look_direction
from vr_ik.body.heading_by_cases import HeadingByCases
from vr_ik.math.rotations import pose, rotation_from_rpy

pitches = st.floats(-1.5, 2.5)
angles = st.floats(-3.1, 3.1)


def at(yaw, position=(0.0, 0.0, 1.6)):
    return pose(rotation_from_rpy(0.0, 0.0, yaw), np.array(position))


def test_the_trunk_faces_where_head_and_hands_do():
    hands = (at(0.0, (0.3, 0.3, 1.0)), at(0.0, (0.3, -0.3, 1.0)))
    assert abs(Heading().follow(at(0.0), hands, 0.0)) < 1e-9
    # A head that turns fast takes the trunk along: no neck turns farther than this.
    quick = Heading()
    quick.follow(at(0.0), None, 0.0)
    assert abs(quick.follow(at(1.5), None, 0.01) - 1.5) <= math.radians(50.0) + 1e-9
    # The head turns, the hands stay: the trunk is between.
    assert 0.1 < Heading().follow(at(0.8), hands, 0.0) < 0.7
    # Crossed hands say nothing.
    assert abs(Heading().follow(at(0.8), (hands[1], hands[0]), 0.0) - 0.8) < 1e-9


def test_the_heading_turns_the_short_way_and_takes_its_time():
    heading = Heading()
    heading.follow(at(3.0), None, 0.0)
    first = heading.follow(at(-3.0), None, 0.01)
    assert 3.0 < first < 3.0 + 0.3
    for _ in range(1000):
        last = heading.follow(at(-3.0), None, 0.01)
    assert abs(math.remainder(last + 3.0, 2.0 * math.pi)) < 1e-3


def test_looking_down_does_not_turn_the_trunk():
    down = pose(rotation_from_rpy(0.0, math.radians(89.5), 0.0), np.zeros(3))
    past = pose(rotation_from_rpy(0.0, math.radians(95.0), 0.0), np.zeros(3))
    for head in (down, past):
        assert abs(Heading().follow(head, None, 0.0)) < 1e-6


@given(pitches, angles, st.floats(-0.3, 0.3))
def test_where_a_head_faces_does_not_depend_on_how_far_down_it_looks(pitch, yaw, roll):
    head = pose(rotation_from_rpy(0.0, pitch, yaw), np.zeros(3))
    x, y = look_direction(head, math.nan)
    assert x * math.cos(yaw) + y * math.sin(yaw) == pytest.approx(1.0, abs=1e-9)
    tilted = head @ pose(rotation_from_rpy(roll, 0.0, 0.0), np.zeros(3))
    x, y = look_direction(tilted, math.nan)
    assert x * math.cos(yaw) + y * math.sin(yaw) > math.cos(0.35)


@given(angles)
def test_who_lies_on_the_side_faces_where_the_head_looks(yaw):
    head = pose(rotation_from_rpy(math.pi / 2.0, 0.0, yaw), np.zeros(3))
    x, y = look_direction(head, math.nan)
    assert x * math.cos(yaw) + y * math.sin(yaw) == pytest.approx(1.0, abs=1e-9)


@given(st.floats(0.0, 3.1), angles, st.floats(-3.1, 3.1))
def test_a_heading_does_not_leap_however_the_headset_is_turned(roll, yaw, pitch):
    """It may be in a hand; where it was just now tells which way it faces upside down."""
    heading = Heading()
    turned = []
    for share in np.linspace(0.0, 1.0, 200):
        rotation = rotation_from_rpy(share * roll, 0.3 * math.sin(share * pitch), yaw)
        turned.append(heading.follow(pose(rotation, np.zeros(3)), None, 0.01))
    assert np.abs(np.diff(turned)).max() < 0.5


def test_by_cases_an_unsteady_head_leaves_the_trunk_and_a_steady_one_turns_it():
    heading = HeadingByCases()
    hands = (at(0.0, (0.3, 0.3, 1.0)), at(0.0, (0.3, -0.3, 1.0)))
    for _ in range(60):
        assert abs(heading.follow(at(0.0), hands, 0.01)) < 1e-9
    assert abs(heading.follow(at(0.9), hands, 0.01)) < 1e-9
    turned = (at(0.9, (0.0, 0.4, 1.0)), at(0.9, (0.4, 0.0, 1.0)))
    for _ in range(200):
        yaw = heading.follow(at(0.9), turned, 0.01)
    assert abs(yaw - 0.9) < 0.01
