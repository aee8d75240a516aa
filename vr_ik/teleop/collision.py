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

"""Which parts of a robot have to keep their distance from each other."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from vr_ik.kinematics.tree import Ints, PARENT
from vr_ik.teleop.arm_model import ArmModel
from vr_ik.teleop.barriers import pair_distances
from vr_ik.teleop.capsules import Capsule, link_capsules, merged
from vr_ik.types import Array

# Configurations that tell which parts can come near each other at all.
_SAMPLES = 2000
_SEED = 7
# Parts that touch in so many of them are neighbours by construction: their capsules overlap.
_NEIGHBOURS = 0.3
# Parts that come no nearer than this in any of them never meet [m].
_NEVER_M = 0.1


@dataclass(frozen=True)
class CollisionModel:
    """Capsules on the bodies of an arm, and the pairs of them that are watched."""

    bodies: Ints
    """(m,) the body of each; -1 is the fixed world."""
    capsules: Array
    """(m, 7): start and way of the axis on its body, radius [m]."""
    links: tuple[str, ...]
    """A link of each capsule's body, for messages."""
    pairs: Ints
    """(k, 2)."""
    missing: tuple[str, ...]
    """Mesh files that were not found: their parts are not watched."""
    neighbours: tuple[tuple[str, str], ...]
    """Links that are not watched since their capsules overlap in too many poses."""

    def notes(self) -> tuple[str, ...]:
        """Return what is not watched, in words."""
        texts = []
        if self.missing:
            files = ', '.join(self.missing)
            texts.append(f'Collision meshes not found, their parts are not watched: {files}.')
        if self.neighbours:
            couples = ', '.join(f'{one} and {two}' for one, two in self.neighbours)
            texts.append(f'Too near by construction to be kept apart: {couples}.')
        return tuple(texts)

    def without_pairs(self) -> 'CollisionModel':
        """Return it with no part watched against another."""
        return replace(self, pairs=self.pairs[:0])


def no_collisions() -> CollisionModel:
    """Return a model that watches nothing."""
    none = np.empty((0, 2), np.int64)
    return CollisionModel(none[:, 0], np.empty((0, 7)), (), none, (), ())


def read_collisions(
    urdf_text: str, arm: ArmModel, clearance_m: float, package_paths: Sequence[Path]
) -> CollisionModel:
    """Fit capsules to the collision shapes of a URDF, and choose the pairs to watch."""
    by_link, missing = link_capsules(urdf_text, package_paths)
    on_body: dict[int, list[Capsule]] = {}
    names: dict[int, str] = {}
    for link, capsules in by_link.items():
        placement = arm.model.placement(link)
        names.setdefault(placement.body, link)
        placed = [capsule.moved(placement.pose_body_from_frame) for capsule in capsules]
        on_body.setdefault(placement.body, []).extend(placed)
    rows, bodies = [], []
    for body in sorted(on_body):
        for capsule in merged(on_body[body]):
            way = capsule.end - capsule.start
            rows.append([*capsule.start, *way, capsule.radius])
            bodies.append(body)
    model = CollisionModel(
        np.array(bodies, np.int64),
        np.array(rows).reshape(-1, 7),
        tuple(names[body] for body in bodies),
        np.empty((0, 2), np.int64),
        tuple(missing),
        (),
    )
    return _with_pairs(model, arm, clearance_m)


def _with_pairs(model: CollisionModel, arm: ArmModel, clearance_m: float) -> CollisionModel:
    parents = arm.model.tree.body_ints[:, PARENT]
    pairs = np.array(
        [
            (k, i)
            for i in range(len(model.bodies))
            for k in range(i)
            if not _adjacent(int(model.bodies[i]), int(model.bodies[k]), parents)
        ],
        np.int64,
    ).reshape(-1, 2)
    distances = sampled_distances(model, arm, pairs)
    touching = (distances < clearance_m).mean(axis=0) > _NEIGHBOURS
    never = distances.min(axis=0, initial=np.inf) > clearance_m + _NEVER_M
    neighbours = {(model.links[a], model.links[b]) for a, b in pairs[touching]}
    return replace(model, pairs=pairs[~touching & ~never], neighbours=tuple(sorted(neighbours)))


def _adjacent(one: int, two: int, parents: Ints) -> bool:
    """Tell whether two bodies are one, or joined by a joint."""
    if one == two:
        return True
    return (one >= 0 and parents[one] == two) or (two >= 0 and parents[two] == one)


def sampled_distances(model: CollisionModel, arm: ArmModel, pairs: Ints) -> Array:
    """Return the distances (samples, pairs) of capsules in poses all over the joints' ranges."""
    rng = np.random.default_rng(_SEED)
    configurations = np.array([arm.model.random(rng) for _ in range(_SAMPLES)])
    return distances_at(model, arm, pairs, configurations)


def distances_at(
    model: CollisionModel, arm: ArmModel, pairs: Ints, configurations: Array
) -> Array:
    """Return the distances (configurations, pairs) [m] of capsules."""
    tree = arm.model.tree
    distances = np.empty((len(configurations), len(pairs)))
    pair_distances(
        tree.body_ints,
        tree.body_floats,
        model.bodies,
        model.capsules,
        pairs,
        configurations,
        np.empty((len(tree.body_ints), 12)),
        np.empty((len(model.bodies), 6)),
        distances,
    )
    return distances
