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

"""The web page's scene: what it shows is what the model says."""

from collections.abc import Iterator
import sys
import urllib.request

import numpy as np
import pytest

from vr_ik.body.anthropometry import Proportions
from vr_ik.body.human import human_urdf
from vr_ik.errors import MissingDependencyError, UrdfError
from vr_ik.kinematics.model import RobotModel
from vr_ik.math.rotations import matrix_from_quaternion, pose
from vr_ik.viewer.looks import link_hulls, link_meshes
from vr_ik.viewer.scene import Viewer

URDF = human_urdf(Proportions.from_height(1.7))
MODEL = RobotModel.from_urdf(URDF, floating_base=True)


@pytest.fixture(scope='module')
def viewer() -> Iterator[Viewer]:
    viewer = Viewer(port=0)
    yield viewer
    viewer.close()


def pose_of(node) -> np.ndarray:
    w, x, y, z = node.wxyz
    return pose(matrix_from_quaternion(np.array([x, y, z, w])), np.array(node.position))


def random_pose(rng: np.random.Generator) -> np.ndarray:
    return pose(matrix_from_quaternion(rng.normal(size=4)), rng.uniform(-1.0, 1.0, 3))


@pytest.mark.parametrize('seed', range(2))
def test_links_are_where_forward_kinematics_has_them(viewer, seed):
    rng = np.random.default_rng(seed)
    body, ghost = viewer.set_body(MODEL, URDF), viewer.set_ghost(MODEL, URDF)
    q, q_true = MODEL.random(rng), MODEL.random(rng)
    viewer.show(q, q_true, {})
    for view, configuration in ((body, q), (ghost, q_true)):
        assert {'head', 'l_forearm', 'r_forearm', 'l_ankle'} <= view.links.keys()
        for link, node in view.links.items():
            np.testing.assert_allclose(
                pose_of(node), MODEL.link_pose(configuration, link), atol=1e-12
            )


def test_a_new_body_takes_the_place_of_the_old(viewer):
    old = viewer.set_body(MODEL, URDF)
    new = viewer.set_body(MODEL, URDF)
    q = MODEL.random(np.random.default_rng(1))
    viewer.show(q, q, {})
    np.testing.assert_allclose(pose_of(new.links['head']), MODEL.link_pose(q, 'head'), atol=1e-12)
    assert not np.allclose(pose_of(old.links['head']), MODEL.link_pose(q, 'head'))


def test_devices_are_shown_where_they_are_and_lost_ones_say_so(viewer):
    rng = np.random.default_rng(2)
    q = MODEL.neutral()
    hmd, waist = random_pose(rng), random_pose(rng)
    viewer.show(q, q, {'hmd': hmd, 'waist': waist})
    np.testing.assert_allclose(pose_of(viewer.devices.frames['hmd']), hmd, atol=1e-12)
    assert viewer.devices.labels['waist'].text == 'waist'
    viewer.show(q, q, {'hmd': waist})
    np.testing.assert_allclose(pose_of(viewer.devices.frames['hmd']), waist, atol=1e-12)
    np.testing.assert_allclose(pose_of(viewer.devices.frames['waist']), waist, atol=1e-12)
    assert viewer.devices.labels['waist'].text == 'waist: lost'
    viewer.show(q, q, {'waist': hmd})
    assert viewer.devices.labels['waist'].text == 'waist'


def test_the_page_is_served_on_this_machine_only(viewer):
    with urllib.request.urlopen(viewer.url.replace('localhost', '127.0.0.1')) as page:
        assert page.status == 200
        assert b'<html' in page.read().lower()
    assert viewer.host == '127.0.0.1'


def test_a_taken_port_leads_to_the_next_free_one(viewer, capsys):
    port = int(viewer.url.rpartition(':')[2])
    other = Viewer(port)
    other.close()
    assert other.url != viewer.url
    assert capsys.readouterr().out == ''


def test_meshes_have_the_colours_and_the_size_of_the_body():
    meshes = link_meshes(URDF)
    assert len({mesh.colour for mesh in meshes}) >= 3
    poses = MODEL.link_poses(MODEL.neutral())
    corners = [
        (poses[MODEL.link_index(mesh.link)] @ np.c_[mesh.vertices, np.ones(len(mesh.vertices))].T)
        for mesh in meshes
    ]
    heights = np.concatenate([points[2] for points in corners])
    assert np.ptp(heights) == pytest.approx(1.7, abs=0.01)


def test_hulls_enclose_the_meshes():
    hulls = {hull.link: hull for hull in link_hulls(URDF, (1, 2, 3))}
    for mesh in link_meshes(URDF):
        assert np.all(hulls[mesh.link].vertices.min(axis=0) <= mesh.vertices.min(axis=0) + 1e-9)
        assert np.all(hulls[mesh.link].vertices.max(axis=0) >= mesh.vertices.max(axis=0) - 1e-9)
        assert hulls[mesh.link].colour == (1, 2, 3)


def test_a_description_without_shapes_is_refused():
    with pytest.raises(UrdfError, match='no visual shapes'):
        link_meshes('<robot name="bare"><link name="base_link"/></robot>')


@pytest.mark.parametrize('package', ['viser', 'yourdfpy'])
def test_a_missing_package_is_named(monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingDependencyError, match=f'pip install .*{package}'):
        if package == 'viser':
            Viewer(port=0)
        link_meshes(URDF)
