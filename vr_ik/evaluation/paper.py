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

"""What the module of a paper has: it measures what the paper did, and shows it beside the paper.

A module that has these names is a `Paper` as it stands. Its docstring is printed below its tables:
what is reproduced, the protocol, and every deviation from it.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from rich.markup import escape
from rich.table import Table

from vr_ik.errors import MissingDataError

Progress = Callable[[float, str], None]
"""Called with the share done, 0 to 1, and what is being done."""

Figures = dict[str, Any]
"""What goes to the JSON file under the paper's key: nested dictionaries of numbers."""

MISSING = 'missing'
"""Key of the figures that says, in one sentence, which data a part of the paper lacked."""


class Paper(Protocol):
    """A paper whose tables can be reproduced."""

    KEY: str
    """Its name in the JSON file and on the command line: 'seed000'."""
    TITLE: str
    """Who wrote it, when: 'Stolpe 2019'."""
    __doc__: str | None

    def run(self, data: Path, progress: Progress) -> Figures:
        """Measure; raise `MissingDataError` where nothing can be measured with this folder.

        Where only a part lacks its data, the rest is measured and `figures[MISSING]` says so.
        """

    def tables(self, figures: Figures) -> list[Table]:
        """Return the tables of those parts that have been measured, ours beside the paper's."""

    def plots(self, figures: Figures, folder: Path) -> list[Path]:
        """Draw the paper's figures into the folder; return the files."""


class Column(NamedTuple):
    """A quantity of a comparison."""

    key: str
    """Where the figures have it."""
    title: str
    """With its unit."""
    digits: int
    """Decimals to print."""


def comparison(
    title: str,
    columns: Sequence[Column],
    ours: Mapping[str, Mapping[str, float]],
    theirs: Mapping[str, Mapping[str, float]],
) -> Table:
    """Return a table with a row for each method, every quantity beside the paper's."""
    table = Table(title=escape(title), title_justify='left')
    table.add_column('method', no_wrap=True)
    for column in columns:
        table.add_column(escape(column.title), justify='right')
        table.add_column('paper', justify='right', style='dim')
    for method, figures in ours.items():
        cells = [
            _cell(column, row) for column in columns for row in (figures, theirs.get(method, {}))
        ]
        table.add_row(method, *cells)
    return table


def _cell(column: Column, row: Mapping[str, float]) -> str:
    return f'{row[column.key]:.{column.digits}f}' if column.key in row else ''


def data_files(data: Path, folder: str, names: Sequence[str]) -> list[Path]:
    """Return the files of a folder in the data folder, or raise `MissingDataError`."""
    paths = [data / folder / name for name in names]
    missing = [path.name for path in paths if not path.is_file()]
    if missing:
        raise MissingDataError(f"'{data}' has no {folder}/ with {', '.join(missing)}.")
    return paths
