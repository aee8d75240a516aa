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

"""docs/hardware.md is true: its tables of Joy, its parameters, topics, roles and links."""

from pathlib import Path
import re

import pytest

from vr_ik.config import ROLES, TrackerConfig, UNIVERSES
from vr_ik.config_fields import parameters
from vr_ik.config_texts import key_values
from vr_ik.trackers.openvr_input import AXIS_NAMES, BUTTON_NAMES

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / 'docs' / 'hardware.md').read_text(encoding='utf-8')
PARAMETERS = {name for name, _, _ in parameters(TrackerConfig)}


def rows(title: str) -> list[list[str]]:
    """Return the cells of the table whose first title this is, without marks."""
    table = re.search(rf'^\| {title} \|.*\n\| ---.*\n((?:\|.*\n)+)', TEXT, re.MULTILINE)
    assert table is not None
    lines = table[1].strip().splitlines()
    return [[cell.strip().strip('`') for cell in line.strip('|').split('|')] for line in lines]


def test_the_axes_are_in_their_order():
    assert [(int(row[0]), row[1]) for row in rows('index')] == list(enumerate(AXIS_NAMES))


def test_the_buttons_are_in_their_order():
    for row in rows('index pressed'):
        name = row[2].partition('`')[0]
        assert BUTTON_NAMES[int(row[0])] == name
        assert BUTTON_NAMES[int(row[1])] == f'{name}_touch'
    assert len(rows('index pressed')) * 2 == len(BUTTON_NAMES)


def test_the_roles_and_universes_are_those_of_the_code():
    (listed,) = re.findall(r'understands:\n(.*?)\. Serials', TEXT, re.DOTALL)
    assert re.findall(r'`(\w+)`', listed) == list(ROLES)
    universes = [row[0].removeprefix('universe: ') for row in rows('parameter')]
    assert set(universes) == set(UNIVERSES)


@pytest.mark.parametrize('name', re.findall(r"the parameter `(\w+)`, by serial.*?`'(.*?)'`", TEXT))
def test_the_examples_of_names_are_valid(name):
    parameter, text = name
    assert key_values(parameter, text)


def test_the_parameters_exist():
    changes = re.findall(r'vr_ik set /tracker_node (.*)', TEXT)
    shown = {name for line in changes for name in re.findall(r'(\w+)=', line)}
    shown |= set(re.findall(r'`(\w+): (?:true|false|openvr)`', TEXT))
    shown |= set(re.findall(r'`((?:publish|map|haptic|prediction|universe|rate)_?\w*)`', TEXT))
    assert len(shown) > 8
    assert shown <= PARAMETERS


def test_the_links_into_the_repository_work():
    for path in re.findall(r'\]\((\.\./[^)#]+)', TEXT):
        assert (ROOT / 'docs' / path).exists(), path
    for path in set(re.findall(r'config/\w+\.yaml', TEXT)):
        assert (ROOT / path).exists(), path
