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

"""What the launch files read from their arguments, which are all texts."""

from collections.abc import Mapping

from vr_ik.config_fields import bad_value


def is_true(given: Mapping[str, str], name: str) -> bool:
    """Return a switch; anything but true and false is refused."""
    text = given[name].lower()
    if text not in ('true', 'false', '1', '0'):
        raise bad_value(name, given[name], 'it must be true or false')
    return text in ('true', '1')


def number(given: Mapping[str, str], name: str) -> float:
    """Return a number."""
    try:
        return float(given[name])
    except ValueError:
        raise bad_value(name, given[name], 'it must be a number') from None


def namespace_and_prefix(given: Mapping[str, str]) -> tuple[str, str]:
    """Return the user's namespace, without slashes at its ends, and the prefix of his frames."""
    namespace = given['namespace'].strip('/')
    return namespace, given['frame_prefix'] or (f'{namespace}/' if namespace else '')
