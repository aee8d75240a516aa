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

"""Speed and success of vr_ik's solver beside other libraries: `python -m vr_ik.evaluation.bench`.

The protocol, the same for every method:

- Work: seeded sessions at 120 Hz whose targets are the forward kinematics of smooth random joint
  paths within the limits. 'arm' is Panda's flange, its joints near their speed limits and often
  at their position limits; 'body' is the human model with headset, controllers, waist and foot
  trackers, walking, turning, and now and then with straight limbs. The seeds were not used to
  choose anybody's settings.
- A frame is one call, from the method's own last answer, until all targets are met to 1 mm and
  0.01 rad or 30 iterations are over; `lm` may then try again from elsewhere, up to 6 times, and
  its time says so. A session starts at its true configuration; who gets lost stays lost until
  the targets come back.
- Success is judged by Pinocchio: every target within the tolerances and every joint within its
  limits. A joint step of more than 0.5 rad in one frame counts as a jump beside that.
- Time is that of the call from Python alone, with conversions to a library's own types left out.
  The methods take turns in rounds over the whole work; median and 99th percentile are those of
  the round with the lowest median, the one that other programs disturbed least.
- 'chains' and 'papers' time the methods of the papers on their own work: see `bench_chains` and
  `bench_papers`.
"""

import argparse
from collections.abc import Sequence
from importlib import import_module
import json
from pathlib import Path
import sys

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from vr_ik.cli.files import check_writable, write_text
from vr_ik.errors import UnknownNameError, VrIkError
from vr_ik.evaluation.bench_chains import measure_chains
from vr_ik.evaluation.bench_judge import (
    Judge,
    ORIENTATION_TOLERANCE_RAD,
    POSITION_TOLERANCE_M,
)
from vr_ik.evaluation.bench_measure import Contest, JUMP_RAD, memory_growth_kib, Score
from vr_ik.evaluation.bench_methods import Lm, MAX_ITERATIONS, RESTARTS
from vr_ik.evaluation.bench_papers import measure_papers
from vr_ik.evaluation.bench_peers import PEERS
from vr_ik.evaluation.bench_report import OURS, Report, TIME_KEYS
from vr_ik.evaluation.bench_workloads import arm_workload, body_workload, Workload

ARM_SEEDS, BODY_SEEDS = range(1000, 1040), range(2000, 2015)
FRAMES = 600
ROUNDS = 5
MEMORY = 'memory'
MEMORY_SOLVES = 1_000_000
CHAINS, PAPERS = 'chains', 'papers'
NAMES = (*TIME_KEYS, OURS, *PEERS, MEMORY, CHAINS, PAPERS)
"""What can be asked for."""
# A slow method repeats its rounds only as long as this lasts [s].
_BUDGET_S = 14.0


def missing_peers() -> dict[str, str]:
    """Return the peers that cannot be imported, and why."""
    missing = {}
    for name, peer in PEERS.items():
        try:
            import_module(peer.module)
        except ModuleNotFoundError:
            missing[name] = 'not installed'
        except ImportError as error:
            missing[name] = f'cannot be imported: {error}'
    return missing


def run_contests(
    workload: Workload, methods: Sequence[str], rounds: int, progress: Progress
) -> dict[str, Score]:
    """Let the methods take turns on a workload; return their scores."""
    task = progress.add_task(workload.name, total=rounds * len(methods), now='setting up')
    makers = {OURS: Lm, **{name: peer.make for name, peer in PEERS.items()}}
    contests = {name: Contest(makers[name](workload), workload) for name in methods}
    for turn in range(rounds):
        for name, contest in contests.items():
            progress.update(task, now=f'{name}, round {turn + 1} of {rounds}')
            if turn == 0 or contest.spent_s + contest.round_s <= _BUDGET_S:
                contest.run_round()
            progress.advance(task)
    progress.update(task, now='judging the answers')
    judge = Judge(workload)
    scores = {name: contest.score(judge) for name, contest in contests.items()}
    progress.update(task, now='done')
    return scores


