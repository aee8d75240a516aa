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

"""Calls services of other nodes: how all of them are found and asked, and the switches."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
import time
from typing import Any, TypeVar

import rclpy
from rclpy.client import Client
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger

from vr_ik.errors import UnknownNameError, VrIkError
from vr_ik.nodes.joining import prefer_udp

_TYPES = {'std_srvs/srv/Trigger': Trigger, 'std_srvs/srv/SetBool': SetBool}
_LOOK_EVERY_S = 0.1
_CALL_EVERY_S = 0.2

FoundT = TypeVar('FoundT')


class Caller:
    """A node of our own that calls services of others, and waits for each no longer than told."""

    def __init__(self, node: Node, timeout_s: float) -> None:
        """Call from that node."""
        self._node = node
        self._timeout_s = timeout_s

    def found(
        self, what: str, name: str, among: Callable[[Mapping[str, str]], Mapping[str, FoundT]]
    ) -> FoundT:
        """Return what a name stands for `among` the services (name -> type), once it is there.

        Raises `UnknownNameError`, which says `what` was looked for, where it does not come.
        """
        ends_s = time.monotonic() + self._timeout_s
        while True:
            if not rclpy.ok():
                raise ExternalShutdownException
            offered = self._node.get_service_names_and_types()
            known = among({service: types[0] for service, types in offered})
            if name in known:
                return known[name]
            if time.monotonic() > ends_s and not known:
                raise VrIkError(
                    f"No {what} can be seen from here, so not '{name}' either; is its program "
                    'running, with the same ROS_DOMAIN_ID and ROS_AUTOMATIC_DISCOVERY_RANGE?'
                )
            if time.monotonic() > ends_s:
                raise UnknownNameError(what, name, known)
            time.sleep(_LOOK_EVERY_S)

    def client(self, kind: Any, name: str) -> Client:
        """Return a client of a service."""
        return self._node.create_client(kind, name)

    def answer(self, client: Client, request: Any) -> Any:
        """Return the service's answer; raise `VrIkError` where none comes."""
        if client.wait_for_service(timeout_sec=self._timeout_s):
            future = client.call_async(request)
            rclpy.spin_until_future_complete(self._node, future, timeout_sec=self._timeout_s)
            if future.done():
                return future.result()
        raise VrIkError(f"'{client.srv_name}' has not answered within {self._timeout_s:g} s.")


@contextmanager
def calling(name: str, timeout_s: float) -> Iterator[Caller]:
    """Take part in the graph to call what has that name; `timeout_s` is for each wait."""
    prefer_udp()
    rclpy.init()
    node = rclpy.create_node('vr_ik_call', enable_rosout=False, start_parameter_services=False)
    try:
        yield Caller(node, timeout_s)
    except ExternalShutdownException:
        raise VrIkError(f"Interrupted while '{name}' was called.") from None
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


def call_service(name: str, value: bool | None, timeout_s: float, retry_s: float) -> Any:
    """Return the answer (`success`, `message`) of a running node's service.

    Where it refuses, it is called again for so long. Raises `UnknownNameError` where no such
    service is there in time, and `VrIkError` where the value does not go with the service, or no
    answer comes.
    """
    with calling(name, timeout_s) as caller:
        kind = caller.found('service', name, _switches)
        request = _request(kind, name, value)
        client = caller.client(kind, name)
        gives_up_s = time.monotonic() + retry_s
        while True:
            answer = caller.answer(client, request)
            if answer.success or time.monotonic() > gives_up_s:
                return answer
            time.sleep(_CALL_EVERY_S)


def _switches(services: Mapping[str, str]) -> dict[str, Any]:
    return {name: _TYPES[kind] for name, kind in services.items() if kind in _TYPES}


def _request(kind: Any, name: str, value: bool | None) -> Any:
    if kind is SetBool and value is None:
        raise VrIkError(f"'{name}' turns something on or off: add true or false.")
    if kind is Trigger and value is not None:
        raise VrIkError(f"'{name}' takes no value.")
    return Trigger.Request() if value is None else SetBool.Request(data=value)
