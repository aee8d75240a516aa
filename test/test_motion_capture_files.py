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


"""Laws of the motion capture files: what is written into them is what is read."""

import math
import struct

import numpy as np
import pytest

from vr_ik.errors import VrIkError
from vr_ik.evaluation.asf_amc import configurations, read_amc, read_asf
from vr_ik.evaluation.c3d import read_c3d
from vr_ik.evaluation.marker_body import make_marker_fit
from vr_ik.evaluation.paper_erleben import marker_solver, measure, plots, RUNS, tables
from vr_ik.math.rotations import pose, rotation_from_rpy

ASF = """# comment
:version 1.10
:name someone
:units
  mass 1.0
  length 0.45
  angle deg
:documentation
  begin or end, it does not matter
:root
  order TX TY TZ RX RY RZ
  axis XYZ
  position 0 0 0
  orientation 0 0 0
:bonedata
  begin
    id 1
    name thigh
    direction 0 -1 0
    length 7.0
    axis 10 20 30 XYZ
    dof rx ry rz
    limits (-160.0 20.0)
      (-70.0 70.0)
      (-60.0 70.0)
  end
  begin
    id 2
    name shin
    direction 0.6 -0.8 0
    length 6.0
    axis 0 0 20 XYZ
    dof rx
  end
  begin
    id 3
    name toe
    direction 0 0 1
    length 1.0
    axis 0 0 0 XYZ
  end
:hierarchy
  begin
    root thigh
    thigh shin
    shin toe
  end
"""
AMC = """#!OML:ASF
:FULLY-SPECIFIED
:DEGREES
1
root 1 2 3 10 20 30
thigh 5 -15 25
shin 40
2
root 1.5 2 3 -10 0 90
thigh 0 0 0
shin -5
"""


@pytest.fixture
def files(tmp_path):
    (tmp_path / 'a.asf').write_text(ASF)
    (tmp_path / 'a.amc').write_text(AMC)
    return tmp_path / 'a.asf', tmp_path / 'a.amc'


def turn(*degrees):
    return rotation_from_rpy(*map(math.radians, degrees))


def test_a_skeleton_moves_as_its_format_says(files):
    skeleton = read_asf(files[0])
    motion = read_amc(files[1], skeleton)
    scale = 0.0254 / skeleton.length_unit
    model = skeleton.model(scale)
    q = configurations(skeleton, motion, model, scale)
    assert (model.nv, q.shape) == (6 + 4, (2, model.nq))
    # A bone turns by C M C^-1 at the end of its parent; all in the file's unit, then metres.
    root = pose(turn(10, 20, 30), np.array([1.0, 2.0, 3.0]))
    axes = turn(10, 20, 30)
    thigh = root @ pose(axes @ turn(5, -15, 25) @ axes.T, np.zeros(3))
    axes = turn(0, 0, 20)
    shin = thigh @ pose(axes @ turn(40, 0, 0) @ axes.T, np.array([0.0, -7.0, 0.0]))
    toe = shin @ pose(np.eye(3), np.array([3.6, -4.8, 0.0]))
    for link, expected in {'root': root, 'thigh': thigh, 'shin': shin, 'toe': toe}.items():
        found = model.link_pose(q[0], link)
        assert np.abs(found[:3, :3] - expected[:3, :3]).max() < 1e-9
        assert np.abs(found[:3, 3] - scale * expected[:3, 3]).max() < 1e-9


def test_bones_can_be_fixed_and_joints_limited(files):
    skeleton = read_asf(files[0])
    limits = {'shin_rx': (-0.1, 0.2)}
    model = skeleton.model(1.0, fixed=('thigh',), limits=limits)
    assert model.joint_names == ('shin_rx',)
    assert (model.lower[0], model.upper[0]) == limits['shin_rx']


@pytest.mark.parametrize(
    'old, new, sentence',
    [
        (':hierarchy', ':other', 'no section :hierarchy'),
        ('order TX TY TZ RX RY RZ', 'order RX RY RZ TX TY TZ', "the root's order"),
        ('thigh shin', 'thigh shin tail', "'tail', which has no bone data"),
        ('shin toe', 'shin toe thigh', "'thigh' has two parents"),
        ('length 7.0', 'length seven', "the bone 'thigh' cannot be read"),
        ('axis 10 20 30 XYZ', 'axis 10 20 30 ZYX', "the bone 'thigh' cannot be read"),
    ],
)
def test_a_bad_skeleton_gets_one_sentence(files, old, new, sentence):
    files[0].write_text(ASF.replace(old, new))
    with pytest.raises(VrIkError, match=sentence):
        read_asf(files[0])


