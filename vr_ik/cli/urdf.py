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

"""`vr_ik urdf`: the human model of a given size as a robot description."""

from pathlib import Path
from typing import Annotated

import typer

from vr_ik.body.anthropometry import Proportions
from vr_ik.body.human import human_urdf
from vr_ik.cli.files import write_text


def urdf(
    height_m: Annotated[
        float, typer.Option('--height', metavar='M', help="The user's height [m].")
    ] = 1.75,
    arm_span_m: Annotated[
        float | None,
        typer.Option(
            '--arm-span',
            metavar='M',
            help='Finger tip to finger tip with arms stretched out [m].',
            show_default='average of the height',
        ),
    ] = None,
    model: Annotated[
        str, typer.Option(metavar='full|upper', help='The whole body, or pelvis and above.')
    ] = 'full',
    output: Annotated[
        Path | None,
        typer.Option(
            '--output',
            '-o',
            metavar='FILE',
            help='Where to write.',
            show_default='standard output',
        ),
    ] = None,
) -> None:
    """Write the human model as a URDF, scaled to a user."""
    text = human_urdf(Proportions.from_height(height_m, arm_span_m), model)
    if output is None:
        typer.echo(text, nl=False)
    else:
        write_text(output, text)
