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

"""`vr_ik solve` against the real solver node: a bag, played to it, gives the same numbers."""

# mypy: disable-error-code="attr-defined, arg-type"

import time

from bag_support import session, single_transforms, STORE
import numpy as np
from ros_graph import listening, NodeProcess, parameters
from ros_recording import Recording, stamp_ns
from rosbags.rosbag2 import Reader, StoragePlugin, Writer

from vr_ik.config import SolverConfig
from vr_ik.io.tf_cdr_writer import FrameEncoder
from vr_ik.offline.solve_bag import solve_bag
from vr_ik.types import TrackingFrame

TF_TYPE = 'tf2_msgs/msg/TFMessage'
SETTINGS = {'user_height_m': 1.66, 'gap_hold_s': 0.2, 'smoothing_hz': 2.0}
IN_FLIGHT = 20
"""Messages sent and not yet answered: fewer than a subscription holds."""


def eventful_messages():
    """Return a session in TF messages: losses, a pause, time that goes back, frames in parts."""
    frames = session(8.0)
    encoder, others = FrameEncoder('vr_world', ''), FrameEncoder('map', 'robot/')
    pause, back = int(1.5e9), int(3e9)
    messages = []
    for i, frame in enumerate(frames):
        later = (pause if i >= 120 else 0) - (back if i >= 300 else 0)
        moved = TrackingFrame(frame.stamp_ns + later, frame.names, frame.poses)
        parts = single_transforms(moved) if 360 <= i < 420 else [moved]
        messages += [encoder.encode(part) for part in parts]
        if i % 7 == 0:
            messages.append(others.encode(moved))
    return messages


def write(path, messages):
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as bag:
        tf = bag.add_connection('/tf', TF_TYPE, typestore=STORE)
        for i, message in enumerate(messages):
            bag.write(tf, 10**18 + i * 1_000_000, message)
    return path


def solved_offline(path, target):
    """Return stamp, positions, velocities and root of each frame, as the command writes them."""
    solve_bag(path, target, SolverConfig(**SETTINGS), None, lambda share: None)
    states, roots = [], []
    with Reader(target) as reader:
        for connection, _, data in reader.messages():
            if connection.topic == '/joint_states':
                states.append(STORE.deserialize_cdr(data, connection.msgtype))
            elif connection.topic == '/tf':
                transform = STORE.deserialize_cdr(data, TF_TYPE).transforms[0]
                if transform.child_frame_id == 'base_link':
                    roots.append(transform)
    return states, roots


def play(recording, messages, expected):
    """Send messages to the node as they were recorded, and never more than it can hold."""
    first = len(recording.joint_states)
    for i, message in enumerate(messages):
        recording.tf.publish(message)
        if i % IN_FLIGHT == IN_FLIGHT - 1:
            recording.listener.spin_for(0.1)
    recording.wait(lambda: len(recording.joint_states) >= first + expected, 'all joint states')
    return recording.joint_states[first:]


def wake(recording):
    """Send a frame of a far future until the node answers: what follows is a start of time."""
    frame = session(0.1)[0]
    future = TrackingFrame(2 * 10**18, frame.names, frame.poses)
    message = FrameEncoder('vr_world', '').encode(future)

    def answered():
        if not recording.joint_states:
            recording.tf.publish(message)
            time.sleep(0.05)
        return bool(recording.joint_states)

    recording.wait(answered, 'the solver')
    recording.listener.spin_for(0.5)


def test_the_live_node_gives_the_same_numbers(tmp_path):
    messages = eventful_messages()
    states, roots = solved_offline(write(tmp_path / 'bag', messages), tmp_path / 'out')
    process = NodeProcess('solver_node', *parameters(**SETTINGS))
    try:
        with listening() as listener:
            recording = Recording(listener)
            wake(recording)
            live = play(recording, messages, len(states))
            listener.spin_for(0.5)
            live_roots = dict(recording.roots)
        process.end()
    finally:
        process.kill()
    assert len(live) == len(states)
    assert [stamp_ns(a.header) for a in live] == [stamp_ns(b.header) for b in states]
    for a, b in zip(live, states, strict=True):
        assert list(a.name) == list(b.name)
        np.testing.assert_allclose(a.position, b.position, rtol=0.0, atol=1e-9)
        np.testing.assert_allclose(a.velocity, b.velocity, rtol=1e-9, atol=1e-6)
    # Time goes back in the session: of a stamp that comes twice, both have kept the last.
    for stamp, root in {stamp_ns(root.header): root for root in roots}.items():
        expected = numbers(root)
        np.testing.assert_allclose(numbers(live_roots[stamp]), expected, rtol=0.0, atol=1e-9)


def numbers(transform):
    p, q = transform.transform.translation, transform.transform.rotation
    return [p.x, p.y, p.z, q.x, q.y, q.z, q.w]
