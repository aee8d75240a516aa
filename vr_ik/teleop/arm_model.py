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

"""The joints that are led, as a robot of their own: all others are held where they rest."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
import math

import numpy as np

from vr_ik.errors import ConfigError, UnknownNameError
from vr_ik.kinematics.model import RobotModel
from vr_ik.kinematics.urdf import Joint, read_urdf, Urdf
from vr_ik.math.rotations import exp_rotation, pose
from vr_ik.teleop.arm_guard import STOP_SLOPE
from vr_ik.teleop.config import TeleopConfig
from vr_ik.types import Array


@dataclass(frozen=True)
class ArmModel:
    """The chains to the tips with their limits; arrays in the order of `model.joint_names`."""

    model: RobotModel
    tips: tuple[str, ...]
    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    continuous: Array
    """Which joints turn on and on: their angles are the same after a whole turn."""
    moves: Array
    """(arms, joints): whether a joint moves an arm's tip."""
    held: Mapping[str, float]
    """Where the joints are taken to be that are not led [rad or m], but for grippers and the like:
    those that an arm carries are not among them."""


def arm_model(
    config: TeleopConfig, urdf_text: str, measured: Mapping[str, float] | None = None
) -> ArmModel:
    """Build the chains from the base link to the tips.

    Joints that are not led are held where they were measured, or else at zero.
    """
    urdf = read_urdf(urdf_text)
    for link in (*config.tip_links, *([config.base_link] if config.base_link else [])):
        if link not in urdf.links:
            raise UnknownNameError('link', link, urdf.links)
    chains = [_chain(urdf, config.base_link or urdf.root, tip) for tip in config.tip_links]
    led = {name for chain in chains for name in chain}
    held = _held_positions(urdf, led, measured or {})
    model = RobotModel(_held(urdf, led, held))
    room = model.upper - model.lower - 2.0 * config.limit_margin
    for name, free in zip(model.joint_names, room, strict=True):
        if not free > 0.0:
            raise ConfigError(f"Joint '{name}' has no range within its limits and their margin.")
    acceleration = np.full(model.nv, config.acceleration)
    velocity = np.minimum(
        config.velocity_scale * model.velocity_limits,
        acceleration * config.stop_time_s / STOP_SLOPE,
    )
    for name, speed in zip(model.joint_names, velocity, strict=True):
        if not speed > 0.0:
            raise ConfigError(f"Joint '{name}' has a velocity limit of zero in the URDF.")
    return ArmModel(
        model,
        config.tip_links,
        model.lower + config.limit_margin,
        model.upper - config.limit_margin,
        velocity,
        acceleration,
        np.array([joint.kind == 'continuous' for joint in model.joints]),
        np.array([[name in chain for name in model.joint_names] for chain in chains]),
        held,
    )


def _chain(urdf: Urdf, base: str, tip: str) -> list[str]:
    """Return the moving joints from base to tip; a joint that mimics stands for its master."""
    above = {joint.child: joint for joint in urdf.joints}
    names, link = [], tip
    while link != base:
        if link not in above:
            raise ConfigError(f"The tip link '{tip}' is not beyond the base link '{base}'.")
        joint = above[link]
        if joint.kind != 'fixed':
            names.append(joint.mimic.joint if joint.mimic else joint.name)
        link = joint.parent
    if not names:
        raise ConfigError(f"No joint moves the tip link '{tip}' beyond '{base}'.")
    return names


def _held_positions(urdf: Urdf, led: set[str], measured: Mapping[str, float]) -> dict[str, float]:
    """Return the position of each joint that is not led, nor carried by one that is."""
    carried, held = set[str](), {}
    # A link's joint may come before that of its parent: go through them until nothing is new.
    for _ in urdf.joints:
        for joint in urdf.joints:
            if joint.name in led or joint.parent in carried:
                carried.add(joint.child)
    for joint in urdf.joints:
        if joint.kind != 'fixed' and joint.mimic is None and joint.child not in carried:
            position = measured.get(joint.name, 0.0)
            finite = position if math.isfinite(position) else 0.0
            held[joint.name] = min(max(finite, joint.lower), joint.upper)
    return held


def _held(urdf: Urdf, led: set[str], held: Mapping[str, float]) -> Urdf:
    """Return the robot with every joint that is not led held at rest."""
    joints = []
    for joint in urdf.joints:
        master = joint.mimic.joint if joint.mimic else joint.name
        if joint.kind != 'fixed' and master not in led:
            joints.append(_frozen(joint, held.get(joint.name, 0.0)))
        else:
            joints.append(joint)
    return replace(urdf, joints=tuple(joints))


def _frozen(joint: Joint, position: float) -> Joint:
    """Return the joint as a fixed one, at a position or as near as its limits allow."""
    value = min(max(position, joint.lower), joint.upper)
    if joint.kind == 'prismatic':
        motion = pose(np.eye(3), value * joint.axis)
    else:
        motion = pose(exp_rotation(value * joint.axis), np.zeros(3))
    placed = joint.pose_parent_from_joint @ motion
    return replace(joint, kind='fixed', pose_parent_from_joint=placed, mimic=None)
