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

"""The web page (viser): the solved body, the tracked devices and, where known, the truth."""

from collections.abc import Iterable, Mapping
import contextlib
import io
import logging
from typing import Any

from vr_ik.errors import MissingDependencyError
from vr_ik.kinematics.model import RobotModel
from vr_ik.math.rotations import quaternion_from_matrix
from vr_ik.types import Array
from vr_ik.viewer.looks import link_hulls, link_meshes, LinkMesh

HOST = '127.0.0.1'
"""The page is for this machine only."""

_GHOST_COLOUR = (80, 190, 140)
_GHOST_OPACITY = 0.4
_GHOST_BESIDE_M = 1.2
_ROBOT_BESIDE_M = 0.9
_PEDESTAL_M = (0.25, 0.25, 0.7)
_PEDESTAL_COLOUR = (110, 115, 125)
_AXES_LENGTH_M = 0.12
_LABEL_ABOVE_M = 0.06
_CAMERA_POSITION = (3.0, 0.9, 1.55)
_CAMERA_TARGET = (0.0, -0.3, 0.97)
_CAMERA_FIELD_OF_VIEW_RAD = 0.75


class BodyView:
    """A body in the scene: one node for each link that can be seen."""

    def __init__(
        self,
        scene: Any,
        name: str,
        model: RobotModel,
        meshes: Iterable[LinkMesh],
        opacity: float | None = None,
    ) -> None:
        """Add the meshes of a model's links below the node `name`."""
        self._model = model
        self._root = scene.add_frame(f'/{name}', show_axes=False)
        self.links: dict[str, Any] = {}
        """The scene's node of each visible link; its pose is pose_world_from_link."""
        for i, mesh in enumerate(meshes):
            if mesh.link not in self.links:
                path = f'/{name}/{mesh.link}'
                self.links[mesh.link] = scene.add_frame(path, show_axes=False)
            scene.add_mesh_simple(
                f'/{name}/{mesh.link}/{i}',
                mesh.vertices,
                mesh.faces,
                color=mesh.colour,
                opacity=opacity,
                cast_shadow=opacity is None,
                receive_shadow=opacity is None,
            )

    def show(self, q: Array) -> None:
        """Put every link where the configuration q has it."""
        poses = self._model.link_poses(q)
        for link, node in self.links.items():
            _place(node, poses[self._model.link_index(link)])

    def set_visible(self, visible: bool) -> None:
        """Show or hide the whole body."""
        self._root.visible = visible

    def move_aside(self, distance_m: float) -> None:
        """Show the body so far to the right (-y) of where it is."""
        self.place((0.0, -distance_m, 0.0))

    def place(self, position: tuple[float, float, float]) -> None:
        """Show the body with the world's origin at another place [m]."""
        self._root.position = position

    def remove(self) -> None:
        """Take the body out of the scene."""
        self._root.remove()


class DeviceView:
    """Tracked devices in the scene: axes (x red, y green, z blue) with their names."""

    def __init__(self, scene: Any, name: str) -> None:
        """Add devices below the node `name`, as they come."""
        self._scene = scene
        self._name = name
        self._root = scene.add_frame(f'/{name}', show_axes=False)
        self.frames: dict[str, Any] = {}
        """The scene's node of each device; its pose is pose_world_from_device."""
        self.labels: dict[str, Any] = {}

    def show(self, poses: Mapping[str, Array]) -> None:
        """Put devices at pose_world_from_device; those not given stay, marked as lost."""
        for device in poses.keys() - self.frames.keys():
            self._add(device)
        for device, frame in self.frames.items():
            tracked = device in poses
            text = device if tracked else f'{device}: lost'
            if self.labels[device].text != text:
                self.labels[device].text = text
            frame.show_axes = tracked
            if tracked:
                _place(frame, poses[device])

    def set_visible(self, visible: bool) -> None:
        """Show or hide all devices."""
        self._root.visible = visible

    def _add(self, device: str) -> None:
        path = f'/{self._name}/{device}'
        self.frames[device] = self._scene.add_frame(
            path,
            axes_length=_AXES_LENGTH_M,
            axes_radius=0.06 * _AXES_LENGTH_M,
            origin_radius=0.012,
        )
        self.labels[device] = self._scene.add_label(
            f'{path}/label',
            device,
            position=(0.0, 0.0, _LABEL_ABOVE_M),
            anchor='bottom-center',
            font_screen_scale=1.3,
        )


