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

"""The tracker's benchmark: what counts as late, and that it runs."""

import json
import subprocess
import sys

from hypothesis import given, strategies as st
import numpy as np

from vr_ik.evaluation.bench_tracker import DEVICES, lateness_ms

PERIOD_NS = 4_000_000
RATE_HZ = 250.0


def test_an_even_grid_is_in_time():
    stamps = 10**18 + PERIOD_NS * np.arange(1000)
    assert lateness_ms(stamps.tolist(), RATE_HZ).max() < 1e-6


@given(
    st.lists(st.integers(0, 3_500_000), max_size=20),
    st.integers(0, 10**18),
    st.randoms(use_true_random=False),
)
def test_delays_below_a_period_are_found(delays_ns, start_ns, random):
    """Wherever they are among frames that are in time, to 0.1 ms."""
    delays_ns = delays_ns + [random.randrange(100_000) for _ in range(60)]
    random.shuffle(delays_ns)
    stamps = [start_ns + PERIOD_NS * i + delay for i, delay in enumerate(delays_ns)]
    expected = np.array(delays_ns) * 1e-6
    np.testing.assert_allclose(lateness_ms(stamps, RATE_HZ), expected, atol=0.1001)


def test_a_long_delay_counts_once_and_passes_deadlines_over():
    """A frame 10 ms late; those whose time passed meanwhile are left out, the next is in time."""
    ticks_ms = [0.0, 4.0, 8.0, 12.0 + 10.0, *range(24, 60, 4)]
    late = lateness_ms([int(t * 1e6) for t in ticks_ms], RATE_HZ)
    np.testing.assert_allclose(late, [0, 0, 0, 10, *[0] * 9], atol=1e-6)


def test_it_runs_the_node_and_writes_its_figures(tmp_path):
    file = tmp_path / 'figures.json'
    command = [sys.executable, '-m', 'vr_ik.evaluation.bench_tracker', '--seconds', '0.5']
    result = subprocess.run([*command, '--json', str(file)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert '% of one core' in result.stdout
    figures = json.loads(file.read_text())
    assert figures['devices'] == DEVICES
    assert figures['frames'] > 10
    assert 0.0 < figures['cpu_share'] < 4.0
    assert 0.0 <= figures['late_ms']['median'] <= figures['late_ms']['p99']
