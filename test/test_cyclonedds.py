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

"""Another vendor's DDS reads what the nodes publish: CycloneDDS, with types of the test's own."""

# mypy: disable-error-code="call-arg"

from dataclasses import dataclass
import time
from typing import Any

import numpy as np
import pytest
from ros_graph import DOMAIN_ID, NodeProcess, parameters, PATIENCE_S

from vr_ik.body.anthropometry import Proportions
from vr_ik.body.human import human_urdf
from vr_ik.kinematics.model import RobotModel
from vr_ik.trackers.simulated import SIMULATED_ROLES

pytest.importorskip('cyclonedds', reason='CycloneDDS is not installed: nothing foreign reads')

from cyclonedds.core import Policy, Qos  # noqa: E402
from cyclonedds.domain import Domain, DomainParticipant  # noqa: E402
from cyclonedds.idl import IdlStruct  # noqa: E402
from cyclonedds.idl.types import float64, int32, sequence, uint32  # noqa: E402
from cyclonedds.sub import DataReader  # noqa: E402
from cyclonedds.topic import Topic  # noqa: E402
from cyclonedds.util import duration  # noqa: E402

LOOPBACK = (
    '<CycloneDDS><Domain><General><Interfaces><NetworkInterface name="lo" multicast="false"/>'
    '</Interfaces><AllowMulticast>false</AllowMulticast></General><Discovery>'
    '<ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>60</MaxAutoParticipantIndex>'
    '<Peers><Peer Address="127.0.0.1"/></Peers></Discovery></Domain></CycloneDDS>'
)


@dataclass
class Time(IdlStruct, typename='builtin_interfaces::msg::dds_::Time_'):
    sec: int32
    nanosec: uint32


@dataclass
class Header(IdlStruct, typename='std_msgs::msg::dds_::Header_'):
    stamp: Time
    frame_id: str


@dataclass
class JointState(IdlStruct, typename='sensor_msgs::msg::dds_::JointState_'):
    header: Header
    name: sequence[str]
    position: sequence[float64]
    velocity: sequence[float64]
    effort: sequence[float64]


@dataclass
class Vector3(IdlStruct, typename='geometry_msgs::msg::dds_::Vector3_'):
    x: float64
    y: float64
    z: float64


@dataclass
class Quaternion(IdlStruct, typename='geometry_msgs::msg::dds_::Quaternion_'):
    x: float64
    y: float64
    z: float64
    w: float64


@dataclass
class Transform(IdlStruct, typename='geometry_msgs::msg::dds_::Transform_'):
    translation: Vector3
    rotation: Quaternion


@dataclass
class TransformStamped(IdlStruct, typename='geometry_msgs::msg::dds_::TransformStamped_'):
    header: Header
    child_frame_id: str
    transform: Transform


@dataclass
class TFMessage(IdlStruct, typename='tf2_msgs::msg::dds_::TFMessage_'):
    transforms: sequence[TransformStamped]


RELIABLE = Qos(Policy.Reliability.Reliable(duration(seconds=1)), Policy.History.KeepLast(200))


@pytest.fixture(scope='module')
def received():
    """Joint states and transforms, as a CycloneDDS participant has read them from the nodes."""
    domain = Domain(DOMAIN_ID, LOOPBACK)
    participant = DomainParticipant(DOMAIN_ID)
    states = DataReader(
        participant, Topic(participant, 'rt/joint_states', JointState, qos=RELIABLE), qos=RELIABLE
    )
    tf = DataReader(
        participant, Topic(participant, 'rt/tf', TFMessage, qos=RELIABLE), qos=RELIABLE
    )
    nodes = [
        NodeProcess('solver_node', *parameters(publish_link_tf='true')),
        NodeProcess('tracker_node', *parameters(dropouts_per_minute=0.0, glitches_per_minute=0.0)),
    ]
    try:
        found: tuple[list[Any], list[Any]] = [], []
        deadline_s = time.monotonic() + PATIENCE_S
        # Transforms come from both nodes, and on a busy machine from one long before the other.
        while min(map(len, found)) < 60 or not has_both(found[1]):
            assert time.monotonic() < deadline_s, [node.output() for node in nodes]
            found[0].extend(states.take(200))
            found[1].extend(tf.take(200))
            time.sleep(0.05)
        yield found
        assert [node.end() for node in nodes] == [0, 0]
    finally:
        for node in nodes:
            node.kill()
        del states, tf, participant, domain


def has_both(messages: list[Any]) -> bool:
    children = {t.child_frame_id for message in messages for t in message.transforms}
    return {'hmd', 'base_link'} <= children


def stamp_ns(header: Header) -> int:
    return header.stamp.sec * 10**9 + header.stamp.nanosec


def test_joint_states_are_whole_and_in_order(received):
    states, _ = received
    model = RobotModel.from_urdf(human_urdf(Proportions.from_height(1.75)))
    stamps = [stamp_ns(state.header) for state in states]
    assert stamps == sorted(set(stamps))
    for state in states:
        assert tuple(state.name) == model.joint_names
        assert len(state.position) == len(state.velocity) == len(model.joint_names)
        assert np.isfinite(state.position).all()
        assert (np.array(state.position) >= model.lower - 1e-9).all()
        assert (np.array(state.position) <= model.upper + 1e-9).all()
        assert state.effort == []


def test_devices_and_links_are_in_the_transforms(received):
    states, messages = received
    frames = {(t.header.frame_id, t.child_frame_id) for m in messages for t in m.transforms}
    assert {('vr_world', role) for role in SIMULATED_ROLES} <= frames
    assert {('vr_world', 'base_link'), ('l_elbow_flexion_link', 'l_forearm')} <= frames
    for message in messages:
        for entry in message.transforms:
            q = entry.transform.rotation
            assert abs(np.linalg.norm([q.x, q.y, q.z, q.w]) - 1.0) < 1e-9
    bodies = {
        stamp_ns(m.transforms[0].header)
        for m in messages
        if m.transforms[0].child_frame_id == 'base_link'
    }
    solved = {stamp_ns(state.header) for state in states}
    assert len(bodies & solved) > 30
