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

"""Settings that every test shares: a ROS 2 graph of its own, no time limits in property tests."""

import os

from hypothesis import settings

# Before anything imports rclpy. Child processes inherit them; another run has another domain.
os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
os.environ['ROS_DOMAIN_ID'] = str(1 + os.getpid() % 100)

# The first call of a kernel compiles it: no test is late for that.
settings.register_profile('vr_ik', deadline=None)
settings.load_profile('vr_ik')
