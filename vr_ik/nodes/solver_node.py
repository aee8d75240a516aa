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

"""The solver node: tracked devices from TF in, joint states and the body's root out."""

from collections.abc import Sequence
import gc
import sys
import time

from diagnostic_msgs.msg import DiagnosticStatus
import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from vr_ik.calibration.calibration import Calibration
from vr_ik.config import SolverConfig
from vr_ik.errors import VrIkError
from vr_ik.frame_solver import FrameSolver
from vr_ik.io.body_cdr import BodyFramesEncoder, JointStateEncoder
from vr_ik.io.tf_cdr import DevicePoses, DeviceReader
from vr_ik.io.tf_cdr_writer import FrameEncoder
from vr_ik.nodes import diagnostics, qos, spin
from vr_ik.nodes.calibrating import Calibrating
from vr_ik.nodes.parameters import BoundConfig
from vr_ik.nodes.solver_report import SolverReport
from vr_ik.nodes.tf_layout import in_our_layout
from vr_ik.pipeline import Pipeline, Solution
from vr_ik.types import TrackingFrame

NAME = 'solver_node'
_WARNING_PERIOD_S = 5.0
_JOINTS, _JOINT_VELOCITIES = slice(7, None), slice(6, None)
_OF_THE_BODY = ('user', 'users_folder', 'user_height_m', 'arm_span_m')
"""Parameters that say whose body it is: a change of one ends a calibration."""


class Solving:
    """All that depends on the parameters, made together and exchanged together."""

    def __init__(self, config: SolverConfig, calibration: Calibration | None = None) -> None:
        """Build the model and the solver, and have every kernel compiled."""
        self.calibration = calibration
        self.pipeline = Pipeline(config, calibration)
        self.reader = DeviceReader(config.world_frame, config.frame_prefix, config.trackers)
        model = self.pipeline.model
        self.joint_states = JointStateEncoder(model.joint_names)
        self.frames = BodyFramesEncoder(
            model, config.world_frame, config.frame_prefix, config.publish_link_tf
        )
        self._warm_up(config)

    def _warm_up(self, config: SolverConfig) -> None:
        """Take a made-up frame all the way, so that nothing is compiled in the loop."""
        poses = np.tile(np.eye(4), (len(config.trackers), 1, 1))
        encoder = FrameEncoder(config.world_frame, config.frame_prefix)
        for stamp_ns in (1, 10_000_001):
            message = encoder.encode(TrackingFrame(stamp_ns, config.trackers, poses))
            devices = self.reader.read(message)
            frame = TrackingFrame(stamp_ns, tuple(devices.names), devices.poses)
            self.messages(self.pipeline.process(frame))
        self.pipeline.reset()

    def messages(self, solution: Solution) -> tuple[bytes, bytes]:
        """Return a solution's joint states and transforms, serialized."""
        stamp_ns, q = solution.stamp_ns, solution.q
        joint_states = self.joint_states.encode(
            stamp_ns, q[_JOINTS], solution.velocity[_JOINT_VELOCITIES]
        )
        return joint_states, self.frames.encode(stamp_ns, q)


