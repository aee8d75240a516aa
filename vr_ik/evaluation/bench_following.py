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

"""Robots follow recorded hands: `python -m vr_ik.evaluation.bench_following DATA`.

DATA is a recording, as of `vr_ik eval`: raw SteamVR poses, motion capture, a bag. Every robot of
config/robots with an arm is led by the hands of everyone recorded, seen from the waist, as if they
stood still, for two seconds at a time: then the arm begins anew, as the clutch would let it. Of
their way and turn a quarter is asked of the robot. The errors are those of the commanded tip
against the recorded hand at the same instant, with no delay taken out and no noise taken off,
wherever that was in reach of the robot: where the quickest follower that its joints allow keeps
within 2 mm and 0.5 degrees (`within_reach`). How near he comes is shown beside.
"""

import argparse
from collections.abc import Sequence
import json
from pathlib import Path
import sys
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from vr_ik.cli.files import check_writable, write_text
from vr_ik.cli.robot_files import robot_file, robot_names
from vr_ik.errors import VrIkError
from vr_ik.evaluation.eval_data import read_recordings
from vr_ik.evaluation.hand_following import Followed, HandFollowing, HandPath
from vr_ik.evaluation.recordings import Recording
from vr_ik.evaluation.within_reach import BAR_M, BAR_RAD
from vr_ik.types import Array

_PRESS_S = 2.0
_SCALE = 0.25
"""People who exercise swing their arms by a metre and a quarter turn, in half a second."""


def measure(name: str, recordings: Sequence[Recording]) -> dict[str, Any]:
    """Return how a robot follows all recordings."""
    robot = HandFollowing(robot_file(name))
    runs = [
        robot.follow(part.scaled(_SCALE))
        for recording in recordings
        if {*robot.config.device_frames, 'hmd'} <= set(recording.poses)
        for part in HandPath.of(recording, robot.config.device_frames).parts(_PRESS_S)
    ]
    return {'robot': name, **figures(runs)}


def figures(runs: Sequence[Followed]) -> dict[str, Any]:
    """Return the figures of several runs of a robot; shares are of ticks."""
    reachable = np.concatenate([run.reach.reachable for run in runs])
    ours = _Errors([run.errors_m for run in runs], [run.errors_rad for run in runs])
    quickest = _Errors(
        [run.reach.errors_m for run in runs], [run.reach.errors_rad for run in runs]
    )
    beyond = reachable & (ours.used > 1.0)
    return {
        'seconds': round(sum(run.seconds for run in runs), 1),
        'within_reach': _mean(reachable),
        'error_mm': _percentiles(1e3 * ours.metres[reachable]),
        'error_deg': _percentiles(np.degrees(ours.radians[reachable])),
        'reachable_within_bar': _mean(ours.used[reachable] <= 1.0),
        'quickest_there': _percentiles(quickest.used[beyond]),
        'all_within_bar': _mean(ours.used <= 1.0),
        'quickest_all_within_bar': _mean(quickest.used <= 1.0),
        'stops': sum(run.stops for run in runs),
        'limit_violations': sum(sum(run.audit.violations.values()) for run in runs),
    }


class _Errors:
    """Errors of all ticks, of the worse arm."""

    def __init__(self, metres: Sequence[Array], radians: Sequence[Array]) -> None:
        self.metres = np.concatenate(metres).max(axis=1)
        self.radians = np.concatenate(radians).max(axis=1)
        self.used = np.maximum(self.metres / BAR_M, self.radians / BAR_RAD)
        """As shares of the bar."""


def _mean(shares: Array) -> float | None:
    return round(float(shares.mean()), 5) if len(shares) else None


def _percentiles(values: Any) -> dict[str, float | None]:
    if not values.size:
        return {'median': None, 'p95': None, 'p99': None, 'max': None}
    found = np.percentile(values, (50.0, 95.0, 99.0, 100.0))
    names = ('median', 'p95', 'p99', 'max')
    return {name: round(float(v), 3) for name, v in zip(names, found, strict=True)}


def show(rows: Sequence[dict[str, Any]]) -> Table:
    """Return the figures as a table."""
    table = Table()
    for title in _TITLES:
        table.add_column(title, justify='right')
    for row in rows:
        errors = [
            ' / '.join('?' if v is None else f'{v:.2f}' for v in row[key].values())
            for key in ('error_mm', 'error_deg')
        ]
        table.add_row(
            row['robot'],
            f'{row["seconds"]:.0f}',
            _percent(row['within_reach']),
            *errors,
            _percent(row['reachable_within_bar']),
            _percent(row['quickest_there']['median']),
            f'{_percent(row["all_within_bar"])} / {_percent(row["quickest_all_within_bar"])}',
            str(row['stops']),
            str(row['limit_violations']),
        )
    table.caption = (
        'Errors: median / 95 % / 99 % / largest, where the hand was within reach; how much of it '
        'was within 2 mm and 0.5 deg, and what share of these the quickest follower needs in the '
        'median of what was not; and of all, within reach or not: ours / the quickest.'
    )
    return table


_TITLES = (
    *('robot', 's', 'within reach', 'error [mm]', 'error [deg]', 'within bar', 'quickest there'),
    *('of all', 'stops', 'violations'),
)


def _percent(share: float | None) -> str:
    return '?' if share is None else f'{100.0 * share:.1f} %'


def main() -> int:
    """Measure, print, and write a file where asked to; fail where a limit was broken."""
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('data', type=Path, nargs='+', help='recordings of hands')
    parser.add_argument('--json', type=Path, help='write the figures there')
    arguments = parser.parse_args()
    try:
        if arguments.json:
            check_writable(arguments.json)
        recordings = read_recordings(arguments.data)
        rows = [measure(name, recordings) for name in robot_names()]
    except VrIkError as error:
        print(error, file=sys.stderr)
        return 2
    Console(highlight=False).print(show(rows))
    if arguments.json:
        write_text(arguments.json, json.dumps(rows, indent=2) + '\n')
    return 1 if any(row['limit_violations'] for row in rows) else 0


if __name__ == '__main__':
    sys.exit(main())
