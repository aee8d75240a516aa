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

"""Arrays to messages; message objects are made once and filled for every frame."""

from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import Transform, TransformStamped
from tf2_msgs.msg import TFMessage

from vr_ik.math.rotations import quaternion_from_matrix
from vr_ik.types import Array, TrackingFrame


def stamp_in_ns(stamp: Time) -> int:
    """Return a stamp in nanoseconds."""
    return int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec)


def set_stamp(stamp: Time, stamp_ns: int) -> None:
    """Write nanoseconds into a stamp."""
    stamp.sec, stamp.nanosec = divmod(stamp_ns, 1_000_000_000)


class FrameWriter:
    """Writes poses of children of one frame into a TF message that it owns."""

    def __init__(self, parent_frame: str, frame_prefix: str) -> None:
        """Write children `frame_prefix + name` of `parent_frame`."""
        self._parent_frame = parent_frame
        self._frame_prefix = frame_prefix
        self._message = TFMessage()
        self._stamp = Time()
        self._transforms: dict[str, TransformStamped] = {}

    def write(self, frame: TrackingFrame) -> TFMessage:
        """Return the message for a tracking frame; it is overwritten by the next call."""
        set_stamp(self._stamp, frame.stamp_ns)
        transforms = [self._transform(name) for name in frame.names]
        for transform, pose in zip(transforms, frame.poses, strict=True):
            fill_transform(transform.transform, pose[:3, 3], quaternion_from_matrix(pose[:3, :3]))
        self._message.transforms = transforms
        return self._message

    def write_one(self, stamp_ns: int, name: str, position: Array, quaternion: Array) -> TFMessage:
        """Return the message for one child; it is overwritten by the next call."""
        set_stamp(self._stamp, stamp_ns)
        transform = self._transform(name)
        fill_transform(transform.transform, position, quaternion)
        self._message.transforms = [transform]
        return self._message

    def _transform(self, name: str) -> TransformStamped:
        if name not in self._transforms:
            transform = TransformStamped()
            transform.header.frame_id = self._parent_frame
            transform.header.stamp = self._stamp
            transform.child_frame_id = self._frame_prefix + name
            self._transforms[name] = transform
        return self._transforms[name]


def fill_transform(transform: Transform, position: Array, quaternion: Array) -> None:
    """Write a position [m] and a unit quaternion xyzw into a transform."""
    p, q = transform.translation, transform.rotation
    p.x, p.y, p.z = position.tolist()
    q.x, q.y, q.z, q.w = quaternion.tolist()


def seconds_of(duration: Duration) -> float:
    """Return a duration in seconds."""
    return float(duration.sec) + 1e-9 * float(duration.nanosec)
