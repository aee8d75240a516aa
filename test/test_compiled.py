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

"""A kernel's machine code is used again only while no kernel's source has changed."""

import os
from pathlib import Path
import shutil
import subprocess
import sys

import vr_ik

PROGRAM = """
import numpy as np
from vr_ik.kinematics.kernels import body_poses
from vr_ik.math.rotations import exp_rotation
print(exp_rotation(np.zeros(3))[0, 0], sum(exp_rotation.stats.cache_hits.values()))
"""


def run(folder):
    """Return what a fresh process computes, and how often it found machine code."""
    environment = {**os.environ, 'PYTHONPATH': str(folder)}
    environment.pop('NUMBA_CACHE_DIR', None)
    done = subprocess.run(
        [sys.executable, '-c', PROGRAM],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    value, hits = done.stdout.split()
    return float(value), int(hits)


def test_a_change_in_another_file_is_seen(tmp_path):
    package = Path(vr_ik.__file__).parent
    ignore = shutil.ignore_patterns('__pycache__')
    shutil.copytree(package, tmp_path / 'vr_ik', ignore=ignore)
    assert run(tmp_path) == (1.0, 0)
    assert run(tmp_path) == (1.0, 1)
    other = tmp_path / 'vr_ik' / 'kinematics' / 'kernels.py'
    other.write_text(other.read_text() + '\n# changed\n')
    assert run(tmp_path) == (1.0, 0)
