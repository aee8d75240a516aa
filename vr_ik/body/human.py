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

"""
The human model as a URDF, scaled to a body.

At q = 0 the body stands with hanging arms and thumbs forward, all links parallel to the world
(x forward, y left, z up) and base_link, the root, in the middle between the hip joints. Joint
axes, signs and limits are in joints.py, the shoulder's in shoulder.py, the places of links in
skeleton.py. `full` has 43 joints, `upper` (no legs) 29.
"""

import math
from xml.etree.ElementTree import Element, indent, SubElement, tostring

from vr_ik.body.anthropometry import Proportions
from vr_ik.body.inertia import CHAIN_LINK_INERTIA, CHAIN_LINK_MASS_KG, Inertial, inertials
from vr_ik.body.joints import JOINTS, JointSpec
from vr_ik.body.shoulder import shoulder_angles
from vr_ik.body.skeleton import Frame, frames, mirrored, mirrored_axis, MODELS, Segment, segments
from vr_ik.body.visuals import Box, Capsule, COLOURS, Shape, shapes
from vr_ik.errors import ConfigError, UnknownNameError

BODY_MASS_RANGE_KG = (10.0, 300.0)

_CHAIN_LINK = Inertial(CHAIN_LINK_MASS_KG, (0.0, 0.0, 0.0), (CHAIN_LINK_INERTIA,) * 3)

_LEVEL_ARM = shoulder_angles((0.0, 1.0, 0.0), (1.0, 0.0, 0.0))
T_POSE: dict[str, float] = {
    f'{side}_{spec.name}': angle
    for side in 'lr'
    for spec, angle in zip(JOINTS['upper_arm'], _LEVEL_ARM, strict=True)
}
"""Angles [rad] of the joints that are not zero with arms level, palms down, thumbs forward."""


def human_urdf(proportions: Proportions, model: str = 'full', mass_kg: float | None = None) -> str:
    """Return the URDF of a body; without a mass it is that of a body mass index of 22."""
    if model not in MODELS:
        raise UnknownNameError('body model', model, MODELS)
    if mass_kg is not None and not BODY_MASS_RANGE_KG[0] <= mass_kg <= BODY_MASS_RANGE_KG[1]:
        lower, upper = BODY_MASS_RANGE_KG
        raise ConfigError(f'The body mass is {mass_kg:g}; valid: {lower:g} to {upper:g} kg.')
    robot = Element('robot', name='human')
    for name, rgba in COLOURS.items():
        SubElement(SubElement(robot, 'material', name=name), 'color', rgba=_numbers(rgba))
    body_inertials, body_shapes = inertials(proportions, mass_kg), shapes(proportions)
    # The root itself is weightless: KDL, and so robot_state_publisher, warns of one with inertia.
    SubElement(robot, 'link', name='base_link')
    _add_link(robot, 'pelvis', body_inertials['pelvis'], body_shapes['pelvis'])
    _add_fixed_joint(robot, Frame('pelvis', 'base_link', (0.0, 0.0, 0.0)))
    for segment in segments(proportions, model):
        inertial, looks = body_inertials[segment.kind], body_shapes[segment.kind]
        if segment.prefix == 'r_':
            inertial = Inertial(inertial.mass_kg, mirrored(inertial.centre), inertial.moments)
            looks = tuple(shape.mirrored() for shape in looks)
        _add_chain(robot, segment)
        _add_link(robot, segment.link, inertial, looks)
    for frame in frames(proportions, model):
        SubElement(robot, 'link', name=frame.link)
        _add_fixed_joint(robot, frame)
    indent(robot)
    return '<?xml version="1.0"?>\n' + tostring(robot, encoding='unicode') + '\n'