class Viewer:
    """The page and all that is on it; `url` says where."""

    def __init__(self, port: int) -> None:
        """Serve the page on this machine, at the next free port from `port` on (0: any)."""
        try:
            import viser
        except ImportError as error:
            raise MissingDependencyError(
                "The viewer needs 'viser': pip install viser yourdfpy."
            ) from error
        # It says what is not for the user: a banner of its own, browsers that hang up.
        logging.getLogger('websockets').setLevel(logging.CRITICAL)
        with contextlib.redirect_stdout(io.StringIO()):
            self._server = viser.ViserServer(HOST, port, label='vr_ik', verbose=False)
        self.host = str(self._server.get_host())
        self.url = f'http://localhost:{self._server.get_port()}'
        self._set_stage()
        self.devices = DeviceView(self._server.scene, 'devices')
        self._body: BodyView | None = None
        self._ghost: BodyView | None = None
        self._robot: BodyView | None = None
        self._figures = self._server.gui.add_markdown('')
        self._add_switches()

    @property
    def is_watched(self) -> bool:
        """Whether a browser shows the page; to `show` without one is a waste of time."""
        return bool(self._server.get_clients())

    def set_body(self, model: RobotModel, urdf_text: str) -> BodyView:
        """Show this solved body from now on."""
        if self._body is not None:
            self._body.remove()
        self._body = BodyView(self._server.scene, 'body', model, link_meshes(urdf_text))
        return self._body

    def set_ghost(self, model: RobotModel, urdf_text: str) -> BodyView:
        """Show this true body, see-through, from now on."""
        if self._ghost is not None:
            self._ghost.remove()
        hulls = link_hulls(urdf_text, _GHOST_COLOUR)
        self._ghost = BodyView(self._server.scene, 'ghost', model, hulls, _GHOST_OPACITY)
        self._ghost.move_aside(_GHOST_BESIDE_M)
        return self._ghost

    def set_robot(self, model: RobotModel, urdf_text: str) -> BodyView:
        """Show this robot from now on, on a pedestal to the right of the body."""
        if self._robot is not None:
            self._robot.remove()
        self._robot = BodyView(self._server.scene, 'robot', model, link_meshes(urdf_text))
        self._robot.place((0.0, -_ROBOT_BESIDE_M, _PEDESTAL_M[2]))
        self._server.scene.add_box(
            '/pedestal',
            dimensions=_PEDESTAL_M,
            position=(0.0, -_ROBOT_BESIDE_M, 0.5 * _PEDESTAL_M[2]),
            color=_PEDESTAL_COLOUR,
        )
        return self._robot

    def show_operator(self, q: Array, devices: Mapping[str, Array], q_robot: Array) -> None:
        """Show one instant of teleoperation: the operator with his devices, and the robot."""
        with self._server.atomic():
            if self._body is not None:
                self._body.show(q)
            if self._robot is not None:
                self._robot.show(q_robot)
            self.devices.show(devices)

    def show(self, q: Array, q_true: Array, devices: Mapping[str, Array]) -> None:
        """Show one instant: solved body, true body, devices at pose_world_from_device."""
        with self._server.atomic():
            if self._body is not None:
                self._body.show(q)
            if self._ghost is not None:
                self._ghost.show(q_true)
            self.devices.show(devices)

    def show_figures(self, markdown: str) -> None:
        """Write figures beside the scene."""
        self._figures.content = markdown

    def close(self) -> None:
        """Stop to serve."""
        with contextlib.redirect_stdout(io.StringIO()):
            self._server.stop()

    def _set_stage(self) -> None:
        camera = self._server.initial_camera
        camera.position, camera.look_at = _CAMERA_POSITION, _CAMERA_TARGET
        camera.fov = _CAMERA_FIELD_OF_VIEW_RAD
        self._server.gui.configure_theme(
            show_logo=False, show_share_button=False, control_layout='floating'
        )
        self._server.scene.add_grid(
            '/floor',
            infinite_grid=True,
            cell_size=0.5,
            section_size=1.0,
            cell_color=(225, 228, 232),
            section_color=(195, 200, 208),
            fade_distance=14.0,
            shadow_opacity=0.2,
        )

    def _add_switches(self) -> None:
        gui = self._server.gui
        devices = gui.add_checkbox('Tracked devices', True)
        ghost = gui.add_checkbox('Ground truth', True)
        aside = gui.add_slider('Truth aside [m]', 0.0, 2.0, 0.1, _GHOST_BESIDE_M)

        def apply(_event: object) -> None:
            self.devices.set_visible(devices.value)
            if self._ghost is not None:
                self._ghost.set_visible(ghost.value)
                self._ghost.move_aside(aside.value)

        for switch in (devices, ghost, aside):
            switch.on_update(apply)


def _place(node: Any, pose_world_from_node: Array) -> None:
    x, y, z, w = quaternion_from_matrix(pose_world_from_node[:3, :3])
    node.wxyz = (w, x, y, z)
    node.position = pose_world_from_node[:3, 3]
