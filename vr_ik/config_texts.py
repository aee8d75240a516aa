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

"""Parameters whose text holds several values: 'name=value, name=value'."""

import math
from typing import Any

from vr_ik.config_fields import bad_value


def key_values(parameter: str, text: str) -> dict[str, str]:
    """Return key -> value of a parameter's text 'KEY=value, KEY=value'; keys may be serials."""
    values: dict[str, str] = {}
    for entry in filter(None, (part.strip() for part in text.split(','))):
        key, equals, value = (part.strip() for part in entry.partition('='))
        if not (key and equals and value):
            raise bad_value(parameter, entry, "it must be 'KEY=value, KEY=value'")
        if key in values:
            raise bad_value(parameter, text, f"'{key}' is there twice")
        values[key] = value
    return values


def option_map(parameter: str, text: str) -> dict[str, Any]:
    """Return name -> value of a parameter's text 'option=value, option=value'.

    Several words or numbers, with spaces between them, are a list.
    """
    pairs = key_values(parameter, text)
    values = {name: [_number_or_name(word) for word in v.split()] for name, v in pairs.items()}
    return {name: words[0] if len(words) == 1 else words for name, words in values.items()}


def number_map(parameter: str, text: str) -> dict[str, float]:
    """Return name -> number of a parameter's text 'name=number, name=number'."""
    numbers = {}
    for name, word in key_values(parameter, text).items():
        number = _number_or_name(word)
        if isinstance(number, (bool, str)) or not math.isfinite(number):
            raise bad_value(parameter, f'{name}={word}', 'it must be a number')
        numbers[name] = float(number)
    return numbers


def _number_or_name(text: str) -> int | float | bool | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {'true': True, 'false': False}.get(text, text)
