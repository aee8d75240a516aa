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

"""Solves one recorded session: a bag with tracked devices in, the same bag with a body out."""

from collections.abc import Callable
from dataclasses import dataclass
import hashlib
from itertools import islice
from pathlib import Path
import time

from vr_ik.calibration.calibration import Calibration
from vr_ik.config import SolverConfig
from vr_ik.frame_solver import FrameSolver, made_up_frames
from vr_ik.io.bag_files import Bag
from vr_ik.io.bag_topics import (
    DIAGNOSTICS_TYPE,
    JOINT_STATE_TYPE,
    known_topic,
    STRING_TYPE,
    Topic,
    typestore,
)
from vr_ik.io.bag_writer import BagWriter
from vr_ik.io.bags import in_our_layout, no_devices, tf_topic, unused
from vr_ik.io.body_cdr import BodyFramesEncoder, JointStateEncoder
from vr_ik.io.tf_cdr import DeviceReader, JoinedMessages, LinkReader
from vr_ik.offline.earlier import human_links, is_of_a_solve, user_namespace
from vr_ik.offline.report import MotionReport
from vr_ik.pipeline import Pipeline, Solution

_AT_ONCE = 2048
"""Messages that are decoded and written together."""

Progress = Callable[[float], None]
"""Is told now and then which share of the bag has been read."""


@dataclass(frozen=True)
class Solved:
    """What came of a bag."""

    bag: str
    frames: int
    seconds_of_motion: float
    seconds_taken: float
    """From opening the bag to closing the result; not the start of Python, nor the loading of
    kernels and message types."""
    sha256: str
    """Of all positions: root (7) and joints of each frame as little endian float64."""
    replaced: int
    """Messages of an earlier solve that are not in the result."""
    lost: tuple[str, ...]
    """What could not be read, in words."""
    errors_mm: dict[str, float]
    """How far each device is from where the body has it, on the average."""


def solve_bag(
    source: Path,
    target: Path,
    config: SolverConfig,
    calibration: Calibration | None,
    progress: Progress,
    namespace: str | None = None,
) -> Solved:
    """Write a bag with all that is in `source` and the solved body; raise `VrIkError` if not.

    Solves as `solver_node` does with this configuration in a namespace ('' or '/anna'; None: by
    the bag and the prefix of frames), to the same numbers.
    """
    pipeline = Pipeline(config, calibration)
    warm_up(pipeline, config)
    started_s = time.perf_counter()
    with Bag(source) as bag, BagWriter(target) as writer:
        tf = tf_topic(source, bag.topics)
        space = user_namespace(namespace, tf.name, config.frame_prefix)
        solving = _Solving(pipeline, config, tf, space, writer)
        for topic in bag.topics:
            writer.add(topic)
        read_bytes = 0
        messages = bag.messages()
        while several := list(islice(messages, _AT_ONCE)):
            solving.take(several)
            read_bytes += sum(len(data) for _, _, data in several)
            progress(min(1.0, read_bytes / max(bag.size_bytes, 1)))
        if not solving.frames:
            raise no_devices(source, config)
        lost = (*bag.lost, *solving.lost())
    return Solved(
        str(source),
        solving.frames,
        solving.motion_ns * 1e-9,
        time.perf_counter() - started_s,
        solving.digest.hexdigest(),
        solving.replaced,
        lost,
        solving.errors_mm(),
    )


