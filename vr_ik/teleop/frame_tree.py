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

"""Where frames are in the world, by chains of transforms, as tf2 would tell it."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from vr_ik.math.rotations import exp_rotation, inverse_pose, log_rotation, pose
from vr_ik.types import Array

_KEPT = 64
"""Poses of a link that are kept: its chain is looked at where all of its links are known."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a frame is in the world, or why nobody knows."""

    stamp_ns: int = 0
    """When all of the chain was known: the stamp of the link that is the oldest."""
    pose: Array | None = None
    """(4, 4) pose_world_from_frame."""
    lack: str = ''
    """What the chain lacks, in words; empty where there is a pose."""

    def is_recent(self, now_ns: int, timeout_s: float) -> bool:
        """Tell whether it is near now; what is far ahead of it would not grow old for as long."""
        return abs(now_ns - self.stamp_ns) <= round(timeout_s * 1e9)


@dataclass
class _Link:
    parent: str
    static: bool
    poses: deque[tuple[int, Array]] = field(default_factory=lambda: deque(maxlen=_KEPT))
    """Stamps, which rise, and pose_parent_from_child."""


class FrameTree:
    """Keeps the transforms that lead from the world to some frames, and composes them.

    Links that move are taken at one time, that of the oldest of them: so old is what comes out,
    however fresh the others are. Those of /tf_static have no time.
    """

    def __init__(self, world_frame: str, frames: Iterable[str]) -> None:
        """Know nothing yet."""
        self._world = world_frame
        self._links: dict[str, _Link] = {}
        self._static: dict[str, tuple[str, Array]] = {}
        self.wanted: set[str] = {world_frame, *frames}
        """The frames whose transforms are needed; they become more as chains are found."""
        exp_rotation(log_rotation(np.eye(3)))  # compiled now, not in the loop

    def update(
        self, parent: str, child: str, stamp_ns: int, pose_parent_from_child: Array
    ) -> None:
        """Take a transform of /tf."""
        if child not in self.wanted:
            return
        link = self._links.get(child)
        if link is None or link.static or link.parent != parent:
            link = self._attach(child, parent, static=False)
        elif stamp_ns <= link.poses[-1][0]:
            link.poses.clear()  # the clock was set back, or a recording begins anew
        link.poses.append((stamp_ns, pose_parent_from_child))

    def update_static(self, parent: str, child: str, pose_parent_from_child: Array) -> None:
        """Take a transform of /tf_static; one that moves as well is taken as it moves."""
        self._static[child] = (parent, pose_parent_from_child)
        if child in self.wanted:
            self._take_static(child)

    def place(self, frame: str, now_ns: int) -> Place:
        """Return where a frame is; one that is fixed to the world is there now."""
        ups, downs = self._ancestors(frame), self._ancestors(self._world)
        common = next((name for name in ups if name in downs), None)
        if common is None:
            return Place(lack=self._lack(ups[-1]))
        links = [self._links[name] for name in ups[: ups.index(common)]]
        back = [self._links[name] for name in downs[: downs.index(common)]]
        stamps = [link.poses[-1][0] for link in (*links, *back) if not link.static]
        stamp_ns = min(stamps, default=now_ns)
        found = _composed(links, stamp_ns)
        if back:
            found = inverse_pose(_composed(back, stamp_ns)) @ found
        return Place(stamp_ns, found)

    def recent(self, frame: str, now_ns: int, timeout_s: float) -> Array | None:
        """Return pose_world_from_frame; None where it does not hold, or not any more."""
        place = self.place(frame, now_ns)
        return place.pose if place.is_recent(now_ns, timeout_s) else None

    def _ancestors(self, frame: str) -> list[str]:
        """Return the frame, its parent, and so on, to the world or to where nothing is known."""
        names = [frame]
        while names[-1] in self._links and (names[-1] != self._world or len(names) == 1):
            parent = self._links[names[-1]].parent
            names.append(parent)
            if parent in names[:-1]:
                break  # a loop
        return names

    def _lack(self, last: str) -> str:
        if last in self._links:
            return f"its transforms go round in a loop at '{last}'"
        return f"no transform of '{last}' has come"

    def _attach(self, child: str, parent: str, static: bool) -> _Link:
        """Have a link to a parent, whose own transforms are needed from now on."""
        self._links[child] = link = _Link(parent, static)
        if parent not in self.wanted:
            self.wanted.add(parent)
            self._take_static(parent)
        return link

    def _take_static(self, child: str) -> None:
        link = self._links.get(child)
        if child in self._static and (link is None or link.static):
            parent, pose_parent_from_child = self._static[child]
            self._attach(child, parent, static=True).poses.append((0, pose_parent_from_child))


def _composed(links: Iterable[_Link], stamp_ns: int) -> Array:
    """Return the pose of the first link's frame in that of the last one's parent."""
    composed = np.eye(4)
    for link in links:
        composed = _at(link, stamp_ns) @ composed
    return composed


def _at(link: _Link, stamp_ns: int) -> Array:
    """Return where a link was; before all that is kept, at its first place."""
    after_ns, after = link.poses[-1]
    if link.static or stamp_ns >= after_ns:
        return after
    for before_ns, before in reversed(link.poses):
        if before_ns <= stamp_ns:
            return _between(before, after, (stamp_ns - before_ns) / (after_ns - before_ns))
        after_ns, after = before_ns, before
    return after


def _between(before: Array, after: Array, share: float) -> Array:
    turn = log_rotation(np.ascontiguousarray(before[:3, :3].T @ after[:3, :3]))
    position = (1.0 - share) * before[:3, 3] + share * after[:3, 3]
    return pose(before[:3, :3] @ exp_rotation(share * turn), position)
