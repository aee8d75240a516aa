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

"""Speed of the arm step: `python -m vr_ik.evaluation.bench_teleop`.

A Panda follows a hand at 250 ticks a second, with its limits of position, velocity and
acceleration, an elbow to swivel, a workspace, two boxes to keep out of, and its own parts to keep
apart. Time is that of the call from Python. Of several rounds the lowest median is taken, that of
the round which other programs disturbed least. Beside it stand a whole step of a session, from
the pose of the device to the command, and the FK and Jacobian of `RobotModel`.
"""

import argparse
from collections.abc import Callable
import json
from pathlib import Path
import sys
import time

import numpy as np
from rich.console import Console

from vr_ik.cli.files import check_writable, write_text
from vr_ik.errors import VrIkError
from vr_ik.evaluation.bench_workloads import PANDA, robot_urdf
from vr_ik.io.packages import share_folders
from vr_ik.kinematics.model import RobotModel
from vr_ik.math.rotations import exp_rotation
from vr_ik.teleop.arm_step import ArmStep
from vr_ik.teleop.config import TeleopConfig
from vr_ik.teleop.session import TeleopSession
from vr_ik.teleop.types import ArmInput, RobotState, TeleopInputs
from vr_ik.teleop.watch import REST_S
from vr_ik.types import Array

BAR_US = 10.0
"""What a step may take, all limits on."""
CONFIG = TeleopConfig(
    tip_links=('panda_hand_tcp',),
    elbow_links=('panda_link4',),
    workspace='-0.8 -0.8 0.0 0.8 0.8 1.2',
    keep_out='-1 -1 -0.5 1 1 -0.02; 0.3 0.4 0 0.6 0.7 0.5',
    operator_yaw='fixed',
    velocity_scale=1.0,
    robot_distance=3.0,
)
READY = np.array([0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.8])
TICKS = 2500
ROUNDS = 7
_ELBOW = np.array([-0.2, -0.2, -0.1])


def hand_path() -> tuple[Array, Array]:
    """Return the offsets of a hand (n, 6), in metres and radians, and their rates."""
    times = np.arange(TICKS)[:, None] / CONFIG.rate_hz
    rates = np.array([2.0, 2.6, 3.1, 1.7, 2.2, 1.3])
    sizes = np.array([0.08, 0.1, 0.08, 0.3, 0.3, 0.4])
    share = np.minimum(times, 1.0)
    ease = share * share * (3.0 - 2.0 * share)
    offsets = ease * sizes * np.sin(rates * times)
    return offsets, np.gradient(offsets, 1.0 / CONFIG.rate_hz, axis=0)


def moved(start: Array, offset: Array) -> Array:
    """Return a pose moved and turned by an offset (6)."""
    there = start.copy()
    there[:3, 3] += offset[:3]
    there[:3, :3] = exp_rotation(offset[3:]) @ start[:3, :3]
    return there


def timed(calls: Callable[[int], Callable[[], object]]) -> tuple[float, float]:
    """Return median and 99th percentile [us] of one call a tick, in the quietest round.

    `calls` prepares a tick, and returns what is to be timed.
    """
    rounds = []
    for _ in range(ROUNDS):
        times_ns = np.empty(TICKS)
        for tick in range(TICKS):
            call = calls(tick)
            begin_ns = time.perf_counter_ns()
            call()
            times_ns[tick] = time.perf_counter_ns() - begin_ns
        rounds.append((float(np.median(times_ns)) / 1e3, float(np.percentile(times_ns, 99)) / 1e3))
    return min(rounds)


def measure_step(urdf: str) -> tuple[tuple[float, float], dict[str, float]]:
    """Return the times of the arm step, and how well it follows."""
    arm = ArmStep(CONFIG, urdf, tuple(share_folders()))
    offsets, rates = hand_path()
    arm.reset(READY)
    start = arm.tip_pose(0)
    targets = [moved(start, offset) for offset in offsets]
    errors = np.zeros((TICKS, 2))

    def call(tick: int) -> Callable[[], object]:
        if tick == 0:
            arm.reset(READY)
        else:
            errors[tick - 1] = arm.errors(0)
        arm.lead_arm(0, targets[tick], rates[tick], _ELBOW)
        return lambda: arm.step(1.0 / CONFIG.rate_hz)

    times = timed(call)
    worst = errors.max(axis=0)
    return times, {
        'error_mm': float(worst[0]) * 1e3,
        'error_deg': float(np.degrees(worst[1])),
        'capsules': len(arm.collisions.capsules),
        'pairs': len(arm.collisions.pairs),
    }


def measure_session(urdf: str) -> tuple[float, float]:
    """Return the times of a session's step, engaged once the robot is known to rest."""
    session = TeleopSession(CONFIG, urdf, tuple(share_folders()))
    offsets, _ = hand_path()
    positions = dict(zip(session.joint_names, READY.tolist(), strict=True))
    now_ns = 0

    def call(tick: int) -> Callable[[], object]:
        nonlocal now_ns
        now_ns += round(1e9 / CONFIG.rate_hz)
        arm = ArmInput(
            moved(np.eye(4), offsets[tick]), now_ns, float(now_ns > 2e9 * REST_S and tick > 0)
        )
        inputs = TeleopInputs((arm,), True, np.eye(4), RobotState(now_ns, positions))
        return lambda: session.step(now_ns, inputs)

    return timed(call)


def measure_kinematics(urdf: str) -> tuple[float, float]:
    """Return the times of one FK and Jacobian of the hand."""
    model = RobotModel.from_urdf(urdf)
    q = model.neutral()
    return timed(lambda _: lambda: model.jacobian(q, 'panda_hand_tcp'))


def main() -> int:
    """Measure, print, and write a file where asked to; fail above the bar."""
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--json', type=Path, help='write the figures there')
    arguments = parser.parse_args()
    try:
        if arguments.json:
            check_writable(arguments.json)
        urdf = robot_urdf(PANDA)
    except VrIkError as error:
        print(error, file=sys.stderr)
        return 2
    step, figures = measure_step(urdf)
    session, jacobian = measure_session(urdf), measure_kinematics(urdf)
    figures |= {
        'step_us': step[0],
        'step_p99_us': step[1],
        'session_us': session[0],
        'jacobian_us': jacobian[0],
        'ratio': step[0] / jacobian[0],
    }
    console = Console(highlight=False)
    console.print(
        f'arm step    {step[0]:6.2f} us median, {step[1]:.2f} p99 (bar {BAR_US:g}); '
        f'{figures["capsules"]:g} capsules, {figures["pairs"]:g} pairs\n'
        f'            {figures["ratio"]:6.2f} times FK and Jacobian ({jacobian[0]:.2f} us)\n'
        f'session     {session[0]:6.1f} us median, {session[1]:.1f} p99\n'
        f'following   {figures["error_mm"]:6.3f} mm, {figures["error_deg"]:.3f} deg at worst'
    )
    if arguments.json:
        write_text(arguments.json, json.dumps(figures, indent=2) + '\n')
    return 0 if step[0] <= BAR_US else 1


if __name__ == '__main__':
    sys.exit(main())
