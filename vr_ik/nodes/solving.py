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

"""What the solver node has of its parameters: reader, pipeline and encoders."""

from vr_ik.calibration.calibration import Calibration
from vr_ik.config import SolverConfig
from vr_ik.frame_solver import made_up_frames
from vr_ik.io.body_cdr import BodyFramesEncoder, JointStateEncoder
from vr_ik.io.tf_cdr import DeviceReader
from vr_ik.pipeline import Pipeline, Solution

_JOINTS, _JOINT_VELOCITIES = slice(7, None), slice(6, None)


class Solving:
    """All that depends on the parameters, made together and exchanged together."""

    def __init__(self, config: SolverConfig, calibration: Calibration | None = None) -> None:
        """Build the model and the solver, and have every kernel compiled."""
        self.calibration = calibration
        self.pipeline = Pipeline(config, calibration)
        self.reader = DeviceReader(config.world_frame, config.frame_prefix, config.trackers)
        model = self.pipeline.model
        self._joint_states = JointStateEncoder(model.joint_names)
        prefix = config.frame_prefix + config.body_prefix
        self._frames = BodyFramesEncoder(model, config.world_frame, prefix, config.publish_link_tf)
        self._warm_up(config)

    def joint_states(self, solution: Solution) -> bytes:
        """Return the joint states of a solution, serialized."""
        return self._joint_states.encode(
            solution.stamp_ns, solution.q[_JOINTS], solution.velocity[_JOINT_VELOCITIES]
        )

    def transforms(self, solution: Solution) -> bytes:
        """Return the frames of a solution, serialized."""
        return self._frames.encode(solution.stamp_ns, solution.q)

    def _warm_up(self, config: SolverConfig) -> None:
        """Take a made-up frame all the way, so that nothing is compiled in the loop."""
        for frame, message in made_up_frames(config):
            self.reader.read(message)
            solution = self.pipeline.process(frame)
            self.joint_states(solution)
            self.transforms(solution)
        self.pipeline.reset()
