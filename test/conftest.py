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
import socket

from hypothesis import settings

# Before anything imports rclpy. Child processes inherit them; another run has another domain.


def reserve_domain() -> tuple[int, socket.socket]:
    """Return a ROS domain that no other test run on this machine has while the socket is open."""
    for domain in (1 + (os.getpid() + i) % 100 for i in range(100)):
        # An abstract name: it is known where DDS is (the network namespace), and leaves no file.
        holder = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            holder.bind(f'\0vr_ik-test-domain-{domain}')
        except OSError:
            holder.close()
        else:
            return domain, holder
    raise RuntimeError('A hundred test runs are on this machine already.')


DOMAIN_ID, _holder = reserve_domain()
os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
os.environ['ROS_DOMAIN_ID'] = str(DOMAIN_ID)

# The first call of a kernel compiles it: no test is late for that. Every run has the same
# examples, so that a failure belongs to the change at hand; --hypothesis-profile=explore draws
# new ones.
settings.register_profile('vr_ik', deadline=None, derandomize=True)
settings.register_profile('explore', deadline=None, max_examples=1000)
settings.load_profile('vr_ik')
