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

"""Services without arguments (std_srvs/Trigger), or with a switch (SetBool): a text answers."""

from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger

from vr_ik.errors import VrIkError


def offer(node: Node, name: str, action: Callable[[], str]) -> None:
    """Open a service that does something: it answers with its text, or why it could not."""

    def serve(_: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        return _answer(response, action)

    node.create_service(Trigger, name, serve)


def offer_switch(node: Node, name: str, action: Callable[[bool], str]) -> None:
    """Open a service that turns something on (true) or off."""

    def serve(request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        return _answer(response, lambda: action(request.data))

    node.create_service(SetBool, name, serve)


def _answer(response: Any, action: Callable[[], str]) -> Any:
    try:
        response.message = action()
        response.success = True
    except VrIkError as error:
        response.message = str(error)
        response.success = False
    return response
