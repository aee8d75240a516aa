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

"""Figures of a reconstruction: errors in position, rotation and velocity, jerk, limits, time."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from vr_ik.evaluation.reconstruction import Reconstruction
from vr_ik.evaluation.tracks import rigid_baseline, Track, tracks, untied_joint_tracks, UPPER
from vr_ik.types import Array

Figures = dict[str, Any]

_AT_LIMIT_RAD = 1e-6
_WORTH_BEATING_MM = 10.0
"""Where no inverse kinematics errs by less than this, nothing needs to be better."""
_FIRST_SOLVES = 10
"""Frames whose time is not counted: processors and caches have yet to warm up."""


def motion_figures(r: Reconstruction) -> Figures:
    """Return the figures of one recording, as they stand in the JSON file."""
    found = tracks(r)
    baseline = [track for track in (rigid_baseline(r, t) for t in found) if track is not None]
    rate_hz = r.recording.rate_hz
    names = r.model.joint_names
    joints = r.q[:, r.model.first_q :]
    at_limit = (joints <= r.model.lower + _AT_LIMIT_RAD) | (
        joints >= r.model.upper - _AT_LIMIT_RAD
    )
    return {
        'mean': _groups({t.name: position_errors_mm(t).mean() for t in found}, found),
        'rotation_deg': _groups(
            {t.name: rotation_errors_deg(t).mean() for t in found if not t.is_joint}, found
        ),
        'baseline': _baseline(baseline),
        # Where joints are known they alone count: devices are what went in.
        'jerk_ratio': _jerk_ratio([t for t in found if t.is_joint] or found, rate_hz),
        'untied': _untied(untied_joint_tracks(r)),
        'time_us': _times_us(r.solve_times_s),
        'frame_us': _times_us(r.frame_times_s),
        'frames': len(r.q),
        'height_m': r.calibration.proportions.height,
        'floor_m': r.calibration.floor_m,
        'glitches': r.glitches,
        'remarks': list(r.recording.remarks),
        'at_limit': float(at_limit.any(axis=1).mean()),
        'limit_share': {
            name: float(share)
            for name, share in zip(names, at_limit.mean(axis=0), strict=True)
            if share > 0.0
        },
        'tracks': {track.name: track_figures(track, rate_hz) for track in found},
    }


def _baseline(tracks_of_it: list[Track]) -> dict[str, float]:
    """Return the means of elbows and knees; there are no others, so none over all joints."""
    means = _groups({t.name: position_errors_mm(t).mean() for t in tracks_of_it}, tracks_of_it)
    return {group: mean for group, mean in means.items() if not group.endswith('_joints')}


def _untied(joints: list[Track]) -> dict[str, float]:
    """Return the plain distances of links' beginnings from the joints [mm], if any are known."""
    means = _groups({t.name: position_errors_mm(t).mean() for t in joints}, joints)
    return {group: mean for group, mean in means.items() if group.endswith('_joints')}


def track_figures(track: Track, rate_hz: float) -> Figures:
    """Return the figures of one device or joint."""
    errors = position_errors_mm(track)
    figures = {
        'frames': len(errors),
        'mean': float(errors.mean()),
        'median': float(np.median(errors)),
        'p95': float(np.percentile(errors, 95)),
        'velocity_mm_s': _velocity_error_mm_s(track, rate_hz),
        'jerk_ratio': _jerk_ratio([track], rate_hz),
    }
    if not track.is_joint:
        figures['rotation_deg'] = float(rotation_errors_deg(track).mean())
    return figures


def position_errors_mm(track: Track) -> Array:
    """Return the distance of prediction and truth in every frame that counts."""
    distance = np.linalg.norm((track.predicted - track.true)[:, :3, 3], axis=1)
    return np.asarray(1e3 * distance[track.valid])


def rotation_errors_deg(track: Track) -> Array:
    """Return the angle between prediction and truth in every frame that counts."""
    a, b = track.predicted[track.valid, :3, :3], track.true[track.valid, :3, :3]
    # Twice the sine of half the angle is half the distance: exact near zero, unlike the cosine.
    chord = np.linalg.norm(a - b, axis=(1, 2)) / np.sqrt(8.0)
    return np.asarray(np.degrees(2.0 * np.arcsin(np.clip(chord, 0.0, 1.0))))


