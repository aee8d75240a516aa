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

"""Names and qualities of service of the topics, as the ROS ecosystem expects them."""

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

TF_TOPIC = '/tf'
"""Absolute, as tf2 has it; remap `/tf:=tf` for a tree of its own in a namespace."""
TF_STATIC_TOPIC = '/tf_static'
DIAGNOSTICS_TOPIC = '/diagnostics'
"""Absolute, as REP-107 has it."""
JOINT_STATES_TOPIC = 'joint_states'
ROBOT_DESCRIPTION_TOPIC = 'robot_description'
MARKERS_TOPIC = 'markers'

TF_QOS = QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE)
JOINT_STATES_QOS = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
MARKERS_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
DIAGNOSTICS_QOS = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
DEVICE_QOS = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
"""Topics of single devices. Joy too, as the joy package has it: nodes that want it reliable would
not hear a best effort publisher, those that want it as sensor data hear both."""
MEASURED_QOS = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
"""What a robot measures: hears reliable and best effort publishers alike."""
COMMAND_QOS = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
"""Commands to a robot's controllers, as ros2_control and moveit_servo subscribe to them."""
LATCHED_QOS = QoSProfile(
    depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
)
"""The last message is kept for subscribers that come later."""
STATIC_QOS = QoSProfile(
    depth=100, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
)
"""For /tf_static: the kept messages of all its publishers."""
