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

"""Laws of the pipeline: ground truth recovered from devices, through noise, loss and glitches."""

from typing import Any

import numpy as np
import pytest

from vr_ik import registry
from vr_ik.config import SolverConfig, TrackerConfig
from vr_ik.errors import ConfigError, VrIkError
from vr_ik.math.rotations import poses_from_quaternions
from vr_ik.pipeline import Pipeline
from vr_ik.solvers.lm import LevenbergMarquardt
from vr_ik.trackers.simulated import SIMULATED_ROLES, SimulatedTracker
from vr_ik.types import Status, TrackingFrame

CLEAN: dict[str, Any] = {
    'position_noise_mm': 0.0,
    'rotation_noise_deg': 0.0,
    'dropouts_per_minute': 0.0,
    'glitches_per_minute': 0.0,
}
STEP_NS = 8_333_333
ORIGIN_NS = 10**18


def record(seconds, **settings):
    tracker = SimulatedTracker(TrackerConfig(**settings))
    stamps = range(ORIGIN_NS, ORIGIN_NS + int(seconds * 1e9), STEP_NS)
    return tracker.user, [tracker.read(stamp) for stamp in stamps]


def device_errors(user, solution, roles=SIMULATED_ROLES):
    """Distances [m] of the devices on the solved body from those on the true one."""
    truth = user.q_at((solution.stamp_ns - ORIGIN_NS) * 1e-9)
    solved, true = user.device_poses(solution.q, roles), user.device_poses(truth, roles)
    return np.linalg.norm((solved - true)[:, :3, 3], axis=1)


def test_a_whole_round_is_followed_within_millimetres():
    user, frames = record(17.0)
    pipeline = Pipeline(SolverConfig())
    solutions = [pipeline.process(frame) for frame in frames]
    errors = np.array([device_errors(user, solution) for solution in solutions])
    assert errors.mean() < 0.003
    assert [solution.stamp_ns for solution in solutions] == [frame.stamp_ns for frame in frames]
    model = pipeline.model
    for solution in solutions:
        assert (solution.q[7:] >= model.lower).all() and (solution.q[7:] <= model.upper).all()


@pytest.mark.parametrize('solver', ['body', 'lm'])
def test_a_body_without_any_posture_follows_its_devices(solver):
    user, frames = record(3.0, **CLEAN)
    pipeline = Pipeline(SolverConfig(solver=solver, posture_weight=0.0))
    for frame in frames:
        solution = pipeline.process(frame)
        assert solution.status != Status.FAILED
        assert device_errors(user, solution).max() < 0.02


def test_without_faults_the_reported_errors_are_the_true_ones():
    user, frames = record(2.0, **CLEAN)
    pipeline = Pipeline(SolverConfig(vibration_hz=0.0, smoothing_hz=0.0))
    for frame in frames:
        solution = pipeline.process(frame)
        reported = [solution.position_errors[role] for role in SIMULATED_ROLES]
        assert np.allclose(reported, device_errors(user, solution), atol=1e-6)


def test_glitches_of_metres_do_not_move_the_body():
    user, frames = record(10.0, **{**CLEAN, 'glitches_per_minute': 60.0})
    pipeline = Pipeline(SolverConfig())
    errors = [device_errors(user, pipeline.process(frame)).max() for frame in frames]
    assert pipeline.glitches > 3
    assert np.max(errors) < 0.1


def test_velocity_is_the_change_of_the_pose():
    _, frames = record(1.0)
    pipeline = Pipeline(SolverConfig())
    solutions = [pipeline.process(frame) for frame in frames]
    assert (solutions[0].velocity == 0.0).all()
    for before, after in zip(solutions, solutions[1:], strict=False):
        moved = pipeline.model.integrate(before.q, after.velocity * STEP_NS * 1e-9)
        moved[3:7] *= np.sign(moved[3:7] @ after.q[3:7])
        assert np.abs(moved - after.q).max() < 1e-9


def test_moving_the_world_moves_the_body_with_it():
    _, frames = record(1.0, **CLEAN)
    move = poses_from_quaternions(np.array([[3.0, -2.0, 0.5]]), np.array([[0, 0, 0.6, 0.8]]))[0]
    here, there = Pipeline(SolverConfig()), Pipeline(SolverConfig())
    for frame in frames:
        a = here.process(frame)
        moved = TrackingFrame(frame.stamp_ns, frame.names, move @ frame.poses)
        b = there.process(moved)
        assert np.abs(a.q[7:] - b.q[7:]).max() < 1e-4


def test_any_heading_is_found_from_the_first_frame():
    user, frames = record(0.1, **CLEAN)
    for yaw in np.linspace(-np.pi, np.pi, 9):
        q = np.array([[0.0, 0.0, np.sin(yaw / 2), np.cos(yaw / 2)]])
        move = poses_from_quaternions(np.array([[1.0, 2.0, 0.0]]), q)[0]
        pipeline = Pipeline(SolverConfig())
        for frame in frames:
            solution = pipeline.process(
                TrackingFrame(frame.stamp_ns, frame.names, move @ frame.poses)
            )
        assert max(solution.position_errors.values()) < 0.02


