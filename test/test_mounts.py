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

"""Laws of the device mounts: on the skin of the right link, mirror images, REP-103 axes."""

import math

from body_support import Body, both
import numpy as np
import pytest

from vr_ik.body.anthropometry import Proportions
from vr_ik.body.human import human_urdf
from vr_ik.body.mounts import device_mounts
from vr_ik.types import Array

ROLES = {
    'hmd', 'l_controller', 'r_controller', 'waist', 'chest', 'l_foot', 'r_foot', 'l_elbow',
    'r_elbow', 'l_knee', 'r_knee', 'l_shoulder', 'r_shoulder',
}  # fmt: skip
P = Proportions.from_height(1.75)


def worn(pose: dict[str, float]) -> dict[str, Array]:
    """Return pose_root_from_device of every role on a body in this pose."""
    links = Body(human_urdf(P)).link_poses(pose)
    mounts = device_mounts(P)
    return {role: links[m.link] @ m.pose_link_from_device for role, m in mounts.items()}


def test_every_role_has_a_mount_on_a_link_of_the_model() -> None:
    mounts = device_mounts(P)
    assert set(mounts) == ROLES
    assert {mount.link for mount in mounts.values()} <= set(Body(human_urdf(P)).link_names)
    for mount in mounts.values():
        rotation = mount.pose_link_from_device[:3, :3]
        np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=1e-12)
        assert np.linalg.det(rotation) > 0.0


def test_left_and_right_mounts_are_mirror_images() -> None:
    mirror = np.diag([1.0, -1.0, 1.0, 1.0])
    devices = worn({})
    for role in ROLES:
        if role.startswith('l_'):
            expected = mirror @ devices[role] @ mirror
            np.testing.assert_allclose(devices[f'r_{role[2:]}'], expected, atol=1e-9)
        elif not role.startswith('r_'):
            np.testing.assert_allclose(mirror @ devices[role] @ mirror, devices[role], atol=1e-9)


def test_trackers_have_the_axes_of_someone_who_stands() -> None:
    devices = worn({})
    for role in ROLES - {'l_controller', 'r_controller'}:
        np.testing.assert_allclose(devices[role][:3, :3], np.eye(3), atol=1e-9, err_msg=role)


def test_controllers_held_forward_point_forward_and_a_little_up() -> None:
    devices = worn(both(elbow_flexion=90))
    for side in 'lr':
        x, y, z = devices[f'{side}_controller'][:3, :3].T
        np.testing.assert_allclose(y, [0.0, 1.0, 0.0], atol=1e-9)
        elevation = math.degrees(math.asin(x[2]))
        assert 10.0 < elevation < 30.0 and x[0] > 0.0 and z[2] > 0.8


# Ranges of heights above the ground over standing height, and of x and outward y [m].
PLACES = {
    'hmd': ((0.92, 0.95), (0.08, 0.13), (0.0, 0.0)),
    'chest': ((0.72, 0.82), (0.08, 0.15), (0.0, 0.0)),
    'waist': ((0.57, 0.64), (-0.15, -0.07), (0.0, 0.0)),
    'l_shoulder': ((0.81, 0.85), (-0.05, 0.05), (0.12, 0.22)),
    'l_elbow': ((0.64, 0.72), (-0.05, 0.05), (0.18, 0.28)),
    'l_controller': ((0.42, 0.50), (-0.05, 0.05), (0.10, 0.20)),
    'l_knee': ((0.22, 0.28), (0.03, 0.10), (0.05, 0.12)),
    'l_foot': ((0.02, 0.06), (0.04, 0.15), (0.05, 0.12)),
}


@pytest.mark.parametrize('role', PLACES)
def test_mounts_are_where_people_wear_them(role: str) -> None:
    x, y, z = worn({})[role][:3, 3]
    (low, high), x_range, y_range = PLACES[role]
    assert low < (z + P.hip_height) / P.height < high
    assert x_range[0] < x < x_range[1]
    assert y_range[0] - 1e-9 <= y <= y_range[1] + 1e-9


def test_mounts_grow_with_the_body() -> None:
    small, tall = (device_mounts(Proportions.from_height(h)) for h in (1.2, 1.8))
    for role in ROLES:
        expected = 1.5 * small[role].pose_link_from_device[:3, 3]
        np.testing.assert_allclose(tall[role].pose_link_from_device[:3, 3], expected, atol=1e-12)
