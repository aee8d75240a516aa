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

"""The command `vr_ik`: its subcommands, and how errors reach the user."""

import signal
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from vr_ik import __version__
from vr_ik.cli.calibrate import calibrate
from vr_ik.cli.call import call
from vr_ik.cli.convert import convert
from vr_ik.cli.demo import demo
from vr_ik.cli.doctor import doctor
from vr_ik.cli.eval import eval_
from vr_ik.cli.live import get, set_
from vr_ik.cli.papers import papers
from vr_ik.cli.run import run
from vr_ik.cli.simulate_openvr import simulate_openvr
from vr_ik.cli.solve import solve
from vr_ik.cli.teleop_demo import teleop_demo
from vr_ik.cli.tune import tune
from vr_ik.cli.urdf import urdf
from vr_ik.errors import VrIkError


class Commands(TyperGroup):
    """The group of all commands; bad input ends in one sentence and exit code 2."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command, and tell the user's mistakes from ours."""
        try:
            return super().invoke(ctx)
        except VrIkError as error:
            typer.echo(f'vr_ik: {error}', err=True)
            raise typer.Exit(2) from error


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode='markdown',
    context_settings={'help_option_names': ['-h', '--help']},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f'vr_ik {__version__}')
        raise typer.Exit


@app.callback()
def vr_ik(
    version: Annotated[
        bool,
        typer.Option(
            '--version', callback=_print_version, is_eager=True, help='Print the version and exit.'
        ),
    ] = False,
) -> None:
    """VR tracking into a moving body and a moving robot, on ROS 2."""


for command in (
    demo,
    teleop_demo,
    simulate_openvr,
    run,
    call,
    get,
    set_,
    solve,
    convert,
    calibrate,
    urdf,
    doctor,
    papers,
    tune,
    eval_,
):
    # Those named as something of Python's end in an underscore there.
    app.command(command.__name__.rstrip('_').replace('_', '-'))(command)


def main() -> None:
    """Run the command line; never returns."""
    try:
        app(prog_name='vr_ik')
    finally:
        # All is done: Ctrl-C while Python takes itself down must not change the exit code.
        signal.signal(signal.SIGINT, signal.SIG_IGN)


if __name__ == '__main__':
    main()
