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

"""The one family of exceptions that vr_ik raises for bad input and missing parts."""

from collections.abc import Iterable
import difflib

# A robot may have a hundred links; a message has room for fewer.
_LISTED = 30


class VrIkError(Exception):
    """Root of all errors; its text names the bad thing and what would be valid."""


class UrdfError(VrIkError):
    """A robot description cannot be read; names the element and the reason."""


class ConfigError(VrIkError):
    """A parameter or a configuration file is wrong."""


class TrackerError(VrIkError):
    """A tracking source is not there, or has gone; trying again later may help."""


class CalibrationError(VrIkError):
    """The user's pose cannot be calibrated from; says what to do."""


class MissingDependencyError(VrIkError):
    """An optional package is not installed; says how to get it."""


class MissingDataError(VrIkError):
    """A folder lacks the recordings that a measurement is made on; says which."""


class UnknownNameError(VrIkError):
    """A name that is not among the known ones."""

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        """Compose the sentence: what was asked for, the nearest match, all valid names."""
        known = sorted(known)
        close = difflib.get_close_matches(name, known, n=1)
        hint = f" Did you mean '{close[0]}'?" if close else ''
        listed = ', '.join(known[:_LISTED]) or 'none'
        more = f' and {len(known) - _LISTED} more' if len(known) > _LISTED else ''
        super().__init__(f"Unknown {what} '{name}'.{hint} Known: {listed}{more}.")
