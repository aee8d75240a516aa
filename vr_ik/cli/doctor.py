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

"""`vr_ik doctor`: what is installed, what is missing, and how to get it."""

from dataclasses import asdict
import json
from typing import Annotated

from rich.console import Console
from rich.markup import escape
from rich.table import Table
import typer

from vr_ik.cli.checks import Finding, run_checks, State

_LOOKS = {
    State.OK: '[green]ok[/]',
    State.MISSING: '[red]missing[/]',
    State.OPTIONAL: '[yellow]not there[/]',
}


def doctor(
    as_json: Annotated[bool, typer.Option('--json', help='Print the findings as JSON.')] = False,
) -> None:
    """Say what is installed, what is missing and how to get it.

    Ends with exit code 0 if all that tracker and solver need is there, else with 1. What is
    optional, such as SteamVR on a machine without a headset, does not count.
    """
    findings = run_checks()
    healthy = all(finding.state is not State.MISSING for finding in findings)
    if as_json:
        checks = [asdict(finding) for finding in findings]
        typer.echo(json.dumps({'ok': healthy, 'checks': checks}, indent=2))
    else:
        _print(findings)
    if not healthy:
        raise typer.Exit(1)


def _print(findings: list[Finding]) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column()
    table.add_column()
    table.add_column(overflow='fold')
    for finding in findings:
        advice = f'\n[dim]to get it: {escape(finding.advice)}[/]' if finding.advice else ''
        table.add_row(finding.name, _LOOKS[finding.state], escape(finding.found) + advice)
    Console().print(table, highlight=False)
