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

"""The benchmark's figures as tables for people and as JSON for programs."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
import platform
from typing import Any

from rich.table import Table

from vr_ik.evaluation.bench_measure import Score
from vr_ik.evaluation.bench_peers import PEERS

OURS = 'lm'
TIME_KEYS = {'arm': 'arm_step_us', 'body': 'body_frame_us'}
"""Where the file keeps the time per call on each workload."""
_COLUMNS = ('median us', 'p99 us', 'x lm', 'solved %', 'error mm', 'steps', 'jumps %')


@dataclass
class Report:
    """All figures of one run."""

    scores: dict[str, dict[str, Score]] = field(default_factory=dict)
    """By workload, then by method."""
    titles: dict[str, str] = field(default_factory=dict)
    """What each workload is."""
    absent: dict[str, str] = field(default_factory=dict)
    """Why a peer has no figures."""
    memory_growth_kib: int | None = None
    """Growth of the resident set over a long run of ours."""
    papers: dict[str, dict[str, float]] = field(default_factory=dict)
    """Figures of the papers' methods, by their keys in the file."""

    def to_json(self) -> dict[str, Any]:
        """Return the figures as they are written to the file."""
        figures = self._figures(OURS)
        if self.memory_growth_kib is not None:
            figures['memory_growth_kib'] = self.memory_growth_kib
        figures.update(self.papers)
        figures['peers'] = {name: self._peer(name) for name in PEERS}
        figures['machine'] = {'processor': _processor(), 'python': platform.python_version()}
        return figures

    def _peer(self, name: str) -> dict[str, Any]:
        if name in self.absent:
            return {'status': self.absent[name]}
        figures = self._figures(name)
        status = 'measured' if figures else 'not asked for'
        return {'status': status, 'version': _version(name), **figures}

    def _figures(self, method: str) -> dict[str, Any]:
        figures: dict[str, Any] = {}
        for workload, scores in self.scores.items():
            score = scores.get(method)
            if score is None:
                continue
            figures[TIME_KEYS[workload]] = {'median': score.median_us, 'p99': score.p99_us}
            for key in ('solved', 'position_error_mm', 'iterations', 'jumps'):
                figures.setdefault(key, {})[workload] = getattr(score, key)
        return figures

    def tables(self) -> Iterator[Table]:
        """Yield one table for each workload, and one of the papers' methods."""
        for workload, scores in self.scores.items():
            table = Table(title=f'{workload}: {self.titles[workload]}', title_justify='left')
            table.add_column('method', no_wrap=True)
            for column in _COLUMNS:
                table.add_column(column, justify='right')
            for method, score in scores.items():
                table.add_row(*_row(method, score, scores.get(OURS)))
            for method, reason in self.absent.items():
                table.add_row(f'{method}: {reason}')
            yield table
        if self.papers:
            table = Table('figure', 'value', title='methods of the papers', title_justify='left')
            for key, values in self.papers.items():
                table.add_row(key, ', '.join(f'{name} {v:.4g}' for name, v in values.items()))
            yield table

    def versions(self) -> str:
        """Name the peers that were measured."""
        measured = {name for scores in self.scores.values() for name in scores} & set(PEERS)
        return ', '.join(f'{name} {_version(name)}' for name in sorted(measured))


def _row(method: str, score: Score, ours: Score | None) -> tuple[str, ...]:
    return (
        method,
        f'{score.median_us:.2f}',
        f'{score.p99_us:.1f}',
        f'{score.median_us / ours.median_us:.1f}' if ours else '',
        f'{100.0 * score.solved:.2f}',
        f'{score.position_error_mm:.3f}',
        f'{score.iterations:.2f}',
        f'{100.0 * score.jumps:.2f}',
    )


def _version(peer: str) -> str:
    return metadata.version(PEERS[peer].distribution)


def _processor() -> str:
    """Return the processor's name where the system tells it."""
    try:
        lines = Path('/proc/cpuinfo').read_text(encoding='utf-8').splitlines()
    except OSError:
        lines = []
    names = [line.partition(':')[2].strip() for line in lines if line.startswith('model name')]
    return names[0] if names else platform.processor()