def measure(only: Sequence[str], progress: Progress) -> Report:
    """Measure the workloads, methods or other parts that `only` names; all where it names none."""
    report = Report(absent=missing_peers())
    named = [name for name in (OURS, *PEERS) if name in only] or (OURS, *PEERS)
    methods = [name for name in named if name not in report.absent]
    workloads = [name for name in TIME_KEYS if name in only] or list(TIME_KEYS)
    for name in workloads if set(only) - {MEMORY, CHAINS, PAPERS} or not only else ():
        workload = _workload(name, progress)
        able = [m for m in methods if m == OURS or name in PEERS[m].workloads]
        report.titles[name] = f'{workload.title}, {workload.frame_count} frames'
        report.scores[name] = run_contests(workload, able, ROUNDS, progress)
    if not only or MEMORY in only:
        arm = _workload('arm', progress)
        task = progress.add_task(MEMORY, total=MEMORY_SOLVES, now=f'{MEMORY_SOLVES} arm solves')
        report.memory_growth_kib = memory_growth_kib(
            arm, MEMORY_SOLVES, lambda count: progress.advance(task, count)
        )
    for part, run in ((CHAINS, measure_chains), (PAPERS, measure_papers)):
        if not only or part in only:
            task = progress.add_task(part, total=None, now='methods of the papers')
            report.papers.update(run())
            progress.remove_task(task)
    return report


def _workload(name: str, progress: Progress) -> Workload:
    task = progress.add_task(name, total=None, now='making the targets')
    make, seeds = (arm_workload, ARM_SEEDS) if name == 'arm' else (body_workload, BODY_SEEDS)
    workload = make(seeds, FRAMES)
    progress.remove_task(task)
    return workload


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the tables and write the file; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        '--json', type=Path, default=Path('bench.json'), metavar='FILE', help='where figures go'
    )
    parser.add_argument('--only', nargs='+', default=[], metavar='NAME', help=', '.join(NAMES))
    options = parser.parse_args(arguments)
    console = Console()
    try:
        for name in options.only:
            if name not in NAMES:
                raise UnknownNameError('part of the benchmark', name, NAMES)
        check_writable(options.json)
        columns = (TextColumn('{task.description:8}'), BarColumn(), TimeElapsedColumn())
        with Progress(*columns, TextColumn('{task.fields[now]}'), console=console) as progress:
            report = measure(options.only, progress)
        _print(report, console)
        write_text(options.json, json.dumps(report.to_json(), indent=2) + '\n')
    except VrIkError as error:
        console.print(str(error), style='red', markup=False, highlight=False)
        return 2
    return 0


def _print(report: Report, console: Console) -> None:
    for table in report.tables():
        console.print(table)
    if report.memory_growth_kib is not None:
        grown = f'{report.memory_growth_kib} KiB over {MEMORY_SOLVES} arm solves'
        console.print(f'{OURS}: the resident set grew by {grown}', highlight=False)
    if report.scores:
        console.print(
            f'A frame: one call from the last answer until {_tolerances()} are met, '
            f'{MAX_ITERATIONS} iterations at most; lm may restart {RESTARTS} times. '
            f'Times: the quietest of up to {ROUNDS} rounds '
            'taken in turns. Solved: judged by Pinocchio, joint limits included. Error: mean of '
            'the worst target. Steps: mean number of iterations. Jumps: frames in which a joint '
            f'moves by more than {JUMP_RAD} rad. Beside {OURS}: {report.versions() or "nobody"}.',
            highlight=False,
        )


def _tolerances() -> str:
    return f'{1e3 * POSITION_TOLERANCE_M:g} mm and {ORIENTATION_TOLERANCE_RAD:g} rad'


if __name__ == '__main__':
    sys.exit(main())