class _Solving:
    """The messages of a bag on their way to the result."""

    def __init__(
        self,
        pipeline: Pipeline,
        config: SolverConfig,
        tf: Topic,
        namespace: str,
        writer: BagWriter,
    ) -> None:
        self.frames = self.motion_ns = self.replaced = 0
        self.digest = hashlib.sha256()
        self._unread = self._rejected = self._unsolved = 0
        self._pipeline = pipeline
        self._writer = writer
        self._frame_solver = FrameSolver()
        self._report = MotionReport(namespace)
        self._last_ns: int | None = None
        self._is_described = False
        self._devices = DeviceReader(config.world_frame, config.frame_prefix, config.trackers)
        # Of an earlier solve, with the body's own prefix or without.
        links = dict.fromkeys((*human_links(), *(config.body_prefix + x for x in human_links())))
        self._links = LinkReader(config.world_frame, config.frame_prefix, list(links))
        self._joint_encoder = JointStateEncoder(pipeline.model.joint_names)
        self._frames_encoder = BodyFramesEncoder(
            pipeline.model,
            config.world_frame,
            config.frame_prefix + config.body_prefix,
            config.publish_link_tf,
        )
        self._tf = tf
        # A user in a namespace has all other topics there, as the node has.
        self._namespace = namespace
        self._joint_states = known_topic(f'{namespace}/joint_states', JOINT_STATE_TYPE, depth=10)
        self._diagnostics = known_topic('/diagnostics', DIAGNOSTICS_TYPE, depth=10)
        self._description = known_topic(
            f'{namespace}/robot_description', STRING_TYPE, 1, latched=True
        )

    def lost(self) -> list[str]:
        """Return what of the messages could not be used, in words."""
        late = self._frame_solver.assembler.late
        return unused(self._tf.name, self._unread, self._rejected, late, self._unsolved)

    def errors_mm(self) -> dict[str, float]:
        """Return how far each device is from where the body has it, on the average."""
        means = self._report.mean_errors_m()
        return {role: round(1e3 * error_m, 3) for role, error_m in means.items()}

    def take(self, messages: list[tuple[Topic, int, bytes]]) -> None:
        """Solve what is in some messages, in their order, and write it all."""
        tf_at = [i for i, (topic, _, _) in enumerate(messages) if topic.name == self._tf.name]
        joined = JoinedMessages.of([in_our_layout(messages[i][2]) for i in tf_at])
        replaced = {i for i, message in enumerate(messages) if self._is_replaced(*message)}
        solutions: list[tuple[int, Solution]] = []
        only_links = self._links.hold_only_links(joined)
        devices = self._devices.read_many(joined)
        for i, is_link, poses in zip(tf_at, only_links, devices, strict=True):
            if is_link:
                replaced.add(i)
            elif poses is None:
                self._unread += 1
            else:
                self._rejected += len(poses.rejected)
                for frame in self._frame_solver.frames(poses):
                    solution = self._frame_solver.solve(self._pipeline, frame)
                    if solution is None:
                        self._unsolved += 1
                    else:
                        solutions.append((i, solution))
        self.replaced += len(replaced)
        self._write(messages, replaced, solutions)

    def _is_replaced(self, topic: Topic, log_ns: int, data: bytes) -> bool:
        return topic.name != self._tf.name and is_of_a_solve(topic, data, self._namespace)

    def _write(
        self,
        messages: list[tuple[Topic, int, bytes]],
        replaced: set[int],
        solutions: list[tuple[int, Solution]],
    ) -> None:
        """Write messages, and behind each of them what was solved by it."""
        write = self._writer.write
        if not self._is_described:
            self._is_described = True
            write(self._description, messages[0][1], _string(self._pipeline.urdf))
        done = 0
        for i, (topic, log_ns, data) in enumerate(messages):
            if i not in replaced:
                write(topic, log_ns, data)
            while done < len(solutions) and solutions[done][0] == i:
                self._write_solution(solutions[done][1], log_ns)
                done += 1

    def _write_solution(self, solution: Solution, log_ns: int) -> None:
        stamp_ns, q, write = solution.stamp_ns, solution.q, self._writer.write
        joint_states = self._joint_encoder.encode(stamp_ns, q[7:], solution.velocity[6:])
        write(self._joint_states, log_ns, joint_states)
        write(self._tf, log_ns, self._frames_encoder.encode(stamp_ns, q))
        self.digest.update(q.tobytes())
        self._note(solution, log_ns)

    def _note(self, solution: Solution, log_ns: int) -> None:
        self.frames += 1
        if self._last_ns is not None:
            self.motion_ns += max(solution.stamp_ns - self._last_ns, 0)
        self._last_ns = solution.stamp_ns
        if self._report.note(solution):
            totals = {'transforms rejected': self._rejected, **self._frame_solver.totals()}
            message = self._report.message(solution.stamp_ns, totals)
            self._writer.write(self._diagnostics, log_ns, message)


def warm_up(pipeline: Pipeline, config: SolverConfig) -> None:
    """Have all kernels and message types loaded, as the node has, before the clock starts."""
    typestore()
    reader = DeviceReader(config.world_frame, config.frame_prefix, config.trackers)
    links = LinkReader(config.world_frame, config.frame_prefix, human_links())
    for frame, message in made_up_frames(config):
        joined = JoinedMessages.of([message])
        links.hold_only_links(joined)
        reader.read_many(joined)
        pipeline.process(frame)
    pipeline.reset()


def _string(text: str) -> bytes:
    message = typestore().types[STRING_TYPE](data=text)
    return bytes(typestore().serialize_cdr(message, STRING_TYPE))
