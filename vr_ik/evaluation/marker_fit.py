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

"""A body with optical markers to be fitted: skeleton, motion and markers (ASF, AMC, C3D) of HDM05.

M. Mueller et al., "Documentation: mocap database HDM05", 2007. As in K. Erleben and S. Andrews
2018, with the conventions of the code they published: 58 degrees of freedom with a moving root
(the thumbs do not move), 41 markers, each rigid on a bone, where the recorded motion has it in
that very frame; so a perfect fit exists in every frame.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vr_ik.errors import VrIkError
from vr_ik.evaluation.asf_amc import configurations, read_amc, read_asf
from vr_ik.evaluation.c3d import read_c3d
from vr_ik.kinematics.model import RobotModel
from vr_ik.types import Array

_THUMBS = ('lthumb', 'rthumb')
# One unit of length of the skeleton, divided by the header's 0.45, is an inch.
_METRES_PER_INCH = 0.0254
_METRES_PER_MM = 1e-3
# The markers' x, y and z axes are the skeleton's z, x and y.
_MARKER_AXES = [1, 2, 0]
MARKERS = {
    'head': ('LFHD', 'RFHD', 'LBHD', 'RBHD'),
    'lowerneck': ('C7',),
    'lowerback': ('T10',),
    'thorax': ('CLAV',),
    'upperback': ('STRN', 'RBAC'),
    'lclavicle': ('LSHO',),
    'lhumerus': ('LUPA', 'LELB'),
    'lradius': ('LFRM',),
    'lwrist': ('LWRA', 'LWRB'),
    'lfingers': ('LFIN',),
    'rclavicle': ('RSHO',),
    'rhumerus': ('RUPA', 'RELB'),
    'rradius': ('RFRM',),
    'rwrist': ('RWRA', 'RWRB'),
    'rfingers': ('RFIN',),
    'root': ('LFWT', 'RFWT', 'LBWT', 'RBWT'),
    'lfemur': ('LTHI', 'LKNE'),
    'ltibia': ('LSHN',),
    'lfoot': ('LANK', 'LHEE'),
    'ltoes': ('LTOE', 'LMT5'),
    'rfemur': ('RTHI', 'RKNE'),
    'rtibia': ('RSHN',),
    'rfoot': ('RANK', 'RHEE'),
    'rtoes': ('RTOE', 'RMT5'),
}
"""The markers, by the bones that carry them."""
# How much wider than what the motion uses the limits are.
_WIDENED = 0.05


@dataclass(frozen=True, eq=False)
class MarkerFit:
    """A model, and where its markers are in each frame, on it and in the world."""

    model: RobotModel
    links: tuple[str, ...]
    """The link that carries each marker."""
    offsets: Array
    """(frames, markers, 3): each marker in the frame of its link [m]."""
    targets: Array
    """(frames, markers, 3): each marker in the world [m], y up."""
    truth: Array
    """(frames, nq): the recorded motion, which fits exactly."""

    @property
    def positions_on_bodies(self) -> Array:
        """(frames, markers, 3): each marker on the body that carries its link [m]."""
        poses = [self.model.placement(link).pose_body_from_frame for link in self.links]
        turned = np.einsum('mij,fmj->fmi', np.array(poses)[:, :3, :3], self.offsets)
        placed: Array = turned + np.array(poses)[:, :3, 3]
        return placed

    @property
    def target_poses(self) -> Array:
        """(frames, markers, 4, 4): the targets as solvers take them; they do not turn."""
        poses = np.tile(np.eye(4), (*self.targets.shape[:2], 1, 1))
        poses[..., :3, 3] = self.targets
        return poses


def read_marker_fit(asf: Path, amc: Path, c3d: Path, limited: bool) -> MarkerFit:
    """Read a recording; the limits, if any, are what its motion uses and a little more."""
    skeleton = read_asf(asf)
    motion = read_amc(amc, skeleton)
    scale = _METRES_PER_INCH / skeleton.length_unit
    limits: dict[str, tuple[float, float]] = {}
    if limited:
        for bone in skeleton.bones:
            for i, dof in enumerate(bone.dofs):
                low, high = motion[bone.name][:, i].min(), motion[bone.name][:, i].max()
                limits[f'{bone.name}_{dof}'] = (
                    low - _WIDENED * abs(low),
                    high + _WIDENED * abs(high),
                )
    model = skeleton.model(scale, _THUMBS, limits)
    truth = configurations(skeleton, motion, model, scale)
    names = [name for group in MARKERS.values() for name in group]
    links = tuple(link for link, group in MARKERS.items() for _ in group)
    targets = _positions(c3d, names, len(truth))
    return MarkerFit(model, links, _offsets(model, links, truth, targets), targets, truth)


def _positions(c3d: Path, names: list[str], frames: int) -> Array:
    """Return the named markers (frames, n, 3) in metres and the skeleton's axes."""
    markers = read_c3d(c3d)
    missing = [name for name in names if name not in markers.names]
    if missing:
        raise VrIkError(f"'{c3d}' has no marker '{missing[0]}'.")
    columns = [markers.names.index(name) for name in names]
    positions = _METRES_PER_MM * markers.positions[:, columns][:, :, _MARKER_AXES]
    if len(positions) != frames or np.isnan(positions).any():
        raise VrIkError(f"'{c3d}' does not have all markers in each of {frames} frames.")
    return positions


def _offsets(model: RobotModel, links: tuple[str, ...], truth: Array, targets: Array) -> Array:
    rows = [model.link_index(link) for link in links]
    offsets = np.empty_like(targets)
    for frame, q in enumerate(truth):
        poses = model.link_poses(q)[rows]
        away = targets[frame] - poses[:, :3, 3]
        offsets[frame] = np.einsum('mij,mi->mj', poses[:, :3, :3], away)
    return offsets
