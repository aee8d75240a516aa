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

"""Pictures of a reconstruction: beside the truth over time, and its error by joint."""

from pathlib import Path
from typing import Any

import numpy as np

from vr_ik.evaluation.metrics import position_errors_mm
from vr_ik.evaluation.plotting import pyplot, save
from vr_ik.evaluation.reconstruction import Reconstruction
from vr_ik.evaluation.tracks import Track, tracks
from vr_ik.types import Array

_BONES = (
    ('base_link', 'lumbar', 'torso', 'neck', 'head'),
    *(
        chain
        for s in 'lr'
        for chain in (
            ('torso', f'{s}_clavicle', f'{s}_upper_arm', f'{s}_forearm', f'{s}_wrist'),
            ('base_link', f'{s}_thigh', f'{s}_shin', f'{s}_ankle', f'{s}_toe'),
        )
    ),
)
_INSTANTS = 6
_SHOWN = ('elbows', 'knees', 'shoulders')


def plot_motion(r: Reconstruction, solver: str, folder: Path) -> Path:
    """Draw one motion into a PNG file named after it and the solver; return its path."""
    found = tracks(r)
    figure = pyplot().figure(figsize=(12.0, 8.0))
    grid = figure.add_gridspec(3, _INSTANTS, height_ratios=(2.2, 1.0, 1.0))
    for i, frame in enumerate(np.linspace(0, len(r.q) - 1, _INSTANTS).astype(int)):
        _draw_body(figure.add_subplot(grid[0, i]), r, found, frame)
    _draw_over_time(figure.add_subplot(grid[1, :]), r, found)
    _draw_errors(figure.add_subplot(grid[2, :]), found)
    title = f'{r.recording.name}, {solver}: solved (lines) and true (dots), {len(r.roles)} devices'
    figure.suptitle(title)
    return save(figure, folder, f'{r.recording.name}_{solver}')


def _draw_body(axes: Any, r: Reconstruction, found: list[Track], frame: int) -> None:
    """Draw the body, seen from the front of its first pose, and all that is known to be true."""
    root = r.link('base_link')[0]
    left, centre = root[:3, 1], r.link('base_link')[frame, :3, 3]

    def flat(points: Array) -> tuple[Array, Array]:
        return -(points - centre) @ left, points[..., 2]

    for chain in _BONES:
        points = np.array([r.link(link)[frame, :3, 3] for link in chain])
        axes.plot(*flat(points), color='tab:blue')
    for track in found:
        colour = 'tab:red' if track.name not in r.roles else 'tab:gray'
        axes.plot(*flat(track.true[frame, :3, 3]), 'o', markersize=3, color=colour)
    axes.set_aspect('equal')
    axes.set_title(f'{frame / r.recording.rate_hz:.1f} s')
    axes.set_xlim(-0.9, 0.9)
    axes.set_ylim(-0.1, 2.0)
    axes.set_xticks([])


def _draw_over_time(axes: Any, r: Reconstruction, found: list[Track]) -> None:
    """Draw the height of what was held out, solved and true."""
    seconds = np.arange(len(r.q)) / r.recording.rate_hz
    shown = [t for t in found if t.name not in r.roles and t.group in _SHOWN[:2]]
    for i, track in enumerate(shown):
        colour = f'C{i}'
        axes.plot(seconds, track.predicted[:, 2, 3], color=colour, label=track.name)
        axes.plot(seconds, track.true[:, 2, 3], ':', color=colour)
    axes.set_xlabel('s')
    axes.set_ylabel('height [m], true dotted')
    if shown:
        axes.legend(loc='upper right', fontsize='small')


def _draw_errors(axes: Any, found: list[Track]) -> None:
    axes.boxplot([position_errors_mm(t) for t in found], whis=(5, 95), showfliers=False)
    axes.set_xticks(range(1, len(found) + 1), [t.name for t in found], rotation=30, ha='right')
    axes.set_ylabel('error [mm]')
