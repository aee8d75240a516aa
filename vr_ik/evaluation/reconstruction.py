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

"""Runs a recording through the pipeline: some devices go in, a moving body comes out."""

from dataclasses import dataclass
import time

import numpy as np

from vr_ik.calibration.calibration import Calibration
from vr_ik.calibration.refine import refine
from vr_ik.calibration.t_pose import calibrate_standing
from vr_ik.config import SolverConfig
from vr_ik.errors import VrIkError
from vr_ik.evaluation.recordings import Recording
from vr_ik.kinematics.model import RobotModel
from vr_ik.pipeline import Pipeline, Solution
from vr_ik.types import Array

_THREE = ('hmd', 'l_controller', 'r_controller')
_SIX = (*_THREE, 'waist', 'l_foot', 'r_foot')
POINTS = ('3', '6', 'all')
"""Choices of what goes in: headset and controllers; waist and feet, too; all there is."""


@dataclass(frozen=True)
class Reconstruction:
    """The body over one recording."""

    recording: Recording
    roles: tuple[str, ...]
    """The devices that went in."""
    calibration: Calibration
    model: RobotModel
    q: Array
    """(frames, nq)."""
    links: Array
    """(frames, n_links, 4, 4) pose_world_from_link."""
    iterations: Array
    """(frames,) steps of the solver."""
    solve_times_s: Array
    """(frames,) in the solver."""
    frame_times_s: Array
    """(frames,) in the whole pipeline."""
    glitches: int

    def link(self, name: str) -> Array:
        """Return (frames, 4, 4) poses of one link."""
        return self.links[:, self.model.link_index(name)]


def input_roles(recording: Recording, points: str) -> tuple[str, ...]:
    """Return the devices of a recording that go in for that choice of points."""
    wanted = {'3': _THREE, '6': _SIX, 'all': tuple(recording.poses)}[points]
    missing = [role for role in wanted if role not in recording.poses]
    if missing:
        raise VrIkError(
            f"The recording '{recording.name}' has no {', '.join(missing)}, as {points} points "
            f'need; it has {", ".join(recording.poses)}.'
        )
    return wanted


def calibrate_on_first(recording: Recording, roles: tuple[str, ...]) -> Calibration:
    """Return what the first frame tells, or raise `CalibrationError` with the reason why nothing.

    Of devices that are held out, it learns nothing but which bone they are worn on.
    """
    first = {role: p[0] for role, p in recording.poses.items() if np.isfinite(p[0]).all()}
    return calibrate_standing(
        {role: at for role, at in first.items() if role in roles},
        {role: at for role, at in first.items() if role not in roles},
    )


def reconstruct(
    recording: Recording,
    roles: tuple[str, ...],
    config: SolverConfig,
    refined: bool = True,
) -> Reconstruction:
    """Calibrate on the first frame, refine on all (`refined`), then solve frame by frame."""
    calibration = calibrate_on_first(recording, roles)
    frames = recording.frames(roles)
    if refined:
        worn = refine(calibration.wearing(roles), frames)
        mounts = {**calibration.mounts, **worn.mounts}
        calibration = Calibration(worn.proportions, mounts, worn.floor_m)
    pipeline = Pipeline(config, calibration.wearing(roles))
    solutions: list[Solution] = []
    ends_s = [time.perf_counter()]
    for frame in frames:
        if recording.joints and len(solutions) == 1:
            # Motion capture does not begin in the pose that was put before it.
            pipeline.reset()
        solutions.append(pipeline.process(frame))
        ends_s.append(time.perf_counter())
    q = np.array([solution.q for solution in solutions])
    return Reconstruction(
        recording,
        roles,
        calibration,
        pipeline.model,
        q,
        np.array([pipeline.model.link_poses(row) for row in q]),
        np.array([solution.iterations for solution in solutions]),
        np.array([solution.solve_time_s for solution in solutions]),
        np.diff(ends_s),
        pipeline.glitches,
    )