def _velocity_error_mm_s(track: Track, rate_hz: float) -> float:
    steps = np.diff((track.predicted - track.true)[:, :3, 3], axis=0)
    counts = np.logical_and(track.valid[1:], track.valid[:-1])
    if not counts.any():
        return 0.0
    return float(1e3 * rate_hz * np.linalg.norm(steps, axis=1)[counts].mean())


def _jerk_ratio(found: Iterable[Track], rate_hz: float) -> float | None:
    """Return the mean jerk of the solved points over that of the true ones."""
    solved, true = 0.0, 0.0
    for track in found:
        counts = np.convolve(track.valid, np.ones(4), 'valid') == 4.0
        if not counts.any():
            continue
        for poses, add_to_solved in ((track.predicted, True), (track.true, False)):
            third = np.diff(poses[:, :3, 3], n=3, axis=0) * rate_hz**3
            jerk = float(np.linalg.norm(third, axis=1)[counts].mean())
            solved, true = (solved + jerk, true) if add_to_solved else (solved, true + jerk)
    return solved / true if true > 0.0 else None


def _times_us(times_s: Array) -> dict[str, float]:
    counted = 1e6 * (times_s[_FIRST_SOLVES:] if len(times_s) > 2 * _FIRST_SOLVES else times_s)
    return {'median': float(np.median(counted)), 'p99': float(np.percentile(counted, 99))}


def _groups(by_name: dict[str, float], found: list[Track]) -> dict[str, float]:
    """Return the means by part of the body; where joints are known, they are what counts."""
    has_joints = any(track.is_joint for track in found)
    counted = [t for t in found if t.name in by_name and (t.is_joint or not has_joints)]
    counted = counted or [t for t in found if t.name in by_name]
    groups: dict[str, list[float]] = {}
    for track in counted:
        groups.setdefault(track.group, []).append(float(by_name[track.name]))
    means = {group: float(np.mean(values)) for group, values in groups.items()}
    if has_joints and counted and counted[0].is_joint:
        means['all_joints'] = float(np.mean([by_name[t.name] for t in counted]))
        upper = [by_name[t.name] for t in counted if t.group in UPPER]
        means['upper_joints'] = float(np.mean(upper))
    return means


def overall_figures(motions: dict[str, Figures]) -> Figures:
    """Return the mean over the motions, each counting alike."""
    figures: Figures = {
        key: _mean_of([motion[key] for motion in motions.values()])
        for key in ('mean', 'rotation_deg', 'baseline', 'untied', 'time_us', 'frame_us')
    }
    names = dict.fromkeys(name for motion in motions.values() for name in motion['tracks'])
    figures['tracks'] = {
        name: _mean_of([m['tracks'][name] for m in motions.values() if name in m['tracks']])
        for name in names
    }
    shares = [motion['limit_share'] for motion in motions.values()]
    joints = dict.fromkeys(joint for share in shares for joint in share)
    # A joint that a motion does not list was never at its limit there.
    figures['limit_share'] = _mean_of([{j: s.get(j, 0.0) for j in joints} for s in shares])
    figures['at_limit'] = float(np.mean([motion['at_limit'] for motion in motions.values()]))
    ratios = [m['jerk_ratio'] for m in motions.values() if m['jerk_ratio'] is not None]
    figures['jerk_ratio'] = float(np.mean(ratios)) if ratios else None
    figures['frames'] = sum(motion['frames'] for motion in motions.values())
    figures['motions'] = motions
    return figures


def unbeaten(figures: Figures) -> list[tuple[str, str, float, float]]:
    """Return motion, part of the body, its error and that of no IK, where that is no worse [mm].

    Where no inverse kinematics errs by 10 mm at most, there is little to gain.
    """
    return [
        (name, part, motion['mean'][part], rigid)
        for name, motion in figures['motions'].items()
        for part, rigid in motion['baseline'].items()
        if rigid > _WORTH_BEATING_MM and motion['mean'][part] >= rigid
    ]


def _mean_of(rows: Sequence[Mapping[str, float | None]]) -> dict[str, float]:
    """Return the means of what the rows have; what one of them lacks counts for nothing."""
    values: dict[str, list[float]] = {}
    for row in rows:
        for key, value in row.items():
            if value is not None:
                values.setdefault(key, []).append(value)
    return {key: float(np.mean(known)) for key, known in values.items()}
