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

"""The tracker node while SteamVR takes its time to start."""

from pathlib import Path

from openvr_graph import TrackerGraph
from openvr_support import simulated_runtime
from ros_graph import listening


def test_a_slow_start_of_the_runtime_stalls_nothing(tmp_path: Path) -> None:
    """Parameters are answered and Ctrl-C ends the node, while init has not returned yet."""
    with simulated_runtime() as runtime, listening() as listener:
        runtime.slow_down(init_s=120.0)
        graph = TrackerGraph(runtime, listener, tmp_path)
        try:
            graph.wait_for_diagnostics('source', lambda line: line.message == 'connecting')
            assert graph.set_parameters(haptic_s=0.2).successful
            assert not graph.call('recenter').success
            assert graph.process.end() == 0, graph.process.output()
            assert 'Traceback' not in graph.process.output(), graph.process.output()
            assert runtime.client_count('sessions_opened') == 0
        finally:
            graph.process.kill()
