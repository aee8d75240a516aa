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

"""The command `vr_ik convert`: motion from and to the files of other programs."""

from pathlib import Path
from typing import Annotated

import typer

from vr_ik.cli.settings import (
    ConfigFile,
    Namespace,
    SolverName,
    user_config,
    UserName,
    with_calibration,
)
from vr_ik.cli.solve import tell_lost


def convert(
    source: Annotated[Path, typer.Argument(metavar='IN', help='A bag or a .bvh file.')],
    target: Annotated[
        Path, typer.Argument(metavar='OUT', help='A .bvh or .csv file, or a bag (no suffix).')
    ],
    solver: SolverName = None,
    config_file: ConfigFile = None,
    namespace: Namespace = None,
    user: UserName = None,
) -> None:
    """Convert motion between bags, BVH and CSV; the suffixes tell what to do.

    A .bvh file becomes a bag of the devices that its actor would wear. A bag becomes a .bvh or
    .csv file of the body: as it was solved, or else solved now.
    """
    # Imported late: numba takes a second, which the other commands need not wait for.
    from vr_ik.offline.convert import convert as convert_motion

    config, space = user_config(config_file, namespace)
    config, calibration = with_calibration(config, solver, user)
    done, lost = convert_motion(source, target, config, calibration, space)
    typer.echo(done)
    tell_lost(source, lost)
