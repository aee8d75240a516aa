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

"""Calls the services of other nodes that take nothing (Trigger) or a switch (SetBool)."""

import time
from typing import Any

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger

from vr_ik.errors import UnknownNameError, VrIkError

_TYPES = {'std_srvs/srv/Trigger': Trigger, 'std_srvs/srv/SetBool': SetBool}
_LOOK_EVERY_S = 0.1
_CALL_EVERY_S = 0.2


def call_service(name: str, value: bool | None, timeout_s: float, retry_s: float) -> Any:
    """Return the answer (`success`, `message`) of a running node's service.

    Where it refuses, it is called again for so long. Raises `UnknownNameError` where no such
    service is there in time, and `VrIkError` where the value does not go with the service, or no
    answer comes.
    """
    rclpy.init()
    node = rclpy.create_node('vr_ik_call', enable_rosout=False)
    try:
        kind = _found(node, name, time.monotonic() + timeout_s)
        client = node.create_client(kind, name)
        request = _request(kind, name, value)
        gives_up_s = time.monotonic() + retry_s
        while True:
            future = client.call_async(request)
            rclpy.spin_until_future_complete(node, future, timeout_sec=timeout_s)
            if not future.done():
                raise VrIkError(f"'{name}' has not answered within {timeout_s:g} s.")
            if future.result().success or time.monotonic() > gives_up_s:
                return future.result()
            time.sleep(_CALL_EVERY_S)
    except ExternalShutdownException:
        raise VrIkError(f"Interrupted while '{name}' was called.") from None
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


def _found(node: Node, name: str, ends_s: float) -> Any:
    """Return the type of a service as soon as its node is seen."""
    while True:
        offered = {
            service: _TYPES[types[0]]
            for service, types in node.get_service_names_and_types()
            if types[0] in _TYPES
        }
        if name in offered:
            return offered[name]
        if time.monotonic() > ends_s:
            raise UnknownNameError('service', name, tuple(sorted(offered)))
        time.sleep(_LOOK_EVERY_S)


def _request(kind: Any, name: str, value: bool | None) -> Any:
    if kind is SetBool and value is None:
        raise VrIkError(f"'{name}' turns something on or off: add true or false.")
    if kind is Trigger and value is not None:
        raise VrIkError(f"'{name}' takes no value.")
    return Trigger.Request() if value is None else SetBool.Request(data=value)
