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

"""A simulated robot: any URDF in MuJoCo, held by position controllers at 500 Hz."""

from typing import Any
from xml.etree import ElementTree

import numpy as np

from vr_ik.errors import MissingDependencyError, UrdfError
from vr_ik.kinematics.model import RobotModel
from vr_ik.kinematics.urdf import read_urdf, Urdf
from vr_ik.types import Array

STEP_S = 0.002
"""Of the physics and of the position controllers alike."""

_BANDWIDTH_RAD_S = 2.0 * np.pi * 20.0
"""Of the position controllers, which are critically damped."""
_WITHOUT = {'link': ('visual', 'collision'), 'robot': ('gazebo', 'transmission')}
_LEAST_INERTIA_KG_M2 = 1e-5
_COMPILER = {
    'fusestatic': 'false',
    'balanceinertia': 'true',
    'boundmass': '0.01',
    'boundinertia': str(_LEAST_INERTIA_KG_M2),
}


class SimulatedRobot:
    """A robot fixed to the world, in the joints and the order of `RobotModel`.

    Its bodies have the masses of the URDF and touch nothing. The controllers know these masses,
    as those of real robots do: joint torques are M (k_p e + k_d e') + gravity and Coriolis. The
    motors are as strong as it takes, but no joint is drawn to its place faster than the URDF
    allows it to move.
    """

    def __init__(self, urdf_text: str, initial: dict[str, float] | None = None) -> None:
        """Put the robot into an initial posture; joints not named there are at zero [rad, m]."""
        mujoco = _mujoco()
        urdf = read_urdf(urdf_text)
        self.model = RobotModel(urdf)
        try:
            self._robot = mujoco.MjModel.from_xml_string(_dynamics_only(urdf_text))
        except ValueError as error:
            raise UrdfError(f'MuJoCo does not take the robot: {error}') from error
        self._robot.opt.timestep = STEP_S
        self._robot.dof_frictionloss[:] = 0.0  # made up for by the controllers of real robots
        # Joints that follow others have controllers too, which hold them where they belong.
        self._robot.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_EQUALITY
        self._data = mujoco.MjData(self._robot)
        self._mujoco = mujoco
        self._addresses, self._from_joints, self._offsets = self._joint_map(urdf)
        # A joint that follows another has no limit but that one's.
        self._speeds = np.full(len(self._from_joints), np.inf)
        self._speeds[self._addresses] = self.model.velocity_limits
        q = self.model.posture(initial or {})
        self._data.qpos[:] = self._from_joints @ q + self._offsets
        mujoco.mj_forward(self._robot, self._data)
        self.time_s = 0.0
        self.torques = np.zeros(self._robot.nv)
        """Of the last step [Nm or N], in MuJoCo's order."""

    @property
    def q(self) -> Array:
        """Joint positions [rad or m], in the model's order."""
        return np.array(self._data.qpos[self._addresses])

    @property
    def velocity(self) -> Array:
        """Joint velocities [rad/s or m/s], in the model's order."""
        return np.array(self._data.qvel[self._addresses])

    def step(self, q: Array, velocity: Array) -> None:
        """Advance by `STEP_S` with the controllers on these positions and velocities."""
        data, robot = self._data, self._robot
        pull = 0.5 * _BANDWIDTH_RAD_S * (self._from_joints @ q + self._offsets - data.qpos)
        fastest = self._from_joints @ velocity + np.clip(pull, -self._speeds, self._speeds)
        self._mujoco.mj_step1(robot, data)
        wanted = 2.0 * _BANDWIDTH_RAD_S * (fastest - data.qvel)
        self._mujoco.mj_mulM(robot, data, self.torques, wanted)
        self.torques += data.qfrc_bias - data.qfrc_passive
        data.qfrc_applied[:] = self.torques
        self._mujoco.mj_step2(robot, data)
        self.time_s += STEP_S

    def _joint_map(self, urdf: Urdf) -> tuple[Any, Array, Array]:
        """Return where our joints are in MuJoCo's order, and theirs as A q + b of ours."""
        names = [self._robot.joint(i).name for i in range(self._robot.njnt)]
        addresses = np.array([names.index(name) for name in self.model.joint_names], np.intp)
        matrix, offsets = np.zeros((len(names), self.model.nq)), np.zeros(len(names))
        matrix[addresses, np.arange(self.model.nq)] = 1.0
        for joint in urdf.joints:
            if joint.mimic is not None and joint.kind != 'fixed':
                row = names.index(joint.name)
                matrix[row, self.model.joint_index(joint.mimic.joint)] = joint.mimic.multiplier
                offsets[row] = joint.mimic.offset
        return addresses, matrix, offsets


def _dynamics_only(urdf_text: str) -> str:
    """Return the URDF without shapes, with inertias that a rigid body can have."""
    robot = ElementTree.fromstring(urdf_text)
    for element in [robot, *robot.iter('link')]:
        for tag in _WITHOUT[element.tag]:
            for child in element.findall(tag):
                element.remove(child)
    for link in robot.iter('link'):
        inertia = link.find('inertial/inertia')
        if inertia is not None and not _is_positive(inertia):
            for axes in ('xx', 'yy', 'zz', 'xy', 'xz', 'yz'):
                least = _LEAST_INERTIA_KG_M2 if axes[0] == axes[1] else 0.0
                inertia.set(f'i{axes}', str(least))
    settings = ElementTree.SubElement(robot, 'mujoco')
    ElementTree.SubElement(settings, 'compiler', _COMPILER)
    return ElementTree.tostring(robot, encoding='unicode')


def _is_positive(inertia: ElementTree.Element) -> bool:
    xx, yy, zz, xy, xz, yz = (
        float(inertia.get(f'i{axes}', '0')) for axes in ('xx', 'yy', 'zz', 'xy', 'xz', 'yz')
    )
    matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return bool(np.linalg.eigvalsh(matrix).min() > 0.0)


def _mujoco() -> Any:
    try:
        import mujoco
    except ImportError as error:
        raise MissingDependencyError(
            "The simulated robot needs 'mujoco': pip install mujoco."
        ) from error
    return mujoco