def _add_chain(robot: Element, segment: Segment) -> None:
    """Add the hinges that lead into a body link, and the small links between them."""
    parent, origin = segment.parent, segment.origin
    chain = JOINTS[segment.kind]
    for spec in chain:
        name = segment.prefix + spec.name
        child = segment.link if spec is chain[-1] else f'{name}_link'
        if child != segment.link:
            _add_link(robot, child, _CHAIN_LINK, ())
        joint = _add_joint(robot, name, 'revolute', parent, child, origin, (0.0, 0.0, 0.0))
        _add_motion(joint, spec, segment.prefix == 'r_')
        parent, origin = child, (0.0, 0.0, 0.0)


def _add_motion(joint: Element, spec: JointSpec, is_right: bool) -> None:
    axis = mirrored_axis(spec.axis) if is_right else spec.axis
    SubElement(joint, 'axis', xyz=_numbers(axis))
    SubElement(
        joint,
        'limit',
        lower=_numbers((spec.lower,)),
        upper=_numbers((spec.upper,)),
        velocity=_numbers((spec.velocity,)),
        effort=_numbers((spec.effort,)),
    )


def _add_fixed_joint(robot: Element, frame: Frame) -> None:
    name = f'{frame.link}_joint'
    _add_joint(robot, name, 'fixed', frame.parent, frame.link, frame.origin, frame.rpy)


def _add_joint(
    robot: Element,
    name: str,
    kind: str,
    parent: str,
    child: str,
    origin: tuple[float, ...],
    rpy: tuple[float, ...],
) -> Element:
    joint = SubElement(robot, 'joint', name=name, type=kind)
    SubElement(joint, 'parent', link=parent)
    SubElement(joint, 'child', link=child)
    SubElement(joint, 'origin', xyz=_numbers(origin), rpy=_numbers(rpy))
    return joint


def _add_link(robot: Element, name: str, inertial: Inertial, looks: tuple[Shape, ...]) -> None:
    link = SubElement(robot, 'link', name=name)
    element = SubElement(link, 'inertial')
    SubElement(element, 'origin', xyz=_numbers(inertial.centre), rpy='0 0 0')
    SubElement(element, 'mass', value=_numbers((inertial.mass_kg,)))
    ixx, iyy, izz = (_numbers((moment,)) for moment in inertial.moments)
    SubElement(element, 'inertia', ixx=ixx, iyy=iyy, izz=izz, ixy='0', ixz='0', iyz='0')
    for shape in looks:
        if isinstance(shape, Box):
            _add_visual(link, shape.colour, shape.centre, 'box', size=_numbers(shape.size))
        else:
            _add_capsule(link, shape)


def _add_capsule(link: Element, shape: Capsule) -> None:
    radius = _numbers((shape.radius,))
    _add_visual(link, shape.colour, shape.start, 'sphere', radius=radius)
    if shape.end == shape.start:
        return
    _add_visual(link, shape.colour, shape.end, 'sphere', radius=radius)
    along = tuple(b - a for a, b in zip(shape.start, shape.end, strict=True))
    middle = tuple(0.5 * (a + b) for a, b in zip(shape.start, shape.end, strict=True))
    length = math.hypot(*along)
    # Cylinders lie along z: tip it over (pitch), then turn it (yaw).
    rpy = (0.0, math.acos(along[2] / length), math.atan2(along[1], along[0]))
    size = {'radius': radius, 'length': _numbers((length,))}
    _add_visual(link, shape.colour, middle, 'cylinder', rpy, **size)


def _add_visual(
    link: Element,
    colour: str,
    centre: tuple[float, ...],
    solid: str,
    rpy: tuple[float, ...] = (0.0, 0.0, 0.0),
    **size: str,
) -> None:
    visual = SubElement(link, 'visual')
    SubElement(visual, 'origin', xyz=_numbers(centre), rpy=_numbers(rpy))
    SubElement(SubElement(visual, 'geometry'), solid, size)
    SubElement(visual, 'material', name=colour)


def _numbers(values: tuple[float, ...]) -> str:
    """Write numbers so that equal bodies give equal text; adding 0.0 turns -0 into 0."""
    return ' '.join(f'{round(value, 12) + 0.0:.12g}' for value in values)
