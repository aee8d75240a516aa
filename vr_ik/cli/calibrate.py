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

"""The command `vr_ik calibrate`: the body of a user, from a recorded session."""

import json
from pathlib import Path
from typing import Annotated

import typer

from vr_ik.cli.files import check_writable, write_text
from vr_ik.cli.settings import ConfigFile, Namespace, user_config
from vr_ik.cli.solve import tell_lost
from vr_ik.errors import VrIkError


def calibrate(
    bag: Annotated[
        Path | None,
        typer.Argument(metavar='BAG', help='Folder of a bag with a T-pose or A-pose and motion.'),
    ] = None,
    user: Annotated[
        str | None, typer.Option(metavar='NAME', help='Keep the result under this name.')
    ] = None,
    config_file: ConfigFile = None,
    namespace: Namespace = None,
    refine: Annotated[
        bool, typer.Option(help='Improve bone lengths and offsets by all motion in the bag.')
    ] = True,
    listing: Annotated[
        bool, typer.Option('--list', help='List the users that are known, and their bodies.')
    ] = False,
    json_file: Annotated[
        Path | None, typer.Option('--json', metavar='FILE', help='Write the result to a file.')
    ] = None,
) -> None:
    """Measure a user in a recorded session: the first held T-pose or A-pose, then all motion.

    `solver_node` takes the result over with the parameter `user: NAME`.
    """
    # Imported late: numba takes a second, which the other commands need not wait for.
    from vr_ik.calibration import storage
    from vr_ik.calibration.hold import find_held, remark_on
    from vr_ik.calibration.refine import refine as refine_by
    from vr_ik.io.bags import read_tracking

    config, _ = user_config(config_file, namespace)
    folder = Path(config.users_folder) if config.users_folder else storage.default_folder()
    if listing:
        known = [storage.describe(user, folder) for user in storage.users(folder)]
        typer.echo('\n'.join(known) or f"No users in '{folder}'.")
        return
    if bag is None:
        raise VrIkError('Name a bag to calibrate from, or list what is known with --list.')
    if user is not None:
        storage.check_name(user)
    if json_file is not None:
        check_writable(json_file)
    frames, lost = read_tracking(bag, config)
    tell_lost(bag, lost)
    index, calibration = find_held(frames)
    at_s = (frames[index].stamp_ns - frames[0].stamp_ns) * 1e-9
    remark = remark_on(frames[: index + 1])
    typer.echo(f'Pose found {at_s:.1f} s after the start: {calibration.summary()}{remark}')
    if refine:
        calibration = refine_by(calibration, frames[index:])
        typer.echo(f'Refined by {len(frames) - index} frames: {calibration.summary()}')
    if user is not None:
        typer.echo(f"Saved to '{storage.save(calibration, user, folder)}'.")
    if json_file is not None:
        write_text(json_file, json.dumps(storage.as_mapping(calibration), indent=2) + '\n')
