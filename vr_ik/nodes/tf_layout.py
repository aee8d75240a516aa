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


"""TF messages as bytes, whatever encoding they came in."""

from rclpy.serialization import deserialize_message, serialize_message
from tf2_msgs.msg import TFMessage

from vr_ik.errors import VrIkError
from vr_ik.io.tf_cdr import CDR_LITTLE_ENDIAN


def in_our_layout(message: bytes) -> bytes:
    """Return a serialized TFMessage in the layout that `DeviceReader` reads."""
    if message[:2] == CDR_LITTLE_ENDIAN:
        return message
    # Another encoding, such as a big endian machine's: have it put into ours.
    try:
        return bytes(serialize_message(deserialize_message(message, TFMessage)))
    except Exception as error:  # rmw has errors of its own, which no module exports
        raise VrIkError('Dropped a message on /tf: it is no TFMessage.') from error