class SolverNode(Node):
    """Solves each tracking frame when it arrives, and publishes it under the frame's stamp."""

    def __init__(self) -> None:
        """Bind the parameters, build and warm the solver, then start to listen."""
        super().__init__(NAME)
        self._config = BoundConfig(self, SolverConfig)
        self._calibrating = Calibrating(self, lambda: self._config.value, self._use)
        self._solving = self._prepare()
        self._frames = FrameSolver()
        self._report = SolverReport()
        self._rejected = 0
        self._joint_states = self.create_publisher(
            JointState, qos.JOINT_STATES_TOPIC, qos.JOINT_STATES_QOS
        )
        self._tf = self.create_publisher(TFMessage, qos.TF_TOPIC, qos.TF_QOS)
        self._description = self.create_publisher(
            String, qos.ROBOT_DESCRIPTION_TOPIC, qos.LATCHED_QOS
        )
        self._description.publish(String(data=self._solving.pipeline.urdf))
        self._config.when_changed(self._apply)
        self._diagnostics = diagnostics.DiagnosticsTimer(self, self._report_and_begin_anew)
        # What exists by now stays: the garbage collector need not look at it in every frame.
        gc.collect()
        gc.freeze()
        self.create_subscription(TFMessage, qos.TF_TOPIC, self._on_tf, qos.TF_QOS, raw=True)
        self.get_logger().info('Ready.')

    def _prepare(self) -> Solving:
        config = self._config.value
        self.get_logger().info('Preparing the solver; on the very first run it is compiled.')
        started_s = time.monotonic()
        solving = Solving(config, self._calibrating.load(config))
        self.get_logger().info(
            f"Model '{config.model}' with {len(solving.pipeline.model.joint_names)} joints, "
            f"solver '{config.solver}', prepared in {time.monotonic() - started_s:.1f} s."
        )
        return solving

    def destroy_node(self) -> None:
        """End what goes on beside the node, then let go of it."""
        self._calibrating.close()
        super().destroy_node()

    def _apply(self, config: SolverConfig) -> None:
        """Take over a live change of parameters."""
        calibration = self._solving.calibration
        if any(
            getattr(config, name) != getattr(self._config.value, name) for name in _OF_THE_BODY
        ):
            calibration = self._calibrating.load(config)
        self._exchange(Solving(config, calibration))

    def _use(self, calibration: Calibration) -> None:
        """Take over a new calibration."""
        self._exchange(Solving(self._config.value, calibration))

    def _exchange(self, solving: Solving) -> None:
        """Go on with another body or solver from one frame to the next, without a jump."""
        solving.pipeline.take_over(self._solving.pipeline)
        if solving.pipeline.urdf != self._solving.pipeline.urdf:
            self._description.publish(String(data=solving.pipeline.urdf))
        self._solving = solving

    def _on_tf(self, message: bytes) -> None:
        try:
            devices = self._read(message)
        except VrIkError as error:
            self._rejected += 1
            self._warn(str(error))
            return
        for frame in self._frames.frames(devices):
            self._solve(frame)

    def _read(self, message: bytes) -> DevicePoses:
        devices = self._solving.reader.read(in_our_layout(message))
        if devices.rejected:
            self._rejected += len(devices.rejected)
            self._warn(
                f'Dropped a transform of {", ".join(devices.rejected)}: a number that is not '
                f'finite, or no unit quaternion ({self._rejected} so far).'
            )
        return devices

    def _solve(self, frame: TrackingFrame) -> None:
        self._calibrating.note(frame)
        solution = self._frames.solve(self._solving.pipeline, frame)
        if self._frames.back_s:
            self.get_logger().info(
                f'Time went back by {self._frames.back_s:.1f} s: starting anew.'
            )
        if solution is None:
            text = f'A frame could not be solved: {self._frames.mistake}'
            self.get_logger().error(text, throttle_duration_sec=_WARNING_PERIOD_S)
            return
        self._publish(solution)
        self._report.note(solution)

    def _publish(self, solution: Solution) -> None:
        joint_states, transforms = self._solving.messages(solution)
        self._joint_states.publish(joint_states)
        self._tf.publish(transforms)

    def _warn(self, text: str) -> None:
        self.get_logger().warning(text, throttle_duration_sec=_WARNING_PERIOD_S)

    def _report_and_begin_anew(self) -> list[DiagnosticStatus]:
        report, self._report = self._report, SolverReport()
        totals = {
            'solver': self._config.value.solver,
            'calibration': self._calibrating.state,
            'transforms rejected': self._rejected,
            'transforms late': self._frames.assembler.late,
            'transforms repeated': self._frames.assembler.repeated,
            'frames over several messages': self._frames.assembler.splits_frames,
            'restarts of time': self._frames.restarts,
        }
        return [report.line(totals)]


def create() -> SolverNode:
    """Return the node; ROS must be initialized."""
    return SolverNode()


def main(args: Sequence[str] | None = None) -> int:
    """Run the node as a process and return its exit code."""
    return spin.run(NAME, create, args)


if __name__ == '__main__':
    sys.exit(main())
