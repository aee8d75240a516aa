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

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from vr_ik.evaluation.metrics import position_errors_mm
from vr_ik.evaluation.plotting import pyplot, save
from vr_ik.evaluation.reconstruction import Reconstruction
from vr_ik.evaluation.tracks import rigid_baseline, Track, tracks
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
# What is known to be true, joined up: the joints of a skeleton, or else the devices.
_TRUE_JOINTS = (
    ('head', 'neck'),
    *(
        chain
        for s in 'lr'
        for chain in (
            ('neck', f'{s}_upper_arm', f'{s}_forearm', f'{s}_wrist'),
            ('neck', f'{s}_thigh', f'{s}_shin', f'{s}_ankle'),
        )
    ),
    ('l_thigh', 'r_thigh'),
)
_TRUE_DEVICES = (
    ('hmd', 'chest', 'waist'),
    *(
        chain
        for s in 'lr'
        for chain in (
            ('hmd', f'{s}_shoulder', f'{s}_elbow', f'{s}_controller'),
            ('waist', f'{s}_knee', f'{s}_foot'),
        )
    ),
)
_INSTANTS = 5
_MOST_LOOKED_AT = 600
_SOLVED, _HELD_OUT, _WENT_IN = 'tab:blue', 'tab:red', 'dimgray'
# Seen obliquely from the front: neither arms ahead nor bent knees are hidden.
_VIEW_RAD = np.radians(40.0)

Projection = Callable[[Array], tuple[Array, Array]]


def plot_motion(r: Reconstruction, solver: str, folder: Path) -> Path:
    """Draw one motion into a PNG file named after it and the solver; return its path."""
    found = tracks(r)
    figure = pyplot().figure(figsize=(15.0, 14.0))
    grid = figure.add_gridspec(4, _INSTANTS, height_ratios=(3.9, 3.9, 1.6, 1.6))
    for i, frame in enumerate(_instants(r)):
        true, solved = (figure.add_subplot(grid[row, i]) for row in (0, 1))
        _draw_bodies(true, solved, r, found, frame)
        true.set_title(f'{frame / r.recording.rate_hz:.1f} s', y=0.92)
        if i == 0:
            true.set_ylabel('truth [m]')
            solved.set_ylabel('reconstruction [m]')
            figure.legend(*solved.get_legend_handles_labels(), loc='upper right', ncols=3)
        else:
            true.set_yticks([])
            solved.set_yticks([])
    _draw_over_time(figure.add_subplot(grid[2, :]), r, found)
    _draw_errors(figure.add_subplot(grid[3, :]), r, found)
    title = f'{r.recording.name}, {solver}, {len(r.roles)} devices'
    held_out = 'what did not go in is fixed to its link at the first frame'
    figure.suptitle(f'{title}; {held_out}', x=0.02, ha='left')
    return save(figure, folder, f'{r.recording.name}_{solver}_{len(r.roles)}')


def _instants(r: Reconstruction) -> list[int]:
    """Return frames whose poses differ most: each next one is farthest from all before it."""
    looked_at = np.unique(np.linspace(0, len(r.q) - 1, _MOST_LOOKED_AT).astype(int))
    joints = r.q[looked_at, r.model.first_q :]
    chosen = [0]
    distance = np.linalg.norm(joints - joints[0], axis=1)
    for _ in range(min(_INSTANTS, len(looked_at)) - 1):
        chosen.append(int(np.argmax(distance)))
        distance = np.minimum(distance, np.linalg.norm(joints - joints[chosen[-1]], axis=1))
    return [int(looked_at[i]) for i in sorted(chosen)]


def _draw_bodies(
    true_axes: Any, solved_axes: Any, r: Reconstruction, found: list[Track], frame: int
) -> None:
    """Draw what is known to be true, and beside it the body with the same points over it."""
    flat = _projection(r, frame)
    true = {t.name: t.true[frame, :3, 3] for t in found}
    links = {link: r.link(link)[frame, :3, 3] for chain in _BONES for link in chain}
    _draw_chains(
        true_axes, flat, true, _TRUE_JOINTS if r.recording.joints else _TRUE_DEVICES, _HELD_OUT
    )
    _draw_chains(solved_axes, flat, links, _BONES, _SOLVED, 'solved body')
    groups = ((_WENT_IN, 'device that went in', True), (_HELD_OUT, 'truth held out', False))
    for axes in (true_axes, solved_axes):
        for colour, label, went_in in groups:
            points = [point for name, point in true.items() if (name in r.roles) == went_in]
            if points:
                axes.plot(*flat(np.array(points)), 'o', markersize=5, color=colour, label=label)
        axes.set_aspect('equal')
        axes.set_xlim(-0.7, 0.7)
        axes.set_ylim(-0.05, 1.85)
        axes.set_xticks([])


def _projection(r: Reconstruction, frame: int) -> Projection:
    """Return how points are drawn: across and up, in front of how the user stood at first."""
    root = r.link('base_link')
    ahead, left, centre = root[0, :3, 0], root[0, :3, 1], root[frame, :3, 3]
    across = np.cos(_VIEW_RAD) * left - np.sin(_VIEW_RAD) * ahead
    return lambda points: ((points - centre) @ across, points[..., 2])


def _draw_chains(
    axes: Any,
    flat: Projection,
    points: Mapping[str, Array],
    chains: tuple[tuple[str, ...], ...],
    colour: str,
    label: str | None = None,
) -> None:
    for chain in chains:
        known = [points[name] for name in chain if name in points]
        if len(known) > 1:
            axes.plot(*flat(np.array(known)), color=colour, linewidth=2.5, label=label)
            label = None


def _draw_over_time(axes: Any, r: Reconstruction, found: list[Track]) -> None:
    """Draw the height of elbows and knees that were held out, solved and true."""
    seconds = np.arange(len(r.q)) / r.recording.rate_hz
    shown = [t for t in found if t.name not in r.roles and t.group in ('elbows', 'knees')]
    for i, track in enumerate(shown):
        colour = f'C{i}'
        axes.plot(seconds, track.predicted[:, 2, 3], color=colour, label=f'{track.name}, solved')
        axes.plot(seconds, track.true[:, 2, 3], ':', color=colour, label=f'{track.name}, true')
    axes.set_xlabel('s')
    axes.set_ylabel('height [m]')
    axes.margins(x=0.0)
    if shown:
        # Above the curves, which fill the whole of it.
        above = {'loc': 'lower right', 'bbox_to_anchor': (1.0, 1.0)}
        axes.legend(**above, ncols=2 * len(shown), fontsize='small')


def _draw_errors(axes: Any, r: Reconstruction, found: list[Track]) -> None:
    """Draw the spread of each error, its mean, and what no inverse kinematics gives."""
    errors = [position_errors_mm(track) for track in found]
    axes.boxplot(errors, whis=(5, 95), showfliers=False)
    places = range(1, len(found) + 1)
    axes.plot(places, [e.mean() for e in errors], 'D', color=_SOLVED, label='mean')
    rigid = [(i, rigid_baseline(r, track)) for i, track in zip(places, found, strict=True)]
    known = [(i, position_errors_mm(track).mean()) for i, track in rigid if track is not None]
    if known:
        axes.plot(*zip(*known, strict=True), 'x', color=_HELD_OUT, label='rigid, no IK: mean')
    axes.set_xticks(places, [track.name for track in found], rotation=30, ha='right')
    axes.set_ylabel('error [mm]')
    axes.legend(loc='upper left', fontsize='small')
