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

"""Converts motion: BVH files and bags in; bags of tracked devices, BVH and CSV files out."""

from collections.abc import Callable
import csv
from pathlib import Path

import numpy as np

from vr_ik.calibration.calibration import Calibration
from vr_ik.config import SolverConfig
from vr_ik.errors import VrIkError
from vr_ik.evaluation.mocap import read_mocap
from vr_ik.io.bag_files import is_bag
from vr_ik.io.bag_topics import known_topic, TF_TYPE
from vr_ik.io.bag_writer import BagWriter, check_free
from vr_ik.io.bvh_writer import write_bvh
from vr_ik.io.tf_cdr_writer import FrameEncoder
from vr_ik.offline.motion import Motion, read_motion
from vr_ik.types import TrackingFrame

ROOT_COLUMNS = ('x', 'y', 'z', 'qx', 'qy', 'qz', 'qw')
"""Of a CSV file: the root's position [m] and quaternion; then come the joints [rad]."""

# The T-pose is held for a second, as a calibration wants it, and after a pause the motion begins:
# a pose is not expected to be near the one before such a silence.
_HELD_NS = 1_000_000_000
_PAUSE_NS = 2_000_000_000


def convert(
    source: Path,
    target: Path,
    config: SolverConfig,
    calibration: Calibration | None,
    namespace: str | None = None,
) -> tuple[str, tuple[str, ...]]:
    """Convert a file or bag, in it the user of a namespace, to what the target's suffix says.

    Returns what was done and what could not be read, both in words.
    """
    writers: dict[str, Callable[[Path, Motion], str]] = {'.bvh': _write_bvh, '.csv': _write_csv}
    check_free(target)
    if source.suffix != '.bvh' and not is_bag(source):
        raise VrIkError(f"'{source}' is neither a bag nor a .bvh file.")
    if target.suffix in writers:
        motion = read_motion(source, config, calibration, namespace)
        done = writers[target.suffix](target, motion)
        return done, motion.lost
    if target.suffix:
        raise VrIkError(
            f"'{target}': unknown format '{target.suffix}'; known: {', '.join(writers)}, and "
            'names without a suffix for bags.'
        )
    if source.suffix != '.bvh':
        raise VrIkError(f"'{source}' is a bag already; to solve it: vr_ik solve.")
    return _write_tracking(target, source, config), ()


def _write_tracking(target: Path, source: Path, config: SolverConfig) -> str:
    """Put devices on the body of a BVH file, and write what a tracker would publish of them."""
    recording = read_mocap(source)
    frames = recording.frames(tuple(recording.poses))
    stance, period_ns = frames[0], round(1e9 / recording.rate_hz)
    # Stamps do not begin at zero, which stands for 'no time' in ROS.
    held = [
        TrackingFrame(stamp_ns, stance.names, stance.poses)
        for stamp_ns in range(period_ns, _HELD_NS + period_ns, period_ns)
    ]
    begin_ns = held[-1].stamp_ns + _PAUSE_NS
    moved = [TrackingFrame(begin_ns + f.stamp_ns, f.names, f.poses) for f in frames[1:]]
    encoder = FrameEncoder(config.world_frame, config.frame_prefix)
    topic = known_topic('/tf', TF_TYPE, depth=100)
    with BagWriter(target) as writer:
        for frame in held + moved:
            writer.write(topic, frame.stamp_ns, encoder.encode(frame))
    return (
        f"'{target}': {len(moved)} frames at {recording.rate_hz:.4g} Hz of "
        f'{", ".join(stance.names)}, after a T-pose that is held for a second.'
    )


def _write_bvh(target: Path, motion: Motion) -> str:
    frame_time_s, q = motion.evenly()
    write_bvh(target, motion.urdf, q, frame_time_s)
    return f"'{target}': {len(q)} frames at {1.0 / frame_time_s:.4g} Hz, in centimetres, y up."


def _write_csv(target: Path, motion: Motion) -> str:
    try:
        with target.open('w', encoding='utf-8', newline='') as file:
            writer = csv.writer(file)
            writer.writerow(['stamp_ns', *ROOT_COLUMNS, *motion.joint_names])
            rows = zip(motion.stamps_ns.tolist(), motion.q.tolist(), strict=True)
            writer.writerows([stamp_ns, *map(repr, row)] for stamp_ns, row in rows)
    except OSError as error:
        raise VrIkError(f"'{target}' cannot be written: {error.strerror}.") from error
    seconds = float(np.ptp(motion.stamps_ns)) * 1e-9
    return f"'{target}': {len(motion.q)} frames, {seconds:.1f} s, in metres and radians."
