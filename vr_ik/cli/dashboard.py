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

"""The demonstration's figures: as a live table in the terminal, and for the web page."""

import time
from typing import Any

from rich import box
from rich.console import Group
from rich.table import Table

from vr_ik.cli.measures import Measures


class Dashboard:
    """Turns measures into tables; rates are those since the last table."""

    def __init__(self, measures: Measures, page: str) -> None:
        """Show these measures; `page` is the web page's address, if there is one."""
        self._measures = measures
        self._page = page
        self._since_s = time.monotonic()
        self._before = measures.summary()

    def table(self) -> Group:
        """Return the figures now."""
        summary = self._measures.summary()
        return Group(self._figures(summary), self._devices())

    def _figures(self, summary: dict[str, Any]) -> Table:
        rates_hz = self._rates_hz(summary)
        latency, error = summary['latency_ms'], summary['error_mm']
        solver = self._measures.solver
        table = Table(box=box.SIMPLE, show_header=False, title='vr_ik demo', title_justify='left')
        table.add_column(style='dim')
        table.add_column()
        table.add_row('web page', self._page or 'off')
        table.add_row('tracking frames', f'{summary["frames"]} ({rates_hz["frames"]:.0f} Hz)')
        table.add_row(
            'joint states', f'{summary["joint_states"]} ({rates_hz["joint_states"]:.0f} Hz)'
        )
        table.add_row(
            'solve time',
            f'{solver.get("solve time, mean [ms]", "?")} ms mean, '
            f'{solver.get("solve time, longest [ms]", "?")} ms longest',
        )
        table.add_row(
            'latency',
            f'{_milliseconds(latency["median"])} median, '
            f'{_milliseconds(latency["p99"])} 99th percentile',
        )
        table.add_row(
            'error against truth',
            f'tracked {_millimetres(error["tracked"])}, elbows {_millimetres(error["elbows"])}, '
            f'knees {_millimetres(error["knees"])}',
        )
        table.add_row('solver', solver.get('status', 'starting'))
        return table

    def _devices(self) -> Table:
        instant = self._measures.instant
        seen, errors = self._measures.seen_shares(), self._measures.device_errors_mm()
        table = Table(box=box.SIMPLE, header_style='dim')
        table.add_column('device')
        table.add_column('status')
        table.add_column('seen', justify='right')
        table.add_column('error', justify='right')
        for device, share in seen.items():
            tracked = instant is not None and device in instant.devices
            status = '[green]ok[/]' if tracked else '[red]lost[/]'
            table.add_row(device, status, f'{100.0 * share:.1f} %', _millimetres(errors[device]))
        return table

    def _rates_hz(self, summary: dict[str, Any]) -> dict[str, float]:
        now_s = time.monotonic()
        seconds = max(now_s - self._since_s, 1e-3)
        names = ('frames', 'joint_states')
        rates_hz = {name: (summary[name] - self._before[name]) / seconds for name in names}
        self._since_s, self._before = now_s, summary
        return rates_hz


def describe(summary: dict[str, Any]) -> str:
    """Return the most important figures in one line."""
    latency, error = summary['latency_ms'], summary['error_mm']
    return (
        f'{summary["joint_states"]} joint states in {summary["seconds"]:.1f} s, '
        f'latency {_milliseconds(latency["median"])} (99 %: {_milliseconds(latency["p99"])}), '
        'mean error '
        f'tracked {_millimetres(error["tracked"])}, elbows {_millimetres(error["elbows"])}, '
        f'knees {_millimetres(error["knees"])}.'
    )


def markdown(summary: dict[str, Any]) -> str:
    """Return the figures for the web page."""
    latency, error = summary['latency_ms'], summary['error_mm']
    return (
        'The solved body with its devices and, in green, the truth.\n\n'
        '| | |\n|:--|:--|\n'
        f'| joint states | {summary["joint_states"]} |\n'
        f'| latency | {_milliseconds(latency["median"])} |\n'
        f'| error, tracked | {_millimetres(error["tracked"])} |\n'
        f'| error, elbows | {_millimetres(error["elbows"])} |\n'
        f'| error, knees | {_millimetres(error["knees"])} |\n'
    )


def _milliseconds(value: float | None) -> str:
    return '?' if value is None else f'{value:.1f} ms'


def _millimetres(value: float | None) -> str:
    return '?' if value is None else f'{value:.1f} mm'
