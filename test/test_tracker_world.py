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

"""The tracker node's world: base stations, recentering and the map, seen by a ROS listener."""

from collections.abc import Iterator
import math

import numpy as np
from openvr_graph import (
    at,
    connected_graph,
    place,
    StaticFrames,
    STATION_POSE,
    TrackerGraph,
)
import pytest
from ros_graph import NodeProcess, parameters

from vr_ik.math.rotations import inverse_pose
from vr_ik.simulation.runtime import RUNNING_OK, RUNNING_OUT_OF_RANGE
from vr_ik.types import Array


@pytest.fixture(scope='module')
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TrackerGraph]:
    """The node, connected to a runtime that was started after it."""
    with connected_graph(tmp_path_factory.mktemp('graph')) as graph:
        yield graph


def test_base_stations_are_static_frames(graph: TrackerGraph) -> None:
    """They are on /tf_static for whoever comes, are told anew when moved, and never on /tf."""
    static = graph.static.poses
    graph.wait(lambda: 'LHB-1' in graph.static.poses, 'the base station')
    np.testing.assert_allclose(graph.static.poses['LHB-1'], STATION_POSE, atol=1e-6)
    graph.runtime.set_poses([graph.station], at(1, 2, 3)[None])
    graph.wait(lambda: graph.static.poses is not static, 'the move')
    graph.wait(lambda: graph.static.poses['LHB-1'][0, 3] == 1.0, 'the move')
    graph.runtime.set_poses([graph.station], STATION_POSE[None])
    graph.wait(lambda: graph.static.poses['LHB-1'][0, 3] == 3.0, 'the way back')
    for transforms in graph.recording.frames:
        assert 'LHB-1' not in {transform.child_frame_id for transform in transforms}


def test_recenter_moves_the_world_as_a_whole(graph: TrackerGraph) -> None:
    """The user is at the origin and looks along x; heights and all relative poses stay."""
    before = place(graph, hmd=at(2, -1, 1.7, 2.5), waist=at(1.9, -1, 1.0, 2.0))
    graph.wait(lambda: 'LHB-1' in graph.static.poses, 'the base station')
    station = graph.static.poses['LHB-1']
    assert graph.call('recenter').success
    after = graph.wait_for_frame(lambda frame: abs(frame['hmd'][0, 3]) < 1e-6, 'the new centre')
    np.testing.assert_allclose(after['hmd'], at(0, 0, 1.7), atol=1e-6)
    for name in ('waist', 'l_controller', '4E-77'):
        np.testing.assert_allclose(
            inverse_pose(after['hmd']) @ after[name],
            inverse_pose(before['hmd']) @ before[name],
            atol=1e-6,
        )
    graph.wait(lambda: abs(graph.static.poses['LHB-1'][0, 3] - 3.0) > 0.1, 'the base station')
    np.testing.assert_allclose(
        inverse_pose(after['hmd']) @ graph.static.poses['LHB-1'],
        inverse_pose(before['hmd']) @ station,
        atol=1e-6,
    )
    graph.runtime.set_poses([graph.hmd], at(0, 0, 1.7)[None])
    graph.wait_for_frame(lambda frame: abs(frame['hmd'][0, 3]) > 0.1, 'the old centre')
    assert graph.call('recenter').success  # back to the runtime's own world
    place(graph, hmd=at(0, 0, 1.7))


def test_recentering_outlasts_changes_of_all_but_the_source(graph: TrackerGraph) -> None:
    """With other roles the origin stays; in another universe it is the source's, and told."""
    place(graph, hmd=at(2, -1, 1.7, 1.0))
    assert graph.call('recenter').success
    graph.wait_for_frame(lambda frame: abs(frame['hmd'][0, 3]) < 1e-6, 'the centre')
    assert graph.set_parameters(roles='4E-77=l_knee').successful
    frame = graph.wait_for_frame(lambda frame: 'l_knee' in frame, 'the knee')
    np.testing.assert_allclose(frame['hmd'], at(0, 0, 1.7), atol=1e-6)
    assert not graph.has_logged('recenter again')
    assert graph.set_parameters(universe='raw').successful
    place(graph, hmd=at(2, -1, 1.7, 1.0))
    graph.wait(lambda: graph.has_logged('recenter again'), 'a word on it')
    assert graph.set_parameters(universe='standing').successful
    assert graph.set_parameters(roles='').successful
    graph.wait_for_frame(lambda frame: '4E-77' in frame, 'the serial')
    place(graph, hmd=at(0, 0, 1.7))


def test_recenter_without_a_user_is_refused(graph: TrackerGraph) -> None:
    """Nothing is moved when nobody knows where the user is."""
    for index in (graph.hmd, graph.waist):
        graph.runtime.set_tracking(index, RUNNING_OUT_OF_RANGE, pose_valid=False)
    graph.wait_for_frame(lambda frame: not {'hmd', 'waist'} & set(frame), 'nobody')
    answer = graph.call('recenter')
    assert not answer.success
    assert 'none of hmd, waist' in answer.message
    for index in (graph.hmd, graph.waist):
        graph.runtime.set_tracking(index, RUNNING_OK, pose_valid=True)
    graph.wait_for_frame(lambda frame: 'hmd' in frame, 'the user')


def test_the_map_is_set_saved_and_loaded(graph: TrackerGraph) -> None:
    """Live by parameters, back from the file by a service, and at the next start by itself."""
    sessions = graph.runtime.client_count('sessions_opened')
    assert not graph.call('save_map').success
    assert not graph.call('load_map').success
    values = {'map_x_m': 1.0, 'map_y_m': -2.0, 'map_z_m': 0.5}
    assert graph.set_parameters(map_frame='map', map_yaw_deg=90.0, **values).successful
    expected = at(1, -2, 0.5, math.pi / 2)

    def is_there(x_m: float) -> bool:
        found = graph.static.poses.get('map')
        return found is not None and abs(found[0, 3] - x_m) < 1e-9

    graph.wait(lambda: is_there(1.0), 'the map')
    np.testing.assert_allclose(graph.static.poses['map'], expected, atol=1e-9)
    graph.wait(lambda: 'LHB-1' in graph.static.poses, 'the base station')
    answer = graph.call('save_map')
    assert answer.success
    assert str(graph.map_file) in answer.message
    assert graph.set_parameters(map_x_m=7.0).successful
    graph.wait(lambda: is_there(7.0), 'the change')
    assert graph.call('load_map').success
    graph.wait(lambda: is_there(1.0), 'the saved map')
    assert graph.runtime.client_count('sessions_opened') == sessions  # it has not reconnected
    check_the_next_start(graph, expected)


def check_the_next_start(graph: TrackerGraph, expected: Array) -> None:
    """Another node takes the map over, except for what it is told otherwise."""
    others = StaticFrames(graph, '/other/tf_static')
    remapped = ('-r', '__ns:=/other', '-r', '/tf:=tf', '-r', '/tf_static:=tf_static')
    process = NodeProcess(
        'tracker_node', *parameters(map_file=graph.map_file, map_z_m=3.0), *remapped
    )
    try:
        graph.wait(lambda: 'map' in others.poses, 'the map of the next start')
        np.testing.assert_allclose(others.poses['map'][:2], expected[:2], atol=1e-9)
        assert others.poses['map'][2, 3] == 3.0
        assert process.end() == 0, process.output()
    finally:
        process.kill()