def test_a_bad_motion_gets_one_sentence(files, tmp_path):
    skeleton = read_asf(files[0])
    files[1].write_text(AMC.replace('shin -5', 'shin -5 3'))
    with pytest.raises(VrIkError, match="frame 2 does not have 1 values of 'shin'"):
        read_amc(files[1], skeleton)
    with pytest.raises(VrIkError, match='Cannot read'):
        read_amc(tmp_path / 'none.amc', skeleton)


def c3d_bytes(names, positions, scale, unseen):
    """Return a C3D file; a negative scale stands for floats. `unseen` is (frame, marker)."""
    frames, points = positions.shape[:2]
    header = bytearray(512)
    header[:2] = (2, 80)
    struct.pack_into('<HHHH', header, 2, points, 0, 1, frames)
    struct.pack_into('<fHHf', header, 12, scale, 3, 0, 120.0)
    labels = ''.join(f'Me:{name}'.ljust(8) for name in names).encode()
    group = struct.pack('<bbH', 5, -1, 3)[:2] + b'POINT' + struct.pack('<HB', 3, 0)
    data = struct.pack('<bBBB', -1, 2, 8, points) + labels + b'\0'
    entry = bytes((6, 1)) + b'LABELS' + struct.pack('<H', 2 + len(data)) + data
    parameters = (bytes((1, 80, 1, 84)) + group + entry).ljust(512, b'\0')
    samples = np.zeros((frames, points, 4))
    samples[..., :3] = positions / (1.0 if scale < 0.0 else scale)
    samples[unseen[0], unseen[1], 3] = -1.0
    kind = '<f4' if scale < 0.0 else '<i2'
    return bytes(header) + parameters + samples.round(3).astype(kind).tobytes()


@pytest.mark.parametrize('scale', [-1.0, 0.1])
def test_markers_are_read_as_floats_and_as_integers(tmp_path, scale):
    rng = np.random.default_rng(0)
    positions = rng.integers(-900, 900, (4, 3, 3)).astype(float)
    path = tmp_path / 'a.c3d'
    path.write_bytes(c3d_bytes(('HEAD', 'LWRA', 'T10'), positions, scale, (2, 1)))
    markers = read_c3d(path)
    assert markers.names == ('HEAD', 'LWRA', 'T10')
    assert markers.rate_hz == 120.0
    assert np.isnan(markers.positions[2, 1]).all()
    positions[2, 1] = np.nan
    assert np.allclose(markers.positions, positions, atol=1e-3, equal_nan=True)


@pytest.mark.parametrize('size', [0, 100, 512, 700])
def test_a_file_that_is_no_c3d_gets_one_sentence(tmp_path, size):
    path = tmp_path / 'a.c3d'
    whole = c3d_bytes(('HEAD',), np.ones((2, 1, 3)), -1.0, (0, 0))
    path.write_bytes(whole[:size])
    with pytest.raises(VrIkError, match='is not a C3D file that can be read here'):
        read_c3d(path)
    with pytest.raises(VrIkError, match='Cannot read'):
        read_c3d(tmp_path / 'none.c3d')


def test_the_made_up_body_is_that_of_the_paper_and_fits_its_markers():
    fit = make_marker_fit(seed=1, frames=5)
    assert (fit.model.nv, len(fit.links)) == (58, 41)
    solver = marker_solver(fit, 'lm', 10)
    for frame, q in enumerate(fit.truth):
        solver.placements[:, 9:] = fit.positions_on_bodies[frame]
        result = solver.solve(q, fit.target_poses[frame])
        assert result.position_errors.max() < 1e-9
    again = make_marker_fit(seed=1, frames=5)
    assert (again.targets == fit.targets).all()


def test_a_marker_fit_is_measured_shown_and_drawn(tmp_path):
    fit = make_marker_fit(seed=2, frames=6)
    figures = measure(fit, fit, lambda share, now: None)
    assert set(RUNS) < set(figures)
    for name in RUNS:
        assert set(figures[name]) == {'cm', 'median_cm', 'ms', 'iterations'}
    # Within tolerance, f = 0.01 cm^2, the markers' distances sum to less than a centimetre.
    assert figures['newton']['cm'] < 1.0 and figures['lm']['cm'] < 1.0
    for curves in figures['convergence'].values():
        for costs in curves.values():
            assert (np.diff(costs) <= 1e-12).all()
    (table,) = tables(figures)
    assert table.row_count == len(RUNS)
    (path,) = plots(figures, tmp_path)
    assert path.is_file()
