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

"""The solver's work as markers: where devices are, where the body has them, how far it reaches."""

from collections.abc import Sequence

from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Point
import numpy as np
from rclpy.node import Node
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from vr_ik.body.reach import Reach
from vr_ik.nodes import qos
from vr_ik.nodes.conversions import set_stamp
from vr_ik.pipeline import Pipeline
from vr_ik.types import Array

PERIOD_NS = 50_000_000
"""Markers are for eyes: twenty a second are enough."""
WORST_M = 0.05
"""A residual of this much is red, none is green."""

_LIFETIME = Duration(nanosec=500_000_000)
_TARGET_M, _REACHED_M, _LINE_M = 0.05, 0.035, 0.008
_TARGET_COLOR = ColorRGBA(r=0.2, g=0.4, b=0.9, a=0.5)
_REACH_COLOR = ColorRGBA(r=0.4, g=0.6, b=0.9, a=0.08)
_BEYOND_COLOR = ColorRGBA(r=0.9, g=0.2, b=0.1, a=0.15)


class SolverMarkers:
    """Publishes markers at a limited rate, and only while somebody looks at them."""

    def __init__(self, node: Node, world_frame: str) -> None:
        """Offer the topic."""
        self._publisher = node.create_publisher(MarkerArray, qos.MARKERS_TOPIC, qos.MARKERS_QOS)
        self._world_frame = world_frame
        self._stamp_ns = 0
        self._reach: tuple[Pipeline, Reach] | None = None

    def publish(self, pipeline: Pipeline, stamp_ns: int, q: Array) -> None:
        """Show the frame that was solved last, if it is time for it and somebody looks."""
        if 0 <= stamp_ns - self._stamp_ns < PERIOD_NS:
            return
        self._stamp_ns = stamp_ns
        if not self._publisher.get_subscription_count():
            return
        if self._reach is None or self._reach[0] is not pipeline:
            self._reach = pipeline, Reach(pipeline.model, pipeline.mounts)
        self._publisher.publish(
            MarkerArray(markers=self._markers(pipeline, self._reach[1], stamp_ns, q))
        )

    def _markers(self, pipeline: Pipeline, reach: Reach, stamp_ns: int, q: Array) -> list[Marker]:
        reached, first_joints = reach.points(q)
        known = pipeline.confidence > 0.0
        targets = pipeline.targets[:, :3, 3]
        colors = [_residual_color(e) for e in np.linalg.norm(reached - targets, axis=1)[known]]
        on_target, on_body = _points(targets[known]), _points(reached[known])
        spheres = self._list('targets', Marker.SPHERE_LIST, _TARGET_M, on_target)
        spheres.color = _TARGET_COLOR
        dots = self._list('reached', Marker.SPHERE_LIST, _REACHED_M, on_body, colors)
        ends = [point for pair in zip(on_target, on_body, strict=True) for point in pair]
        twice = [color for color in colors for _ in range(2)]
        lines = self._list('residuals', Marker.LINE_LIST, _LINE_M, ends, twice)
        markers = [spheres, dots, lines]
        for number, (device, center) in enumerate(first_joints.items()):
            row = pipeline.roles.index(device)
            if known[row]:
                distance = float(np.linalg.norm(targets[row] - center))
                is_beyond = distance > reach.radii_m[device]
                markers.append(self._sphere(number, center, reach.radii_m[device], is_beyond))
        for marker in markers:
            set_stamp(marker.header.stamp, stamp_ns)
        return markers

    def _marker(self, namespace: str, kind: int, number: int = 0) -> Marker:
        marker = Marker(ns=namespace, type=kind, id=number, lifetime=_LIFETIME)
        marker.header.frame_id = self._world_frame
        marker.pose.orientation.w = 1.0
        return marker

    def _list(
        self,
        namespace: str,
        kind: int,
        size_m: float,
        points: list[Point],
        colors: Sequence[ColorRGBA] = (),
    ) -> Marker:
        marker = self._marker(namespace, kind)
        marker.scale.x = marker.scale.y = marker.scale.z = size_m
        marker.points = points
        marker.colors = list(colors)
        return marker

    def _sphere(self, number: int, center: Array, radius_m: float, is_beyond: bool) -> Marker:
        marker = self._marker('reach', Marker.SPHERE, number)
        p = marker.pose.position
        p.x, p.y, p.z = center.tolist()
        marker.scale.x = marker.scale.y = marker.scale.z = 2.0 * radius_m
        marker.color = _BEYOND_COLOR if is_beyond else _REACH_COLOR
        return marker


def _points(rows: Array) -> list[Point]:
    return [Point(x=x, y=y, z=z) for x, y, z in rows.tolist()]


def _residual_color(error_m: float) -> ColorRGBA:
    """Return green for none, over yellow, to red for `WORST_M` and more."""
    share = min(float(error_m) / WORST_M, 1.0)
    return ColorRGBA(r=min(2.0 * share, 1.0), g=min(2.0 - 2.0 * share, 1.0), b=0.1, a=1.0)
