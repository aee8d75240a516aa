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

"""Files that commands write: errors in one sentence, and before a long run, not after it."""

from pathlib import Path

from vr_ik.errors import VrIkError


def check_writable(path: Path) -> None:
    """Raise `VrIkError` for a file that could not be written later."""
    if path.is_dir():
        raise VrIkError(f"'{path}' cannot be written: it is a folder.")
    if not path.absolute().parent.is_dir():
        raise VrIkError(f"'{path}' cannot be written: there is no folder '{path.parent}'.")


def make_folder(path: Path) -> None:
    """Make a folder to write into, where it is not there, or raise `VrIkError`."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise VrIkError(f"The folder '{path}' cannot be made: {error.strerror}.") from error


def write_text(path: Path, text: str) -> None:
    """Write a text file, or raise `VrIkError`."""
    check_writable(path)
    try:
        path.write_text(text, encoding='utf-8')
    except OSError as error:
        raise VrIkError(f"'{path}' cannot be written: {error.strerror}.") from error
