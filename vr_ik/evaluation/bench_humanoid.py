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

"""How well a humanoid does as a person does: `python -m vr_ik.evaluation.bench_humanoid DATA`.

DATA are recordings, as of `vr_ik eval`, with six devices at least; the simulated user's exercise
is measured in any case. Of each limb it is shown by what angle the robot's points elsewhere than
the person's: as the robot may move, and as it could if its joints were as fast as it takes; how
often it is far off even then, and which joint is at its limit in how many of these frames. The
robot is that of config/robots/talos.yaml.
"""

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
import math
from pathlib import Path
import sys

import numpy as np
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from vr_ik.body.anthropometry import Proportions
from vr_ik.body.human import human_urdf
from vr_ik.cli.robot_files import described_file
from vr_ik.config import SolverConfig
from vr_ik.config_file import load_config
from vr_ik.errors import VrIkError
from vr_ik.evaluation.eval_data import read_recordings
from vr_ik.evaluation.reconstruction import input_roles, reconstruct
from vr_ik.io.packages import read_description
from vr_ik.teleop.humanoid import HumanoidRetargeting
from vr_ik.teleop.humanoid_config import HumanoidConfig
from vr_ik.trackers.simulated_user import SimulatedUser
from vr_ik.types import Array

_FAR_RAD = math.radians(5.0)
_AT_LIMIT = 1e-3
_HEIGHT_M = 1.75
_RATE_HZ = 60.0
_SIMULATED = 'simulated user'

Motion = tuple[str, float, str, Array]
"""Its name, the time between its frames [s], the person's URDF, and his configurations."""


class Limbs:
    """The errors of all limbs over many frames."""

    def __init__(self) -> None:
        """Have none yet."""
        self.errors: dict[str, list[float]] = {}
        self.at_limits: dict[str, Counter[str]] = {}
        """Of each limb, the joints at their limits in frames in which it is far off."""

    def add(self, robot: HumanoidRetargeting, q_human: Array) -> None:
        """Take a frame."""
        model, q = robot.model, robot.q
        room = np.minimum(q - model.lower, model.upper - q)
        held = {name for name, r in zip(model.joint_names, room, strict=True) if r < _AT_LIMIT}
        for limb, error in robot.limb_errors(q_human).items():
            self.errors.setdefault(limb, []).append(error)
            if error > _FAR_RAD:
                joints = robot.limb_joints[limb]
                self.at_limits.setdefault(limb, Counter()).update(held.intersection(joints))

    def extend(self, other: 'Limbs') -> None:
        """Take all frames of another one."""
        for limb, errors in other.errors.items():
            self.errors.setdefault(limb, []).extend(errors)
            self.at_limits.setdefault(limb, Counter()).update(other.at_limits.get(limb, {}))

    def figures(self, limb: str) -> str:
        """Return median and 95 % of a limb [deg]."""
        median, p95 = np.degrees(np.percentile(self.errors[limb], (50.0, 95.0)))
        return f'{median:.1f} / {p95:.1f}'

    def far(self, limb: str) -> tuple[str, str]:
        """Return how often a limb is far off, and the joint that is at its limit then."""
        far = sum(error > _FAR_RAD for error in self.errors[limb])
        share = f'{100.0 * far / len(self.errors[limb]):.1f} %'
        held = self.at_limits.get(limb, Counter()).most_common(1)
        return share, ''.join(f'{joint} {100.0 * n / far:.0f} %' for joint, n in held)


def measure(config: HumanoidConfig, motion: Motion, fast: Limbs, free: Limbs) -> None:
    """Let the robot do a motion, with its limits of speed (`fast`) and without (`free`)."""
    _, step_s, human_text, frames = motion
    text = read_description(config.urdf)
    for limbs, seconds in ((fast, step_s), (free, math.inf)):
        robot = HumanoidRetargeting(config, text, human_text)
        for q_human in frames:
            robot.retarget(q_human, seconds)
            limbs.add(robot, q_human)


def motions(paths: Sequence[Path]) -> Iterator[Motion]:
    """Yield the simulated user's exercise, and what was recorded."""
    user, step_s = SimulatedUser(_HEIGHT_M), 1.0 / _RATE_HZ
    q = np.array([user.q_at(time_s) for time_s in np.arange(0.0, user.round_s, step_s)])
    yield _SIMULATED, step_s, human_urdf(Proportions.from_height(_HEIGHT_M)), q
    for recording in read_recordings(paths) if paths else ():
        body = reconstruct(recording, input_roles(recording, '6'), SolverConfig())
        yield (
            recording.name,
            1.0 / recording.rate_hz,
            human_urdf(body.calibration.proportions),
            body.q,
        )


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('data', type=Path, nargs='*', help='recordings of people')
    arguments = parser.parse_args()
    table = Table('limb', 'its speed', 'any speed', '> 5 deg', box=SIMPLE)
    table.add_column('joint at its limit then', no_wrap=True)
    table.caption = 'Angles between limbs in degrees: median / 95 %.'
    try:
        config = load_config(HumanoidConfig, described_file('talos'), 'humanoid_node')
        together = Limbs(), Limbs()
        for motion in motions(arguments.data):
            alone = Limbs(), Limbs()
            measure(config, motion, *alone)
            _add_rows(table, motion[0], *alone)
            if motion[0] != _SIMULATED:
                for limbs, others in zip(together, alone, strict=True):
                    limbs.extend(others)
        if arguments.data:
            _add_rows(table, 'all recordings', *together)
    except VrIkError as error:
        print(error, file=sys.stderr)
        return 2
    Console(highlight=False).print(table)
    return 0


def _add_rows(table: Table, name: str, fast: Limbs, free: Limbs) -> None:
    table.add_row(f'{name}:')
    for limb in fast.errors:
        table.add_row(limb, fast.figures(limb), free.figures(limb), *free.far(limb))


if __name__ == '__main__':
    sys.exit(main())
