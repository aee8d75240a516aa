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

"""Results of a long search, in a file that grows as they come: it can be stopped at any time."""

from collections.abc import Mapping
import hashlib
import json
from pathlib import Path

from vr_ik import __version__
from vr_ik.errors import VrIkError
from vr_ik.evaluation.tuning_grid import Options

Figures = dict[str, float]
_BEGINNING = '{"key": "'


def result_key(method: str, options: Options, recording: str) -> str:
    """Return what a result is found again by; a new version of vr_ik measures anew."""
    described = json.dumps([__version__, method, sorted(options.items()), recording])
    return hashlib.sha256(described.encode()).hexdigest()


class Results:
    """Figures by key, one JSON object a line; a last line that was broken off does not count."""

    def __init__(self, path: Path) -> None:
        """Read what is there; raise `VrIkError` for a file that holds anything else."""
        self._path = path
        self._figures: dict[str, Figures] = {}
        try:
            text = path.read_text(encoding='utf-8') if path.exists() else ''
        except (OSError, UnicodeDecodeError) as error:
            raise VrIkError(f"The results '{path}' cannot be read: {error}.") from None
        whole, _, torn = text.rpartition('\n')
        for number, line in enumerate(whole.splitlines(), 1):
            self._take(line, number)
        if torn and not (torn.startswith(_BEGINNING) or _BEGINNING.startswith(torn)):
            raise self._foreign(len(self._figures) + 1)
        self._good_bytes = len(text.encode()) - len(torn.encode())

    def _take(self, line: str, number: int) -> None:
        try:
            record = json.loads(line)
            self._figures[record.pop('key')] = record['figures']
        except (ValueError, KeyError, TypeError, AttributeError):
            raise self._foreign(number) from None

    def _foreign(self, number: int) -> VrIkError:
        return VrIkError(f"'{self._path}' is no file of results: line {number} is not one.")

    def __len__(self) -> int:
        """Return the number of results."""
        return len(self._figures)

    def __contains__(self, key: str) -> bool:
        """Return whether there is a result of that key."""
        return key in self._figures

    def __getitem__(self, key: str) -> Figures:
        """Return the result of that key."""
        return self._figures[key]

    def add(self, key: str, described: Mapping[str, object], figures: Figures) -> None:
        """Append a result, described for people who read the file."""
        line = json.dumps({'key': key, **described, 'figures': figures}) + '\n'
        try:
            with self._path.open('r+b' if self._path.exists() else 'w+b') as file:
                file.seek(self._good_bytes)
                file.truncate()
                file.write(line.encode())
        except OSError as error:
            raise VrIkError(f"'{self._path}' cannot be written: {error.strerror}.") from error
        self._good_bytes += len(line.encode())
        self._figures[key] = figures
