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

"""Finds the recordings to evaluate on in folders and files of the known kinds."""

from collections.abc import Sequence
from pathlib import Path

from vr_ik.config import SolverConfig
from vr_ik.errors import VrIkError
from vr_ik.evaluation.mocap import read_mocap
from vr_ik.evaluation.recordings import read_bag, read_vive, Recording
from vr_ik.io.bags import is_bag


def read_recordings(paths: Sequence[Path], config: SolverConfig | None = None) -> list[Recording]:
    """Read every recording in the given files and folders; raise `VrIkError` where there is none.

    Files: .npz of raw SteamVR poses, .bvh of motion capture; folders of these, bags and folders of
    bags. The configuration names the devices and their frames in bags.
    """
    config = SolverConfig() if config is None else config
    return [recording for file in recording_files(paths) for recording in read_file(file, config)]


def recording_files(paths: Sequence[Path]) -> list[Path]:
    """Return the files and bags of known kinds; raise `VrIkError` where a path holds none."""
    return [file for path in paths for file in _files(path)]


def _files(path: Path) -> list[Path]:
    """Return the files and bags that a path stands for."""
    if is_bag(path):
        return [path]
    if not path.exists():
        raise VrIkError(f"There is no '{path}'.")
    inside = sorted(path.iterdir()) if path.is_dir() else [path]
    known = [file for file in inside if _is_known(file)]
    if known:
        return known
    deeper = [
        folder.name
        for folder in inside
        if folder.is_dir() and any(_is_known(file) for file in folder.iterdir())
    ]
    hint = f' There are some in its folders {", ".join(deeper)}.' if deeper else ''
    raise VrIkError(
        f"'{path}' holds no recordings; known: .npz (SteamVR poses), .bvh, bags.{hint}"
    )


def _is_known(path: Path) -> bool:
    return path.suffix in ('.npz', '.bvh') or is_bag(path)


def read_file(
    path: Path, config: SolverConfig, left_out: dict[str, str] | None = None
) -> list[Recording]:
    """Read the recordings of one file or bag; see `read_vive` for `left_out`."""
    if path.suffix == '.npz':
        return read_vive(path, left_out)
    return [read_mocap(path) if path.suffix == '.bvh' else read_bag(path, config)]
