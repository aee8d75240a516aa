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

"""Calibrations of users come back from their files; what is no calibration is told so."""

from dataclasses import replace

import numpy as np
import pytest

from vr_ik.calibration.calibration import Calibration
from vr_ik.calibration.storage import load, save, users
from vr_ik.errors import CalibrationError, UnknownNameError


def test_a_stored_calibration_comes_back_the_same(tmp_path):
    calibration = Calibration.nominal(1.72, 1.7).wearing(('hmd', 'l_controller', 'l_foot'))
    calibration = replace(calibration, floor_m=0.03)
    save(calibration, 'ann', tmp_path)
    save(Calibration.nominal(1.8), 'bob', tmp_path)
    assert users(tmp_path) == ('ann', 'bob')
    again = load('ann', tmp_path)
    assert again.proportions == calibration.proportions
    assert again.floor_m == calibration.floor_m
    for role, mount in calibration.mounts.items():
        assert again.mounts[role].link == mount.link
        pose_again = again.mounts[role].pose_link_from_device
        assert np.allclose(pose_again, mount.pose_link_from_device, atol=1e-12)


def test_unknown_users_and_broken_files_are_named(tmp_path):
    save(Calibration.nominal(1.8), 'bob', tmp_path)
    with pytest.raises(UnknownNameError, match='bob'):
        load('bab', tmp_path)
    with pytest.raises(CalibrationError, match='user'):
        save(Calibration.nominal(1.8), '../bob', tmp_path)
    file = tmp_path / 'bob.yaml'
    text = file.read_text()
    (tmp_path / 'folder.yaml').mkdir()
    assert users(tmp_path) == ('bob',)
    for broken, reason in (
        (b'', 'no entries'),
        (b'a: [1\nb: 2', 'in line 2'),
        (b'\xff\x00', 'no text'),
        (b'a: 1', "no 'version'"),
        (text.replace('version: 1', 'version: 9').encode(), 'version 9'),
        (text.replace('thigh: ', 'thigh: -').encode(), 'thigh'),
        (text.replace('  l_foot:', '  l_fot:').encode(), "mean 'l_foot'"),
        (text.replace('link: l_gripper', 'link: l_griper').encode(), "mean 'l_gripper'"),
    ):
        file.write_bytes(broken)
        with pytest.raises(CalibrationError, match='bob') as told:
            load('bob', tmp_path)
        assert reason in str(told.value)