def test_three_devices_are_enough_to_follow():
    roles = ('hmd', 'l_controller', 'r_controller')
    user, frames = record(5.0)
    pipeline = Pipeline(SolverConfig(model='upper', trackers=roles))
    errors = []
    for frame in frames:
        solution = pipeline.process(frame)
        assert set(solution.position_errors) <= set(roles)
        errors.append(np.mean(list(solution.position_errors.values())))
    assert np.mean(errors) < 0.01


def test_without_any_device_the_body_goes_to_rest_where_it_is():
    _, frames = record(0.5, **CLEAN)
    pipeline = Pipeline(SolverConfig())
    for frame in frames:
        last = pipeline.process(frame)
    stamp_ns, bridged_s = last.stamp_ns, SolverConfig().gap_hold_s
    for tick in range(1, 600):
        empty = TrackingFrame(stamp_ns + tick * STEP_NS, (), np.empty((0, 4, 4)))
        solution = pipeline.process(empty)
        if tick * STEP_NS * 1e-9 > bridged_s + 0.1:
            assert solution.position_errors == {}
            assert solution.status == Status.FAILED
            assert np.abs(solution.velocity[6:]).max() <= 1.5 + 1e-6
    assert np.abs(solution.velocity).max() < 1e-3
    assert np.linalg.norm((solution.q - last.q)[:2]) < 0.1
    links = pipeline.model.link_poses(solution.q)
    for side in 'lr':
        assert abs(links[pipeline.model.link_index(f'{side}_sole')][2, 3]) < 0.06
        hand, hip = (pipeline.model.link_index(x) for x in (f'{side}_gripper', 'base_link'))
        assert links[hand][2, 3] < links[hip][2, 3] + 0.1
    # What is nobody's changes nothing, however long it goes on.
    other = TrackingFrame(stamp_ns + 600 * STEP_NS, ('somebody_else',), np.eye(4)[None])
    assert np.abs(pipeline.process(other).q - solution.q).max() < 1e-3


def test_before_the_first_device_there_is_no_pose():
    pipeline = Pipeline(SolverConfig())
    solution = pipeline.process(TrackingFrame(1, (), np.empty((0, 4, 4))))
    assert solution.status == Status.FAILED
    assert (solution.q == pipeline.model.neutral()).all()
    assert (solution.velocity == 0.0).all()


def test_after_a_pause_the_body_is_found_at_once():
    user, frames = record(9.0, **CLEAN)
    pipeline = Pipeline(SolverConfig())
    for frame in frames[:200]:
        pipeline.process(frame)
    for frame in frames[900:905]:
        assert device_errors(user, pipeline.process(frame)).max() < 0.01


def test_a_quick_motion_is_followed_from_its_very_middle():
    user, frames = record(2.0, **CLEAN)
    pipeline = Pipeline(SolverConfig())
    for first in range(200, 220):
        pipeline.reset()
        solutions = [pipeline.process(frame) for frame in frames[first : first + 8]]
        errors = [device_errors(user, solution).max() for solution in solutions[1:]]
        assert max(errors) < 0.01


def test_bad_poses_do_no_harm():
    _, frames = record(0.5, **CLEAN)
    pipeline = Pipeline(SolverConfig())
    for i, frame in enumerate(frames):
        poses = frame.poses.copy()
        if i % 5 == 4:
            poses[i % len(poses), i % 3, 3] = (np.nan, np.inf, -np.inf)[i % 3]
        solution = pipeline.process(TrackingFrame(frame.stamp_ns, frame.names, poses))
        assert np.isfinite(solution.q).all() and np.isfinite(solution.velocity).all()
        assert solution.status is not Status.FAILED


def test_reset_makes_replay_exact():
    _, frames = record(1.0)
    pipeline = Pipeline(SolverConfig())
    first = [pipeline.process(frame).q for frame in frames]
    pipeline.reset()
    again = [pipeline.process(frame).q for frame in frames]
    assert all((a == b).all() for a, b in zip(first, again, strict=True))


def test_a_model_without_the_tracked_links_is_refused():
    with pytest.raises(ConfigError, match='l_foot, r_foot is worn'):
        Pipeline(SolverConfig(model='upper', trackers=('l_foot', 'r_foot')))


def test_an_option_that_a_parameter_would_overrule_is_refused():
    with pytest.raises(ConfigError, match='posture_weight'):
        Pipeline(SolverConfig(solver='lm', solver_options='posture_weight=5.0'))
    with pytest.raises(VrIkError, match='nonsense'):
        Pipeline(SolverConfig(solver='lm', solver_options='nonsense=5.0'))


class _ResetAlone(LevenbergMarquardt):
    """A solver as a plug-in may be: it forgets, and knows nothing of other solvers."""

    resets = 0

    def reset(self) -> None:
        type(self).resets += 1


def test_a_solver_that_can_only_forget_is_told_to(monkeypatch):
    monkeypatch.setattr(registry, 'load', lambda group, name: _ResetAlone)
    pipeline = Pipeline(SolverConfig())
    before = _ResetAlone.resets
    pipeline.reset()
    assert _ResetAlone.resets == before + 1
