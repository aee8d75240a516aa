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
import sys
import time

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from vr_ik.calibration.calibration import Calibration
from vr_ik.config import SolverConfig
from vr_ik.errors import VrIkError
from vr_ik.frame_solver import FrameSolver
from vr_ik.io.tf_cdr import DevicePoses
from vr_ik.nodes import diagnostics, garbage, qos, spin, triggers
from vr_ik.nodes.calibrating import Calibrating
from vr_ik.nodes.description import Description
from vr_ik.nodes.parameters import BoundConfig
from vr_ik.nodes.solver_markers import SolverMarkers
from vr_ik.nodes.solver_report import SolverDiagnostics
from vr_ik.nodes.solving import Solving
from vr_ik.nodes.tf_layout import in_our_layout
from vr_ik.pipeline import Solution
from vr_ik.types import TrackingFrame

NAME = 'solver_node'
_WARNING_PERIOD_S = 5.0
_OF_THE_BODY = ('user', 'users_folder', 'user_height_m', 'arm_span_m')
"""Parameters that say whose body it is: a change of one ends a calibration."""


class SolverNode(Node):
    """Solves each tracking frame when it arrives, and publishes it under the frame's stamp."""

    def __init__(self, namespace: str = '') -> None:
        """Bind the parameters, build and warm the solver, then start to listen."""
        super().__init__(NAME, namespace=namespace or None)
        self._config = BoundConfig(self, SolverConfig)
        self._calibrating = Calibrating(self, lambda: self._config.value, self._use)
        self._solving = self._prepare()
        self._frames = FrameSolver()
        self._counts = SolverDiagnostics()
        self._rejected = 0
        self._paused = False
        self._joint_states = self.create_publisher(
            JointState, qos.JOINT_STATES_TOPIC, qos.JOINT_STATES_QOS
        )
        self._tf = self.create_publisher(TFMessage, qos.TF_TOPIC, qos.TF_QOS)
        self._description = Description(self, self._solving.pipeline.urdf)
        self._markers = SolverMarkers(self, self._config.value.world_frame)
        self._config.when_changed(self._apply)
        triggers.offer(self, '~/reset', self._reset)
        triggers.offer_switch(self, '~/pause', self._pause)
        self._diagnostics = diagnostics.DiagnosticsTimer(self, self._report)
        self.create_subscription(TFMessage, qos.TF_TOPIC, self._on_tf, qos.TF_QOS, raw=True)
        self.get_logger().info('Ready.')

    def _prepare(self) -> Solving:
        config = self._config.value
        self.get_logger().info('Preparing the solver; on the very first run it is compiled.')
        started_s = time.monotonic()
        body = self._calibrating.load(config)
        solving = Solving(config, body.calibration)
        self._calibrating.begin(body)
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
        if all(
            getattr(config, name) == getattr(self._config.value, name) for name in _OF_THE_BODY
        ):
            self._exchange(Solving(config, self._solving.calibration))
            return
        body = self._calibrating.load(config)
        self._exchange(Solving(config, body.calibration))
        # Last: a change that is refused, here or there, ends no calibration.
        self._calibrating.begin(body)

    def _use(self, calibration: Calibration) -> None:
        """Take over a new calibration."""
        self._exchange(Solving(self._config.value, calibration))

    def _exchange(self, solving: Solving) -> None:
        """Go on with another body or solver from one frame to the next, without a jump."""
        solving.pipeline.take_over(self._solving.pipeline)
        if solving.pipeline.urdf != self._solving.pipeline.urdf:
            self._description.publish(solving.pipeline.urdf)
        self._solving = solving
        garbage.settle()

    def _reset(self) -> str:
        self._solving.pipeline.reset()
        return 'The next frame is solved from a standing start.'

    def _pause(self, paused: bool) -> str:
        if self._paused and not paused:
            self._counts.go_on()
        self._paused = paused
        return 'Paused: frames are passed over.' if paused else 'Solving again.'

    def _on_tf(self, message: bytes) -> None:
        if self._paused:
            return
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

    def _publish(self, solution: Solution) -> None:
        solving = self._solving
        # Joint states first: they are what others wait for.
        self._joint_states.publish(solving.joint_states(solution))
        latency_s = (self.get_clock().now().nanoseconds - solution.stamp_ns) * 1e-9
        self._tf.publish(solving.transforms(solution))
        self._counts.report.note(solution, latency_s)
        self._markers.publish(solving.pipeline, solution.stamp_ns, solution.q)

    def _warn(self, text: str) -> None:
        self.get_logger().warning(text, throttle_duration_sec=_WARNING_PERIOD_S)

    def _report(self) -> list[DiagnosticStatus]:
        totals: dict[str, object] = {
            'solver': self._config.value.solver,
            'calibration': self._calibrating.state,
            'transforms rejected': self._rejected,
            **self._frames.totals(),
        }
        return [self._counts.line(totals, self._paused)]


def create(namespace: str = '') -> SolverNode:
    """Return the node, in a namespace where one is given; ROS must be initialized."""
    return SolverNode(namespace)


def main(args: Sequence[str] | None = None) -> int:
    """Run the node as a process and return its exit code."""
    return spin.run(NAME, create, args)


if __name__ == '__main__':
    sys.exit(main())
