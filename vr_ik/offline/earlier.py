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

"""Finds in a bag what an earlier solve has put there, to be replaced by a new one."""

from functools import cache
import re
from typing import Any

import numpy as np

from vr_ik.body.anthropometry import Proportions
from vr_ik.body.human import human_urdf
from vr_ik.body.skeleton import MODELS
from vr_ik.io.bag_topics import DIAGNOSTICS_TYPE, JOINT_STATE_TYPE, STRING_TYPE, Topic, typestore
from vr_ik.io.body_cdr import JointStateEncoder
from vr_ik.kinematics.urdf import read_urdf

_SOLVER = 'solver_node'
"""Diagnostics of this node are those of a solve."""
_NAMESPACES = re.compile(r'([A-Za-z_]\w*/)+', re.ASCII)
_HUMAN = b'<robot name="human">'
_NAMES_AT = 12
"""Where in a JointState the stamp is over."""


@cache
def _joint_states() -> tuple[tuple[int, bytes], ...]:
    """Return of the joint states of each human model how long they are, and their names."""
    result = []
    for model in MODELS:
        urdf = read_urdf(human_urdf(Proportions.from_height(1.75), model))
        names = [joint.name for joint in urdf.joints if joint.kind != 'fixed']
        message = JointStateEncoder(names).encode(0, *np.zeros((2, len(names))))
        end = message.rindex(names[-1].encode()) + len(names[-1])
        result.append((len(message), message[_NAMES_AT:end]))
    return tuple(result)


@cache
def human_links() -> tuple[str, ...]:
    """Return the links of all human models."""
    names = [read_urdf(human_urdf(Proportions.from_height(1.75), model)).links for model in MODELS]
    return tuple(dict.fromkeys(name for links in names for name in links))


def user_namespace(namespace: str | None, tf: str, frame_prefix: str) -> str:
    """Return where a user's topics are: '' for the root, or '/anna'.

    Where it is not told: beside his TF or, where TF is everybody's, in the namespace that his
    frames are named by.
    """
    if namespace is not None:
        return namespace
    beside = tf.rpartition('/')[0]
    if beside or _NAMESPACES.fullmatch(frame_prefix) is None:
        return beside
    return f'/{frame_prefix}'.rstrip('/')


def is_of_a_solve(topic: Topic, message: bytes, namespace: str) -> bool:
    """Tell whether a message, other than one of TF, is what a user's solver says of his body.

    Another user, in another namespace, keeps what he has.
    """
    if topic.type == DIAGNOSTICS_TYPE:
        return _is_of_solver(message, namespace)
    if topic.name.rpartition('/')[0] != namespace:
        return False
    if topic.type == JOINT_STATE_TYPE:
        return any(
            len(message) == size and message.startswith(names, _NAMES_AT)
            for size, names in _joint_states()
        )
    if topic.type == STRING_TYPE:
        return topic.name.endswith('robot_description') and _HUMAN in message
    return False


def solver_name(namespace: str) -> str:
    """Return the name of the solver node in a namespace, as diagnostics have it."""
    return f'{namespace}/{_SOLVER}'.lstrip('/')


def _is_of_solver(message: bytes, namespace: str) -> bool:
    """Tell whether all lines of diagnostics are of the solver node in a namespace."""
    if _SOLVER.encode() not in message:
        return False
    try:
        content: Any = typestore().deserialize_cdr(message, DIAGNOSTICS_TYPE)
    except Exception:  # bytes of whatever kind, which the library's generated code trips over
        return False
    nodes = {line.name.split(':')[0].lstrip('/') for line in content.status}
    return nodes == {solver_name(namespace)}
