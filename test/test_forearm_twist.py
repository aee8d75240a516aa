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

"""The law of a forearm that twists: elbow and wrist have one half each, shoulders little."""

import math

import numpy as np
import pytest

from vr_ik.body.human import human_urdf
from vr_ik.calibration.calibration import Calibration
from vr_ik.config import SolverConfig
from vr_ik.kinematics.model import RobotModel
from vr_ik.math.rotations import pose
from vr_ik.pipeline import Pipeline
from vr_ik.types import TrackingFrame

SIX = ('hmd', 'l_controller', 'r_controller', 'waist', 'l_foot', 'r_foot')


@pytest.mark.parametrize('side', ['l', 'r'])
@pytest.mark.parametrize('twist_deg', [-70.0, -30.0, 30.0, 70.0])
def test_a_turned_hand_twists_both_ends_of_the_forearm_alike(side, twist_deg):
    calibration = Calibration.nominal(1.75).wearing(SIX)
    model = RobotModel.from_urdf(human_urdf(calibration.proportions), floating_base=True)
    half = math.radians(0.5 * twist_deg)
    twisted = (f'{side}_forearm_twist', f'{side}_wrist_twist')
    angles = {f'{s}_elbow_flexion': math.radians(90.0) for s in 'lr'} | dict.fromkeys(
        twisted, half
    )
    q = model.configuration(angles, pose(np.eye(3), np.array([0.0, 0.0, 0.95])))
    mounts = calibration.mounts.values()
    poses = [model.link_pose(q, m.link) @ m.pose_link_from_device for m in mounts]
    pipeline = Pipeline(SolverConfig(), calibration)
    solved = pipeline.process(TrackingFrame(1, tuple(calibration.mounts), np.array(poses))).q
    ends = [solved[7 + pipeline.model.joint_index(name)] for name in twisted]
    assert ends[0] == pytest.approx(ends[1], rel=0.05)
    # The upper arm may turn a little instead.
    assert sum(ends) == pytest.approx(2.0 * half, abs=0.25 * abs(2.0 * half) + math.radians(3.0))
