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

"""Options of the commands that solve, and the configuration and calibration that they give."""

from pathlib import Path
import re
from typing import Annotated, Any

import typer

from vr_ik.config import replace, SolverConfig
from vr_ik.config_file import check_holds, load_config, namespaces, only_namespace
from vr_ik.errors import VrIkError

ConfigFile = Annotated[
    Path | None,
    typer.Option('--config', metavar='FILE', help='ROS 2 parameter file, for solver_node.'),
]
Namespace = Annotated[
    str | None,
    typer.Option(
        metavar='NAME',
        help='Namespace of the user, where several are in the bag or in the parameter file.',
    ),
]
SolverName = Annotated[
    str | None, typer.Option('--solver', metavar='NAME', help="Solver, instead of the file's.")
]
UserName = Annotated[
    str | None,
    typer.Option('--user', metavar='NAME', help='Whose calibration to use (`vr_ik calibrate`).'),
]

_NODE = 'solver_node'
_NAMESPACE = re.compile(r'(/[A-Za-z_]\w*)*', re.ASCII)


def user_config(
    config_file: Path | None, namespace: str | None
) -> tuple[SolverConfig, str | None]:
    """Return the configuration of a user, and his namespace: '/anna'; None where none is told.

    In a namespace that is not the file's own the frames are named by it, as the launch files do.
    """
    space = None if namespace is None else _checked(namespace)
    if config_file is None:
        named: tuple[str, ...] = ()
        config = SolverConfig()
    else:
        named = namespaces(config_file, (_NODE,))
        if space is None:
            space = only_namespace(config_file, _NODE) or None
        check_holds(config_file, (_NODE,), space or '')
        config = load_config(SolverConfig, config_file, _NODE, space or '')
    if space and space not in named and not config.frame_prefix:
        config = replace(config, {'frame_prefix': f'{space[1:]}/'})
    return config, space


def with_calibration(
    config: SolverConfig, solver: str | None, user: str | None
) -> tuple[SolverConfig, Any]:
    """Return the configuration with what was asked for, and the calibration of a named user."""
    # Imported late: numba takes a second, which the other commands need not wait for.
    from vr_ik.calibration import storage

    changes = {'solver': solver, 'user': user}
    config = replace(config, {name: text for name, text in changes.items() if text is not None})
    folder = Path(config.users_folder) if config.users_folder else storage.default_folder()
    return config, storage.load(config.user, folder) if config.user else None


def _checked(namespace: str) -> str:
    """Return a namespace as '/anna', or '' for the root."""
    space = f'/{namespace.strip("/")}'.rstrip('/')
    if _NAMESPACE.fullmatch(space) is None:
        valid = "names of letters, digits and '_' with slashes between them"
        raise VrIkError(f"The namespace '{namespace}' is none of ROS 2: {valid} are expected.")
    return space
