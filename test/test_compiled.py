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

"""A kernel's machine code is used again only while no source it is compiled from has changed."""

import os
from pathlib import Path
import shutil
import subprocess
import sys

import pytest

import vr_ik

PROGRAM = """
from vr_ik.outer import outer
print(outer(1.0), sum(outer.stats.cache_hits.values()))
"""
KERNEL = """
from vr_ik.kinematics.compiled import kernel
{imports}

@kernel
def {name}(value: float) -> float:
    return {result}
"""
SOURCES = {
    'outer': ('from vr_ik.math import (\n    middle,\n)', 'middle.middle(value) + 1.0'),
    'math/middle': ('from vr_ik.inner import inner', '10.0 * inner(value)'),
    'inner': ('', '2.0 * value'),
    'aside': ('from vr_ik.outer import outer', 'outer(value)'),
}


def write(package, module, result):
    """Write a module with one kernel into the package."""
    text = KERNEL.format(imports=SOURCES[module][0], name=Path(module).name, result=result)
    (package / f'{module}.py').write_text(text)


def run(package):
    """Return what a fresh process computes, and how often it found machine code."""
    environment = {**os.environ, 'PYTHONPATH': str(package.parent)}
    environment.pop('NUMBA_CACHE_DIR', None)
    done = subprocess.run(
        [sys.executable, '-c', PROGRAM],
        cwd=package.parent,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    value, hits = done.stdout.split()
    return float(value), int(hits)


@pytest.fixture
def package(tmp_path):
    """Return a copy of the package with kernels of three files compiled into each other."""
    ignore = shutil.ignore_patterns('__pycache__')
    copy = shutil.copytree(Path(vr_ik.__file__).parent, tmp_path / 'vr_ik', ignore=ignore)
    for module, (_, result) in SOURCES.items():
        write(copy, module, result)
    assert run(copy) == (21.0, 0)
    assert run(copy) == (21.0, 1)
    return copy


@pytest.mark.parametrize(
    ('module', 'result', 'value'),
    (
        ('outer', 'middle.middle(value) + 2.0', 22.0),
        ('math/middle', '100.0 * inner(value)', 201.0),
        ('inner', '3.0 * value', 31.0),
    ),
)
def test_a_change_in_any_file_a_kernel_is_compiled_from_is_seen(package, module, result, value):
    write(package, module, result)
    assert run(package) == (value, 0)


def test_a_change_elsewhere_costs_no_compilation(package):
    write(package, 'aside', '2.0 * outer(value)')
    assert run(package) == (21.0, 1)
