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

"""The tracker node on the simulated OpenVR runtime, and a recording of what it publishes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped, TransformStamped, TwistStamped
import numpy as np
from openvr_support import simulated_runtime
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from ros_graph import Listener, listening, NodeProcess, parameters
from ros_recording import ALL_KEPT, LATCHED, Recording
from sensor_msgs.msg import BatteryState, Joy, JoyFeedback
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage

from vr_ik.math.rotations import matrix_from_quaternion, pose, rotation_from_rpy
from vr_ik.simulation.runtime import SimulatedRuntime
from vr_ik.types import Array, DeviceKind

STATION_POSE = pose(np.eye(3), np.array([3.0, -2.0, 2.5]))
_TOPICS: dict[str, type] = {
    'pose': PoseStamped,
    'twist': TwistStamped,
    'joy': Joy,
    'battery': BatteryState,
}


def at(x: float, y: float, z: float, yaw: float = 0.0) -> Array:
    """Return a level pose."""
    return pose(rotation_from_rpy(0.0, 0.0, yaw), np.array([x, y, z]))


def pose_of(transform: TransformStamped) -> Array:
    """Return the pose in a transform."""
    p, q = transform.transform.translation, transform.transform.rotation
    turn = matrix_from_quaternion(np.array([q.x, q.y, q.z, q.w]))
    return pose(turn, np.array([p.x, p.y, p.z]))


class StaticFrames:
    """The frames that a topic of static frames holds now."""

    def __init__(self, graph: 'TrackerGraph', topic: str) -> None:
        """Subscribe to them."""
        self.poses: dict[str, Array] = {}
        graph.recording.listener.node.create_subscription(
            TFMessage, topic, self._on_static, LATCHED
        )

    def _on_static(self, message: TFMessage) -> None:
        assert all(t.header.frame_id == 'vr_world' for t in message.transforms)
        self.poses = {t.child_frame_id: pose_of(t) for t in message.transforms}


class TrackerGraph:
    """A runtime with devices, the node that reads it, and all that it publishes."""

    def __init__(self, runtime: SimulatedRuntime, listener: Listener, folder: Path) -> None:
        """Connect devices; start the node before the server."""
        self.runtime = runtime
        self.recording = Recording(listener)
        self.hmd = runtime.add_device(DeviceKind.HMD, 'LHR-HEAD')
        add = runtime.add_device
        self.left = add(DeviceKind.CONTROLLER, 'LHR-L', hand='left', axis_types=(1, 3, 0, 0, 0))
        self.right = add(DeviceKind.CONTROLLER, 'LHR-R', hand='right', axis_types=(1, 3, 0, 0, 0))
        self.waist = add(DeviceKind.TRACKER, 'LHR-W', controller_type='vive_tracker_waist')
        self.spare = add(DeviceKind.TRACKER, '4E-77')
        self.station = add(DeviceKind.BASE_STATION, 'LHB-1')
        runtime.set_poses([self.station], STATION_POSE[None])
        self.map_file = folder / 'saved' / 'map.yaml'
        self.static = StaticFrames(self, '/tf_static')
        self.process = NodeProcess(
            'tracker_node',
            *parameters(
                backend='openvr',
                publish_poses=True,
                publish_twists=True,
                map_file=self.map_file,
            ),
        )

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        """Listen until the condition holds."""
        self.recording.wait(condition, what)

    def wait_for_frame(
        self, condition: Callable[[dict[str, Array]], bool], what: str
    ) -> dict[str, Array]:
        """Return the next tracking frame that is as wanted: poses by name."""
        seen = len(self.recording.frames)
        found: list[dict[str, Array]] = []

        def has_come() -> bool:
            nonlocal seen
            for transforms in self.recording.frames[seen:]:
                poses = {t.child_frame_id: pose_of(t) for t in transforms}
                if condition(poses):
                    found.append(poses)
            seen = len(self.recording.frames)
            return bool(found)

        self.wait(has_come, what)
        return found[0]

    def messages(self, device: str, topic: str) -> list[Any]:
        """Return the list into which a device's messages on a topic come from now on."""
        received: list[Any] = []
        self.recording.listener.node.create_subscription(
            _TOPICS[topic], f'{device}/{topic}', received.append, ALL_KEPT
        )
        return received

    def rumble(self, device: str, feedback: JoyFeedback, until: Callable[[], bool]) -> None:
        """Send feedback to a device, again and again until something has come of it."""
        node = self.recording.listener.node
        publisher = node.create_publisher(JoyFeedback, f'{device}/joy/set_feedback', ALL_KEPT)

        def is_done() -> bool:
            publisher.publish(feedback)
            return until()

        self.wait(is_done, 'what the feedback does')
        node.destroy_publisher(publisher)

    def has_logged(self, text: str) -> bool:
        """Tell whether the node's output has a text."""
        return text in self.process.output()

    def call(self, service: str) -> Trigger.Response:
        """Call one of the node's services without arguments."""
        client = self.recording.listener.node.create_client(Trigger, f'/tracker_node/{service}')
        self.wait(client.service_is_ready, service)
        future = client.call_async(Trigger.Request())
        self.wait(future.done, f'an answer of {service}')
        return future.result()

    def set_parameters(self, **values: object) -> SetParametersResult:
        """Set parameters, one by one, and return the last answer."""
        client = self.recording.listener.node.create_client(
            SetParameters, '/tracker_node/set_parameters'
        )
        self.wait(client.service_is_ready, 'the parameter service')
        request = SetParameters.Request()
        request.parameters = [Parameter(n, value=v).to_parameter_msg() for n, v in values.items()]
        future = client.call_async(request)
        self.wait(future.done, 'an answer')
        return future.result().results[-1]

    def wait_for_diagnostics(
        self, name: str, condition: Callable[[DiagnosticStatus], bool]
    ) -> dict[str, str]:
        """Return the values of the next line of diagnostics by this name that is as wanted."""
        name = f'tracker_node: {name}'
        lines = self.recording.diagnostics
        lines.pop(name, None)
        self.wait(lambda: name in lines and condition(lines[name]), f'diagnostics of {name}')
        return {value.key: value.value for value in lines[name].values}


@contextmanager
def connected_graph(folder: Path) -> Iterator[TrackerGraph]:
    """Run the node, then the server that it waits for; in the end it must exit cleanly."""
    with simulated_runtime(running=False) as runtime, listening() as listener:
        graph = TrackerGraph(runtime, listener, folder)
        try:
            graph.wait_for_diagnostics('source', lambda line: 'Start SteamVR' in line.message)
            assert not graph.recording.frames
            runtime.start()
            graph.wait(lambda: bool(graph.recording.frames), 'the first frame')
            yield graph
            assert graph.process.end() == 0, graph.process.output()
            assert 'Traceback' not in graph.process.output(), graph.process.output()
        finally:
            graph.process.kill()


def place(graph: TrackerGraph, **poses: Array) -> dict[str, Array]:
    """Move devices, and return the first frame in which they are there."""
    graph.runtime.set_poses(
        [getattr(graph, name) for name in poses], np.array(list(poses.values()))
    )
    names = {'left': 'l_controller', 'right': 'r_controller', 'spare': '4E-77'}
    wanted = {names.get(name, name): value for name, value in poses.items()}
    return graph.wait_for_frame(
        lambda frame: all(
            name in frame and np.allclose(frame[name], value, atol=1e-6)
            for name, value in wanted.items()
        ),
        f'{wanted}',
    )
