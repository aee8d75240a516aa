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

"""Recorded sessions for tests: bags as any recorder would have written them."""

from rosbags.rosbag2 import CompressionFormat, StoragePlugin, Writer
from rosbags.typesys import get_typestore, Stores

from vr_ik.io.tf_cdr_writer import FrameEncoder
from vr_ik.trackers.simulated import SIMULATED_ROLES
from vr_ik.trackers.simulated_user import SimulatedUser
from vr_ik.types import TrackingFrame

HEIGHT_M = 1.62
RATE_HZ = 60.0
STORE = get_typestore(Stores.ROS2_JAZZY)
LOST = range(300, 320)


def session(seconds):
    """A user who moves, holds a T-pose, moves again, and loses a foot for a while."""
    user = SimulatedUser(HEIGHT_M)
    frames = []
    for i in range(int(seconds * RATE_HZ)):
        t = i / RATE_HZ
        user_s = 6.0 + t if t < 1.0 else max(0.0, t - 2.0)
        roles = tuple(r for r in SIMULATED_ROLES if not (r == 'l_foot' and i in LOST))
        poses = user.device_poses(user.q_at(user_s), roles)
        frames.append(TrackingFrame(10**18 + round(i * 1e9 / RATE_HZ), roles, poses))
    return frames


def write_bag(path, frames, plugin=StoragePlugin.MCAP, topic='/tf', compressed=None):
    encoder = FrameEncoder('vr_world', '')
    writer = Writer(path, version=9, storage_plugin=plugin)
    if compressed is not None:
        writer.set_compression(compressed, CompressionFormat.ZSTD)
    with writer as bag:
        tf = bag.add_connection(topic, 'tf2_msgs/msg/TFMessage', typestore=STORE)
        text = bag.add_connection('/chatter', 'std_msgs/msg/String', typestore=STORE)
        String = STORE.types['std_msgs/msg/String']
        for frame in frames:
            bag.write(tf, frame.stamp_ns, bytes(encoder.encode(frame)))
            words = STORE.serialize_cdr(String(data='hello'), 'std_msgs/msg/String')
            bag.write(text, frame.stamp_ns, words)
    return path


def single_transforms(frame):
    """A frame as one message for each device."""
    return [
        TrackingFrame(frame.stamp_ns, (name,), pose[None])
        for name, pose in zip(frame.names, frame.poses, strict=True)
    ]
