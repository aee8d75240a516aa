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

"""The command `vr_ik demo` as a real process, in a ROS domain of its own."""

import os
from pathlib import Path
import subprocess
import sys
import time

PATIENCE_S = 150.0
"""Long enough for the kernels to be compiled on a busy machine; not a measure of anything."""


def command(*arguments: str) -> list[str]:
    """Return the command line `vr_ik` with these arguments, by the tests' interpreter."""
    return [sys.executable, '-m', 'vr_ik.cli.main', *arguments]


def environment(**more: str) -> dict[str, str]:
    """Return the environment of a command under test."""
    return {**os.environ, 'PYTHONUNBUFFERED': '1', **more}


class DemoProcess:
    """A running demonstration whose output can be read while it runs."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        """Start it; its output goes to a file in the folder."""
        self._log = folder / 'output.txt'
        with self._log.open('w') as log:
            self.process = subprocess.Popen(
                command('demo', *arguments),
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment(),
                cwd=Path(__file__).parent.parent,
            )

    def output(self) -> str:
        """Return what it has printed so far."""
        return self._log.read_text()

    def wait_for(self, text: str) -> None:
        """Wait until it has printed this."""
        deadline_s = time.monotonic() + PATIENCE_S
        while text not in self.output():
            assert self.process.poll() is None, self.output()
            assert time.monotonic() < deadline_s, self.output()
            time.sleep(0.05)

    def nodes(self) -> dict[str, int]:
        """Return the process ids of its nodes, by name."""
        found = {}
        for pid in _children(self.process.pid):
            arguments = Path(f'/proc/{pid}/cmdline').read_text().split('\0')
            names = [part for part in arguments if part.startswith('vr_ik.nodes.')]
            if names:
                found[names[0].removeprefix('vr_ik.nodes.')] = pid
        return found

    def end(self) -> None:
        """Clean up after the test, whatever has happened in it."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def is_running(pid: int) -> bool:
    """Tell whether a process runs; a dead one that nobody has waited for does not."""
    try:
        stat = Path(f'/proc/{pid}/stat').read_text()
    except OSError:
        return False
    return stat.rpartition(')')[2].split()[0] != 'Z'


def _children(pid: int) -> list[int]:
    listed = Path(f'/proc/{pid}/task/{pid}/children').read_text()
    return [int(child) for child in listed.split()]
