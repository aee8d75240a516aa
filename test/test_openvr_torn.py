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

"""Poses written by one process and read by another, through libopenvr_api, are never torn."""

import json
import os
import shutil
import subprocess
import sys
import time
from unittest.mock import patch

import numpy as np

from vr_ik.config import UNIVERSES
from vr_ik.trackers.openvr_session import OpenVrSession

READS = 100_000
PAUSE_EVERY = 100

# Every pose is at the place where its x axis points to, and moves along it; both devices have
# the same pose. What is half old and half new breaks this.
WRITER = """
import json
import numpy as np
from vr_ik.math.openvr_axes import poses_to_openvr, vectors_to_openvr
from vr_ik.simulation.runtime import SimulatedRuntime
from vr_ik.types import DeviceKind

runtime = SimulatedRuntime()
devices = [
    runtime.add_device(DeviceKind.HMD, 'LHR-HEAD'),
    runtime.add_device(DeviceKind.CONTROLLER, 'LHR-L', hand='left'),
]
angles = np.linspace(0, 6.28, 5000)
cos, sin, zero = np.cos(angles), np.sin(angles), np.zeros(5000)
poses = np.zeros((5000, 4, 4))
poses[:, :3, 0] = poses[:, :3, 3] = np.column_stack([cos, sin, zero])
poses[:, :3, 1] = np.column_stack([-sin, cos, zero])
poses[:, 2, 2] = poses[:, 3, 3] = 1
matrices, velocities = poses_to_openvr(poses), vectors_to_openvr(poses[:, :3, 3])
runtime.set_openvr_poses(devices, matrices[0], velocities[0], velocities[0])
print(json.dumps(runtime.environment()), flush=True)
while True:
    for matrix, velocity in zip(matrices, velocities):
        runtime.set_openvr_poses(devices, matrix, velocity, velocity)
"""


def test_no_torn_poses_in_a_hundred_thousand_reads() -> None:
    matrices = np.empty((READS, 2, 3, 4), np.float32)
    velocities = np.empty((READS, 2, 2, 3), np.float32)
    writer = subprocess.Popen([sys.executable, '-c', WRITER], stdout=subprocess.PIPE, text=True)
    try:
        assert writer.stdout is not None
        environment = json.loads(writer.stdout.readline())
        with patch.dict(os.environ, environment):
            session = OpenVrSession()
        for read in range(READS):
            records = session.poses(UNIVERSES.index('standing'), 0.0)
            matrices[read] = records.matrices[:2]
            velocities[read] = records.velocities[:2]
            if read % PAUSE_EVERY == 0:
                time.sleep(0.0005)  # where cores are busy, the writer has its turn now
        session.close()
    finally:
        writer.kill()
        writer.communicate()
    shutil.rmtree(environment['VR_OVERRIDE'])
    # The x axis (forward) is OpenVR's -z: column 2 of the matrix, with the other sign.
    torn = (matrices[..., 3] != -matrices[..., 2]).any(axis=(1, 2))
    torn |= (velocities != matrices[:, :, None, :, 3]).any(axis=(1, 2, 3))
    torn |= (matrices[:, 0] != matrices[:, 1]).any(axis=(1, 2))
    assert np.count_nonzero(torn) == 0
    assert len(np.unique(matrices[:, 0, 0, 3])) > 100, 'the writer hardly wrote'
