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

"""The motion of a body, from whatever it was recorded as."""

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vr_ik.body.human import human_urdf
from vr_ik.calibration.calibration import Calibration
from vr_ik.config import SolverConfig
from vr_ik.errors import VrIkError
from vr_ik.evaluation.mocap import read_mocap
from vr_ik.evaluation.reconstruction import input_roles, reconstruct
from vr_ik.frame_solver import FrameSolver
from vr_ik.io.bag_files import Bag
from vr_ik.io.bag_topics import JOINT_STATE_TYPE, STRING_TYPE, typestore
from vr_ik.io.bags import in_our_layout, read_tracking, tf_topic, unused
from vr_ik.io.tf_cdr import DeviceReader, JoinedMessages
from vr_ik.math.rotations import quaternion_from_matrix
from vr_ik.offline.earlier import is_of_a_solve, user_namespace
from vr_ik.pipeline import Pipeline
from vr_ik.types import Array

_AT_ONCE = 4096


@dataclass(frozen=True)
class Motion:
    """A body over time."""

    urdf: str
    joint_names: tuple[str, ...]
    stamps_ns: NDArray[np.int64]
    q: Array
    """(frames, 7 + joints): root position [m], quaternion xyzw without jumps of its sign, joints
    [rad]."""
    lost: tuple[str, ...] = ()
    """What could not be read of it, in words."""

    def __post_init__(self) -> None:
        """Give the quaternions, of which both signs are the same rotation, one that goes on."""
        q = self.q.copy()
        signs = np.where((q[1:, 3:7] * q[:-1, 3:7]).sum(axis=1) < 0.0, -1.0, 1.0)
        q[1:, 3:7] *= np.cumprod(signs)[:, None]
        q[:, 3:7] *= -1.0 if len(q) and q[0, 6] < 0.0 else 1.0
        object.__setattr__(self, 'q', q)

    def evenly(self) -> tuple[float, Array]:
        """Return the time of a frame [s], the median, and q at multiples of it.

        Frames that are missing are filled in; where time goes back, the motion just goes on.
        """
        steps = np.diff(self.stamps_ns) * 1e-9
        if not (steps > 0.0).any():
            return 1.0, self.q
        frame_time_s = float(np.median(steps[steps > 0.0]))
        seconds = np.concatenate(([0.0], np.cumsum(np.where(steps > 0.0, steps, frame_time_s))))
        wanted = np.arange(round(seconds[-1] / frame_time_s) + 1) * frame_time_s
        even = np.column_stack([np.interp(wanted, seconds, column) for column in self.q.T])
        even[:, 3:7] /= np.linalg.norm(even[:, 3:7], axis=1, keepdims=True)
        return frame_time_s, even


def read_motion(
    path: Path,
    config: SolverConfig,
    calibration: Calibration | None,
    namespace: str | None = None,
) -> Motion:
    """Return the body of a solved bag as it is; of another bag, or of a BVH file, solved now.

    The body of a BVH file is measured in its T-pose. In a bag the body is in a namespace, as
    `solve_bag` has it.
    """
    if path.suffix == '.bvh':
        return _of_mocap(path, config, calibration)
    motion = _of_solved_bag(path, config, namespace)
    return _of_tracking(path, config, calibration) if motion is None else motion


def _of_mocap(path: Path, config: SolverConfig, calibration: Calibration | None) -> Motion:
    if calibration is not None:
        raise VrIkError(f"The body of '{path}' is measured in it: a user is for bags alone.")
    recording = read_mocap(path)
    roles = input_roles(recording, '6')
    solved = reconstruct(recording, roles, config, refined=False)
    stamps = [frame.stamp_ns for frame in recording.frames(roles)]
    urdf = human_urdf(solved.calibration.proportions, config.model)
    return Motion(urdf, solved.model.joint_names, np.array(stamps, np.int64), solved.q)


def _of_tracking(path: Path, config: SolverConfig, calibration: Calibration | None) -> Motion:
    frames, lost = read_tracking(path, config)
    pipeline, solver = Pipeline(config, calibration), FrameSolver()
    solutions = [solver.solve(pipeline, frame) for frame in frames]
    solved = [solution for solution in solutions if solution is not None]
    if not solved:
        raise VrIkError(f"No frame of '{path}' could be solved: {solver.mistake}.")
    return Motion(
        pipeline.urdf,
        pipeline.model.joint_names,
        np.array([solution.stamp_ns for solution in solved], np.int64),
        np.array([solution.q for solution in solved]),
        (*lost, *unused(unsolved=len(frames) - len(solved))),
    )


def _of_solved_bag(path: Path, config: SolverConfig, namespace: str | None) -> Motion | None:
    """Return what a solve has left in a bag; None where there is no human body in it."""
    urdf, names = '', ()
    joints: dict[int, Array] = {}
    roots: dict[int, Array] = {}
    prefix = config.frame_prefix + config.body_prefix
    reader = DeviceReader(config.world_frame, prefix, ['base_link'])
    with Bag(path) as bag:
        if not any(topic.type == JOINT_STATE_TYPE for topic in bag.topics):
            return None
        tf = tf_topic(path, bag.topics).name
        space = user_namespace(namespace, tf, config.frame_prefix)
        messages = bag.messages()
        while several := list(islice(messages, _AT_ONCE)):
            tf_messages = [in_our_layout(data) for topic, _, data in several if topic.name == tf]
            for poses in reader.read_many(JoinedMessages.of(tf_messages)):
                if poses is not None and poses.names:
                    roots[poses.stamps_ns[0]] = poses.poses[0]
            for topic, _, data in several:
                if topic.name == tf or not is_of_a_solve(topic, data, space):
                    continue
                content: Any = typestore().deserialize_cdr(data, topic.type)
                if topic.type == STRING_TYPE:
                    urdf = content.data
                elif topic.type == JOINT_STATE_TYPE:
                    names = tuple(content.name)
                    stamp = content.header.stamp
                    joints[stamp.sec * 1_000_000_000 + stamp.nanosec] = content.position
    stamps = [stamp for stamp in joints if stamp in roots]
    if not urdf or not stamps:
        return None
    q = [np.concatenate((_root(roots[stamp]), joints[stamp])) for stamp in stamps]
    return Motion(urdf, names, np.array(stamps, np.int64), np.array(q), tuple(bag.lost))


def _root(pose_world_from_root: Array) -> Array:
    rotation = np.ascontiguousarray(pose_world_from_root[:3, :3])
    return np.concatenate((pose_world_from_root[:3, 3], quaternion_from_matrix(rotation)))
